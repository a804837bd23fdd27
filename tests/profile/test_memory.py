"""Profiles of memory, parsed by an independent reader; counts of bytes; lines of large arrays."""

import gc
import gzip
import inspect

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import profiler
from tanx._core.origins import LARGE, LARGE_RESULT, lines_of

CPU = tanx.devices()[0]
WIDE = LARGE // 4  # floats in the smallest large array
WIDER = LARGE_RESULT // 4  # floats in the smallest array that is large for native code


def fields(data):
    """The fields of a message by number, as in the documentation of protocol buffers."""
    found, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    while at < len(data):
        head = number()
        if head & 7 == 0:
            value = number()
        else:
            assert head & 7 == 2
            size = number()
            value, at = data[at:at + size], at + size
        found.setdefault(head >> 3, []).append(value)
    return found


def numbers(data):
    """The numbers of a packed field."""
    return fields(b"".join(b"\x08" + part for part in _parts(data))).get(1, [])


def _parts(data):
    start = 0
    for end, byte in enumerate(data, 1):
        if byte < 128:
            yield data[start:end]
            start = end


def samples(profile):
    """For each sample its labels, its lines (function, file, line), its count and its bytes."""
    whole = fields(gzip.decompress(profile))
    texts = [text.decode() for text in whole[6]]
    assert texts[0] == "" and texts[whole[14][0]] == "space"
    assert [[texts[fields(t)[k][0]] for k in (1, 2)] for t in whole[1]] == [
        ["allocations", "count"], ["space", "bytes"]]
    functions = {f[1][0]: (texts[f[2][0]], texts[f[4][0]]) for f in map(fields, whole[5])}
    locations = {}
    for location in map(fields, whole[4]):
        line = fields(location[4][0])
        locations[location[1][0]] = (*functions[line[1][0]], line[2][0])
    for sample in map(fields, whole[2]):
        labels = {texts[fields(label)[1][0]]: texts[fields(label)[2][0]] for label in sample[3]}
        yield labels, [locations[n] for n in numbers(sample[1][0])], *numbers(sample[2][0])


def here():
    return inspect.currentframe().f_back.f_lineno


def found(profile, line):
    """The samples made at a line of this file."""
    return [(labels, lines, *rest) for labels, lines, *rest in samples(profile)
            if lines[0][1:] == (__file__, line)]


def maker(size):
    return jnp.arange(size, dtype=np.float32), here()


def test_large_arrays_are_listed_by_the_lines_that_made_them():
    f = tanx.jit(lambda x: x + 0.25)
    x, line = maker(WIDER)
    y, calls = [], here() + 2
    for _ in range(4):
        y.append(f(x))  # the last ones by native code
    profile = profiler.device_memory_profile()
    (sample,) = found(profile, line)
    labels, lines, count, nbytes = sample
    assert labels == {"kind": "buffer", "device": "cpu:0"} and (count, nbytes) == (1, 4 * WIDER)
    assert [function for function, *_ in lines] == ["maker"]
    buffers = [s for s in found(profile, calls) if s[0]["kind"] == "buffer"]
    assert [(count, nbytes) for *_, count, nbytes in buffers] == [(4, 16 * WIDER)]
    code = [s for s in found(profile, calls) if s[0]["kind"] == "executable"]
    assert code and all(nbytes > 0 for *_, nbytes in code)
    del x, y, sample
    assert not found(profiler.device_memory_profile(), line)


def test_huge_arrays_record_their_callers():
    x, line = maker(1 << 22)
    f = tanx.jit(lambda x: x * 2)
    for _ in range(4):
        y = f(x)
    (sample,) = found(profiler.device_memory_profile(), line)
    assert [function for function, *_ in sample[1][:2]] == [
        "maker", "test_huge_arrays_record_their_callers"]
    assert len(lines_of(x._origin)) > 2 and len(lines_of(y._origin)) > 1
    assert lines_of(y._origin)[0].function == "test_huge_arrays_record_their_callers"


def test_views_count_once():
    x = jnp.arange(2 * WIDE, dtype=np.float32) + 1
    line = here() - 1
    views = [x.reshape(2, WIDE), x[:WIDE], x.reshape(2, WIDE).T]
    profile = profiler.device_memory_profile()
    assert [s[2:] for s in found(profile, line)] == [(1, 8 * WIDE)]
    assert not found(profile, line + 2) and len(views) == 3


def test_small_arrays_are_one_sample(tmp_path):
    kept = [jnp.full((10,), float(i)) + 1 for i in range(5)]
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    (small,) = [s for s in samples((tmp_path / "memory.prof").read_bytes())
                if s[1][0][0] == "(small arrays)"]
    assert small[2] >= len(kept) and small[3] >= 40 * len(kept)
    with pytest.raises(RuntimeError, match="Unknown backend"):
        profiler.device_memory_profile("nowhere")
    with pytest.raises(FileNotFoundError):
        profiler.save_device_memory_profile(tmp_path / "none" / "memory.prof")


MAKERS = {
    "eager": lambda: jnp.arange(WIDE, dtype=np.float32), "array": lambda: jnp.array(
        np.ones(WIDE, np.float32)), "sum": lambda: jnp.arange(WIDE, dtype=np.float32) + 1,
    "matrices": lambda: jnp.ones((512, 2)) @ jnp.ones((2, 512)),
    "loop": lambda: tanx.lax.fori_loop(0, 2, lambda i, c: c + 1, jnp.zeros(WIDE)),
    "random": lambda: tanx.random.normal(tanx.random.key(0), (WIDE,)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_large_arrays_know_their_line_and_are_counted(name):
    MAKERS[name]()  # compile it first
    gc.collect()
    before = CPU.memory_stats()
    x = MAKERS[name]().block_until_ready()
    after = CPU.memory_stats()
    assert after["bytes_in_use"] - before["bytes_in_use"] >= 4 * WIDE
    assert after["peak_bytes_in_use"] >= after["bytes_in_use"]
    (made,) = lines_of(x._origin)
    first = MAKERS["eager"].__code__.co_firstlineno
    assert made.file == __file__ and first <= made.line < first + 10
    del x
    assert CPU.memory_stats()["bytes_in_use"] <= before["bytes_in_use"] + 4096


def test_small_arrays_are_counted_too():
    before = CPU.memory_stats()["bytes_in_use"]
    x = jnp.arange(1000.0)
    assert CPU.memory_stats()["bytes_in_use"] == before + 4000
    y = x[10:]  # shares its data
    assert CPU.memory_stats()["bytes_in_use"] == before + 4000
    del x, y
    assert CPU.memory_stats()["bytes_in_use"] == before


def test_peak_memory_counts_both_kinds_of_memory():
    f = tanx.jit(lambda x: x * 3 + 1)
    x = jnp.arange(2 * WIDE, dtype=np.float32)
    for _ in range(4):
        f(x).block_until_ready()
    held = [f(x) for _ in range(8)]
    made = [jnp.arange(i, i + 8 * WIDE) for i in range(4)]
    peak = CPU.memory_stats()["bytes_in_use"]
    del held, made
    stats = CPU.memory_stats()
    assert stats["peak_bytes_in_use"] >= peak >= stats["bytes_in_use"] + 4 * 32 * WIDE
    assert stats["bytes_limit"] > stats["peak_bytes_in_use"]


def test_results_that_are_arguments_keep_their_line():
    f = tanx.jit(lambda x, y: (x, x + y))
    x, line = maker(WIDER)
    for _ in range(5):
        same, other = f(x, 1.0)
    assert same is x and lines_of(x._origin)[0].line == line
    assert lines_of(other._origin)[0].line == here() - 2


def test_errors_tell_the_lines_of_the_largest_arrays():
    kept = jnp.arange(1 << 24)
    line = here() - 1
    with pytest.raises(tanx.errors.OutOfMemoryError) as caught:
        jnp.zeros((10**6, 10**6))
    assert f"           i32[16777216], 64.0 MiB, made at {__file__}:{line} (" in str(caught.value)
    assert kept.nbytes == 64 << 20
