"""Operands of special functions: real numbers of one dtype, computed in float32 or float64."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from ... import dtypes
from ..._base import config
from ...errors import explain
from ...numpy._promotion import check_arraylike, convert, promote_shapes, typeof

__all__ = ["at_least_float32", "constant", "in_float64", "inexact_operands", "promote_shapes",
           "real_operands", "refuse_complex", "single_or_double"]


def inexact_operands(function: str, *args, weak: bool = True):
    """Operands as floating point or complex numbers of one dtype, a tuple if there are several.

    With ``weak=False`` Python numbers are strongly typed, like arrays.
    """
    name = f"scipy.special.{function}"
    check_arraylike(name, *args)
    dtype, flag = dtypes.result_type(*args, return_weak_type_flag=True)
    dtype = dtypes.to_inexact_dtype(dtype)
    operands = promote_shapes(name, *(convert(x, dtype, flag and weak) for x in args))
    return operands if len(operands) > 1 else operands[0]


def real_operands(function: str, *args, weak: bool = True):
    """As :func:`inexact_operands`; complex numbers raise ``ValueError``."""
    refuse_complex(function, *args)
    return inexact_operands(function, *args, weak=weak)


def refuse_complex(function: str, *args) -> None:
    """Raise ``ValueError`` if an operand is complex."""
    check_arraylike(f"scipy.special.{function}", *args)
    if any(dtypes.issubdtype(typeof(x).dtype, np.complexfloating) for x in args):
        raise ValueError(explain(
            f"tanx.scipy.special.{function}", "takes real numbers.",
            *(f"operand {i}: {typeof(x)}" for i, x in enumerate(args))))


def single_or_double(function: str, x):
    """``x`` as an array of float32 or float64; other dtypes raise ``TypeError``."""
    dtype = typeof(x).dtype
    if dtype not in (np.float32, np.float64):
        raise TypeError(explain(f"tanx.scipy.special.{function}", "takes float32 or float64.",
                                f"operand: {typeof(x)}"))
    return convert(x, dtype)


def constant(x, value: float):
    """A scalar of the dtype of ``x``."""
    return convert(value, x.dtype)


def at_least_float32(compute: Callable) -> Callable:
    """Compute narrow floats in float32, and round the results."""
    @functools.wraps(compute)
    def run(*args):
        given = args[0].aval
        wide = given.dtype if given.dtype.itemsize >= 4 else np.dtype(np.float32)
        return _rounded(compute(*(convert(x, wide) for x in args)), given)
    return run


def in_float64(compute: Callable | None = None, *, rough: bool = False) -> Callable:
    """Compute all floats in float64, whether 64-bit types are enabled or not, and round.

    For formulas that lose digits: float32 results are then exact to rounding. With ``rough``, the
    function has a parameter of that name, which says whether results are rounded to float32.
    """
    if compute is None:
        return functools.partial(in_float64, rough=rough)

    @functools.wraps(compute)
    def run(*args):
        given = args[0].aval
        more = {"rough": given.dtype != np.float64} if rough else {}
        with config.enable_x64(True):
            out = compute(*(convert(x, np.dtype(np.float64)) for x in args), **more)
            return _rounded(out, given)
    del run.__wrapped__  # callers do not see that parameter
    return run


def _rounded(out, given):
    """Results as numbers of the type of the operands."""
    if isinstance(out, tuple):
        return tuple(_rounded(x, given) for x in out)
    return convert(out, given.dtype, given.weak_type)
