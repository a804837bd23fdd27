"""Eager arithmetic on large arrays: threads compute the same bits as NumPy."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._core.primitive import Kind, primitives
from tanx._runtime import eager, host
from tanx._runtime.ufuncs import spread

N = 2 * eager.LARGE + 7
PLAIN = {name: primitive for name, primitive in primitives.items()
         if primitive.kind is Kind.ELEMENTWISE and getattr(primitive, "ufunc_alone", None)}


def data(dtype, seed, n=N):
    x = np.random.default_rng(seed).normal(size=n) * 3
    if np.dtype(dtype).kind == "c":
        x = x + 1j * np.random.default_rng(seed + 1).normal(size=n)
    return np.abs(x).astype(dtype) if np.dtype(dtype).kind == "u" else x.astype(dtype)


def test_most_arithmetic_is_plain():
    assert {"add", "sub", "mul", "div", "neg", "abs", "max", "exp", "sin", "sqrt", "lt", "and",
            "floor"} <= PLAIN.keys()
    assert not {"rem", "sign", "pow", "eq_to", "select_n", "integer_pow"} & PLAIN.keys()


@pytest.mark.parametrize("name", sorted(PLAIN))
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "u1", "?", "c8"])
def test_ufunc_loops_match_eval(name, dtype):
    primitive = PLAIN[name]
    operands = [data(dtype, seed) for seed in range(primitive.ufunc_alone.nin)]
    ufunc = eager.ufunc_of(primitive, np.dtype(dtype), len(operands))
    if ufunc is None:
        return
    with np.errstate(all="ignore"):
        try:
            expected = np.asarray(primitive.eval(*operands))
        except TypeError:
            return  # not for this dtype
        out = spread(ufunc, (N,), expected.dtype, *operands)
    if out is not None:
        assert out.dtype == expected.dtype and out.tobytes() == expected.tobytes()


@pytest.fixture
def counted(monkeypatch):
    """The number of operations that ran in threads."""
    from tanx._runtime import ufuncs
    results = []

    def counting(*args):
        results.append(spread(*args))
        return results[-1]
    monkeypatch.setattr(ufuncs, "spread", counting)
    return lambda: sum(out is not None for out in results)


def test_large_eager_operations_run_in_threads(counted):
    x, y = data("f4", 0), data("f4", 1)
    a, b = jnp.asarray(x), jnp.asarray(y)
    np.testing.assert_array_equal(a * b, x * y)
    np.testing.assert_array_equal(lax.exp(a), tanx.jit(lax.exp)(a))
    np.testing.assert_array_equal(a > 0, x > 0)
    np.testing.assert_array_equal(lax.add(a, np.float32(1)), x + np.float32(1))
    assert counted() == 4
    assert (a[:100] + b[:100]).shape == (100,)
    assert counted() == 4


@pytest.mark.parametrize("shapes", [((3, N), (1, N)), ((3, N), (3, 1)), ((N, 3), (1, 1))])
def test_broadcasting_operations_are_left_to_numpy(shapes, counted):
    x, y = (data("f4", n, int(np.prod(shape))).reshape(shape) for n, shape in enumerate(shapes))
    np.testing.assert_array_equal(lax.add(jnp.asarray(x), jnp.asarray(y)), x + y)
    assert counted() == 0


def test_strided_operands_are_left_to_numpy():
    x = data("f4", 0, 300 * 400).reshape(300, 400)
    assert spread(np.add, (400, 300), x.dtype, x.T, x.T) is None
    np.testing.assert_array_equal(jnp.asarray(x).T + jnp.asarray(x).T, x.T + x.T)


@pytest.mark.parametrize("n", [1, 1 << 15, (1 << 15) + 1, 3 << 15, 123_457])
def test_pieces_of_all_sizes(n):
    x = data("f8", 2, n)
    np.testing.assert_array_equal(spread(np.sqrt, (n,), x.dtype, np.abs(x)), np.sqrt(np.abs(x)))


def test_dtypes_that_numpy_does_not_have_itself():
    x = data(jnp.bfloat16, 0)
    assert spread(np.add, x.shape, x.dtype, x, x) is None
    np.testing.assert_array_equal(jnp.asarray(x) + jnp.asarray(x), x + x)


def test_results_come_from_the_pool():
    x = jnp.asarray(data("f4", 0))
    y = x + x
    where = np.asarray(y).ctypes.data
    in_use = host.statistics()["bytes_in_use"]
    del y
    assert host.statistics()["bytes_in_use"] == in_use - 4 * N
    assert np.asarray(x * x).ctypes.data == where


def test_values_are_watched_all_the_same():
    x = jnp.zeros(N)
    with tanx.debug_nans(True), pytest.raises(FloatingPointError):
        x / x
