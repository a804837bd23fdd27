"""Named axes of the maps around the running code."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from ..errors import explain

__all__ = ["axis_sizes", "axis_size_of", "named_axis"]


class _Axes(threading.local):
    sizes: dict[Any, int] = {}


_axes = _Axes()


def axis_sizes() -> dict[Any, int]:
    """The named axes in scope, with their sizes."""
    return _axes.sizes


@contextlib.contextmanager
def named_axis(name, size: int) -> Iterator[None]:
    """Bring an axis into scope for a block; None is no name."""
    outer = _axes.sizes
    if name is not None:
        _axes.sizes = {**outer, name: size}
    try:
        yield
    finally:
        _axes.sizes = outer


def axis_size_of(name, function: str) -> int:
    """The size of a named axis; NameError if it is not in scope."""
    try:
        return _axes.sizes[name]
    except KeyError:
        known = ", ".join(map(repr, _axes.sizes)) or "none"
        raise NameError(explain(
            function, f"the axis name {name!r} is not bound.", f"axes in scope: {known}",
            hint=f"call the function inside vmap(..., axis_name={name!r}).")) from None
