"""The logger of tanx. Python's logging is loaded on demand."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

__all__ = ["logger", "set_level", "verbose"]

_handlers: list[logging.Handler] = []  # ours, while a level is set


def logger() -> logging.Logger:
    """The logger called ``tanx``."""
    import logging
    return logging.getLogger("tanx")


def verbose() -> bool:
    """Whether debug messages are logged."""
    return "logging" in sys.modules and logger().isEnabledFor(10)  # logging.DEBUG


def set_level(level: str | None) -> None:
    """Show messages of a level and above on stderr; ``NOTSET`` leaves that to Python's logging."""
    import logging
    target = logger()
    target.setLevel(level or "NOTSET")
    while _handlers:
        target.removeHandler(_handlers.pop())
    if target.level:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(levelname)s:%(asctime)s:%(name)s: %(message)s"))
        target.addHandler(handler)
        _handlers.append(handler)
