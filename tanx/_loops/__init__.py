"""Loop nests: the form between jaxprs and LLVM code. ``lower`` rules are written with ``build``.

Primitives refer to these modules when they are defined and use them when they are compiled, so the
modules load at their first use: importing tanx does not wait for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import build as build
    from . import instructions as instructions
else:
    from importlib import import_module

    class _Late:
        """A module of this room that loads when one of its attributes is read."""

        def __init__(self, name: str):
            self._name = name

        def __getattr__(self, attribute: str):
            value = getattr(import_module(f"{__name__}.{self._name}"), attribute)
            setattr(self, attribute, value)
            return value

    build, instructions = _Late("build"), _Late("instructions")
