"""Memory of the host: a caching allocator built by LLVM, and NumPy arrays over its blocks.

A freed block is kept, mapped and resident, for the next request of its size class, so that a result
of 64 MB does not fault its pages in again on each call. There are four classes for each power of
two: a request gets at most a quarter more than it needs. Beyond a limit, a quarter of the machine's
memory, free blocks go back to the system, the large ones first. All blocks together never exceed
the machine's memory.

``ptr tanx_alloc(i64 bytes)`` returns 64-byte aligned memory, or null if there is none left, and
``void tanx_free(ptr)`` frees it; any thread may call both, with or without the GIL. ``ptr
tanx_array(ptr dtype, i32 ndim, ptr shape)`` creates an ndarray over a block, as :func:`empty` does
for Python; it needs the GIL. The array owns the block through NumPy's interface for allocators, so
it is an ordinary array in all respects.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from .._base.forever import forever
from .._base.locks import new_lock
from .._compiler.abi import ALIGNMENT
from .._core.origins import outside
from ..errors import OutOfMemoryError
from .machine_code import permanent
from .memory import memory_of_machine

__all__ = ["ALIGNMENT", "address", "allocator", "builtin", "empty", "give_back", "kept_bytes",
           "make_place", "numpy_function", "retried", "run", "statistics", "trim"]

T = TypeVar("T")

COUNTS = ("bytes_in_use", "peak_bytes_in_use", "num_allocs", "largest_alloc_size",
          "bytes_reserved", "peak_bytes_reserved", "bytes_cached", "bytes_limit", "num_blocks")
"""The counters of the allocator, in the order of its words."""


# -- what NumPy's and Python's own structures look like ------------------------------------------

_NEW_FROM_DESCR = 94  # an index in NumPy's table of functions


class _Handler(ctypes.Structure):
    """NumPy's ``PyDataMem_Handler``."""

    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8),
                ("context", ctypes.c_void_p), ("malloc", ctypes.c_void_p),
                ("calloc", ctypes.c_void_p), ("realloc", ctypes.c_void_p),
                ("free", ctypes.c_void_p)]


class _Method(ctypes.Structure):
    """Python's ``PyMethodDef``."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


_FASTCALL = 0x0080  # METH_FASTCALL


def builtin(name: str, address: int) -> Callable:
    """The C function at an address as a Python function; it takes an array of arguments."""
    method = forever(_Method(name.encode(), address, _FASTCALL))
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return new(("PyCFunction_NewEx", ctypes.pythonapi))(ctypes.addressof(method), None, None)


class Allocator:
    """The allocator of this process, from its first use on. Its memory is never freed.

    Arrays may be freed when Python's objects are, at the end of the process.
    """

    def __init__(self):
        api = ctypes.pythonapi
        self.handler_fields = _Handler(b"tanx", 1)
        new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p,
                                        ctypes.c_void_p)(("PyCapsule_New", api))
        self.capsule_name = ctypes.create_string_buffer(b"mem_handler")
        self.handler = new_capsule(ctypes.addressof(self.handler_fields),
                                   ctypes.addressof(self.capsule_name), None)
        self.addresses = permanent(f"memory for heads of {object.__basicsize__} bytes", _text,
                                   tidy=True)
        self.call("tanx_setup", id(np.ndarray), numpy_function(_NEW_FROM_DESCR), id(self.handler),
                  id(None))
        for name in ("malloc", "calloc", "realloc", "free"):
            setattr(self.handler_fields, name, self.addresses[f"numpy_{name}"])
        self.call("tanx_limit", memory_of_machine(), memory_of_machine() // 4)
        self.empty = builtin("empty", self.addresses["python_empty"])
        self.run = builtin("run", self.addresses["python_run"])
        self._count_outside(builtin("count", self.addresses["python_count"]))
        forever(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: self.call("tanx_forked"))

    def _count_outside(self, count: Callable[[int], int]) -> None:
        """Count the NumPy memory of large arrays, from now on and so far."""
        with outside.lock:
            count(outside.peak)
            count(outside.nbytes - outside.peak)
            outside.report = count

    def call(self, name: str, *numbers: int) -> None:
        types = (ctypes.c_int64,) * len(numbers)
        ctypes.CFUNCTYPE(None, *types)(self.addresses[name])(*numbers)


def _text() -> str:
    """The allocator as LLVM code."""
    from . import allocator_native, arguments_native  # late: needed only if it is not on disk
    from .native import translate
    return translate([allocator_native, arguments_native], allocator_native.__all__)


def numpy_function(number: int) -> int:
    """The address of a function in NumPy's C API."""
    from numpy._core.multiarray import _ARRAY_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    table = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ctypes.cast(pointer, ctypes.c_void_p).value or 0)(_ARRAY_API, None)
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[number] or 0


_lock = new_lock()
_allocator: Allocator | None = None


def allocator() -> Allocator:
    """The allocator, built at its first use."""
    global _allocator
    if _allocator is None:
        with _lock:
            if _allocator is None:
                _allocator = Allocator()
    return _allocator


def address(name: str) -> int:
    """The address of a function of the allocator, such as ``tanx_alloc``."""
    return allocator().addresses[name]


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A new array in allocator memory; ``dtype`` is a NumPy dtype object.

    >>> empty((2, 3), np.dtype("f4")).shape
    (2, 3)
    """
    return allocator().empty(shape, dtype)


def run(program: int, arena: int, *arrays: np.ndarray) -> None:
    """Call the program at an address with the addresses of ``arrays`` and of an arena.

    ``arena`` is the size of the program's temporaries, in bytes. The GIL is released meanwhile.
    """
    allocator().run(program, arena, *arrays)


def statistics() -> dict[str, int]:
    """The counters of the allocator in bytes, including large arrays in NumPy memory."""
    counts = (ctypes.c_int64 * len(COUNTS))()
    if _allocator is None:
        counts[COUNTS.index("bytes_limit")] = memory_of_machine()
        counts[COUNTS.index("bytes_in_use")] = outside.nbytes
        counts[COUNTS.index("peak_bytes_in_use")] = outside.peak
    else:
        _allocator.call("tanx_statistics", ctypes.addressof(counts))
    return dict(zip(COUNTS, counts))


def kept_bytes() -> int:
    """Bytes of free blocks."""
    return statistics()["bytes_cached"]


def give_back() -> None:
    """Return all unused memory to the system: ours, and that of the C library."""
    trim()
    with contextlib.suppress(AttributeError):  # GNU's library has it, others keep less
        ctypes.CDLL(None).malloc_trim(0)


def retried(make: Callable[[], T]) -> T:
    """Call a function; if memory runs out, collect garbage and call it again."""
    try:
        return make()
    except OutOfMemoryError:  # which was found out beforehand, garbage collected
        raise
    except MemoryError:
        pass
    gc.collect()
    give_back()
    return make()


def make_place(nbytes: int) -> None:
    """Collect garbage if a block of ``nbytes`` does not fit beside those in use."""
    counts = statistics()
    if counts["bytes_reserved"] - counts["bytes_cached"] + nbytes > counts["bytes_limit"]:
        gc.collect()
        trim()


def trim(keep: int = 0) -> None:
    """Return unused memory to the system, except for ``keep`` bytes."""
    if _allocator is not None:
        _allocator.call("tanx_trim", keep)

