"""Memory for code. It is executable or writable, never both at one address.

Mapping memory for a program and making it executable takes the system a tenth of the time of
loading one. So memory for many programs is mapped at a time, and twice: code is written at one
address and runs at another, without a system call. Where that is not allowed, and for code with
variables, each program has its own memory.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import sys
from collections.abc import Callable
from functools import cache

from .._base.locks import new_lock

__all__ = ["Guarded", "Piece", "piece"]

_ROOM = 1 << 18
"""Bytes that are mapped at a time."""
_READ_WRITE, _EXECUTE = 1 | 2, 1 | 4
"""POSIX protection flags; systems that are not POSIX import this file as well."""


class Piece:
    """Separately mapped memory: code is written at ``written`` and runs at ``base``."""

    def __init__(self, size: int):
        self.base = self.written = _map(size, _READ_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.size = size

    def finish(self, executable: int) -> None:
        """Make the first ``executable`` bytes executable and read-only."""
        if _libc().mprotect(self.base, executable, _EXECUTE):
            raise OSError(ctypes.get_errno(), "this system does not let memory be executed.")
        _flush_instructions()(self.base, self.base + executable)

    def give_back(self) -> None:
        """Free the memory: the code is no longer needed."""
        _libc().munmap(self.base, self.size)


class Guarded(Piece):
    """Memory under the rules of macOS on Apple silicon. Untested.

    It is mapped for code (``MAP_JIT``), and a thread may either write to such memory or execute it.
    So code is written elsewhere and copied at the end: while this thread may write, nothing that
    would run code may happen in it, such as the release of an array. Variables after the code have
    plain memory.
    """

    MAP_JIT, MAP_FIXED = 0x800, 0x10

    def __init__(self, size: int, executable: int):
        self.size, plain = size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self.base = _map(size, _READ_WRITE | _EXECUTE, plain | self.MAP_JIT)
        if executable < size:
            _map(size - executable, _READ_WRITE, plain | self.MAP_FIXED, at=self.base + executable)
        self.written = _map(size, _READ_WRITE, plain)

    def finish(self, executable: int) -> None:
        library, running = _libc(), gc.isenabled()
        protect, copy = library.pthread_jit_write_protect_np, library.memmove
        gc.disable()
        protect(0)
        copy(self.base, self.written, self.size)
        protect(1)
        if running:
            gc.enable()
        library.munmap(self.written, self.size)
        library.sys_icache_invalidate(self.base, executable)


class _Shared(Piece):
    """A part of a room."""

    def __init__(self, room: _Room, start: int):
        self.room = room
        self.base, self.written = room.base + start, room.written + start

    def finish(self, executable: int) -> None:
        _flush_instructions()(self.base, self.base + executable)

    def give_back(self) -> None:
        _rooms.leave(self.room)


class _Room:
    """Memory for several programs. Freed parts are not reused until all of it is unmapped."""

    def __init__(self) -> None:
        file = os.memfd_create("tanx")
        try:
            os.ftruncate(file, _ROOM)
            shared = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
            self.base = _map(_ROOM, _EXECUTE, shared, file)  # first: it may be refused
            self.written = _map(_ROOM, _READ_WRITE, shared, file)
        finally:
            os.close(file)
        self.used = self.tenants = 0

    def unmap(self) -> None:
        for place in (self.base, self.written):
            _libc().munmap(place, _ROOM)


class _Rooms:
    """The room that is being filled; full ones are freed when their last code is."""

    def __init__(self) -> None:
        self.lock = new_lock()  # objects that hold pieces may be freed at any moment, even in here
        self.room: _Room | None = None
        self.possible = hasattr(os, "memfd_create")

    def take(self, size: int) -> Piece | None:
        """A part of a room; None if that is not possible."""
        size += -size % mmap.PAGESIZE
        if not self.possible or size > _ROOM // 4:
            return None
        with self.lock:
            if self.room is None or self.room.used + size > _ROOM:
                try:
                    room, full = _Room(), self.room
                except (OSError, MemoryError):  # as hardened systems answer
                    self.possible = False
                    return None
                self.room = room
                if full is not None and not full.tenants:
                    full.unmap()
            room = self.room
            room.tenants += 1
            start, room.used = room.used, room.used + size
            return _Shared(room, start)

    def leave(self, room: _Room) -> None:
        with self.lock:
            room.tenants -= 1
            if not room.tenants and room is not self.room:
                room.unmap()

    def forked(self) -> None:
        """In a new process, which still shares the memory of the old one."""
        if self.room is not None:
            self.room.tenants += 1  # it stays
            self.room = None


_rooms = _Rooms()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rooms.forked)


def piece(size: int, executable: int) -> Piece:
    """Memory of which the first ``executable`` bytes are code and the others are variables."""
    if sys.platform == "darwin":
        return Guarded(size, executable)
    return size == executable and _rooms.take(size) or Piece(size)


# -- the system ------------------------------------------------------------------------------------


def _map(size: int, protection: int, flags: int, file: int = -1, at: int | None = None) -> int:
    base = _libc().mmap(at, size, protection, flags, file, 0)
    if base in (None, ctypes.c_void_p(-1).value):
        raise MemoryError(f"no memory for {size} bytes of code.")
    return base


@cache
def _libc():
    """The functions of the C library that map memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    libc.memmove.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    if sys.platform == "darwin":
        libc.sys_icache_invalidate.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return libc


@cache
def _flush_instructions() -> Callable[[int, int], object]:
    """Makes new code visible to the processor at a range of addresses, where that is not automatic.

    It is on x86-64. Linux does it for AArch64 when fresh memory becomes executable, but does not
    promise it; the function for it is part of GCC's library.
    """
    if os.uname().machine in ("x86_64", "amd64"):
        return lambda start, end: None
    for library in (None, "libgcc_s.so.1"):
        try:
            flush = ctypes.CDLL(library).__clear_cache
        except (OSError, AttributeError):
            continue
        flush.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        flush.restype = None
        return flush
    return lambda start, end: None
