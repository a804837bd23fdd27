"""Objects that native code refers to by address. They live as long as the process.

Python clears its modules before the process ends. Threads may still run native code then, and
Python itself visits the remaining objects, so the memory that they refer to must not be freed.
"""

from __future__ import annotations

import ctypes
from typing import TypeVar

__all__ = ["forever"]

T = TypeVar("T")


def forever(x: T) -> T:
    """The object, which is never freed from then on.

    >>> forever(ctypes.c_int64(3)).value
    3
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))
    return x
