"""Options of the compiler, for ``jit`` and ``compile``."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .._base.config import dump, enable_checks
from .._base.logger import logger
from ..errors import JaxRuntimeError, explain

__all__ = ["CompilerOptions", "check_options", "using_options"]

CompilerOptions = dict[str, Any]
"""Options of the compiler by name."""

_OPTIONS = {"tanx_check": enable_checks, "tanx_dump": dump}
_OF_XLA = r"xla_\w+|optimization_level|memory_fitting_level|\w+_effort"


def check_options(function: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options of the compiler, without the options of XLA; unknown options are an error."""
    for name in options or ():
        if re.fullmatch(_OF_XLA, name):
            _say_idle(function, name)
        elif name not in _OPTIONS:
            raise JaxRuntimeError(explain(function, f"the compiler has no option {name!r}.",
                                          f"options: {', '.join(_OPTIONS)}"))
    return {name: value for name, value in (options or {}).items() if name in _OPTIONS}


@functools.cache
def _say_idle(function: str, name: str) -> None:
    """Log, once, that an option of XLA is ignored."""
    logger().warning("%s", explain(
        function, f"the compiler option {name!r} has no effect here.",
        "reason: it is for XLA, and programs do not go through XLA."))


@contextlib.contextmanager
def using_options(options: Mapping[str, Any]) -> Iterator[None]:
    """The block in which the compiler gets the options."""
    with contextlib.ExitStack() as stack:
        for name, value in options.items():
            stack.enter_context(_OPTIONS[name](value))
        yield
