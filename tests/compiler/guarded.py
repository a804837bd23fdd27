"""Arrays between forbidden pages: an access outside of them ends the process."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

__all__ = ["guarded"]

_LIBC = ctypes.CDLL(None, use_errno=True)


def guarded(x: np.ndarray, at_end: bool = True) -> np.ndarray:
    """A copy of an array that ends (or begins) where a forbidden page begins (or ends)."""
    page = mmap.PAGESIZE
    room = -(-x.nbytes // page) * page
    if not room:
        return x.copy()
    memory = mmap.mmap(-1, room + 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    data = np.frombuffer(memory, np.uint8, x.nbytes, page + (room - x.nbytes if at_end else 0))
    copy = data.view(x.dtype).reshape(x.shape)
    copy[...] = x
    for forbidden in (start, start + page + room):
        if _LIBC.mprotect(ctypes.c_void_p(forbidden), ctypes.c_size_t(page), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    return copy
