"""The instructions of loop nests: one row each with arity, accepted types, result type, meaning.

An instruction makes one scalar from scalars of stated dtypes; it never promotes. To add one, add a
row here and its NumPy meaning in ``numerics.py``; the code generator then has to know it as well.

Meanings are those of XLA. Integers wrap around. What a row says about "numbers" holds for each of
the accepted kinds of dtype: ``b`` bool, ``i`` signed, ``u`` unsigned, ``f`` float, ``c`` complex.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np

__all__ = ["BOOL", "INDEX", "INSTRUCTIONS", "Instruction", "REDUCERS", "identity", "kind_of",
           "result_dtype", "short_name", "value_range", "width"]

BOOL = np.dtype(np.bool_)
INDEX = np.dtype(np.int64)

REDUCERS = ("add", "mul", "max", "min", "and", "or", "xor")
"""Associative and commutative instructions: reductions and colliding stores combine by them."""

_REAL_OF = {np.dtype(np.complex64): np.dtype(np.float32),
            np.dtype(np.complex128): np.dtype(np.float64)}
_COMPLEX_OF = {real: cplx for cplx, real in _REAL_OF.items()}


@cache
def kind_of(dtype: np.dtype) -> str:
    """The kind of a dtype: one of ``b i u f c``, with the types of ml_dtypes among them.

    >>> kind_of(np.dtype("bfloat16")), kind_of(np.dtype("uint4"))
    ('f', 'u')
    """
    for prefix, kind in (("bool", "b"), ("int", "i"), ("uint", "u"), ("float", "f"),
                         ("bfloat", "f"), ("complex", "c")):
        if dtype.name.startswith(prefix):
            return kind
    raise TypeError(f"loop nests have no elements of dtype {dtype}.")


@cache
def short_name(dtype: np.dtype) -> str:
    """A dtype as jaxprs write it.

    >>> short_name(np.dtype("float32")), short_name(np.dtype("bool"))
    ('f32', 'bool')
    """
    for long, short in (("bfloat", "bf"), ("float", "f"), ("complex", "c"), ("uint", "u"),
                        ("int", "i")):
        if dtype.name.startswith(long):
            return short + dtype.name[len(long):]
    return dtype.name


@cache
def width(dtype: np.dtype) -> int:
    """Bits of one element; 4 for int4 although NumPy stores it in a byte."""
    digits = dtype.name.removeprefix("u").removeprefix("int")
    return int(digits) if kind_of(dtype) in "iu" else 8 * dtype.itemsize


@cache
def value_range(dtype: np.dtype) -> tuple[int, int]:
    """The least and the greatest value of an integer dtype (or bool, as 0 and 1)."""
    kind, bits = kind_of(dtype), width(dtype)
    if kind == "b":
        return 0, 1
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind == "i" else (0, (1 << bits) - 1)


def identity(reducer: str, dtype: np.dtype) -> complex | float | int | bool:
    """The value that a reducer ignores.

    >>> identity("max", np.dtype("int8")), identity("mul", np.dtype("float32"))
    (-128, 1)
    """
    kind = kind_of(dtype)
    if reducer in ("max", "min"):
        if kind == "c":
            raise TypeError(f"{reducer} of complex numbers has no identity; give an initial value.")
        if kind == "f":
            infinity = dtype.type(np.inf)
            bound = float(infinity if np.isinf(infinity) else ml_dtypes.finfo(dtype).max)
            return -bound if reducer == "max" else bound
        return value_range(dtype)[reducer == "min"]
    if reducer == "and":
        return True if kind == "b" else (-1 if kind == "i" else value_range(dtype)[1])
    return {"add": 0, "mul": 1, "or": 0, "xor": 0}[reducer]


@dataclass(frozen=True)
class Instruction:
    """One row of the table; ``result`` takes the operands' dtypes and the attributes."""

    name: str
    arity: int
    accepts: str
    result: Callable[..., np.dtype]
    meaning: str


def _same(name, dtypes, accepts):
    if len(set(dtypes)) > 1:
        raise TypeError(f"{name}: operands must have one dtype, got {_list(dtypes)}.")
    if kind_of(dtypes[0]) not in accepts:
        raise TypeError(f"{name}: {short_name(dtypes[0])} is not accepted (kinds: {accepts}).")
    return dtypes[0]


def _words(name, dtypes, accepts):
    if set(dtypes) != {np.dtype(np.int32)}:
        raise TypeError(f"{name}: operands must be int32, got {_list(dtypes)}.")
    return dtypes[0]


def _pairs(name, dtypes, accepts):
    _words(name, dtypes, accepts)
    return np.dtype(np.float32)


def _boolean(name, dtypes, accepts):
    _same(name, dtypes, accepts)
    return BOOL


def _real(name, dtypes, accepts):
    dtype = _same(name, dtypes, accepts)
    return _REAL_OF.get(dtype, dtype)


def _complex(name, dtypes, accepts):
    dtype = _same(name, dtypes, accepts)
    if dtype not in _COMPLEX_OF:
        raise TypeError(f"{name}: no complex numbers have parts of dtype {short_name(dtype)}.")
    return _COMPLEX_OF[dtype]


def _selected(name, dtypes, accepts):
    if dtypes[0] != BOOL:
        raise TypeError(f"{name}: the condition must be bool, got {short_name(dtypes[0])}.")
    return _same(name, dtypes[1:], accepts)


def _power(name, dtypes, accepts):
    base, exponent = dtypes
    return _same(name, (base,) if kind_of(exponent) in "iu" else dtypes, accepts)


def _raised(name, dtypes, accepts, *, y):
    return _same(name, dtypes, accepts)


def _rounded(name, dtypes, accepts, *, exponent_bits, mantissa_bits):
    return _same(name, dtypes, accepts)


def _converted(name, dtypes, accepts, *, dtype):
    kind_of(dtype)
    return dtype


def _reinterpreted(name, dtypes, accepts, *, dtype):
    if width(dtype) != width(dtypes[0]):
        raise TypeError(f"{name}: {short_name(dtypes[0])} and {short_name(dtype)} "
                        "differ in width; view the array instead.")
    return dtype


def _list(dtypes):
    return ", ".join(map(short_name, dtypes))


def _rows(accepts: str, result, arity: int, **meanings: str):
    """Rows that share kinds, rule and arity; a trailing ``_`` frees Python's keywords."""
    return [Instruction(name.rstrip("_"), arity, accepts, result, meaning)
            for name, meaning in meanings.items()]


INSTRUCTIONS: dict[str, Instruction] = {row.name: row for row in [
    *_rows("iufc", _same, 2,
           add="sum", sub="difference", mul="product",
           div="quotient; of integers towards zero, n/0 is -1 (all bits), least/-1 is least"),
    *_rows("iuf", _same, 2,
           rem="remainder with the sign of the dividend; of integers by 0, the dividend"),
    *_rows("iu", _same, 2,
           floor_div="quotient towards minus infinity; for indices, the divisor is positive",
           floor_mod="what floor_div leaves; for indices, the divisor is positive",
           mulhi="upper half of the product in twice the width",
           shift_left="0 when shifted by the width or more",
           shift_right_logical="zeros come in; 0 when shifted by the width or more",
           shift_right_arithmetic="copies of the sign come in, also past the width"),
    *_rows("i", _words, 2, dot4="sum of the products of four bytes, which have signs",
           dot4u="sum of the products of four bytes; those of the first have no signs"),
    *_rows("i", _pairs, 2, dot2="sum in float32 of the products of two numbers of bfloat16"),
    *_rows("biufc", _same, 2,
           max="the greater; NaN wins; complex by real part, then imaginary part",
           min="the lesser; NaN wins; complex by real part, then imaginary part"),
    *_rows("fc", _power, 2, pow="power; the exponent has the dtype of the base or an integer one"),
    *_rows("fc", _same, 2, atan2="angle of the point (second, first)"),
    *_rows("f", _same, 2,
           nextafter="the next number from the first towards the second",
           igamma="regularised lower incomplete gamma function of (a, x)",
           igammac="regularised upper incomplete gamma function of (a, x)",
           polygamma="derivative of order m of digamma, of (m, x)",
           zeta="Hurwitz zeta function of (x, q)"),
    *_rows("f", _same, 3, betainc="regularised incomplete beta function of (a, b, x)"),
    *_rows("iufc", _same, 1,
           neg="negative", square="x*x",
           sign="-1, 0 or 1; keeps -0.0 and NaN; x/|x| of complex numbers"),
    *_rows("iufc", _raised, 1, integer_pow="x to the power of the integer attribute y"),
    *_rows("ifc", _real, 1, abs="distance from zero, real also of complex numbers"),
    *_rows("fc", _same, 1,
           exp="e^x", exp2="2^x", expm1="e^x - 1", log="natural logarithm",
           log2="logarithm to base 2", log1p="log(1 + x)",
           sin="sine", cos="cosine", tan="tangent", asin="inverse sine", acos="inverse cosine",
           atan="inverse tangent", sinh="hyperbolic sine", cosh="hyperbolic cosine",
           tanh="hyperbolic tangent", asinh="inverse hyperbolic sine",
           acosh="inverse hyperbolic cosine", atanh="inverse hyperbolic tangent",
           sqrt="square root", rsqrt="1/sqrt(x)", logistic="1/(1 + e^-x)",
           one_minus_square="1 - x*x"),
    *_rows("f", _same, 1,
           cbrt="cube root", erf="error function", erfc="1 - erf(x)", erf_inv="inverse of erf",
           lgamma="log |gamma(x)|", digamma="derivative of lgamma",
           bessel_i0e="e^-|x| times the modified Bessel function of order 0",
           bessel_i1e="e^-|x| times the modified Bessel function of order 1",
           floor="greatest integer below or at x", ceil="least integer above or at x",
           round_away="nearest integer, halves away from zero",
           round_even="nearest integer, halves to even"),
    *_rows("f", _rounded, 1,
           reduce_precision="rounded to attributes exponent_bits and mantissa_bits"),
    *_rows("f", _boolean, 1, is_finite="neither infinite nor NaN"),
    *_rows("biufc", _boolean, 2, eq="equal", ne="not equal; true of NaN"),
    *_rows("biuf", _boolean, 2, lt="less", le="less or equal", gt="greater", ge="greater or equal"),
    *_rows("f", _boolean, 2,
           eq_to="equal in the total order -NaN < -inf < -0 < 0 < inf < NaN",
           lt_to="less in the total order", le_to="less or equal in the total order"),
    *_rows("biu", _same, 2, and_="bits in both", or_="bits in either", xor="bits in one of two"),
    *_rows("biu", _same, 1, not_="bits flipped; the negation of a bool"),
    *_rows("iu", _same, 1, population_count="bits that are set", clz="leading bits not set"),
    *_rows("biuf", _same, 3, clamp="min(max(second, first), third); NaN wins"),
    *_rows("biufc", _selected, 3,
           select="second where the first holds, else third; the other one is never evaluated"),
    *_rows("biufc", _converted, 1,
           convert="to the attribute dtype: integers wrap, floats to integers saturate and NaN "
                   "becomes 0, to bool is != 0, complex to real drops the imaginary part"),
    *_rows("biufc", _reinterpreted, 1, bitcast="same bits, read as the attribute dtype"),
    *_rows("c", _real, 1, real="real part", imag="imaginary part"),
    *_rows("c", _same, 1, conj="complex conjugate"),
    *_rows("f", _complex, 2, complex="from real and imaginary part"),
]}


@cache
def result_dtype(name: str, dtypes: tuple[np.dtype, ...], attrs: tuple = ()) -> np.dtype:
    """The dtype that an instruction gives, or a TypeError that says which rule was broken.

    >>> result_dtype("lt", (INDEX, INDEX))
    dtype('bool')
    """
    row = INSTRUCTIONS.get(name)
    if row is None:
        raise TypeError(f"there is no instruction {name!r}.")
    if len(dtypes) != row.arity:
        raise TypeError(f"{name}: takes {row.arity} operands, got {len(dtypes)}.")
    return row.result(name, dtypes, row.accepts, **dict(attrs))
