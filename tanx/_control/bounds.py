"""Errors for positions outside of an axis: at once if they are known, else when programs run."""

from __future__ import annotations

from math import prod

import numpy as np

from .._core.array import Array
from .._core.source import user_source
from .._core.trace import Tracer
from .._core.types import ShapedArray, typeof
from .._ops.bits import bitwise_or
from .._ops.compare import gt, lt
from .._ops.convert import convert_element_type
from .._ops.reduce import reduce_or
from ..errors import OutOfBoundsError, explain
from .cond import cond

__all__ = ["HINT", "check_positions"]

HINT = ('x.at[index].get(mode="clip") or .set(y, mode="drop") allows positions outside; '
        "tanx.debug_bounds is on.")


def check_positions(function: str, positions, lowest: int, axis: int, array: ShapedArray,
                    width: int = 1) -> None:
    """Raise OutOfBoundsError if a position along an axis is outside of it.

    Positions are at least ``lowest``; ``width`` elements begin at each.
    """
    kind, line, size = typeof(positions), user_source(), array.shape[axis]
    last = size - width

    def report(found) -> None:
        values = np.asarray(found).ravel()
        wrong = values[(values < lowest) | (values > last)]
        if wrong.size:
            what = f"index {wrong[0]}" if width == 1 else f"{width} elements from {wrong[0]} on"
            raise OutOfBoundsError(explain(
                function, f"{what} {'is' if width == 1 else 'are'} out of bounds for axis {axis}, "
                f"which has size {size}.", f"array: {array}", f"index: {kind}",
                f"at:    {line}" + (f": {line.text}" if line.text else ""), hint=HINT))

    if not isinstance(positions, Tracer):
        report(positions._value if type(positions) is Array else positions)
    elif prod(kind.shape):
        if kind.dtype.itemsize < 4:  # may be too narrow for the bounds
            positions = convert_element_type(positions, np.int32)
        dtype = typeof(positions).dtype
        most = np.iinfo(dtype).max
        outside = gt(positions, np.asarray(min(last, most), dtype))
        if dtype.kind == "i":
            outside = bitwise_or(outside, lt(positions, np.asarray(lowest, dtype)))
        some = reduce_or(outside, tuple(range(len(kind.shape))))
        from .debugging import callback  # late: it needs Python's logging, slow to import
        cond(some, lambda i: callback(report, i), lambda i: None, positions)
