"""Functions that StableHLO lacks, written with functions that it has.

Each takes expressions of loop nests and returns one, so that the interpreter of loop nests can
check it. Hyperbolic and inverse functions are computed in the dtype of the operand, complex ones by
Kahan's formulas, which have the branch cuts right (*Branch Cuts for Complex Elementary Functions*,
1987). ``gamma.py`` has the functions around the gamma function.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi

import numpy as np

from ..._loops.build import const, convert, eq, ne, op, select
from ..._loops.expr import Expr
from ..._loops.instructions import kind_of
from ...dtypes import finfo
from . import gamma

__all__ = ["EXPANDED"]

LN2 = log(2)


def _fn(name: str) -> Callable[..., Expr]:
    return lambda *args: op(name, *args)


_abs, _sqrt, _log, _log1p, _exp, _expm1 = map(_fn, ("abs", "sqrt", "log", "log1p", "exp", "expm1"))
_real, _imag, _conj, _complex = map(_fn, ("real", "imag", "conj", "complex"))
_sin, _cos, _atan2 = map(_fn, ("sin", "cos", "atan2"))


def _is_complex(x: Expr) -> bool:
    return kind_of(x.dtype) == "c"


def _widened(function: Callable[..., Expr]) -> Callable[..., Expr]:
    """The function, with narrow floats computed in float32, in which steps lose less."""
    def wide(*args: Expr, **attrs) -> Expr:
        dtype = args[0].dtype
        if dtype.itemsize >= 4:
            return function(*args, **attrs)
        single = np.dtype(np.float32)
        return convert(function(*(convert(x, single) for x in args), **attrs), dtype)
    return wide


# -- powers ----------------------------------------------------------------------------------------


def _square(x: Expr) -> Expr:
    return x * x


def _one_minus_square(x: Expr) -> Expr:
    one = const(1, x.dtype)
    return (one - x) * (one + x)


def _integer_pow(x: Expr, y: int) -> Expr:
    """Products of squares."""
    result, square, n = None, x, abs(y)
    while n:
        if n % 2:
            result = square if result is None else result * square
        n //= 2
        square = square * square if n else square
    one = const(1, x.dtype)
    if result is None:
        return one
    return op("div", one, result) if y < 0 else result


def _exp2(x: Expr) -> Expr:
    return _exp(x * LN2) if _is_complex(x) else op("pow", const(2, x.dtype), x)


def _log2(x: Expr) -> Expr:
    return op("div", _log(x), const(LN2, x.dtype))


# -- hyperbolic functions --------------------------------------------------------------------------


def _signed(size: Expr, x: Expr) -> Expr:
    """A number with the sign of another one, also for zeros."""
    bits = np.dtype(f"uint{8 * x.dtype.itemsize}")
    top = const(1 << 8 * x.dtype.itemsize - 1, bits)
    joined = (op("bitcast", size, dtype=bits) & ~top) | (op("bitcast", x, dtype=bits) & top)
    return op("bitcast", joined, dtype=x.dtype)


def _sinh(x: Expr) -> Expr:
    """Half of e^x - e^-x, from e^x - 1 if these are close, without early overflow."""
    if _is_complex(x):
        a, b = _real(x), _imag(x)
        return _complex(_sinh(a) * _cos(b), _cosh(a) * _sin(b))
    size = _abs(x)
    less = _expm1(size)
    small = (less + less / (less + 1)) / 2
    return _signed(select(size < 1, small, _exp(size - LN2) - _exp(-size - LN2)), x)


def _cosh(x: Expr) -> Expr:
    if _is_complex(x):
        a, b = _real(x), _imag(x)
        return _complex(_cosh(a) * _cos(b), _sinh(a) * _sin(b))
    return _exp(x - LN2) + _exp(-x - LN2)


def _asinh(x: Expr) -> Expr:
    if _is_complex(x):
        return _turned_back(_asin(_turned(x)))
    size = _abs(x)
    great = 1 / float(finfo(x.dtype).eps)
    square = size * size
    near = _log1p(size + square / (_sqrt(square + 1) + 1))
    return _signed(select(size > great, _log(size) + LN2, near), x)


def _acosh(x: Expr) -> Expr:
    if _is_complex(x):
        below, above = _sqrt(x - 1), _sqrt(x + 1)
        return _complex(_asinh(_real(_conj(below) * above)), 2 * _atan2(_imag(below), _real(above)))
    great = 1 / float(finfo(x.dtype).eps)
    t = x - 1
    return select(x > great, _log(x) + LN2, _log1p(t + _sqrt(t * (t + 2))))


def _atanh(x: Expr) -> Expr:
    if not _is_complex(x):
        return _log1p(2 * x / (1 - x)) / 2
    a, b = _real(x), _imag(x)
    size = b * b
    real = _log1p(4 * a / ((1 - a) * (1 - a) + size)) / 4
    return _complex(real, _atan2(2 * b, (1 - a) * (1 + a) - size) / 2)


# -- inverse trigonometric functions ---------------------------------------------------------------


def _turned(x: Expr) -> Expr:
    """i times a complex number."""
    return _complex(-_imag(x), _real(x))


def _turned_back(x: Expr) -> Expr:
    """-i times a complex number."""
    return _complex(_imag(x), -_real(x))


def _roots(x: Expr) -> tuple[Expr, Expr]:
    """The roots of 1 - x and 1 + x; a zero as imaginary part keeps its sign."""
    a, b = _real(x), _imag(x)
    return _sqrt(_complex(1 - a, -b)), _sqrt(_complex(1 + a, b))


def _asin(x: Expr) -> Expr:
    if not _is_complex(x):
        return 2 * _atan2(x, _sqrt((1 - x) * (1 + x)) + 1)
    below, above = _roots(x)
    return _complex(_atan2(_real(x), _real(below * above)), _asinh(_imag(_conj(below) * above)))


def _acos(x: Expr) -> Expr:
    if not _is_complex(x):
        at_minus_one = eq(x, const(-1, x.dtype))
        return select(at_minus_one, pi, 2 * _atan2(_sqrt((1 - x) * (1 + x)), 1 + x))
    below, above = _roots(x)
    return _complex(2 * _atan2(_real(below), _real(above)), _asinh(_imag(_conj(above) * below)))


def _atan(x: Expr) -> Expr:
    if _is_complex(x):
        return _turned_back(_atanh(_turned(x)))
    return _atan2(x, const(1, x.dtype))


# -- bits ------------------------------------------------------------------------------------------


def _nextafter(x: Expr, y: Expr) -> Expr:
    """The neighbour of a number: its bits as an integer, one up or one down."""
    bits = np.dtype(f"int{8 * x.dtype.itemsize}")
    least = op("bitcast", const(1, bits), dtype=x.dtype)
    zero, number = const(0, x.dtype), op("bitcast", x, dtype=bits)
    outwards = eq(x < y, x > 0)
    step = select(outwards, const(1, bits), const(-1, bits))
    moved = op("bitcast", number + step, dtype=x.dtype)
    moved = select(eq(x, zero), select(y > 0, least, op("neg", least)), moved)
    return select(ne(x, x) | ne(y, y), x + y, select(eq(x, y), y, moved))


EXPANDED: dict[str, Callable[..., Expr]] = {
    "square": _square, "one_minus_square": _one_minus_square, "integer_pow": _integer_pow,
    "nextafter": _nextafter, "muladd": lambda a, b, c: a * b + c,
    **{name: _widened(function) for name, function in {
        "exp2": _exp2, "log2": _log2, "sinh": _sinh, "cosh": _cosh, "asinh": _asinh,
        "acosh": _acosh, "atanh": _atanh, "asin": _asin, "acos": _acos, "atan": _atan}.items()},
    **gamma.FUNCTIONS,
}
"""By name of the instruction."""
