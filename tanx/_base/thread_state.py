"""The state of the calling thread that native code checks before it runs a program.

Each thread has three words, found through the thread-specific storage of Python's C API:

    STAGING   nonzero while a function is staged, so that calls become equations
    KEY       the address of the thread's :func:`~tanx._base.flags.trace_key`, never freed
    VERSION   the value of :data:`flags_version` for which the key holds

Python writes them when they change; native code reads them in each call.
"""

from __future__ import annotations

import ctypes
import threading

from .forever import forever

__all__ = ["KEY", "STAGING", "VERSION", "flags_version", "situation", "storage"]

STAGING, KEY, VERSION = range(3)

flags_version = forever(ctypes.c_int64(0))
"""How often a flag changed for the whole process."""


class _Storage:
    """A number for each thread, in C; ``key`` is its address for C functions."""

    def __init__(self) -> None:
        api = ctypes.pythonapi
        pointer, integer = ctypes.c_void_p, ctypes.c_int
        self.key = ctypes.PYFUNCTYPE(pointer)(("PyThread_tss_alloc", api))()
        ctypes.PYFUNCTYPE(integer, pointer)(("PyThread_tss_create", api))(self.key)
        self._read = ctypes.PYFUNCTYPE(pointer, pointer)(("PyThread_tss_get", api))
        self._write = ctypes.PYFUNCTYPE(integer, pointer, pointer)(("PyThread_tss_set", api))

    def read(self) -> int | None:
        return self._read(self.key)

    def write(self, value: int | None) -> None:
        self._write(self.key, value)


storage = _Storage()


class _Words:
    """The words of one thread; the storage drops them before they are freed."""

    def __init__(self) -> None:
        self.words = (ctypes.c_int64 * 3)(0, 0, -1)
        self._address, self._storage = ctypes.addressof(self.words), storage
        storage.write(self._address)

    def __del__(self) -> None:
        if self._storage.read() == self._address:
            self._storage.write(None)


class _Situation(threading.local):
    """``situation.words`` are those of the calling thread."""

    def __init__(self) -> None:
        self._owner = _Words()
        self.words = self._owner.words


situation = _Situation()
