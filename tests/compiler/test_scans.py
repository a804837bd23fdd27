"""Scans along contiguous elements, in vectors: every dtype, and accuracy."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.emit.cpu.module import generate
from tanx._compiler.machine import host
from tanx._compiler.pipeline import build

SCANS = {"cumsum": np.add, "cummax": np.maximum, "cummin": np.minimum}


def values(shape, dtype="float32", seed=0):
    found = np.random.default_rng(seed).standard_normal(shape) * 100
    return found.astype(dtype)


def moves_lanes(function, *shape, down=False):
    """Whether the code of a function shifts lanes up, or down, by one."""
    module = build(tanx.make_jaxpr(function)(tanx.ShapeDtypeStruct(shape, "float32")))
    text = generate(module.program, host(), module.plan.offsets, module.plan.shared).text
    lanes = 4 * host().vector_bits // 32
    first = 1 if down else lanes - 1
    return f"<{lanes} x i32> <i32 {first}, i32 {first + 1}, " in text


def test_lanes_follow_each_other_along_rows_alone():
    assert moves_lanes(lambda x: lax.cumsum(x, 1), 8, 1000)
    assert moves_lanes(lambda x: lax.cummax(x, 1, reverse=True), 8, 1000, down=True)
    assert moves_lanes(lambda x: lax.cumsum(x[:, ::-1], 1), 8, 1000)
    assert not moves_lanes(lambda x: lax.cumsum(x, 0), 1000, 8)
    assert not moves_lanes(lambda x: lax.cumprod(x, 1), 8, 1000)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int32", "int8",
                                   "uint16", "int64"])
@pytest.mark.parametrize("name", SCANS)
def test_rows(name, dtype, reverse):
    x = np.abs(values((5, 301))).astype(np.dtype(dtype))
    flip = (slice(None), slice(None, None, -1 if reverse else 1))
    wide = x.astype({"f": np.float64, "V": np.float64}.get(x.dtype.kind, x.dtype))
    expected = SCANS[name].accumulate(wide[flip], axis=1, dtype=wide.dtype)[flip].astype(x.dtype)
    with tanx.enable_x64(True):
        got = np.asarray(tanx.jit(lambda x: getattr(lax, name)(x, 1, reverse=reverse))(x))
    assert got.dtype == x.dtype
    if name == "cumsum" and x.dtype.kind not in "iu":
        error = {"float32": 1e-3, "float64": 1e-11}.get(dtype, 32.0)
        np.testing.assert_allclose(got.astype(float), expected.astype(float), atol=error)
    else:
        np.testing.assert_array_equal(got.astype(wide.dtype), expected.astype(wide.dtype))


@pytest.mark.parametrize("length", [32, 33, 47, 64, 100, 5000, 300_001])
def test_any_length(length):
    x = values(length, "int32")
    np.testing.assert_array_equal(tanx.jit(jnp.cumsum)(x), np.cumsum(x, dtype=np.int32))
    x = values(length)
    np.testing.assert_array_equal(tanx.jit(lax.cummax)(x), np.maximum.accumulate(x))


@pytest.mark.parametrize("shape", [1 << 21, (64, 1 << 15)])
def test_errors_do_not_grow_with_the_length(shape):
    x = np.random.default_rng(0).random(shape, np.float32) + np.float32(0.1)
    exact = np.cumsum(x.astype(np.float64), -1)
    np.testing.assert_allclose(tanx.jit(lambda x: jnp.cumsum(x, -1))(x), exact, rtol=3e-7)


def test_functions_of_running_sums():
    x = values((6, 1000))
    exact = np.cumsum(x.astype(np.float64) * 2, 1)
    got = tanx.jit(lambda x: jnp.cumsum(x * 2, 1) * 0.5 + x)(x)
    np.testing.assert_allclose(got, exact * 0.5 + x, rtol=1e-5, atol=1e-2)
    total, last = tanx.jit(lambda x: (jnp.cumsum(x * 2, 1), jnp.cumsum(x * 2, 1)[:, -1]))(x)
    np.testing.assert_array_equal(total[:, -1], last)


def test_memory_that_is_overwritten():
    x = values((6, 1000))
    expected = np.maximum.accumulate(x, 1)
    given = jnp.asarray(x)
    run = tanx.jit(lambda x: lax.cummax(x, 1), donate_argnums=0)
    np.testing.assert_array_equal(run(given), expected)
    gradient = tanx.jit(tanx.grad(lambda x: (jnp.cumsum(x, 1) ** 2).sum()))(x)
    twice = 2 * np.cumsum(x.astype(float), 1)
    np.testing.assert_allclose(gradient, np.cumsum(twice[:, ::-1], 1)[:, ::-1], rtol=1e-4,
                               atol=1)


def test_nan_and_infinity_propagate_along_the_scan():
    x = values((3, 200))
    x[1, 70] = np.nan
    x[2, 70] = np.inf
    for function in (jnp.cumsum, lax.cummax):
        got = np.asarray(tanx.jit(lambda x, f=function: f(x, 1))(x))
        assert np.isfinite(got[0]).all() and np.isfinite(got[1:, :70]).all()
        assert np.isnan(got[1, 70:]).all() and np.isposinf(got[2, 70:]).all()


def test_the_first_zero_keeps_its_sign():
    x = np.full((2, 100), -0.0, np.float32)
    assert np.signbit(tanx.jit(lambda x: jnp.cumsum(x, 1))(x)).all()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "int64"])
@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("shape", [(9, 70), (30, 131), (3, 11, 40), (8, 2000)])
def test_columns(shape, name, dtype, reverse):
    """Blocks of rows and the remaining rows; whole vectors and the remaining columns."""
    x = values(shape).astype(np.dtype(dtype))
    axis = len(shape) - 2
    wide = x.astype(np.float64) if x.dtype.kind in "fV" else x
    flipped = np.flip(wide, axis) if reverse else wide
    expected = SCANS[name].accumulate(flipped, axis=axis, dtype=wide.dtype)
    expected = (np.flip(expected, axis) if reverse else expected).astype(x.dtype)
    with tanx.enable_x64(True):
        got = np.asarray(tanx.jit(lambda x: getattr(lax, name)(x, axis, reverse=reverse))(x))
    if name == "cumsum" and x.dtype.kind not in "iu":
        error = {"float32": 1e-3, "float64": 1e-11}.get(dtype, 32.0)
        np.testing.assert_allclose(got.astype(float), expected.astype(float), atol=error)
    else:
        np.testing.assert_array_equal(got.astype(wide.dtype), expected.astype(wide.dtype))


def test_long_columns_are_as_exact_as_rows():
    x = np.random.default_rng(0).random((1 << 15, 64), np.float32) + np.float32(0.1)
    exact = np.cumsum(x.astype(np.float64), 0)
    np.testing.assert_allclose(tanx.jit(lambda x: jnp.cumsum(x, 0))(x), exact, rtol=3e-7)


@pytest.mark.parametrize("length", [32, 47, 100, 5000])
def test_reverse_scans_of_several_arrays(length):
    """Lanes keep the order of memory only if all accesses do."""
    x, y = values((3, length), "int32"), values((3, length), "int32", seed=1)
    expected = np.cumsum((x + y[:, :1])[:, ::-1], axis=1, dtype=np.int32)
    both = tanx.jit(lambda x, y: lax.cumsum(x + y[:, :1], 1, reverse=True) * 2 + y)
    np.testing.assert_array_equal(both(x, y), expected[:, ::-1] * 2 + y)
    turned = tanx.jit(lambda x, y: lax.cumsum(x + y[:, :1], 1, reverse=True)[:, ::-1] + y)
    np.testing.assert_array_equal(turned(x, y), expected + y)
