"""Operands of NumPy functions: arrays of one dtype and one rank.

Every elementwise function passes here, so the common case, operands that agree already, is first.
"""

from __future__ import annotations

import numpy as np

from .. import _config, dtypes
from .._core.array import Array
from .._core.types import is_arraylike, typeof
from .._ops.convert import convert
from .._ops.layout import broadcast_in_dim
from ..errors import explain

__all__ = ["check_arraylike", "promote", "promote_dtypes", "promote_inexact", "promote_numeric",
           "promote_shapes"]


def check_arraylike(function: str, *args) -> None:
    """Operands must be arrays or numbers; lists are not converted silently."""
    for i, x in enumerate(args):
        if not is_arraylike(x):
            if isinstance(x, list | tuple):
                hint = "wrap it in tanx.numpy.array(...); lists are slow to convert, so say so."
            elif x is None:
                hint = "the argument is missing or None."
            else:
                hint = "convert it with tanx.numpy.array(...)."
            raise TypeError(explain(
                f"tanx.numpy.{function}",
                f"needs arrays or numbers, but argument {i} is a {type(x).__name__}.",
                f"argument {i}: {x!r:.100}", hint=hint))


def promote(function: str, *args) -> list:
    """Operands of an elementwise function: one dtype, one rank."""
    if len(args) == 2:
        x, y = args
        if type(x) is Array and type(y) is Array and x.aval == y.aval:
            return [x, y]
    check_arraylike(function, *args)
    return promote_shapes(function, *promote_dtypes(*args))


def promote_inexact(function: str, *args) -> list:
    """As :func:`promote`, to floating point or complex numbers."""
    if len(args) == 1 and type(args[0]) is Array and args[0].dtype.kind in "fc":
        return list(args)
    check_arraylike(function, *args)
    dtype, weak = dtypes.result_type(*args, return_weak_type_flag=True)
    dtype = dtypes.to_inexact_dtype(dtype)
    return promote_shapes(function, *(convert(x, dtype, weak) for x in args))


def promote_numeric(function: str, *args) -> list:
    """As :func:`promote`, with bools as integers."""
    check_arraylike(function, *args)
    dtype, weak = dtypes.result_type(*args, return_weak_type_flag=True)
    dtype = dtypes.to_numeric_dtype(dtype)
    return promote_shapes(function, *(convert(x, dtype, weak) for x in args))


def promote_dtypes(*args) -> list:
    """Operands converted to their common dtype."""
    dtype, weak = dtypes.result_type(*args, return_weak_type_flag=True)
    return [convert(x, dtype, weak) for x in args]


def promote_shapes(function: str, *args) -> list:
    """Operands with the same number of dimensions, or none; new ones of size 1 in front."""
    ranks = {len(shape) for x in args if (shape := np.shape(x) if not hasattr(x, "shape")
                                          else x.shape)}
    if len(ranks) < 2:
        return list(args)
    mode = _config.numpy_rank_promotion.value
    if mode != "allow":
        _rank_promotion(function, mode, args)
    rank = max(ranks)
    promoted = []
    for x in args:
        shape = typeof(x).shape
        if shape and len(shape) < rank:
            lead = rank - len(shape)
            x = broadcast_in_dim(x, (1,) * lead + shape, range(lead, rank))
        promoted.append(x)
    return promoted


def _rank_promotion(function: str, mode: str, args) -> None:
    import warnings
    message = explain(
        f"tanx.numpy.{function}", "operands have different numbers of dimensions.",
        *(f"operand {i}: {typeof(x)}" for i, x in enumerate(args)),
        hint="add dimensions with x[None], or set numpy_rank_promotion='allow'.")
    if mode == "raise":
        raise ValueError(message)
    warnings.warn(message, stacklevel=4)
