"""The allocator as native code (see ``native.py``); ``host.py`` says what it does.

A block is a header of 64 bytes and the data. The header has: the next block in the list of its
class, the class, the capacity, the bytes requested, where its memory begins, how long that is
(0: it is malloc's), and whether it is still zero-filled memory from the system.

One lock guards the lists and the counters. It is held for some nanoseconds, never during a system
call, and a thread that finds it taken yields.
"""

from __future__ import annotations

import ctypes
import mmap

from .arguments_native import addresses, number
from .native import (
    C,
    Static,
    add_to,
    call,
    exchange,
    inline,
    int32,
    leading_zeros,
    publish,
    put,
    put32,
    rare,
    stack,
    word,
)

__all__ = ["numpy_calloc", "numpy_free", "numpy_malloc", "numpy_realloc", "python_count",
           "python_empty", "python_run", "tanx_alloc", "tanx_array", "tanx_forked", "tanx_free",
           "tanx_limit", "tanx_setup", "tanx_statistics", "tanx_trim"]

CLASSES = 256
LISTS = Static(8 * CLASSES)
"""The first free block of each class."""
LOCK = Static(8)
COUNTS = Static(72)
(IN_USE, PEAK, ALLOCS, LARGEST, RESERVED, PEAK_RESERVED, CACHED, BOUND, BLOCKS) = range(0, 72, 8)
"""Where the counters are, in the order of ``host.COUNTS``."""
COLOUR = Static(8)
"""How many large blocks there were: they begin at different cache lines of a page, in turn."""
MOST_KEPT = Static(8)
OBJECTS = Static(32)
ARRAY_TYPE, NEW_ARRAY, HANDLER, NONE = range(0, 32, 8)
"""NumPy's type and function for new arrays, the allocator for NumPy, and None."""

NEXT, CLASS, CAPACITY, BYTES, BASE, LENGTH, CLEAN = range(0, 56, 8)
HEADER = 64
"""Offsets in a header, and its size."""

MOST = 1 << 56
"""Sizes from which a request is refused without asking the system."""
LARGE, HUGE = 1 << 20, 1 << 21
"""Bytes of blocks that are mapped one by one and may have huge pages, and bytes of such a page."""
COLOURS, LINES, PADDING = 16, 1088, 20480
"""Offsets in a page where large blocks begin: how many, how far apart, and space for them."""
PROTECTION, MAPPING = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
ADVICE = getattr(mmap, "MADV_HUGEPAGE", 0)
OWNDATA, CARRAY = 0x0004, 0x0001 | 0x0100 | 0x0400  # flags of arrays
DIMENSIONS, WHOLE = 64, (1 << 63) - 1


class _ArrayFields(ctypes.Structure):
    """The fields after the head of an ndarray."""

    _fields_ = [("data", ctypes.c_void_p), ("nd", ctypes.c_int), ("dimensions", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("base", ctypes.c_void_p), ("descr", ctypes.c_void_p),
                ("flags", ctypes.c_int), ("weakrefs", ctypes.c_void_p),
                ("buffer_info", ctypes.c_void_p), ("mem_handler", ctypes.c_void_p)]


class _DtypeFields(ctypes.Structure):
    """The fields after the head of a dtype."""

    _fields_ = [("typeobj", ctypes.c_void_p), ("kind", ctypes.c_char * 4),
                ("type_num", ctypes.c_int), ("flags", ctypes.c_uint64),
                ("itemsize", ctypes.c_ssize_t)]


ITEMSIZE = object.__basicsize__ + _DtypeFields.itemsize.offset
FLAGS = object.__basicsize__ + _ArrayFields.flags.offset
MEM_HANDLER = object.__basicsize__ + _ArrayFields.mem_handler.offset


# -- lists and counts, under the lock --------------------------------------------------------------


@inline
def acquire() -> None:
    while exchange(LOCK, 1) != 0:
        C.sched_yield()


@inline
def release() -> None:
    publish(LOCK, 0, 0)


@inline
def count(which: int, more: int) -> int:
    """Add to one of the counters."""
    put(COUNTS, which, word(COUNTS, which) + more)
    return word(COUNTS, which)


@inline
def lift(which: int, value: int) -> None:
    """Raise one of the counters to a value, if it is smaller."""
    if value > word(COUNTS, which):
        put(COUNTS, which, value)


@inline
def pop(kind: int) -> int:
    """Pop the first block of a class; 0 if there is none."""
    block = word(LISTS + 8 * kind)
    if block != 0:
        put(LISTS + 8 * kind, 0, word(block, NEXT))
        count(CACHED, -word(block, CAPACITY))
    return block


@inline
def hand_out(block: int, bytes: int) -> None:
    """Count a block that is allocated."""
    put(block, BYTES, bytes)
    lift(PEAK, count(IN_USE, bytes))
    count(ALLOCS, 1)
    lift(LARGEST, bytes)
    count(BLOCKS, 1)


# -- blocks ----------------------------------------------------------------------------------------


def tanx_alloc(bytes: int) -> int:
    """The address of a block, a multiple of 64; 0 if there is no memory."""
    if bytes < 0 or bytes > MOST:
        return 0
    lines = 0
    if bytes > 0:
        lines = (bytes - 1) >> 6
    shift = 61 - leading_zeros(lines)
    if shift < 0:
        shift = 0
    mantissa = lines >> shift
    kind = 4 * shift + mantissa
    acquire()
    block = pop(kind)
    if block != 0:
        hand_out(block, bytes)
        release()
        return block + HEADER
    release()
    return new_block(kind, (mantissa + 1) << (shift + 6), bytes)


@rare
def new_block(kind: int, capacity: int, bytes: int) -> int:
    """Allocate a block, if none was free."""
    block = fresh(capacity)
    if block == 0:
        tanx_trim(0)
        block = fresh(capacity)
        if block == 0:
            return 0
    put(block, CLASS, kind)
    put(block, CAPACITY, capacity)
    acquire()
    hand_out(block, bytes)
    lift(PEAK_RESERVED, count(RESERVED, capacity))
    release()
    return block + HEADER


@rare
def fresh(capacity: int) -> int:
    """A block from the system; 0 if the system has none or the limit would be exceeded."""
    if capacity >= LARGE:
        if too_much(capacity):
            return 0
        return mapped(capacity)
    place = stack(8)
    if C.posix_memalign(place, 64, capacity + HEADER) != 0:
        return 0
    block = word(place)
    put(block, BASE, block)
    put(block, LENGTH, 0)
    put(block, CLEAN, 0)
    return block


@rare
def mapped(capacity: int) -> int:
    """A large block.

    It begins at another cache line of a page than the one before: arrays that are accessed together
    would otherwise compete for the same cache sets. It is mapped where huge pages are possible, and
    has as many as it fills to half or more: getting memory by ordinary pages takes ten times as
    long.
    """
    padded = capacity + PADDING
    span = (padded + HUGE - 1) & -HUGE
    somewhere = C.mmap(0, span + HUGE, PROTECTION, MAPPING, -1, 0)
    if somewhere == -1:
        return 0
    before = -somewhere & (HUGE - 1)
    start = somewhere + before
    C.munmap(somewhere, before)
    C.munmap(start + span, HUGE - before)
    C.madvise(start, (padded + HUGE // 2) & -HUGE, ADVICE)
    block = start + (add_to(COLOUR, 1) & (COLOURS - 1)) * LINES
    put(block, BASE, start)
    put(block, LENGTH, span)
    put(block, CLEAN, 1)
    return block


@rare
def too_much(capacity: int) -> int:
    """Whether a new block would exceed the limit on all blocks together."""
    acquire()
    total = word(COUNTS, RESERVED) + capacity
    bound = word(COUNTS, BOUND)
    release()
    return total > bound


def tanx_free(data: int) -> None:
    """Free memory, and keep it for the next request of its class."""
    if data == 0:
        return
    block = data - HEADER
    put(block, CLEAN, 0)
    kind = word(block, CLASS)
    acquire()
    count(IN_USE, -word(block, BYTES))
    count(BLOCKS, -1)
    put(block, NEXT, word(LISTS + 8 * kind))
    put(LISTS + 8 * kind, 0, block)
    cached = count(CACHED, word(block, CAPACITY))
    most = word(MOST_KEPT)
    release()
    if cached > most:
        tanx_trim(most >> 1)


@rare
def tanx_trim(keep: int) -> None:
    """Return free blocks to the system until at most ``keep`` bytes of them are left."""
    kind = CLASSES - 1
    while kind >= 0:
        acquire()
        if word(COUNTS, CACHED) <= keep:
            release()
            return
        block = pop(kind)
        if block == 0:
            release()
            kind -= 1
            continue
        count(RESERVED, -word(block, CAPACITY))
        release()
        if word(block, LENGTH) != 0:
            C.munmap(word(block, BASE), word(block, LENGTH))
        else:
            C.free(word(block, BASE))


@rare
def tanx_limit(bound: int, kept: int) -> None:
    """Set the limit of bytes in all blocks, and of bytes in free blocks."""
    put(COUNTS, BOUND, bound)
    put(MOST_KEPT, 0, kept)


@rare
def tanx_statistics(out: int) -> None:
    """Write all counters."""
    acquire()
    C.memcpy(out, COUNTS, 72)
    release()


@rare
def tanx_forked() -> None:
    """In the child of a fork: the holder of the lock does not exist. Lists are always
    consistent."""
    put(LOCK, 0, 0)


@rare
def python_count(self: int, args: int, given: int) -> int:
    """The Python function count(bytes): count memory that was allocated elsewhere, or freed
    (negative).

    Returns the bytes in use.
    """
    bytes = number(args, 0)
    acquire()
    used = count(IN_USE, bytes)
    lift(PEAK, used)
    release()
    return C.PyLong_FromSsize_t(used)


# -- NumPy's interface for allocators --------------------------------------------------------------


def numpy_malloc(context: int, bytes: int) -> int:
    """Allocate memory for a NumPy array."""
    return tanx_alloc(bytes)


@rare
def numpy_calloc(context: int, items: int, size: int) -> int:
    """Allocate memory for items, filled with zeros."""
    if size != 0 and (items < 0 or size < 0 or items > WHOLE // size):
        return 0
    data = tanx_alloc(items * size)
    if data != 0 and word(data - HEADER, CLEAN) == 0:
        C.memset(data, 0, items * size)
    return data


@rare
def numpy_realloc(context: int, data: int, bytes: int) -> int:
    """Reallocate memory, keeping its elements."""
    if data == 0:
        return tanx_alloc(bytes)
    capacity = word(data - HEADER, CAPACITY)
    if 0 <= bytes and bytes <= capacity:
        return data
    other = tanx_alloc(bytes)
    if other != 0:
        C.memcpy(other, data, capacity)
        tanx_free(data)
    return other


def numpy_free(context: int, data: int, bytes: int) -> None:
    """Free memory of an array."""
    tanx_free(data)


# -- arrays ----------------------------------------------------------------------------------------


@rare
def tanx_setup(array_type: int, new_array: int, handler: int, none: int) -> None:
    """Set the objects that new arrays need."""
    put(OBJECTS, ARRAY_TYPE, array_type)
    put(OBJECTS, NEW_ARRAY, new_array)
    put(OBJECTS, HANDLER, handler)
    put(OBJECTS, NONE, none)


def tanx_array(dtype: int, ndim: int, shape: int) -> int:
    """A new ndarray over a block; 0 with a Python error if there is no memory."""
    bytes = word(dtype, ITEMSIZE)
    i = 0
    while i < ndim:
        extent = word(shape + 8 * i)
        if extent != 0 and bytes > WHOLE // extent:
            return C.PyErr_NoMemory()
        bytes *= extent
        i += 1
    data = tanx_alloc(bytes)
    if data == 0:
        return C.PyErr_NoMemory()
    C.Py_IncRef(dtype)
    array = call(word(OBJECTS, NEW_ARRAY), word(OBJECTS, ARRAY_TYPE), dtype, ndim, shape, 0, data,
                 CARRAY, 0)
    if array == 0:
        tanx_free(data)
        return 0
    put32(array, FLAGS, int32(array, FLAGS) | OWNDATA)
    C.Py_IncRef(word(OBJECTS, HANDLER))
    put(array, MEM_HANDLER, word(OBJECTS, HANDLER))
    return array


def python_empty(self: int, args: int, given: int) -> int:
    """The Python function empty(shape, dtype)."""
    extents = stack(8 * DIMENSIONS)
    shape = word(args)
    ndim = C.PyTuple_Size(shape)
    if ndim < 0 or ndim > DIMENSIONS:
        return refused()
    i = 0
    while i < ndim:
        extent = C.PyLong_AsSsize_t(C.PyTuple_GetItem(shape, i))
        if extent < 0:
            return refused()
        put(extents + 8 * i, 0, extent)
        i += 1
    return tanx_array(word(args, 8), ndim, extents)


@rare
def refused() -> int:
    """Raise an error, if none was raised."""
    if C.PyErr_Occurred() == 0:
        C.PyErr_NoMemory()
    return 0


def python_run(self: int, args: int, given: int) -> int:
    """The Python function run(program, arena, *arrays): call a program.

    It gets the addresses of arrays and of an arena of so many bytes; the GIL is released meanwhile.
    """
    places = stack(8 * given)
    arrays = given - 2
    addresses(args + 16, arrays, places)
    temporaries = tanx_alloc(number(args, 1))
    if temporaries == 0:
        return C.PyErr_NoMemory()
    put(places + 8 * arrays, 0, temporaries)
    program = number(args, 0)
    state = C.PyEval_SaveThread()
    call(program, places)
    C.PyEval_RestoreThread(state)
    tanx_free(temporaries)
    C.Py_IncRef(word(OBJECTS, NONE))
    return word(OBJECTS, NONE)
