"""The instructions of loop nests: one row for everything known of each.

A row has the types, the meaning in words and in NumPy, the effort, the length of the code and the
bound of the error. An instruction computes one scalar from scalars of stated dtypes; it never
promotes. To add one, add a row here; only its code is elsewhere, in a row of ``CODE`` in
``_compiler/emit/operations.py``, because code depends on the target.

Meanings are those of XLA. Integers wrap around. What a row says about "numbers" holds for each of
the accepted kinds of dtype: ``b`` bool, ``i`` signed, ``u`` unsigned, ``f`` float, ``c`` complex.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Literal

import ml_dtypes
import numpy as np

from .._base.records import record
from . import numerics
from .kinds import BOOL, INDEX, kind_of, short_name, value_range, width

__all__ = ["BOOL", "INDEX", "INSTRUCTIONS", "Instruction", "REDUCERS", "apply", "identity",
           "kind_of", "result_dtype", "short_name", "value_range", "width"]

REDUCERS = ("add", "mul", "max", "min", "and", "or", "xor")
"""Associative and commutative instructions: reductions and colliding stores combine by them."""

_REAL_OF = {np.dtype(np.complex64): np.dtype(np.float32),
            np.dtype(np.complex128): np.dtype(np.float64)}
_COMPLEX_OF = {real: cplx for cplx, real in _REAL_OF.items()}


def identity(reducer: str, dtype: np.dtype) -> complex | float | int | bool:
    """The neutral element of a reducer.

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


@record
class Instruction:
    """One row of the table.

    ``result`` maps the operands' dtypes and the attributes to the dtype of the result. ``numpy``
    computes the instruction on arrays: its operands are ``"widened"`` to at least float32 or int8,
    or are passed as ``"stored"``; with ``"bits"`` it also gets their width. ``effort`` is the time
    it takes, in units of an addition on a vector, and ``length`` the number of machine
    instructions. ``ulp`` bounds the error of compiled code, in units in the last place, for
    functions that state it. Results of narrow floats that are ``exact`` need no rounding;
    instructions with ``same_in_half`` may be computed in half precision.
    """

    name: str
    meaning: str
    numpy: Callable | None
    accepts: str
    result: Callable[..., np.dtype]
    arity: int
    effort: float = 1
    length: int = 1
    ulp: float | None = None
    is_function: bool = False
    exact: bool = False
    same_in_half: bool = False
    operands: Literal["widened", "stored", "bits"] = "widened"


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


def _row(name: str, meaning: str, numpy: Callable | None, **facts: Any,
         ) -> Callable[..., Instruction]:
    """A row, without the fields that its group has in common."""
    return partial(Instruction, name, meaning, numpy, **facts)


def _function(name: str, meaning: str, numpy: Callable, *, effort: float = 15, **facts: Any,
              ) -> Callable[..., Instruction]:
    """The row of a function that takes many machine instructions, or a slow one."""
    return _row(name, meaning, numpy, effort=effort, is_function=True, **facts)


def _rows(accepts: str, result: Callable, arity: int, *rows: Callable[..., Instruction],
          ) -> list[Instruction]:
    """Rows that share kinds, rule of types, and arity."""
    return [row(accepts=accepts, result=result, arity=arity) for row in rows]


INSTRUCTIONS: Mapping[str, Instruction] = {row.name: row for row in [
    *_rows("iufc", _same, 2,
        _row("add", "sum", np.add, same_in_half=True),
        _row("sub", "difference", np.subtract, same_in_half=True),
        _row("mul", "product", np.multiply, same_in_half=True),
        _row("div", "quotient; of integers towards zero, n/0 is -1 (all bits), least/-1 is least",
             numerics.div, effort=4, length=2, same_in_half=True)),
    *_rows("iuf", _same, 2,
        _row("rem", "remainder with the sign of the dividend; of integers by 0, the dividend",
             numerics.rem, effort=15, length=6)),
    *_rows("iu", _same, 2,
        _row("floor_div", "quotient towards minus infinity; for indices, the divisor is positive",
             np.floor_divide),
        _row("floor_mod", "what floor_div leaves; for indices, the divisor is positive", np.mod),
        _row("mulhi", "upper half of the product in twice the width", numerics.high_product,
             length=4, operands="bits"),
        _row("shift_left", "0 when shifted by the width or more", numerics.shift_left,
             operands="bits"),
        _row("shift_right_logical", "zeros come in; 0 when shifted by the width or more",
             numerics.shift_right_logical, operands="bits"),
        _row("shift_right_arithmetic", "copies of the sign come in, also past the width",
             numerics.shift_right_arithmetic, operands="bits")),
    *_rows("i", _words, 2,
        _row("dot4", "sum of the products of four bytes, which have signs", numerics.dot4),
        _row("dot4u", "sum of the products of four bytes; those of the first have no signs",
             numerics.dot4u)),
    *_rows("i", _pairs, 2,
        _row("dot2", "sum in float32 of the products of two numbers of bfloat16", numerics.dot2)),
    *_rows("biufc", _same, 2,
        _row("max", "the greater; NaN wins; complex by real part, then imaginary part",
             numerics.greatest, exact=True, same_in_half=True),
        _row("min", "the lesser; NaN wins; complex by real part, then imaginary part",
             numerics.least, exact=True, same_in_half=True)),
    *_rows("fc", _power, 2,
        _function("pow", "power; the exponent has the dtype of the base or an integer one",
                  numerics.power, effort=30, length=120, ulp=1.5)),
    *_rows("fc", _same, 2,
        _function("atan2", "angle of the point (second, first)", numerics.atan2, effort=25,
                  length=30, ulp=3)),
    *_rows("f", _same, 2,
        _row("nextafter", "the next number from the first towards the second", np.nextafter,
             effort=4, length=8, operands="stored"),
        _function("igamma", "regularised lower incomplete gamma function of (a, x)",
                  numerics.special("gammainc"), effort=200, length=100),
        _function("igammac", "regularised upper incomplete gamma function of (a, x)",
                  numerics.special("gammaincc"), effort=200, length=100),
        _function("polygamma", "derivative of order m of digamma, of (m, x)",
                  numerics.special("polygamma"), effort=200, length=100),
        _function("zeta", "Hurwitz zeta function of (x, q)", numerics.special("zeta"), effort=200,
                  length=100)),
    *_rows("f", _same, 3,
        _function("betainc", "regularised incomplete beta function of (a, b, x)",
                  numerics.special("betainc"), effort=200, length=100)),
    *_rows("iufc", _same, 1,
        _row("neg", "negative", np.negative, exact=True, same_in_half=True),
        _row("square", "x*x", np.square),
        _row("sign", "-1, 0 or 1; keeps -0.0 and NaN; x/|x| of complex numbers", numerics.sign,
             exact=True)),
    *_rows("iufc", _raised, 1,
        _row("integer_pow", "x to the power of the integer attribute y", numerics.integer_power,
             effort=3, length=4)),
    *_rows("ifc", _real, 1,
        _row("abs", "distance from zero, real also of complex numbers", np.abs)),
    *_rows("fc", _same, 1,
        _function("exp", "e^x", np.exp, length=18, ulp=1.5),
        _function("exp2", "2^x", np.exp2, length=16, ulp=1.5),
        _function("expm1", "e^x - 1", np.expm1, length=22, ulp=2.5),
        _function("log", "natural logarithm", np.log, length=24, ulp=1.5),
        _function("log2", "logarithm to base 2", np.log2, length=23, ulp=2),
        _function("log1p", "log(1 + x)", np.log1p, length=30, ulp=1.5),
        _function("sin", "sine", np.sin, length=40, ulp=2),
        _function("cos", "cosine", np.cos, length=40, ulp=2),
        _function("tan", "tangent", np.tan, effort=25, length=42, ulp=4),
        _function("asin", "inverse sine", np.arcsin, length=16, ulp=2.5),
        _function("acos", "inverse cosine", np.arccos, length=18, ulp=2.5),
        _function("atan", "inverse tangent", np.arctan, length=18, ulp=2.5),
        _function("sinh", "hyperbolic sine", np.sinh, effort=20, length=28, ulp=3),
        _function("cosh", "hyperbolic cosine", np.cosh, effort=20, length=22, ulp=2),
        _function("tanh", "hyperbolic tangent", np.tanh, length=26, ulp=5),
        _function("asinh", "inverse hyperbolic sine", np.arcsinh, length=40, ulp=3),
        _function("acosh", "inverse hyperbolic cosine", np.arccosh, length=40, ulp=3),
        _function("atanh", "inverse hyperbolic tangent", np.arctanh, length=34, ulp=3),
        _function("sqrt", "square root", np.sqrt, effort=4, length=2, same_in_half=True),
        _function("rsqrt", "1/sqrt(x)", lambda x: 1 / np.sqrt(x), effort=5, length=3),
        _function("logistic", "1/(1 + e^-x)", lambda x: 1 / (1 + np.exp(-x)), length=20, ulp=2.5),
        _row("one_minus_square", "1 - x*x", lambda x: (1 - x) * (1 + x))),
    *_rows("f", _same, 1,
        _function("cbrt", "cube root", np.cbrt, length=24, ulp=1.5),
        _function("erf", "error function", numerics.special("erf"), length=34, ulp=5),
        _function("erfc", "1 - erf(x)", numerics.special("erfc"), length=36, ulp=6),
        _function("erf_inv", "inverse of erf", numerics.special("erfinv"), effort=25, length=50,
                  ulp=5),
        _function("ndtr", "erfc(-x / sqrt(2)) / 2", numerics.special("ndtr"), length=38, ulp=5),
        _function("logit", "log(x / (1 - x))", numerics.special("logit"), length=26, ulp=2.5),
        _function("lgamma", "log |gamma(x)|", numerics.lgamma, effort=200, length=100),
        _function("digamma", "derivative of lgamma", numerics.special("psi"), effort=200,
                  length=100),
        _function("bessel_i0e", "e^-|x| times the modified Bessel function of order 0",
                  numerics.special("i0e"), length=34, ulp=4),
        _function("bessel_i1e", "e^-|x| times the modified Bessel function of order 1",
                  numerics.special("i1e"), length=38, ulp=5),
        _row("floor", "greatest integer below or at x", np.floor, exact=True),
        _row("ceil", "least integer above or at x", np.ceil, exact=True),
        _row("round_away", "nearest integer, halves away from zero", numerics.round_away,
             exact=True),
        _row("round_even", "nearest integer, halves to even", np.rint, exact=True)),
    *_rows("f", _rounded, 1,
        _row("reduce_precision", "rounded to attributes exponent_bits and mantissa_bits",
             numerics.reduce_precision, length=8, operands="stored")),
    *_rows("f", _boolean, 1,
        _row("is_finite", "neither infinite nor NaN", np.isfinite, exact=True)),
    *_rows("biufc", _boolean, 2,
        _row("eq", "equal", np.equal),
        _row("ne", "not equal; true of NaN", np.not_equal)),
    *_rows("biuf", _boolean, 2,
        _row("lt", "less", np.less),
        _row("le", "less or equal", np.less_equal),
        _row("gt", "greater", np.greater),
        _row("ge", "greater or equal", np.greater_equal)),
    *_rows("f", _boolean, 2,
        _row("eq_to", "equal in the total order -NaN < -inf < -0 < 0 < inf < NaN",
             lambda a, b: numerics.total_order(a) == numerics.total_order(b), operands="stored"),
        _row("lt_to", "less in the total order",
             lambda a, b: numerics.total_order(a) < numerics.total_order(b), operands="stored"),
        _row("le_to", "less or equal in the total order",
             lambda a, b: numerics.total_order(a) <= numerics.total_order(b), operands="stored")),
    *_rows("biu", _same, 2,
        _row("and", "bits in both", np.bitwise_and),
        _row("or", "bits in either", np.bitwise_or),
        _row("xor", "bits in one of two", np.bitwise_xor)),
    *_rows("biu", _same, 1,
        _row("not", "bits flipped; the negation of a bool", np.invert)),
    *_rows("iu", _same, 1,
        _row("population_count", "bits that are set", numerics.population_count, operands="bits"),
        _row("clz", "leading bits not set", numerics.leading_zeros, operands="bits")),
    *_rows("biuf", _same, 3,
        _row("clamp", "min(max(second, first), third); NaN wins",
             lambda low, x, high: numerics.least(numerics.greatest(x, low), high), exact=True)),
    *_rows("f", _same, 3,
        _row("muladd", "first times second plus third; rounded once where that is as fast",
             lambda a, b, c: a * b + c)),
    *_rows("biufc", _selected, 3,
        _row("select", "second where the first holds, else third; the other one is never evaluated",
             None)),
    *_rows("biufc", _selected, 2,
        _row("keep", "second where the first holds, else 0; the second is always evaluated",
             lambda condition, x: np.where(condition, x, x.dtype.type(0)), operands="stored")),
    *_rows("biufc", _converted, 1,
        _row("convert",
             "to the attribute dtype: integers wrap, floats to integers saturate and NaN becomes "
             "0, to bool is != 0, complex to real drops the imaginary part", numerics.convert,
             operands="stored")),
    *_rows("biufc", _reinterpreted, 1,
        _row("bitcast", "same bits, read as the attribute dtype", lambda x, dtype: x.view(dtype),
             operands="stored")),
    *_rows("c", _real, 1,
        _row("real", "real part", np.real),
        _row("imag", "imaginary part", np.imag)),
    *_rows("c", _same, 1,
        _row("conj", "complex conjugate", np.conj)),
    *_rows("f", _complex, 2,
        _row("complex", "from real and imaginary part", numerics.complex_of)),
]}


@cache
def result_dtype(name: str, dtypes: tuple[np.dtype, ...], attrs: tuple = ()) -> np.dtype:
    """The dtype of an instruction's result, or a TypeError that says which rule was broken.

    >>> result_dtype("lt", (INDEX, INDEX))
    dtype('bool')
    """
    row = INSTRUCTIONS.get(name)
    if row is None:
        raise TypeError(f"there is no instruction {name!r}.")
    if len(dtypes) != row.arity:
        raise TypeError(f"{name}: takes {row.arity} operands, got {len(dtypes)}.")
    return row.result(name, dtypes, row.accepts, **dict(attrs))


def apply(name: str, args: Sequence[np.ndarray], dtype: np.dtype,
          attrs: Mapping | None = None) -> np.ndarray:
    """One instruction on arrays that broadcast, by NumPy; the result has ``dtype``.

    >>> apply("div", [np.array([7, -7, 1]), np.array([2, 2, 0])], np.dtype("int64"))
    array([ 3, -3, -1])
    """
    row, attrs = INSTRUCTIONS[name], attrs or {}
    assert row.numpy is not None, f"{name} is not computed on whole arrays"
    with np.errstate(all="ignore"):
        if row.operands == "stored":
            return np.asarray(row.numpy(*args, **attrs))
        if row.operands == "bits":
            attrs = {"bits": width(args[0].dtype)}
        result = row.numpy(*map(numerics.widened, args), **attrs)
        return np.asarray(result).astype(dtype, copy=False)
