"""Operands: groups of dtypes, errors for other dtypes, constants of their dtypes."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from .._core.trace import context
from .._core.types import ShapedArray, typeof
from .._loops import instructions
from ..errors import explain

__all__ = ["ANY", "BOOL_INT", "COMPLEX", "FLOAT", "INEXACT", "INT", "NUMBER", "REAL", "accumulator",
           "identity", "letter", "like", "refused", "widened"]

# Groups of dtypes that an operand may have, by the letters that :func:`letter` returns.
BOOL = frozenset("b")
INT = frozenset("iu")
FLOAT = frozenset("f")
COMPLEX = frozenset("c")
INEXACT = FLOAT | COMPLEX
REAL = INT | FLOAT
NUMBER = INT | INEXACT
BOOL_INT = BOOL | INT
ANY = BOOL | NUMBER

_WORDS = {"b": "bool", "i": "signed integer", "u": "unsigned integer", "f": "floating point",
          "c": "complex", "k": "key", "e": "extended"}
FLOAT32 = np.dtype(np.float32)
# Dtypes for which the NumPy function alone equals ``eval``: no wider accumulator, no conversion.
NUMPY_FLOATS = (FLOAT32, np.dtype(np.float64))
_letters: dict[np.dtype, str] = {}


def letter(dtype: np.dtype) -> str:
    """The group of a dtype: b, i, u, f, c (narrow ones included), k for keys, e for other types."""
    known = _letters.get(dtype)
    if known is None:
        for group, base in (("b", np.bool_), ("i", np.signedinteger), ("u", np.unsignedinteger),
                            ("f", np.floating), ("c", np.complexfloating),
                            ("k", dtypes.prng_key), ("e", dtypes.extended)):
            if dtypes.issubdtype(dtype, base):
                known = group
                break
        else:
            known = "?"
        _letters[dtype] = known
    return known


def refused(function: str, x: ShapedArray, accepts: frozenset[str]) -> TypeError:
    """The error of a function of ``tanx.lax`` for an operand of a group that it does not take."""
    if letter(x.dtype) in "ke":
        return dtypes.no_number(x.dtype, f"tanx.lax.{function}", f"operand: {x}")
    return TypeError(explain(
        f"tanx.lax.{function}", f"does not take {x.dtype} operands.", f"operand: {x}",
        f"takes:   {', '.join(_WORDS[k] for k in 'biufcke' if k in accepts)}"))


def like(x, value):
    """A scalar constant of the dtype of ``x``, for use with it in a rule."""
    aval = typeof(x)
    return context.trace.literal(np.asarray(value, aval.dtype),
                                 ShapedArray((), aval.dtype, aval.weak_type))


def widened(x: np.ndarray) -> np.ndarray:
    """Narrow floats as float32, in which formulas of several steps lose less; others unchanged."""
    return x.astype(FLOAT32) if x.dtype.itemsize < 4 and letter(x.dtype) == "f" else x


def accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype in which sums and products of a dtype are kept: float32 for narrower floats."""
    return FLOAT32 if dtype.itemsize < 4 and letter(dtype) == "f" else dtype


def identity(combine: str, dtype: np.dtype):
    """The value that a reducer ignores; complex numbers are ordered by their real part first."""
    if letter(dtype) == "c" and combine in ("max", "min"):
        return complex(-np.inf if combine == "max" else np.inf, 0)
    return instructions.identity(combine, dtype)
