"""Objects that native code knows by their address. They live as long as the process.

Python takes its modules apart before the process ends. Threads may still run native code then, and
Python itself looks once more at the objects that are left, so what these know must not be gone.
"""

from __future__ import annotations

import ctypes
from typing import TypeVar

__all__ = ["forever"]

T = TypeVar("T")


def forever(x: T) -> T:
    """The object, which from now on is never freed.

    >>> forever(ctypes.c_int64(3)).value
    3
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))
    return x
