"""Functions of numbers by tanx's loops: the bits of compiled code, on arrays of any layout."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._ops.families import OwnLoops
from tanx._runtime.compiled_ufuncs import element_ufunc

ONE = ["exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
       "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "logistic", "cbrt", "erf", "erfc",
       "erf_inv", "lgamma", "digamma"]
TWO = ["pow", "atan2", "max", "min"]


def numbers(size, dtype, seed=0):
    x = np.random.default_rng(seed).uniform(-2, 2, size).astype(dtype)
    x[:min(size, 7)] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 1e-30][:size]
    return x


def same(one, other):
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype == other.dtype and one.shape == other.shape
    bits = [np.where(np.isnan(x), np.array(np.nan, x.dtype), x).tobytes() for x in (one, other)]
    assert bits[0] == bits[1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("name", ONE + TWO)
def test_eager_functions_have_the_bits_of_compiled_ones(name, dtype):
    fun = getattr(lax, name)
    with tanx.enable_x64():
        args = [numbers(37, jnp.dtype(dtype), seed) for seed in range(1 + (name in TWO))]
        compiled = tanx.jit(fun)
        for _ in range(4):
            same(fun(*map(jnp.asarray, args)), compiled(*args))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.filterwarnings("ignore")
def test_arrays_of_any_form(dtype):
    dtype = np.dtype(dtype)
    exp, greater = element_ufunc("exp", dtype, 1), element_ufunc("max", dtype, 2)
    for size in (0, 1, 5, 16, 17, 1000):
        x, y = numbers(2 * size, dtype), numbers(2 * size, dtype, 1)
        whole = exp(x)
        np.testing.assert_allclose(whole, np.exp(x), 1e-6)
        for part in (slice(None, None, 2), slice(None, None, -1), slice(1, None)):
            same(exp(x[part]), whole[part])
        for a, b in ((x, y), (x[::2], y[::2]), (x, dtype.type(0.3)), (dtype.type(-2), y)):
            np.testing.assert_array_equal(greater(a, b), np.maximum(a, b))
        exp(x, out=x)
        same(x, whole)
    x, row = numbers(63, dtype).reshape(7, 9), numbers(9, dtype, 1)
    same(exp(x.T), exp(x).T)
    np.testing.assert_array_equal(greater(x, row), np.maximum(x, row))
    np.testing.assert_array_equal(greater(x[:, :1], row), np.maximum(x[:, :1], row))


@pytest.mark.filterwarnings("ignore")
def test_large_arrays_by_all_threads():
    x = numbers(100_003, np.float32)
    same(lax.exp(jnp.asarray(x)), element_ufunc("exp", x.dtype, 1)(x))
    same(lax.max(jnp.asarray(x), jnp.float32(-0.0)), tanx.jit(lax.max)(x, np.float32(-0.0)))


def test_functions_without_machine_code_use_numpy(monkeypatch):
    monkeypatch.setattr(OwnLoops, "find", staticmethod(lambda *_: None))
    x = np.float32([0.1, 0.5, 0.9])
    for name in ONE[:2] + ["erf"]:
        np.testing.assert_allclose(getattr(lax, name)(x), tanx.jit(getattr(lax, name))(x), 1e-6)
    np.testing.assert_allclose(lax.pow(x, x), x ** x, 1e-6)


ZEROS = np.float32([0.0, -0.0, -0.0, 0.0, 1.0, -1.0])
OPERATIONS = {
    "max": lambda x, y: lax.max(x, y), "min": lambda x, y: lax.min(x, y),
    "relu": lambda x, y: lax.max(x, jnp.zeros((), x.dtype)),
    "max with -0": lambda x, y: lax.max(x, -jnp.zeros((), x.dtype)),
    "min with 0": lambda x, y: lax.min(jnp.zeros((), x.dtype), x),
    "clamp": lambda x, y: lax.clamp(jnp.zeros((), x.dtype), x, jnp.ones((), x.dtype)),
    "cummax": lambda x, y: lax.cummax(x), "cummin": lambda x, y: lax.cummin(x),
    "reduce_max": lambda x, y: (x + 0 * y).max(), "reduce_min": lambda x, y: x[:4].min(),
    "windows": lambda x, y: lax.reduce_window(x, -np.inf, lax.max, (2,), (1,), "VALID"),
    "scatter": lambda x, y: x.at[jnp.array([1, 0, 3])].max(y[:3]),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("run", OPERATIONS.values(), ids=OPERATIONS)
def test_zero_is_greater_than_minus_zero(run, dtype):
    x = jnp.asarray(ZEROS, dtype)
    y = x[jnp.array([1, 0, 2, 3, 4, 5])]
    compiled = tanx.jit(run)
    for _ in range(4):
        one, other = np.asarray(run(x, y)), np.asarray(compiled(x, y))
        assert one.tobytes() == other.tobytes()
