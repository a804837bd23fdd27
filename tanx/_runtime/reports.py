"""The reports of ``log_compiles``: traced and compiled functions, their types and times."""

from __future__ import annotations

from collections.abc import Sequence

from .._base.config import log_compiles
from .._base.logger import logger

__all__ = ["report"]

_MOST = 8
"""Types that a line shows; there may be thousands."""


def report(what: str, name: str, types: Sequence, seconds: float) -> None:
    """Log work of the compiler; visible by default only if the option says so."""
    shown = ", ".join(t.str_short(True) if hasattr(t, "str_short") else str(t)
                      for t in types[:_MOST])
    more = f", and {len(types) - _MOST} more" if len(types) > _MOST else ""
    write = logger().warning if log_compiles.value else logger().debug
    write("tanx.jit: %s %s for (%s%s) in %.6f s", what, name, shown, more, seconds)
