"""NumPy implementations of instructions that NumPy itself does not have.

Floats of 16 bits and fewer are computed in float32 and rounded, integers of fewer than 8 bits in 8
and wrapped. Accuracy is NumPy's and SciPy's; edge values are as ``instructions.py`` states.
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

from .kinds import kind_of, value_range, width

__all__ = ["atan2", "complex_of", "convert", "div", "dot2", "dot4", "dot4u", "greatest",
           "high_product", "integer_power", "leading_zeros", "least", "lgamma", "population_count",
           "power", "reduce_precision", "rem", "round_away", "shift_left", "shift_right_arithmetic",
           "shift_right_logical", "sign", "special", "total_order", "widened"]


def widened(x: np.ndarray) -> np.ndarray:
    """Narrow floats as float32, integers of fewer than 8 bits as 8."""
    kind = kind_of(x.dtype)
    if kind == "f" and x.dtype.itemsize < 4:
        return x.astype(np.float32)
    if kind in "iu" and width(x.dtype) < 8:
        return x.astype(np.int8 if kind == "i" else np.uint8)
    return x


def special(name: str) -> Callable:
    """A function of scipy.special, imported when first needed."""
    def call(*args):
        import scipy.special
        return getattr(scipy.special, name)(*args)
    return call


# -- division, powers, order -----------------------------------------------------------------------


def div(a, b):
    """Quotients; of integers towards zero."""
    if kind_of(a.dtype) in "fc":
        return a / b
    safe = np.where(b == 0, b.dtype.type(1), b)
    floor = a // safe
    towards_zero = floor + ((floor * safe != a) & ((a < 0) != (b < 0)))
    return np.where(b == 0, ~np.zeros_like(a), towards_zero)


def rem(a, b):
    """Remainders with the sign of the dividend."""
    if kind_of(a.dtype) == "f":
        return np.fmod(a, b)
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))


def power(a, b):
    """Powers in the dtype of the base."""
    return np.power(a, b.astype(a.dtype))


def integer_power(x, *, y):
    """Powers by an integer, by repeated squaring."""
    result, square, n = np.ones_like(x), x, abs(y)
    while n:
        result = result * square if n % 2 else result
        square, n = square * square, n // 2
    return result if y >= 0 else 1 / result


def _extreme(ufunc, after: Callable):
    """``max`` or ``min``; complex numbers are ordered by real part, then imaginary part."""
    def call(a, b):
        if kind_of(a.dtype) != "c":
            return ufunc(a, b)
        first = after(a.real, b.real) | ((a.real == b.real) & after(a.imag, b.imag))
        return np.where(first, a, b)
    return call


greatest = _extreme(np.maximum, np.greater)
least = _extreme(np.minimum, np.less)


def total_order(x):
    """Integers that are ordered as floats are in the total order."""
    unused = 8 * x.dtype.itemsize - ml_dtypes.finfo(x.dtype).bits  # of floats of 4 or 6 bits
    bits = x.view(f"i{x.dtype.itemsize}") << unused
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def sign(x):
    """The sign, also that of zeros and NaN; of complex numbers the direction."""
    if kind_of(x.dtype) != "c":
        return np.where(x == 0, x, np.sign(x))
    size = np.abs(x)
    return np.where(x == 0, x, complex_of(x.real / size, x.imag / size))


# -- bits ------------------------------------------------------------------------------------------


def _unsigned(x, bits):
    """The bits of an integer as a number of 64 bits."""
    return x.astype(np.uint64) & np.uint64((1 << bits) - 1)


def shift_left(x, by, *, bits):
    """Shifts that are 0 past the width."""
    inside = (by >= 0) & (by < bits)
    return np.where(inside, x << np.where(inside, by, by.dtype.type(0)), x.dtype.type(0))


def shift_right_logical(x, by, *, bits):
    """Shifts that insert zeros."""
    inside = (by >= 0) & (by < bits)
    shifted = _unsigned(x, bits) >> np.where(inside, by, 0).astype(np.uint64)
    return np.where(inside, shifted, np.uint64(0))


def shift_right_arithmetic(x, by, *, bits):
    """Shifts that insert copies of the sign."""
    signed = x.astype(f"i{x.dtype.itemsize}")
    if width(x.dtype) > bits and kind_of(x.dtype) == "u":
        signed = np.where(signed >> (bits - 1), signed - (1 << bits), signed)
    inside = (by >= 0) & (by < bits)
    return signed >> np.where(inside, by, by.dtype.type(bits - 1)).astype(signed.dtype)


def high_product(a, b, *, bits):
    """The upper half of products."""
    return (a.astype(object) * b.astype(object)) >> bits


def population_count(x, *, bits):
    """How many bits are set."""
    return np.bitwise_count(_unsigned(x, bits))


def leading_zeros(x, *, bits):
    """How many leading bits are not set."""
    rest, length = _unsigned(x, bits), np.zeros(x.shape, np.uint64)
    for step in map(np.uint64, (32, 16, 8, 4, 2, 1)):
        long = (rest >> step) > 0
        length, rest = length + long * step, np.where(long, rest >> step, rest)
    return bits - (length + rest)


# -- rounding and conversion -----------------------------------------------------------------------


def round_away(x):
    """The nearest integers, halves away from zero."""
    whole = np.trunc(x)
    return np.copysign(np.abs(whole) + (np.abs(x - whole) >= 0.5), x)


def reduce_precision(x, *, exponent_bits, mantissa_bits):
    """Floats rounded to fewer bits."""
    source, wide = ml_dtypes.finfo(x.dtype), widened(x)
    dropped = ml_dtypes.finfo(wide.dtype).nmant - mantissa_bits
    if dropped > 0:
        bits = wide.view(f"u{wide.dtype.itemsize}")
        one = bits.dtype.type(1)
        half = (one << (dropped - 1)) - one + ((bits >> dropped) & one)
        rounded = ((bits + half) & ~((one << dropped) - one)).view(wide.dtype)
        wide = np.where(np.isfinite(wide), rounded, wide)
    if exponent_bits < source.nexp:
        bias = (1 << exponent_bits - 1) - 1
        wide = np.where(np.abs(wide) >= 2.0 ** (bias + 1), np.copysign(np.inf, wide), wide)
        wide = np.where(np.abs(wide) < 2.0 ** (1 - bias), np.copysign(0, wide), wide)
    return wide.astype(x.dtype)


def convert(x, *, dtype):
    """Numbers as another dtype."""
    source, target = kind_of(x.dtype), kind_of(dtype)
    if source == "c" and target != "c":
        x, source = x.real, "f"
    if target == "b":
        return x != x.dtype.type(0)
    if source != "f" or target not in "iu":
        return x.astype(dtype)
    low, high = value_range(dtype)
    whole = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0))
    # 2**63 - 1 is not a float64, so numbers that are too large are found before the cast.
    inside = (whole >= low) & (whole < high + 1)
    wide = np.int64 if target == "i" else np.uint64
    cast = np.where(inside, whole, 0).astype(wide)
    return np.where(inside, cast, np.where(whole > 0, wide(high), wide(low))).astype(dtype)


# -- complex numbers and special functions ---------------------------------------------------------


def complex_of(real, imag):
    """Complex numbers of their parts."""
    real, imag = np.broadcast_arrays(real, imag)
    result = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    result.real, result.imag = real, imag
    return result


def atan2(y, x):
    """Angles of points."""
    if kind_of(x.dtype) != "c":
        return np.arctan2(y, x)
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def lgamma(x):
    """Logarithms of the gamma function."""
    return np.where(np.isinf(x), np.inf, special("gammaln")(x))


def dot4(a: np.ndarray, b: np.ndarray, first: type = np.int8) -> np.ndarray:
    """The sum of the products of bytes; of 32 bits, which wrap."""
    shifts = np.arange(0, 32, 8, dtype=np.int32)
    x, y = ((np.asarray(v).astype(np.int32)[..., None] >> shifts).astype(byte).astype(np.int32)
            for v, byte in ((a, first), (b, np.int8)))
    return (x * y).sum(-1, dtype=np.int32)


def dot2(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of the products of both halves, which are numbers of bfloat16."""
    first, second = ([np.asarray(part, np.int32).view(np.float32) for part in (v << 16, v & -65536)]
                     for v in map(np.asarray, (a, b)))
    return first[0] * second[0] + first[1] * second[1]


def dot4u(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """As :func:`dot4`; the bytes of the first operand have no signs."""
    return dot4(a, b, np.uint8)
