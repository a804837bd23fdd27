"""Arguments of native functions (see ``native.py``) that Python calls with an array of objects."""

from __future__ import annotations

from .native import C, put, word

__all__ = ["addresses", "number"]

DATA = object.__basicsize__
"""The offset of the address of a NumPy array's data."""


def number(args: int, i: int) -> int:
    """The number that is an argument."""
    return C.PyLong_AsSsize_t(word(args + 8 * i))


def addresses(args: int, count: int, into: int) -> None:
    """Write the addresses of the data of arrays."""
    i = 0
    while i < count:
        put(into + 8 * i, 0, word(word(args + 8 * i), DATA))
        i += 1
