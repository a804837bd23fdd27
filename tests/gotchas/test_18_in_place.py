"""Promise 18: updates of donated arrays copy nothing, whatever the size."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tests.gotchas import pages

CPU = tanx.devices()[0]
ROWS, WIDTH = 4096, 1024  # 16 MiB of floats


def test_the_page():
    pages.run("18_in_place")


def full(value, dtype="float32") -> tanx.Array:
    """An array that shares its memory with no other."""
    return jnp.asarray(np.full((ROWS, WIDTH), value, dtype))


UPDATES = {
    "set": lambda x, i, row: x.at[i].set(row),
    "add": lambda x, i, row: x.at[i].add(row),
    "several rows": lambda x, i, row: x.at[i + jnp.arange(3)].set(row),
    "one element": lambda x, i, row: x.at[i, 5].multiply(row[0]),
    "a window": lambda x, i, row: lax.dynamic_update_slice(x, row[None], (i, 0)),
    "scan": lambda x, i, row: lax.scan(
        lambda x, k: (x.at[k].set(row), None), x, i + jnp.arange(3))[0],
    "fori_loop": lambda x, i, row: lax.fori_loop(0, 3, lambda k, x: x.at[i + k].add(row), x),
    "cond": lambda x, i, row: lax.cond(i > 1, lambda x: x.at[i].set(row), lambda x: x, x),
    "inside another function": lambda x, i, row: tanx.jit(lambda x: x.at[i].set(row))(x),
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_stay_in_place(name):
    f = UPDATES[name]
    update, row, x = tanx.jit(f, donate_argnums=0), jnp.arange(WIDTH, dtype="float32"), full(1.0)
    memory = update.lower(x, 0, row).compile().memory_analysis()
    assert memory.temp_size_in_bytes < x.nbytes / 100
    assert memory.alias_size_in_bytes == x.nbytes
    expected = np.array(x[:16])
    where = x.unsafe_buffer_pointer()
    for i in range(5):
        expected = np.asarray(f(jnp.asarray(expected), i, row))
        old, x = x, update(x, i, row)
        assert old.is_deleted() and x.unsafe_buffer_pointer() == where
        assert (x.shape, x.dtype, x.weak_type) == ((ROWS, WIDTH), np.float32, False)
    np.testing.assert_array_equal(x[:16], expected)
    assert float(x[16:].sum()) == (ROWS - 16) * WIDTH


def test_no_call_takes_memory_of_that_size():
    step = tanx.jit(lambda s, v: {"x": s["x"].at[s["n"] % ROWS].set(v), "n": s["n"] + 1},
                    donate_argnums=0)
    state = {"x": full(0.0), "n": jnp.array(0)}
    start = CPU.memory_stats()["bytes_in_use"]
    for i in range(6):
        state = step(state, float(i))
        assert CPU.memory_stats()["bytes_in_use"] - start < 1 << 16
    assert state["x"][:6, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "bfloat16", "float16", "int32", "complex64"])
def test_every_dtype(dtype):
    update = tanx.jit(lambda x, i: x.at[i].set(jnp.ones((), dtype)), donate_argnums=0)
    x = full(0, jnp.dtype(dtype))
    where = x.unsafe_buffer_pointer()
    for i in range(4):
        x = update(x, i)
        assert x.unsafe_buffer_pointer() == where
    assert (x[:4] == 1).all() and not x[4:].any() and x.dtype == dtype


def test_donation_does_not_overwrite_shared_memory():
    update = tanx.jit(lambda x: x.at[0].set(9.0), donate_argnums=0)
    for _ in range(4):
        x = jnp.asarray(np.ones(8, np.float32))
        view = np.asarray(x)
        assert update(x)[0] == 9.0 and view[0] == 1.0
        x = jnp.asarray(np.ones(8, np.float32))
        y = x.reshape(2, 4)  # the same memory
        assert update(x)[0] == 9.0 and y[0, 0] == 1.0


def test_without_donation_the_old_array_stays():
    update, x = tanx.jit(lambda x: x.at[0].set(9.0)), full(1.0)
    for _ in range(4):
        assert update(x)[0, 0] == 9.0 and x[0, 0] == 1.0
