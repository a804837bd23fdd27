"""While tanx is imported, the garbage collector is paused: modules loaded then stay."""

from . import late_imports  # noqa: F401 - first: its hook is then the last before a fork
from .collector import at_rest, count_as_old

__all__ = ["finished"]

at_rest.__enter__()


def finished() -> None:
    """Resume the collector."""
    count_as_old()
    at_rest.__exit__()
