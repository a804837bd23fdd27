"""The words of native calls: offsets in objects, entries and frames, and common steps.

Translated with ``call.py``, which describes entries and frames. Its files import everything here.
"""

from __future__ import annotations

from .._core.array import Array
from .._core.types import ShapedArray
from .native import C, address_of, call, inline, int32, narrow, put, put8, stack, word
from .objects import FIELDS, slot_offset, versions

# Python's and NumPy's objects.
COUNTED, TYPE, SIZE = 0, 8, 16  # the reference count, the type, and the size of an object
ITEMS = tuple.__basicsize__  # the offset of a tuple's items
LIST_ITEMS = 24  # the offset of the address of a list's items
DICT_VERSION = 24  # the offset of a dict's version, which changes with it
TYPE_VERSION = 384  # the offset of a class's version, in 32 bits; 0 for none
VERSIONED = int(versions() is None)
VALUE = 16  # the offset of the number in a float or complex
BYTES = bytes.__basicsize__ - 1  # the offset of the contents of a bytes
DATA, NDIM, DIMS, BASE, DESCR, FLAGS = 16, 24, 32, 48, 56, 64  # of a NumPy array
USABLE = 0x101  # flags: contiguous in row-major order, and aligned
FORCED = 0x311  # flags: as USABLE, in native byte order, with unsafe casts
OWNED = 0x404  # flags: it owns its memory, which is writable
EQUAL = 2  # Py_EQ
ROW_MAJOR = 0  # NPY_CORDER
ARGUMENTS_OFFSET = -1 << 63  # the slot before the first argument may be used

# Ours.
BUFFER, AVAL, DEVICE = (slot_offset(Array, name) for name in ("_data", "aval", "_device"))
AVAL_SHAPE, AVAL_DTYPE, AVAL_WEAK, AVAL_PLACEMENT = (
    slot_offset(ShapedArray, name) for name in ("shape", "dtype", "weak_type", "placement"))
ENTRIES, LATEST = FIELDS + 8, FIELDS + 16  # of a jitted function
MEMBERS, CLASS, WORD, ITEMS_OF = range(4)  # kinds of guards
STAGING, THREAD_KEY, THREAD_VERSION = 0, 8, 16  # of a thread: see _base/thread_state.py

# The header of an entry, and the codes of trees. Numbers end as f32, f64, i32 and so on.
(KEY, COUNT, NAMES, STATICS, CONSTANTS, ARGUMENTS, OUTPUTS, RESULTS, MADE, FRAME, HELD_AT,
 ENDED_AT, OUTPUTS_AT, MADE_AT, NUMBERS_AT, ARENA_AT, ARENA, PROGRAM, RELEASE, LARGE, GUARDS,
 HOLD, HEADER) = range(0, 184, 8)
(ARRAY, NDARRAY, SCALAR, F32, F64, I32, I64, BOOL, C64, C128,
 NONE, TUPLE, LIST, DICT, CUSTOM, LEAF, OBJECT) = range(17)
KEPT, ENDED, OVERWRITTEN = range(3)  # what a call does to an array
# Where the data of a result comes from: an output, a constant, an argument, in its own shape or
# not.
OUTPUT, OUTPUT_VIEWED, CONSTANT, SHARED, VIEWED, COPIED = range(6)

# The header of a frame.
CURSOR, NEXT, HELD, END, NUMBER, MADE_LIST, SCRATCH, ADDRESSES = range(0, 64, 8)

ALONE, UNLOCKED, PYTHON = range(3)  # how a program runs: see ``run`` and ``run_by_python``
MISS, RAISED = 1, 2  # instead of a result: the entry does not match; an exception was raised
SMALL = 8192  # bytes of a frame on the stack


# -- steps ---------------------------------------------------------------------------------------


@inline
def following(frame: int) -> int:
    """The word at the cursor, which advances."""
    cursor = word(frame, CURSOR)
    put(frame, CURSOR, cursor + 8)
    return word(cursor)


@inline
def append(frame: int, pointer: int, value: int) -> None:
    """Write a word at one of the frame's pointers, and advance the pointer."""
    place = word(frame, pointer)
    put(place, 0, value)
    put(frame, pointer, place + 8)


@inline
def copy_words(to: int, source: int, count: int) -> None:
    i = 0
    while i < count:
        put(to, 8 * i, word(source + 8 * i))
        i += 1


@inline
def clear_words(at: int, count: int) -> None:
    i = 0
    while i < count:
        put(at, 8 * i, 0)
        i += 1


@inline
def release(at: int, count: int) -> None:
    """Release some references, if any."""
    i = 0
    while i < count:
        C.Py_DecRef(word(at + 8 * i))
        i += 1


def equal(x: int, kind: int, value: int) -> int:
    """Whether ``x`` has a type and equals a value; comparing may run any Python code."""
    if x == value:
        return 1
    if word(x, TYPE) != kind:
        return 0
    C.Py_IncRef(x)
    same = C.PyObject_RichCompareBool(x, value, EQUAL)
    C.Py_DecRef(x)
    if same < 0:
        C.PyErr_Clear()
        return 0
    return same


@inline
def usable(x: int) -> int:
    """Whether an object, or NULL, is a NumPy array that programs can read in place."""
    if x == 0:
        return 0
    if word(x, TYPE) != address_of.PyArray_Type:
        return 0
    return int32(x, FLAGS) & USABLE == USABLE
