"""What arrays and tracers both answer: operators, methods and properties of ``Array``.

Their code lives in the NumPy room, which is far above; it is handed down through the socket
``install``, which ``tanx/__init__`` plugs. Until then the class is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Operators", "install"]


class Operators:
    """Base of ``Array`` and ``Tracer``; :func:`install` fills it."""

    __slots__ = ()


def install(methods: Mapping[str, Any]) -> None:
    """Socket: set operators, methods and properties on every array and tracer."""
    for name, method in methods.items():
        setattr(Operators, name, method)
