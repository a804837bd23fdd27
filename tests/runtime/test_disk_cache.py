"""Code on disk: which entries are found, which are refused, and the state of the folder."""

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._base import config
from tanx._compiler.emit.cpu import module as cpu
from tanx._core.primitive import primitives
from tanx._core.serial import for_caches
from tanx._runtime import disk_cache, load
from tanx._runtime.executable import Executable

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path):
    """A cache folder; the cache in memory is cleared, except for tanx's own code."""
    run()
    load.clear()
    path = tmp_path / "cache"
    # Without better code from the background; test_quick tests how that is stored.
    with config.enable_compilation_cache(True), config.compilation_cache_dir(
            str(path)), config.quick_code(False):
        yield path
    load.clear()


@pytest.fixture
def assembled(monkeypatch):
    """A list that gets an entry for each call of LLVM."""
    times = []
    original = cpu.assemble
    monkeypatch.setattr(cpu, "assemble", lambda *args: times.append(1) or original(*args))
    return times


def scaled(x, factor=3.0):
    return jnp.exp(x) * factor


def run(fun=scaled, *args):
    """The result of a function compiled as in a new process."""
    args = args or (np.arange(4, dtype=np.float32),)
    load.clear()
    executable = Executable(tanx.make_jaxpr(fun)(*args))
    disk_cache.finish_writing()
    return np.asarray(executable.run([np.asarray(a) for a in args])[0])


def files(folder):
    disk_cache.finish_writing()
    return sorted(folder.glob("*.tanx"))


EXPECTED = np.exp(np.arange(4, dtype=np.float32)) * 3


# --- When files are written -----------------------------------------------------------------------


@pytest.fixture
def busy(monkeypatch):
    """The thread that writes does not start."""
    monkeypatch.setattr(disk_cache._waiting, "run", lambda: None)
    monkeypatch.setattr(disk_cache._waiting, "thread", None)
    yield
    disk_cache.finish_writing()


def test_a_file_that_waits_is_found(folder, busy):
    key = disk_cache.key_of("waits")
    disk_cache.write(key, ("facts", 1), b"data")
    assert disk_cache.read(disk_cache.key_of("another")) is None
    assert not list(folder.iterdir())
    assert disk_cache.read(key) == (("facts", 1), b"data")
    assert len(list(folder.glob("*.tanx"))) == 1


def test_a_folder_that_was_deleted_is_not_made_again(folder, busy):
    disk_cache.write(disk_cache.key_of("one"), (), b"")
    folder.rmdir()
    disk_cache.finish_writing()
    assert not folder.exists() and not disk_cache._waiting.files


def test_files_go_to_the_folder_that_was_set_when_they_were_made(folder, busy, tmp_path):
    disk_cache.write(disk_cache.key_of("one"), (), b"")
    with config.compilation_cache_dir(str(tmp_path / "other")):
        disk_cache.write(disk_cache.key_of("one"), (), b"")
        disk_cache.write(disk_cache.key_of("two"), (), b"")
    assert len(files(folder)) == 1 and len(files(tmp_path / "other")) == 2


def test_the_thread_writes_what_several_threads_have_made(folder):
    keys = [disk_cache.key_of("many", bytes([n])) for n in range(200)]

    def write(some):
        for key in some:
            disk_cache.write(key, (), b"")

    threads = [threading.Thread(target=in_folder(folder, write), args=(keys[n::4],))
               for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    end = time.monotonic() + 30
    while disk_cache._waiting.files and time.monotonic() < end:  # without finish_writing
        time.sleep(0.01)
    assert len(list(folder.glob("*.tanx"))) == 200 and not disk_cache._waiting.files


def in_folder(folder, function):
    """The function, with the cache of a test in the thread that runs it."""
    def run(*args):
        with config.enable_compilation_cache(True), config.compilation_cache_dir(
                str(folder)):
            function(*args)
    return run


@pytest.mark.parametrize("end", ["", "raise ValueError", "sys.exit(3)", "os.fork() or os._exit(0)"])
def test_files_are_written_when_the_process_ends(tmp_path, end):
    """Also if the thread has written nothing yet, and before a fork."""
    code = f"""
import os, sys
import tanx
from tanx._runtime import disk_cache
disk_cache._waiting.run = lambda: None
tanx.jit(lambda x: x * 3)(2.0)
assert disk_cache._waiting.files
{end}
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                          env=os.environ | {"TANX_CACHE_DIR": str(tmp_path / "cache"),
                                            "TANX_ENABLE_COMPILATION_CACHE": "1"})
    assert "Assertion" not in done.stderr
    assert len(list((tmp_path / "cache").glob("*.tanx"))) >= 2


def test_requested_errors_come_from_the_call(folder, tmp_path):
    (tmp_path / "file").write_text("")
    with config.compilation_cache_dir(str(tmp_path / "file" / "below")), (
            config.raise_persistent_cache_errors(True)), pytest.raises(OSError):
        disk_cache.write(disk_cache.key_of("refused"), (), b"")


# --- What is found again --------------------------------------------------------------------------


def test_the_second_process_compiles_nothing(folder, assembled):
    assert not folder.exists()
    first = run()
    assert len(assembled) == 1 and len(files(folder)) == 2
    np.testing.assert_array_equal(run(), first)
    assert len(assembled) == 1
    np.testing.assert_allclose(first, EXPECTED, 1e-6)


def test_programs_of_equal_code_share_it(folder, assembled):
    run(scaled)
    run(tanx.jit(scaled))
    assert len(assembled) == 1 and len(files(folder)) == 3


def test_nothing_is_written_when_it_is_off(folder):
    with config.enable_compilation_cache(False):
        run()
    for path in ("", "gs://bucket/folder"):
        with config.compilation_cache_dir(path):
            run()
    with config.persistent_cache_min_compile_time_secs(1e3):
        run()
    with config.persistent_cache_min_entry_size_bytes(1 << 30):
        run()
    assert not files(folder)


def test_the_default_folder_follows_xdg_cache_home(monkeypatch, tmp_path):
    disk_cache._folder.cache_clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    with config.enable_compilation_cache(True), config.compilation_cache_dir(None):
        assert disk_cache.directory() == str(tmp_path / "tanx")
    disk_cache._folder.cache_clear()
    with config.enable_compilation_cache(False):
        assert disk_cache.directory() is None


def test_cached_code_uses_constants_of_the_current_process(folder, assembled):
    table, offsets = np.arange(3000, dtype=np.float32), np.arange(6, dtype=np.float32)

    def fun(x, table=table, offsets=offsets):
        return x + jnp.asarray(table) + (jnp.asarray(offsets) * 2).sum()

    x = np.ones(3000, np.float32)
    expected = run(fun, x)
    np.testing.assert_array_equal(expected, x + table + 30)
    np.testing.assert_array_equal(run(fun, x), expected)
    assert len(assembled) == 1
    for change in ({"table": table + 1}, {"offsets": offsets + 1}):
        other = run(lambda x, change=change: fun(x, **change), x)
        np.testing.assert_array_equal(other, expected + (1 if "table" in change else 12))


def test_donated_arguments_make_another_program(folder):
    closed = tanx.make_jaxpr(lambda x: x + 1)(np.ones(8, np.float32))
    for donated in ((False,), (True,), (False,), (True,)):
        load.clear()
        x = tanx.Array(np.ones(8, np.float32))
        where = np.asarray(x).ctypes.data
        (y,) = Executable(closed, donated).run([x])
        np.testing.assert_array_equal(np.asarray(y), np.full(8, 2, np.float32))
        assert (np.asarray(y).ctypes.data == where) == donated[0]


def test_a_program_from_disk_keeps_its_cost(folder):
    args = (np.ones(4, np.float32),)
    made = Executable(tanx.make_jaxpr(scaled)(*args))
    load.clear()
    found = Executable(tanx.make_jaxpr(scaled)(*args))
    assert found.cost == made.cost and found.cost.transcendentals == 4


# --- What is refused ------------------------------------------------------------------------------


def damage(kind, data):
    if kind == "empty":
        return b""
    if kind == "truncated":
        return data[:-1]
    if kind == "half":
        return data[:len(data) // 2]
    if kind == "longer":
        return data + b"\0"
    if kind == "garbage":
        return os.urandom(len(data))
    if kind == "text":
        return b"import os; os.abort()\n" * 100
    if kind == "another format":
        return data.replace(b"tanx code 2", b"tanx code 0")
    place = {"first": 0, "name": 20, "length": 45, "checksum": 60, "content": -8}[kind]
    flipped = bytearray(data)
    flipped[place] ^= 4
    return bytes(flipped)


@pytest.mark.parametrize("kind", [
    "empty", "truncated", "half", "longer", "garbage", "text", "another format", "first", "name",
    "length", "checksum", "content"])
def test_damaged_files_are_compiled_over(folder, assembled, kind):
    expected = run()
    for path in files(folder):
        whole = path.read_bytes()
        path.write_bytes(damage(kind, whole))
        np.testing.assert_array_equal(run(), expected)
        mended = path.read_bytes()  # equal except for the compile time
        assert len(mended) == len(whole)
        np.testing.assert_array_equal(run(), expected)
        assert path.read_bytes() == mended
    assert len(assembled) == 2  # one of the two files has the code


def test_every_bit_counts(folder):
    key = disk_cache.key_of("test")
    disk_cache.write(key, ("facts", 1), b"data")
    (path,) = files(folder)
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        assert disk_cache.read(key) is None
    path.write_bytes(whole)
    assert disk_cache.read(key) == (("facts", 1), b"data")


def test_a_file_under_another_name_is_refused(folder):
    one, other = disk_cache.key_of("one"), disk_cache.key_of("other")
    disk_cache.write(one, (), b"data")
    (path,) = files(folder)
    path.rename(folder / f"{other}.tanx")
    assert disk_cache.read(other) is None is disk_cache.read(one)


@pytest.mark.parametrize("what", ["_processor", "_llvm", "_sources"])
def test_code_of_another_machine_or_version_is_not_used(folder, assembled, monkeypatch, what):
    run()
    disk_cache._surroundings.cache_clear()
    monkeypatch.setattr(disk_cache, what, lambda: [b"another"])
    run()
    assert len(assembled) == 2 and len(files(folder)) == 4
    disk_cache._surroundings.cache_clear()


def test_writable_and_foreign_files_are_refused(folder, assembled, monkeypatch):
    run()
    for path in files(folder):
        path.chmod(0o666)
    run()
    assert len(assembled) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(folder)} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    run()
    assert len(assembled) == 3


def test_links_and_folders_in_place_of_files(folder, tmp_path, assembled):
    run()
    for number, path in enumerate(files(folder)):
        path.rename(tmp_path / f"{number}")
        path.symlink_to(tmp_path / f"{number}")
    run()
    assert len(assembled) == 2 and not any(path.is_symlink() for path in files(folder))
    for path in files(folder):
        path.unlink()
        path.mkdir()
    np.testing.assert_allclose(run(), EXPECTED, 1e-6)


# --- The folder -----------------------------------------------------------------------------------


def test_without_a_folder_to_write_to(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    with config.enable_compilation_cache(True), caplog.at_level("INFO", "tanx"):
        with config.compilation_cache_dir(str(tmp_path / "file" / "cache")):
            np.testing.assert_allclose(run(), EXPECTED, 1e-6)
            run()
            assert len(caplog.records) == 1
            with config.raise_persistent_cache_errors(True), pytest.raises(OSError):
                run()


def test_a_full_disk(folder, monkeypatch):
    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    np.testing.assert_allclose(run(), EXPECTED, 1e-6)
    assert not list(folder.iterdir())


def test_least_recently_used_entries_are_evicted_first(folder):
    keys = [disk_cache.key_of("entry", bytes([n])) for n in range(8)]
    with config.compilation_cache_max_size(8 * 1200):
        for age, key in enumerate(keys):
            disk_cache.write(key, (), bytes(1000))
            disk_cache.finish_writing()
            os.utime(folder / f"{key}.tanx", (1000 + age, 1000 + age))
        assert disk_cache.read(keys[0]) is not None  # now it is the most recently used
        disk_cache.write(disk_cache.key_of("large"), (), bytes(2500))
        disk_cache.finish_writing()
        left = [disk_cache.read(key) is not None for key in keys]
    assert left[0] and not left[1] and left[-1] and left == sorted(left[:1]) + sorted(left[1:])
    assert sum(path.stat().st_size for path in files(folder)) <= 8 * 1200


def test_files_that_were_never_finished_are_cleared_away(folder):
    folder.mkdir()
    (folder / ".1-2-old.new").write_text("")
    (folder / ".1-2-new.new").write_text("")
    (folder / "of somebody else").write_text("")
    os.utime(folder / ".1-2-old.new", (1000, 1000))
    os.utime(folder / "of somebody else", (1000, 1000))
    disk_cache.write(disk_cache.key_of("entry"), (), b"")
    disk_cache.finish_writing()
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".tanx") == [
        ".1-2-new.new", ".counted", "of somebody else"]


def test_the_folder_is_scanned_only_after_many_writes(folder, monkeypatch):
    looked = []
    original = disk_cache._Usage._make_room
    monkeypatch.setattr(disk_cache._Usage, "_make_room",
                        lambda self, limit: looked.append(1) or original(self, limit))

    def write(first, last):
        disk_cache.forget()  # as in a new process
        for n in range(first, last):
            disk_cache.write(disk_cache.key_of("entry", bytes([n])), (), b"")
        disk_cache.finish_writing()
        return len(looked)

    assert [write(0, 2), write(2, 4)] == [1, 1]
    assert write(4, 4 + disk_cache._WRITES_UNSEEN) == 2  # a process with many writes does
    os.utime(folder / ".counted", (1000, 1000))
    assert write(100, 102) == 3


def test_many_processes_at_once(folder):
    code = ("import tanx, tanx.numpy as jnp\n"
            "for n in range(5): assert tanx.jit(lambda x, n=n: x * n + 1)(2.0) == 2 * n + 1\n"
            "print('done')")
    environment = {**os.environ, "TANX_CACHE_DIR": str(folder), "TANX_CHECK": "0",
                   "TANX_ENABLE_COMPILATION_CACHE": "1"}
    runs = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment, text=True,
                             stdout=subprocess.PIPE) for _ in range(3)]
    assert [run.communicate()[0].strip() for run in runs] == ["done"] * 3
    assert len(files(folder)) >= 10 and not list(folder.glob(".*.new"))
    loads_llvm = (f"{code}\nimport sys\nprint('llvmlite' in sys.modules, "
                  "'tanx._compiler.pipeline' in sys.modules)")
    again = subprocess.run([sys.executable, "-c", loads_llvm], cwd=ROOT, env=environment, text=True,
                           capture_output=True)
    assert again.stdout.split() == ["done", "False", "False"]


# --- What jaxprs are known by ---------------------------------------------------------------------


def key(closed):
    serial = for_caches(closed)
    return serial and serial.key()


def texts(*funs):
    x = np.ones((2, 3), np.float32)
    return [key(tanx.make_jaxpr(fun)(x)) for fun in funs]


def test_equal_jaxprs_have_equal_texts():
    one, other = texts(lambda x: jnp.sin(x).sum(0), lambda y: jnp.sin(y).sum(0))
    assert one == other


def test_different_jaxprs_have_different_texts():
    found = texts(
        lambda x: x + 1, lambda x: x + 2, lambda x: x - 1,
        lambda x: x + x, lambda x: (x, x + 1), lambda x: (x + 1, x), lambda x: x.sum(0),
        lambda x: x.sum(1), lambda x: x.astype(jnp.int8), lambda x: x.astype(jnp.uint8),
        lambda x: x * 0.0, lambda x: x * -0.0, lambda x: x + jnp.asarray(np.ones(3)),
        lambda x: x + jnp.asarray(np.zeros(3)), tanx.checkpoint(lambda x: x + 1),
        tanx.jit(lambda x: x + 1), lambda x: x[0], lambda x: x[1], lambda x: x.T)
    assert len(set(found)) == len(found)


def test_values_of_parameters_count():
    from tanx._core.serial import Serial, _Writer

    def written(value):
        writer = _Writer()
        return Serial(writer.value(value), writer.constants, writer.names).key()

    values = [True, 1, 1.0, -0.0, 0.0, "1", b"1", 1j, 1 + 2j, (1,), [1], (1.0,), ((1,),), (1, ()),
              (), ((), 1), (1j,), None, "None", (None,), frozenset((1, 2)), frozenset((1,)), {1: 2},
              ((1, 2),), np.dtype("f4"), np.dtype("i4"), "float32", lax.Precision.HIGH,
              lax.Precision.HIGHEST, np.ones(2), np.ones((2, 1)), np.float32(1),
              lax.GatherScatterMode.CLIP]
    found = [written(value) for value in values]
    assert len(set(found)) == len(found)
    assert found == [written(value) for value in values]
    assert written(frozenset("abc")) == written(frozenset("cba"))


def test_types_of_arguments_count():
    makes = [tanx.make_jaxpr(lambda x: x + x)(x) for x in (
        1.0, np.float32(1), np.ones(1, np.float32), np.ones((1, 1), np.float32), 1)]
    assert len({key(made) for made in makes}) == 5


def test_functions_of_users_have_no_text():
    from tanx._core.primitive import Kind, Primitive

    class Mine(Primitive):
        name, kind = "mine", Kind.ELEMENTWISE

        def infer(self, x):
            return x

    (text,) = texts(lambda x: Mine().bind(x))
    assert text is None


def test_primitives_among_parameters_count():
    def pool(select):
        return lambda x: lax.reduce_window(x, {lax.max: -np.inf, lax.min: np.inf}[select], select,
                                           (1, 2), (1, 1), "VALID").sum()
    largest, least = texts(tanx.grad(pool(lax.max)), tanx.grad(pool(lax.min)))
    assert b"primitive(ge)" in largest and b"primitive(le)" in least


def test_custom_derivatives_do_not_keep_a_jaxpr_from_having_a_text():
    relu = tanx.custom_jvp(lambda x: jnp.maximum(x, 0))
    relu.defjvps(lambda t, y, x: t * (x > 0))
    (text,) = texts(relu)
    assert text is not None


def test_written_calls_have_the_inlined_body():
    """A use that is written as a call has the body that the compiler inlines."""
    def fun(x):
        mine = tanx.custom_jvp(lambda x: jnp.sin(x))
        mine.defjvps(lambda t, y, x: t)
        other = tanx.custom_vjp(lambda x: jnp.cos(x))
        other.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
        third = tanx.custom_batching.sequential_vmap(lambda x: jnp.tan(x))
        return mine(x), other(x), third(x), lax.composite(jnp.tanh, "my.tanh")(x)
    for eqn in tanx.make_jaxpr(fun)(1.0).eqns:
        name, params = eqn.primitive.written(eqn.params)
        assert primitives[name].called(params) is eqn.primitive.called(eqn.params)


def test_large_constants_are_not_read_through(monkeypatch):
    from tanx._core import serial as module
    monkeypatch.setattr(module, "CONSTANTS_LIMIT", 100)
    assert texts(lambda x: x + jnp.asarray(np.arange(3, dtype=np.float32)))[0] is not None
    assert texts(lambda x: x + jnp.asarray(np.ones((2, 3, 20), np.float32)).sum(-1))[0] is None
