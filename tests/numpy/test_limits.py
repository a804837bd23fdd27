"""Numbers at the limits of their dtypes, and similar cases: JAX's results."""

import re

import numpy as np
import pytest

import tanx

DTYPES = {"b1": "bool", "i8": "int8", "i32": "int32", "u8": "uint8", "u32": "uint32",
          "f16": "float16", "f32": "float32"}

# ``f32(1, 2)`` is a vector, ``f32(1)`` a scalar, ``f32()`` an empty vector.
TABLES = {
    "whole numbers wrap around": """
    i8(127, -128) + i8(1, -1) -> i8(-128, 127)
    i8(100, -128) * i8(2, -1) -> i8(-56, -128)
    -i8(-128, 127) -> i8(-128, -127)
    abs(i8(-128, 127)) -> i8(-128, 127)
    u8(1, 255) - u8(2, 255) -> u8(255, 0)
    -u8(1, 0) -> u8(255, 0)
    i32(2 ** 31 - 1) + 1 -> i32(-2147483648)
    i32(3, 2) ** i32(25, 31) -> i32(1180052131, -2147483648)
    i32(2, 0, 1, -1) ** i32(-1, -1, -1, -1) -> i32(0, 0, 1, -1)
    jnp.sum(i8(127, 127)) -> i32(254)
    jnp.sum(i8(127, 127), dtype='int8') -> i8(-2)
    jnp.prod(i32(2 ** 16, 2 ** 16)) -> i32(0)
    jnp.cumsum(i8(127, 1, 1)) -> i8(127, -128, -127)
    jnp.cumprod(u8(100, 3)) -> u8(100, 44)
    jnp.dot(i8(100, 100), i8(100, 100)) -> i8(32)
    lax.reduce_sum(i8(127, 127), (0,)) -> i8(-2)
    jnp.mean(i32(2 ** 31 - 1, 2 ** 31 - 1)) -> f32(2147483648)
    """,
    "division": """
    i32(5, -5, 0) // 0 -> i32(-2, -2, -1)
    i32(5, -5, 0) % 0 -> i32(0, 0, 0)
    lax.div(i32(5, -5, 0), i32(0, 0, 0)) -> i32(-1, -1, -1)
    lax.rem(i32(5, -5, 0), i32(0, 0, 0)) -> i32(5, -5, 0)
    lax.div(u8(5, 0), u8(0, 0)) -> u8(255, 255)
    lax.rem(u8(5, 0), u8(0, 0)) -> u8(5, 0)
    lax.div(i32(-2 ** 31), i32(-1)) -> i32(-2147483648)
    lax.rem(i32(-2 ** 31), i32(-1)) -> i32(0)
    i8(-128) // i8(-1) -> i8(-128)
    i32(7, -7, 7, -7) // i32(2, 2, -2, -2) -> i32(3, -4, -4, 3)
    i32(7, -7, 7, -7) % i32(2, 2, -2, -2) -> i32(1, 1, -1, -1)
    jnp.fmod(i32(7, -7, 7, -7), i32(2, 2, -2, -2)) -> i32(1, -1, 1, -1)
    """,
    "shifts": """
    i32(1, -1, 1, -1) << i32(31, 31, 32, 33) -> i32(-2147483648, -2147483648, 0, 0)
    i32(1, -8, 1, -8) >> i32(31, 1, 32, 33) -> i32(0, -4, 0, -1)
    u8(200, 200, 200) >> u8(1, 8, 9) -> u8(100, 0, 0)
    i32(1, 1) << i32(-1, -32) -> i32(0, 0)
    i32(-1, 1) >> i32(-1, -1) -> i32(-1, 0)
    lax.shift_right_logical(i32(-8, -8), i32(1, 32)) -> i32(2147483644, 0)
    lax.shift_right_logical(i8(-8, -8), i8(1, 9)) -> i8(124, 0)
    """,
    "conversions": """
    f32(nan, inf, -inf).astype('int32') -> i32(0, 2147483647, -2147483648)
    f32(3e9, -3e9, 2.9, -2.9).astype('int32') -> i32(2147483647, -2147483648, 2, -2)
    f32(nan, inf, -inf).astype('uint32') -> u32(0, 4294967295, 0)
    f32(3e9, -3e9, 2.9, -2.9).astype('uint32') -> u32(3000000000, 0, 2, 0)
    f32(nan, inf, -inf, 300, -300, 2.9, -2.9).astype('int8') -> i8(0, 127, -128, 127, -128, 2, -2)
    f32(nan, inf, -inf, 300, -300, 2.9, -2.9).astype('uint8') -> u8(0, 255, 0, 255, 0, 2, 0)
    f32(nan, 0, -0.0, 0.5, inf).astype('bool') -> b1(True, False, False, True, True)
    i32(300, -1, 128).astype('int8') -> i8(44, -1, -128)
    i32(300, -1, 256).astype('uint8') -> u8(44, 255, 0)
    i32(300, -1, 256, 0).astype('bool') -> b1(True, True, True, False)
    f32(1e30, 65520.0, 1e-30).astype('float16') -> f16(inf, inf, 0)
    i32(2 ** 24 + 1, 2 ** 31 - 1).astype('float32') -> f32(16777216, 2147483648)
    """,
    "rounding": """
    jnp.round(f32(0.5, 1.5, 2.5, -0.5, -1.5, -2.5)) -> f32(0, 2, 2, -0.0, -2, -2)
    lax.round(f32(0.5, 1.5, 2.5, -0.5), method.AWAY_FROM_ZERO) -> f32(1, 2, 3, -1)
    lax.round(f32(0.5, 1.5, 2.5, -0.5), method.TO_NEAREST_EVEN) -> f32(0, 2, 2, -0.0)
    jnp.rint(f32(0.5, 1.5, 2.5)) -> f32(0, 2, 2)
    """,
    "order, ties and NaN": """
    jnp.argsort(i32(2, 1, 2, 1)) -> i32(1, 3, 0, 2)
    jnp.argsort(i32(2, 1, 2, 1), descending=True) -> i32(0, 2, 1, 3)
    jnp.argsort(f32(nan, 1, inf, nan)) -> i32(1, 2, 0, 3)
    jnp.argsort(f32(0, -0.0, 0)) -> i32(0, 1, 2)
    jnp.sort(f32(nan, 1, -nan, -inf)) -> f32(-inf, 1, nan, nan)
    jnp.argmax(f32(1, nan, 3, nan)) -> i32(1)
    jnp.argmin(i32(2, 1, 1)) -> i32(1)
    jnp.argmax(i32(2, 3, 3)) -> i32(1)
    lax.top_k(i32(1, 3, 3, 2), 2)[1] -> i32(1, 2)
    lax.top_k(f32(1.0, nan, 3.0), 2)[0] -> f32(nan, 3)
    jnp.unique(f32(nan, 1, nan)) -> f32(1, nan)
    jnp.searchsorted(i32(1, 2, 2, 3), i32(2, 0, 4)) -> i32(1, 0, 4)
    jnp.searchsorted(f32(1, 2, nan), f32(nan, 9.0)) -> i32(2, 2)
    jnp.searchsorted(f32(1, nan, 2, 3), f32(0, 1.5, 2.5, 9, nan)) -> i32(0, 1, 3, 4, 4)
    jnp.searchsorted(f32(nan, 1, 2, 3), f32(0, 1.5, 2.5, 9, nan)) -> i32(0, 2, 3, 4, 4)
    jnp.searchsorted(f32(5, 1, 4, 2, 3, 0, 7), f32(0, 1.5, 2.5, 9)) -> i32(0, 2, 6, 7)
    jnp.digitize(f32(0, 1.5, 2.5, 9, nan), f32(3, 2, nan, 1)) -> i32(4, 3, 1, 0, 0)
    jnp.digitize(f32(0, 1.5, 2.5, 9, nan), f32(1, 2, 3, nan), right=True) -> i32(4, 4, 0, 0, 0)
    jnp.maximum(f32(nan, 1, 0, -0.0), f32(1, nan, -0.0, 0)) -> f32(nan, nan, 0, 0)
    jnp.minimum(f32(nan, 1, 0, -0.0), f32(1, nan, -0.0, 0)) -> f32(nan, nan, -0.0, -0.0)
    jnp.max(f32(-0.0, 0, -0.0)) -> f32(0)
    jnp.min(f32(-0.0, 0, -0.0)) -> f32(-0.0)
    jnp.fmax(f32(nan, 1, nan), f32(1, nan, nan)) -> f32(1, 1, nan)
    jnp.sign(f32(nan, -0.0, 0, -2)) -> f32(nan, -0.0, 0, -1)
    """,
    "indices outside": """
    jnp.arange(6)[i32(-7, -1, 5, 6, 99)] -> i32(0, 5, 5, 5, 5)
    jnp.arange(6).at[i32(-7, -1, 6)].set(9) -> i32(0, 1, 2, 3, 4, 9)
    jnp.arange(6).at[i32(-7, -1, 6)].get(mode='fill', fill_value=-1) -> i32(-1, 5, -1)
    jnp.take(jnp.arange(6), i32(-7, -1, 6)) -> i32(-2147483648, 5, -2147483648)
    jnp.take(jnp.arange(6.0), i32(-7, -1, 6)) -> f32(nan, 5, nan)
    jnp.take(jnp.arange(6), i32(-7, -1, 6), mode='wrap') -> i32(5, 5, 0)
    jnp.take(jnp.arange(6), i32(-7, -1, 6), mode='clip') -> i32(0, 0, 5)
    lax.dynamic_slice(jnp.arange(6), (i32(5),), (3,)) -> i32(3, 4, 5)
    lax.dynamic_update_slice(jnp.arange(6), i32(9, 9), (i32(5),)) -> i32(0, 1, 2, 3, 9, 9)
    """,
    "more": """
    lax.clz(i32(0, 1, -1)) -> i32(32, 31, 0)
    lax.population_count(i8(0, -1)) -> i8(0, 8)
    jnp.gcd(i32(0, 12, -12), i32(0, 18, 18)) -> i32(0, 6, 6)
    jnp.lcm(i32(0, 4, -4), i32(5, 6, 6)) -> i32(0, 12, 12)
    jnp.left_shift(i8(1), 7) -> i8(-128)
    jnp.bincount(i32(-1, 0, 5), length=3) -> i32(2, 0, 0)
    jnp.logspace(0, 1, 2) -> f32(1, 10)
    jnp.max(f32(), initial=-inf) -> f32(-inf)
    jnp.sum(i8()) -> i32(0)
    jnp.prod(f32()) -> f32(1)
    jnp.mean(f32()) -> f32(nan)
    jnp.isclose(f32(inf, nan, inf), f32(inf, nan, -inf)) -> b1(True, False, False)
    jnp.frexp(f32(0, inf, -8))[1] -> i32(0, 0, 4)
    jnp.signbit(f32(-0.0, 0, -nan)) -> b1(True, False, True)
    jnp.heaviside(f32(-1, 0, nan), 0.5) -> f32(0, 0.5, nan)
    jnp.copysign(f32(1, 1), f32(-0.0, 0)) -> f32(-1, 1)
    jnp.exp(f32(-inf, 88.8, -104)) -> f32(0, inf, 0)
    jnp.log(f32(0, -0.0, -1)) -> f32(-inf, -inf, nan)
    jnp.sqrt(f32(-0.0, -1, inf)) -> f32(-0.0, nan, inf)
    jnp.arctan2(f32(0, -0.0, 0, -0.0), f32(0, 0, -0.0, -0.0)) -> f32(0, -0.0, 3.141593, -3.141593)
    jnp.nan_to_num(f16(nan, inf, -inf)) -> f16(0, 65504, -65504)
    """,
}
ROWS = {subject: [line.strip().split(" -> ") for line in table.strip().splitlines()]
        for subject, table in TABLES.items()}


def array(dtype: str, *numbers) -> np.ndarray:
    return np.array(numbers[0] if len(numbers) == 1 else numbers, DTYPES[dtype])


def evaluate(jax, text: str, operand):
    """The value of ``text``; ``operand(dtype, *numbers)`` makes the arrays in it."""
    names = {"jnp": jax.numpy, "lax": jax.lax, "inf": np.inf, "nan": np.nan,
             "method": jax.lax.RoundingMethod}
    arrays = {name: lambda *numbers, name=name: operand(name, *numbers) for name in DTYPES}
    return eval(text, names | arrays)


def assert_same(got, want: np.ndarray, text: str) -> None:
    got = np.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape, text
    np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=text)
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]), text)


def check_eager(jax, subject: str) -> None:
    """Check all rows of a table, by ``jax`` or by tanx."""
    for text, result in ROWS[subject]:
        got = evaluate(jax, text, lambda *numbers: jax.numpy.asarray(array(*numbers)))
        assert_same(got, evaluate(jax, result, array), text)


@pytest.mark.parametrize("subject", ROWS)
def test_eager(subject):
    check_eager(tanx, subject)


@pytest.mark.parametrize("subject", ROWS)
def test_compiled(subject):
    """The arrays of all texts become arguments of one program."""
    rows = [(text, result) for text, result in ROWS[subject] if not re.search("unique", text)]
    operands = []

    def collect(*numbers):
        operands.append(tanx.numpy.asarray(array(*numbers)))
        return operands[-1]

    for text, _ in rows:
        evaluate(tanx, text, collect)

    def program(*arguments):
        rest = iter(arguments)
        return [evaluate(tanx, text, lambda *numbers: next(rest)) for text, _ in rows]

    compiled = tanx.jit(program)
    for got, (text, result) in zip([row for _ in range(4) for row in compiled(*operands)],
                                   4 * rows, strict=True):
        assert_same(got, evaluate(tanx, result, array), text)
