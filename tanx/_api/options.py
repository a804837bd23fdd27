"""Options of the compiler, as ``jit`` and ``compile`` take them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from .._config import dump, enable_checks
from ..errors import explain

__all__ = ["CompilerOptions", "check_options", "using_options"]

CompilerOptions = dict[str, Any]
"""Options of the compiler by name."""

_OPTIONS = {"tanx_check": enable_checks, "tanx_dump": dump}


def check_options(function: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options of the compiler; an error for those that it does not have."""
    for name in options or ():
        if name not in _OPTIONS:
            raise ValueError(explain(function, f"the compiler has no option {name!r}.",
                                     f"options: {', '.join(_OPTIONS)}"))
    return dict(options or {})


@contextlib.contextmanager
def using_options(options: Mapping[str, Any]) -> Iterator[None]:
    """The block in which the compiler is told so."""
    with contextlib.ExitStack() as stack:
        for name, value in options.items():
            stack.enter_context(_OPTIONS[name](value))
        yield
