"""Whether this process may load native code; otherwise tier 0 runs all programs.

The option ``tanx_native_code`` turns native code off. It does not exist on systems that do not
allow executable memory or whose object format is not supported: a warning says so once.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache

from .._base.config import native_code
from ..errors import explain

__all__ = ["hindrance", "is_native", "need_native", "no_native"]

TESTED = {"linux": ("x86_64", "amd64", "aarch64", "arm64")}
"""Systems that are tested, and their processors."""
UNTESTED = {"darwin": ("arm64",)}
"""Systems for which the code is written, but untested."""


def is_native() -> bool:
    """Whether programs are compiled to native code."""
    return native_code.value and _said() is None


def need_native(what: str) -> None:
    """Raise an error if there is no native code, for features that need it."""
    reason = _said() if native_code.value else "the option tanx_native_code is off"
    if reason is not None:
        raise no_native(what, reason)


def no_native(what: str, reason: str) -> NotImplementedError:
    """The error of a feature that needs native code."""
    return NotImplementedError(explain(what, "it takes native code.", f"there is none: {reason}"))


@cache
def _said() -> str | None:
    """Why there is no native code; the first caller is warned."""
    reason = hindrance()
    if reason is not None:
        warnings.warn(explain(
            "tanx", "native code cannot be loaded here, so programs are interpreted, which is "
            "slower.", f"reason: {reason}",
            hint="TANX_NATIVE_CODE=0 in the environment says that this is known."), stacklevel=2)
    return reason


def hindrance() -> str | None:
    """Why this process cannot load native code; None if it can."""
    import platform  # late: an import of tanx does not need it
    known = (TESTED | UNTESTED).get(sys.platform, ())
    processor = platform.machine().lower()
    if processor not in known:
        return f"tanx generates no code for {sys.platform} on {processor or 'an unknown processor'}"
    if sys.maxsize != 2 ** 63 - 1 or sys.byteorder != "little":
        return "the processor does not have little-endian words of 64 bits"
    if not any(finder.find_spec("llvmlite", None) for finder in sys.meta_path):
        return "llvmlite is not installed"
    if not hasattr(os, "uname"):
        return "this is no POSIX system"
    from .code_memory import piece  # late: it is made for systems that come this far
    try:
        memory = piece(4096, 4096)
        memory.finish(4096)
        memory.give_back()
    except (OSError, MemoryError) as error:
        return f"memory cannot be executed ({error})"
    return None
