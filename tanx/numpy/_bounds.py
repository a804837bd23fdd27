"""The bounds check of ``debug_bounds``, for indices without an explicit ``mode``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from .._base.config import debug_bounds
from .._base.flags import strict
from .._control.bounds import check_positions
from ..lax import _functions as lax
from ._plan import Plan
from ._promotion import typeof

__all__: list[str] = []  # users only see its errors


_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_INDEXING = {os.path.join("numpy", f"{name}.py")
             for name in ("_at", "_bounds", "_index", "_lookup", "_methods")}
"""Files of the library through which a user's index comes."""


def watched(mode=None) -> bool:
    """Whether to check an index: it was written by the user, and has no explicit mode.

    The library itself may read outside of arrays on purpose.
    """
    return strict.value and debug_bounds.value and (
        mode is None or lax.GatherScatterMode.from_any(mode)
        is lax.GatherScatterMode.PROMISE_IN_BOUNDS) and _is_users()


def _is_users() -> bool:
    """Whether the indexing expression is in user code, not in the library."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE):
            return True
        inside = file.removeprefix(_PACKAGE)
        if not inside.startswith("_") and inside not in _INDEXING:
            return False
        frame = frame.f_back
    return True


def check_plan(x, plan: Plan, values: Sequence[Any], wrap: bool) -> None:
    """Raise if an index is outside of its axis; with ``wrap`` it may be negative."""
    for part in plan.parts:
        value, size = values[part.axis], plan.extents[part.axis]
        if type(value) is range:
            value = np.array(value, np.int64)
        check_positions("x[...]", value, -size if wrap else 0, part.axis, typeof(x),
                        plan.sizes[part.axis])


def check_axis(function: str, x, indices, axis: int | None, wrap: bool = True) -> None:
    """As :func:`check_plan`, for positions along one axis, or in the flattened array."""
    aval = typeof(x)
    if axis is None:
        aval, axis = aval.update(shape=(aval.size,)), 0
    elif -aval.ndim <= axis < aval.ndim:
        axis %= aval.ndim
    else:
        return  # reported elsewhere, as another error
    lowest = -aval.shape[axis] if wrap else 0
    check_positions(f"tanx.numpy.{function}", indices, lowest, axis, aval)
