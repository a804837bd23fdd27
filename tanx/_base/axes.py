"""Checks and canonical forms of axes: negative ones count from the end."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import ConcretizationTypeError, TracerIntegerConversionError, explain

__all__ = ["canonical_axes", "canonical_axis", "listed"]


def canonical_axis(function: str, axis: Any, x: Any, new: int = 0) -> int:
    """An axis of ``x``, counted from the front.

    ``x`` is an array, its type, or its number of dimensions; the result has ``new`` more of them.
    Names of functions are those of ``tanx.numpy`` unless they begin with ``tanx``.

    >>> canonical_axis("sum", -1, np.ones((2, 3)))
    1
    """
    ndim = (x if type(x) is int else x.ndim) + new
    try:
        axis = operator.index(axis)
    except TracerIntegerConversionError:
        raise ConcretizationTypeError.of(
            _public(function), "the axis", axis,
            "make it static: tanx.jit(f, static_argnames=...).") from None
    if not -ndim <= axis < ndim:
        # NumPy's class: users catch it as ValueError or as IndexError.
        raise np.exceptions.AxisError(explain(
            _public(function), f"axis {axis} is out of bounds for {ndim} dimensions"
            f"{' of the result' if new > 0 else ''}.",
            *([] if type(x) is int else [f"operand: {getattr(x, 'aval', x)}"]),
            hint=f"axes go from {-ndim} to {ndim - 1}." if ndim else None))
    return axis % ndim


def canonical_axes(function: str, axes: Any, x: Any, new: int = 0) -> tuple[int, ...]:
    """One axis of ``x`` or several distinct ones, counted from the front.

    >>> canonical_axes("sum", (0, -1), np.ones((2, 3)))
    (0, 1)
    """
    axes = listed(axes)
    canonical = tuple([canonical_axis(function, axis, x, new) for axis in axes])
    if len(set(canonical)) < len(canonical):
        raise ValueError(explain(_public(function), "axes must be distinct.",
                                 f"axes: {tuple(map(int, axes))}"))
    return canonical


def listed(axes: Any) -> tuple:
    """One axis or several as a tuple.

    >>> listed(range(2)), listed(1)
    ((0, 1), (1,))
    """
    if isinstance(axes, tuple):
        return axes
    # Scalar tracers and arrays have __iter__, but cannot be iterated.
    several = isinstance(axes, Iterable) and bool(getattr(axes, "ndim", True)) and not (
        isinstance(axes, str))
    return tuple(axes) if several else (axes,)


def _public(function: str) -> str:
    return function if function.startswith("tanx.") else f"tanx.numpy.{function}"
