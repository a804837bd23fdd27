"""The NumPy meaning of each instruction, as the interpreter computes it.

Floats of 16 bits and fewer are computed in float32 and rounded, integers of fewer than 8 bits in 8
and wrapped. Accuracy is NumPy's and SciPy's; edge values are those that ``instructions.py`` states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import ml_dtypes
import numpy as np

from .instructions import kind_of, value_range, width

__all__ = ["apply"]


def apply(name: str, args: Sequence[np.ndarray], dtype: np.dtype,
          attrs: Mapping | None = None) -> np.ndarray:
    """One instruction on arrays that broadcast; the result has ``dtype``.

    >>> apply("div", [np.array([7, -7, 1]), np.array([2, 2, 0])], np.dtype("int64"))
    array([ 3, -3, -1])
    """
    attrs = attrs or {}
    with np.errstate(all="ignore"):
        if name in _ON_STORED_TYPES:
            return np.asarray(_ON_STORED_TYPES[name](*args, **attrs))
        if name in _NEEDS_WIDTH:
            attrs = {"bits": width(args[0].dtype)}
        result = _MEANING[name](*map(_widened, args), **attrs)
        return np.asarray(result).astype(dtype, copy=False)


def _widened(x: np.ndarray) -> np.ndarray:
    kind = kind_of(x.dtype)
    if kind == "f" and x.dtype.itemsize < 4:
        return x.astype(np.float32)
    if kind in "iu" and width(x.dtype) < 8:
        return x.astype(np.int8 if kind == "i" else np.uint8)
    return x


def _special(name: str) -> Callable:
    """A function of scipy.special, imported when first needed."""
    def call(*args):
        import scipy.special
        return getattr(scipy.special, name)(*args)
    return call


# -- division, powers, order -----------------------------------------------------------------------


def _div(a, b):
    if kind_of(a.dtype) in "fc":
        return a / b
    safe = np.where(b == 0, b.dtype.type(1), b)
    floor = a // safe
    towards_zero = floor + ((floor * safe != a) & ((a < 0) != (b < 0)))
    return np.where(b == 0, ~np.zeros_like(a), towards_zero)


def _rem(a, b):
    if kind_of(a.dtype) == "f":
        return np.fmod(a, b)
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))


def _pow(a, b):
    return np.power(a, b.astype(a.dtype))


def _integer_pow(x, *, y):
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


_max = _extreme(np.maximum, np.greater)
_min = _extreme(np.minimum, np.less)


def _total_order(x):
    """Integers that are ordered as floats are in the total order."""
    unused = 8 * x.dtype.itemsize - ml_dtypes.finfo(x.dtype).bits  # of floats of 4 or 6 bits
    bits = x.view(f"i{x.dtype.itemsize}") << unused
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _sign(x):
    if kind_of(x.dtype) != "c":
        return np.where(x == 0, x, np.sign(x))
    size = np.abs(x)
    return np.where(x == 0, x, _complex(x.real / size, x.imag / size))


# -- bits ------------------------------------------------------------------------------------------


def _unsigned(x, bits):
    """The bits of an integer as a number of 64 bits."""
    return x.astype(np.uint64) & np.uint64((1 << bits) - 1)


def _shift_left(x, by, *, bits):
    inside = (by >= 0) & (by < bits)
    return np.where(inside, x << np.where(inside, by, by.dtype.type(0)), x.dtype.type(0))


def _shift_right_logical(x, by, *, bits):
    inside = (by >= 0) & (by < bits)
    shifted = _unsigned(x, bits) >> np.where(inside, by, 0).astype(np.uint64)
    return np.where(inside, shifted, np.uint64(0))


def _shift_right_arithmetic(x, by, *, bits):
    signed = x.astype(f"i{x.dtype.itemsize}")
    if width(x.dtype) > bits and kind_of(x.dtype) == "u":
        signed = np.where(signed >> (bits - 1), signed - (1 << bits), signed)
    inside = (by >= 0) & (by < bits)
    return signed >> np.where(inside, by, by.dtype.type(bits - 1)).astype(signed.dtype)


def _mulhi(a, b, *, bits):
    return (a.astype(object) * b.astype(object)) >> bits


def _population_count(x, *, bits):
    return np.bitwise_count(_unsigned(x, bits))


def _clz(x, *, bits):
    rest, length = _unsigned(x, bits), np.zeros(x.shape, np.uint64)
    for step in map(np.uint64, (32, 16, 8, 4, 2, 1)):
        long = (rest >> step) > 0
        length, rest = length + long * step, np.where(long, rest >> step, rest)
    return bits - (length + rest)


# -- rounding and conversion -----------------------------------------------------------------------


def _round_away(x):
    whole = np.trunc(x)
    return np.copysign(np.abs(whole) + (np.abs(x - whole) >= 0.5), x)


def _reduce_precision(x, *, exponent_bits, mantissa_bits):
    source, wide = ml_dtypes.finfo(x.dtype), _widened(x)
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


def _convert(x, *, dtype):
    source, target = kind_of(x.dtype), kind_of(dtype)
    if source == "c" and target != "c":
        x, source = x.real, "f"
    if target == "b":
        return x != x.dtype.type(0)
    if source != "f" or target not in "iu":
        return x.astype(dtype)
    low, high = value_range(dtype)
    whole = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0))
    # 2**63 - 1 is no float64, so what is too great is found before the cast and not clipped by it.
    inside = (whole >= low) & (whole < high + 1)
    wide = np.int64 if target == "i" else np.uint64
    cast = np.where(inside, whole, 0).astype(wide)
    return np.where(inside, cast, np.where(whole > 0, wide(high), wide(low))).astype(dtype)


# -- complex numbers and special functions ---------------------------------------------------------


def _complex(real, imag):
    real, imag = np.broadcast_arrays(real, imag)
    result = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    result.real, result.imag = real, imag
    return result


def _atan2(y, x):
    if kind_of(x.dtype) != "c":
        return np.arctan2(y, x)
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def _lgamma(x):
    return np.where(np.isinf(x), np.inf, _special("gammaln")(x))


_ON_STORED_TYPES: dict[str, Callable] = {
    "convert": _convert,
    "bitcast": lambda x, dtype: x.view(dtype),
    "reduce_precision": _reduce_precision,
    "nextafter": np.nextafter,
    "eq_to": lambda a, b: _total_order(a) == _total_order(b),
    "lt_to": lambda a, b: _total_order(a) < _total_order(b),
    "le_to": lambda a, b: _total_order(a) <= _total_order(b),
}

def _dot4(a: np.ndarray, b: np.ndarray, first: type = np.int8) -> np.ndarray:
    """The sum of the products of bytes; of 32 bits, which wrap."""
    shifts = np.arange(0, 32, 8, dtype=np.int32)
    x, y = ((np.asarray(v).astype(np.int32)[..., None] >> shifts).astype(byte).astype(np.int32)
            for v, byte in ((a, first), (b, np.int8)))
    return (x * y).sum(-1, dtype=np.int32)


def _dot2(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of the products of both halves, which are numbers of bfloat16."""
    first, second = ([np.asarray(part, np.int32).view(np.float32) for part in (v << 16, v & -65536)]
                     for v in map(np.asarray, (a, b)))
    return first[0] * second[0] + first[1] * second[1]


def _dot4u(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _dot4(a, b, np.uint8)


_NEEDS_WIDTH = ("shift_left", "shift_right_logical", "shift_right_arithmetic", "mulhi",
                "population_count", "clz")

_MEANING: dict[str, Callable] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _div, "rem": _rem,
    "floor_div": np.floor_divide, "floor_mod": np.mod, "mulhi": _mulhi, "dot4": _dot4,
    "dot4u": _dot4u, "dot2": _dot2, "pow": _pow,
    "max": _max, "min": _min, "atan2": _atan2, "neg": np.negative, "square": np.square,
    "sign": _sign, "integer_pow": _integer_pow, "abs": np.abs,
    "shift_left": _shift_left, "shift_right_logical": _shift_right_logical,
    "shift_right_arithmetic": _shift_right_arithmetic,
    "population_count": _population_count, "clz": _clz,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "one_minus_square": lambda x: (1 - x) * (1 + x), "cbrt": np.cbrt,
    "erf": _special("erf"), "erfc": _special("erfc"), "erf_inv": _special("erfinv"),
    "lgamma": _lgamma, "digamma": _special("psi"), "bessel_i0e": _special("i0e"),
    "bessel_i1e": _special("i1e"), "igamma": _special("gammainc"),
    "igammac": _special("gammaincc"), "polygamma": _special("polygamma"),
    "zeta": _special("zeta"), "betainc": _special("betainc"),
    "floor": np.floor, "ceil": np.ceil, "round_away": _round_away, "round_even": np.rint,
    "is_finite": np.isfinite, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "clamp": lambda low, x, high: _min(_max(x, low), high),
    "real": np.real, "imag": np.imag, "conj": np.conj, "complex": _complex,
}
