"""A call of a jitted function as Python makes it."""

from __future__ import annotations

from typing import Any

from .._base.tuples import NamedTuple

__all__ = ["Call"]


class Call(NamedTuple):
    """The arguments of a call, and which of them are static: by position, and by keyword."""

    args: tuple
    kwargs: dict[str, Any]
    static: frozenset[int]
    static_names: frozenset[str]
