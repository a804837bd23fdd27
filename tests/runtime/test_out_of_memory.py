"""Too large requests for memory are refused before it is used, with a helpful message."""

import ctypes
import re

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._base.limits import processors
from tanx._runtime import host, load, memory, stop
from tanx.errors import JaxRuntimeError, OutOfMemoryError

GIB = 1 << 30
ROOM = memory.memory_of_machine()
SIDE = int((2 * ROOM) ** 0.5)  # a matrix of floats with this side has twice the machine's memory
X = jnp.ones((64, 64))

HUGE = {
    "zeros": lambda: jnp.zeros((10**6, 10**6)), "ones": lambda: jnp.ones((SIDE, SIDE)),
    "arange": lambda: jnp.arange(ROOM), "eye": lambda: jnp.eye(SIDE),
    "outer sum": lambda: jnp.ones(SIDE)[:, None] + jnp.ones(SIDE),
    "matmul": lambda: jnp.ones((SIDE, 1)) @ jnp.ones((1, SIDE)),
    "tile": lambda: jnp.tile(X, (SIDE // 32, SIDE // 32)), "pad": lambda: jnp.pad(X, SIDE),
    "concatenate": lambda: jnp.concatenate([jnp.broadcast_to(1.0, (ROOM // 8,))] * 4),
    "normal": lambda: tanx.random.normal(tanx.random.key(0), (SIDE, SIDE)),
    "scan": lambda: lax.scan(lambda c, _: (c, X + c), 0.0, None, length=ROOM // 4096),
    "vmap": lambda: tanx.vmap(lambda i: jnp.full((SIDE,), i))(jnp.arange(SIDE)),
    "grad": lambda: tanx.grad(lambda x: (jnp.zeros((SIDE, SIDE)) + x).sum())(1.0),
}


@pytest.mark.parametrize("name", HUGE)
def test_more_than_the_machine_has(name):
    alive = jnp.ones(3)
    with pytest.raises(OutOfMemoryError) as caught:
        HUGE[name]()
    del alive
    text = str(caught.value)
    assert "there is not enough memory." in text
    assert re.search(r"asked for: [\d.]+ [GTP]iB", text)
    assert f"at:        {__file__}" in text and "alive:     arrays of" in text
    assert "Hint: compute in pieces" in text
    assert issubclass(OutOfMemoryError, JaxRuntimeError) and issubclass(
        OutOfMemoryError, MemoryError)


def test_results_of_a_program():
    f = tanx.jit(lambda x: jnp.zeros((SIDE, SIDE)) + x)
    for _ in range(4):
        with pytest.raises(OutOfMemoryError) as caught:
            f(1.0)
        assert f"result:    f32[{SIDE},{SIDE}], " in str(caught.value)
        assert f", made at {__file__}" in str(caught.value)
        assert "jnp.zeros((SIDE, SIDE)) + x" in str(caught.value)


def test_temporaries_of_a_program():
    f = tanx.jit(lambda x: jnp.sort(jnp.broadcast_to(x, (SIDE, SIDE)), 1).sum())
    for _ in range(4):
        with pytest.raises(OutOfMemoryError, match="iB for values in between"):
            f(1.0)


def test_requests_above_free_memory_raise(monkeypatch):
    """A request that is below the memory of the machine, but above its free memory."""
    f = tanx.jit(lambda x: jnp.zeros((memory.HEAVY // 4,)) + x)
    wide = jnp.broadcast_to(jnp.float32(1), (memory.HEAVY // 4,))
    with monkeypatch.context() as patch:
        patch.setattr(memory, "available_memory", lambda: memory.HEAVY // 2)
        patch.setattr(memory, "memory_of_machine", lambda: 100 * GIB)
        host.trim()
        for _ in range(4):
            with pytest.raises(OutOfMemoryError):
                f(1.0)
            with pytest.raises(OutOfMemoryError):
                wide + wide
    assert f(1.0)[-1] == 1


def test_blocks_never_exceed_the_limit():
    f = tanx.jit(lambda x: jnp.arange(1 << 23, dtype=jnp.float32) + x)
    wanted = [f(float(i))[:2] for i in range(4)]
    host.trim()
    call = host.allocator().call
    call("tanx_limit", host.statistics()["bytes_reserved"] + (16 << 20), ROOM // 4)
    try:
        assert tanx.devices()[0].memory_stats()["bytes_limit"] < ROOM
        for _ in range(4):
            with pytest.raises(OutOfMemoryError, match=r"asked for: 32.0 MiB"):
                f(1.0)
    finally:
        call("tanx_limit", ROOM, ROOM // 4)
    for i in range(4):
        np.testing.assert_array_equal(f(float(i))[:2], wanted[i])


def test_limit_is_known_from_the_start():
    assert tanx.devices()[0].memory_stats()["bytes_limit"] == ROOM > 0


def test_ranks():
    ones = (1,) * 65
    for make in (lambda: jnp.ones(ones), lambda: lax.reshape(X[0, 0], ones),
                 lambda: tanx.jit(lambda x: x.reshape(ones))(X[0, 0])):
        with pytest.raises(ValueError, match="arrays have at most 64 dimensions"):
            make()
    assert jnp.ones(ones[1:]).ndim == 64
    assert tanx.eval_shape(lambda: jnp.ones(ones)).ndim == 65


# -- memory reported by the system -----------------------------------------------------------------

MEMINFO = "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\nSwapTotal: {0} kB\nSwapFree: {0} kB\n"
V2 = "sys/fs/cgroup/"
V1 = "sys/fs/cgroup/memory/"
SYSTEMS = {
    "no group": ({}, 8 * GIB, 4 * GIB),
    "swap": ({"proc/meminfo": MEMINFO.format(1 << 20)}, 9 * GIB, 5 * GIB),
    "second version": ({
        "proc/self/cgroup": "0::/a/b\n", V2 + "a/b/memory.max": "max\n",
        V2 + "a/memory.max": str(3 * GIB), V2 + "a/memory.current": str(2 * GIB),
        V2 + "a/memory.stat": f"anon 5\ninactive_file {GIB // 2}\n"}, 3 * GIB, 3 * GIB // 2),
    "second version, seen from inside": ({
        "proc/self/cgroup": "0::/\n", V2 + "memory.max": str(2 * GIB),
        V2 + "memory.current": str(GIB)}, 2 * GIB, GIB),
    "first version": ({
        "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n",
        V1 + "memory.limit_in_bytes": "9223372036854771712\n",
        V1 + "x/memory.limit_in_bytes": str(GIB),
        V1 + "x/memory.usage_in_bytes": str(GIB // 2),
        V1 + "x/memory.stat": f"total_inactive_file {GIB // 4}\n"}, GIB, 3 * GIB // 4),
    "used up": ({
        "proc/self/cgroup": "0::/\n", V2 + "memory.max": str(GIB),
        V2 + "memory.current": str(2 * GIB)}, GIB, 0),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_memory_of_systems(name, tmp_path):
    files, total, free = SYSTEMS[name]
    for path, text in {"proc/meminfo": MEMINFO.format(0), **files}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert memory.memory_of_machine(f"{tmp_path}/") == total
    assert memory.available_memory(f"{tmp_path}/") == free


def test_sizes_in_words():
    assert list(map(memory.in_words, (0, 1023, 1024, 5 << 30, 3 << 60))) == [
        "0 bytes", "1023 bytes", "1.0 KiB", "5.0 GiB", "3072.0 PiB"]


def test_a_task_that_finds_no_memory_stops_the_program(monkeypatch):
    """Tasks allocate their parts of temporaries by the C library, which refuses here."""
    asked = []

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
    def refuse(alignment, size):
        asked.append(size)

    def attention(q, k, v):
        return tanx.nn.softmax(q @ k.transpose(0, 2, 1)) @ v

    address_of = load.address_of
    monkeypatch.setattr(load, "address_of", lambda symbol: (
        ctypes.cast(refuse, ctypes.c_void_p).value if symbol == "aligned_alloc"
        else address_of(symbol)))
    messages = []
    write = stop.out_of_memory
    monkeypatch.setattr(stop, "out_of_memory",
                        lambda *args: messages.append(args) or write(*args))
    x = jnp.full((48, 512, 64), 0.1)
    f = tanx.jit(attention)
    for _ in range(4):
        with pytest.raises(OutOfMemoryError, match="asked for"):
            f(x, x, x).block_until_ready()
    # One message for each call; several threads may write theirs at the same time.
    assert 4 <= len(messages) <= 4 * processors() and len(asked) >= len(messages)
    assert float((x + 1)[0, 0, 0]) == pytest.approx(1.1)
    monkeypatch.undo()
    load.clear()
    g = tanx.jit(lambda q: attention(q, q, q))
    for _ in range(4):
        np.testing.assert_allclose(g(x), x, rtol=1e-5)
