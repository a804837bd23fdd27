"""The call of a jitted function, as native code: guards, memory, run, results.

This file is translated by ``native.py``. A jitted function holds a tuple of *entries*, one for each
signature that was met. An entry is a tuple whose first item is a ``bytes`` of words, written by
``entries.py``, and whose others are what the words refer to. The words are a header, and then what
:func:`attempt` reads from front to back, a *cursor* going along:

    the static arguments: for each its position, its type, its value
    the addresses of the constants
    the other arguments in the order of leaves: for each its position and the *codes* of its tree
    the outputs: for each the descriptor (NumPy's), the number of dimensions, the dimensions
    the results that are no arguments: for each its place among those made, the number of the output
        that has its data or the constant that has it, and its type
    the codes of the tree of results

Codes say what a tree is, node by node; the same codes tell what to expect and what to make. Entries
never change. Nothing here raises: where an argument is not what an entry expects, where anything is
unusual or an error comes up, the call goes to the method ``__call__``, which says what is wrong.

A call has a *frame*: a few words, the addresses that the program takes, what the call holds, and
the program's temporaries where they are small.
"""

from __future__ import annotations

from .._core.array import Array
from .._core.types import ShapedArray
from .native import C, address_of, call, inline, int32, narrow, put, put8, stack, word
from .objects import FIELDS, slot_offset

__all__ = ["vectorcall"]

# Python's and NumPy's objects.
TYPE, SIZE, ITEMS = 8, 16, 24  # of a list, ITEMS is the address of the items
VALUE = 16  # where a float and a complex have their number
BYTES = bytes.__basicsize__ - 1  # where a bytes has its contents
DATA, NDIM, DIMS, DESCR, FLAGS = 16, 24, 32, 56, 64  # of a NumPy array
USABLE = 0x101  # flags: contiguous in row-major order, and aligned
EQUAL = 2  # Py_EQ
ARGUMENTS_OFFSET = -1 << 63  # the slot before the first argument may be used

# Ours.
BUFFER, AVAL, DEVICE = (slot_offset(Array, name) for name in ("_buffer", "aval", "_device"))
AVAL_SHAPE, AVAL_DTYPE, AVAL_WEAK = (
    slot_offset(ShapedArray, name) for name in ("shape", "dtype", "weak_type"))
ENTRIES, LATEST = FIELDS + 8, FIELDS + 16  # of a jitted function
STAGING, THREAD_KEY, THREAD_VERSION = 0, 8, 16  # of a thread: see _situation.py

# The header of an entry, and the codes of trees. Numbers end as f32, f64, i32 and so on.
(KEY, COUNT, NAMES, STATICS, CONSTANTS, ARGUMENTS, OUTPUTS, RESULTS, MADE, FRAME, HELD_AT,
 OUTPUTS_AT, MADE_AT, NUMBERS_AT, ARENA_AT, ARENA, PROGRAM, RELEASE, HEADER) = range(0, 152, 8)
(ARRAY, NDARRAY, SCALAR, F32, F64, I32, I64, BOOL, C64, C128,
 NONE, TUPLE, LIST, DICT, CUSTOM, LEAF, OBJECT) = range(17)

# The header of a frame.
CURSOR, NEXT, HELD, NUMBER, MADE_LIST, SCRATCH, ADDRESSES = range(0, 56, 8)

ALONE, UNLOCKED, PYTHON = range(3)  # how a program runs: see ``run`` and ``run_by_python``
MISS = 1  # in place of a result: the entry does not fit
SMALL = 8192  # bytes of a frame on the stack


# -- the way in ------------------------------------------------------------------------------------


def vectorcall(self: int, args: int, flagged: int, names: int) -> int:
    """Python's vectorcall protocol."""
    entries = word(self, ENTRIES)
    thread = C.PyThread_tss_get(address_of.thread_key)
    if entries != 0 and thread != 0:
        if word(thread, STAGING) == 0 and word(thread, THREAD_VERSION) == word(
                address_of.flags_version):
            C.Py_IncRef(entries)
            result = search(self, entries, word(thread, THREAD_KEY), args,
                            flagged & ~ARGUMENTS_OFFSET, names)
            C.Py_DecRef(entries)
            if result > MISS:
                return result
            if result == 0:
                C.PyErr_Clear()
    return slow(self, args, flagged, names)


def search(self: int, entries: int, key: int, args: int, count: int, names: int) -> int:
    """Try the entry that fitted last, then the others."""
    total = word(entries, SIZE)
    latest = word(self, LATEST)
    if latest < total:
        result = attempt(word(word(entries + 8 * latest, ITEMS), ITEMS), key, args, count, names)
        if result != MISS:
            return result
    i = 0
    while i < total:
        if i != latest:
            result = attempt(word(word(entries + 8 * i, ITEMS), ITEMS), key, args, count, names)
            if result != MISS:
                put(self, LATEST, i)
                return result
        i += 1
    return MISS


def slow(self: int, args: int, flagged: int, names: int) -> int:
    """The method ``__call__``, with the function as its first argument."""
    count = flagged & ~ARGUMENTS_OFFSET
    if flagged < 0:
        before = word(args, -8)
        put(args, -8, self)
        result = C.PyObject_VectorcallMethod(address_of.call_name, args - 8, count + 1, names)
        put(args, -8, before)
        return result
    total = count
    if names != 0:
        total += word(names, SIZE)
    copy = C.PyMem_RawMalloc(8 * total + 8)
    if copy == 0:
        return C.PyErr_NoMemory()
    put(copy, 0, self)
    copy_words(copy + 8, args, total)
    result = C.PyObject_VectorcallMethod(address_of.call_name, copy, count + 1, names)
    C.PyMem_RawFree(copy)
    return result


@inline
def copy_words(to: int, source: int, count: int) -> None:
    i = 0
    while i < count:
        put(to, 8 * i, word(source + 8 * i))
        i += 1


# -- one entry -------------------------------------------------------------------------------------


def attempt(words: int, key: int, args: int, count: int, names: int) -> int:
    """The result of a call by the program of an entry, or MISS where the arguments do not fit."""
    entry = words + BYTES
    if word(entry, KEY) != key or word(entry, COUNT) != count:
        return MISS
    if word(entry, NAMES) != names:
        if not same_names(word(entry, NAMES), names):
            return MISS
    if not same_statics(entry, args):
        return MISS
    size = word(entry, FRAME)
    if size <= SMALL:
        return in_frame(entry, args, stack(size))
    frame = C.PyMem_RawMalloc(size + 64)
    if frame == 0:
        return C.PyErr_NoMemory()
    result = in_frame(entry, args, (frame + 63) & -64)
    C.PyMem_RawFree(frame)
    return result


def same_names(expected: int, names: int) -> int:
    """Whether the keywords of a call are those expected, in the same order."""
    if expected == 0 or names == 0:
        return 0
    total = word(expected, SIZE)
    if word(names, SIZE) != total:
        return 0
    i = 0
    while i < total:
        mine = word(expected + 8 * i, ITEMS)
        other = word(names + 8 * i, ITEMS)
        if mine != other:
            if C.PyUnicode_Compare(mine, other) != 0:
                return 0
        i += 1
    return 1


def same_statics(entry: int, args: int) -> int:
    """Whether the static arguments are equal to those expected, and of the same types."""
    item = entry + HEADER
    i = 0
    while i < word(entry, STATICS):
        if not equal(word(args + 8 * word(item)), word(item, 8), word(item, 16)):
            return 0
        item += 24
        i += 1
    return 1


def equal(x: int, kind: int, value: int) -> int:
    """Whether ``x`` is of a type and equal to a value; asking may run any Python code."""
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


def in_frame(entry: int, args: int, frame: int) -> int:
    """As ``attempt``, for what comes after the static arguments; leaves nothing held."""
    constants = word(entry, CONSTANTS)
    cursor = entry + HEADER + 24 * word(entry, STATICS)
    copy_words(frame + ADDRESSES, cursor, constants)
    put(frame, CURSOR, cursor + 8 * constants)
    put(frame, NEXT, frame + ADDRESSES + 8 * constants)
    put(frame, HELD, frame + word(entry, HELD_AT))
    put(frame, NUMBER, frame + word(entry, NUMBERS_AT))
    put(frame, MADE_LIST, frame + word(entry, MADE_AT))
    clear_words(frame + word(entry, OUTPUTS_AT), word(entry, OUTPUTS))
    clear_words(frame + word(entry, MADE_AT), word(entry, MADE))
    result = MISS
    if take_arguments(frame, args, word(entry, ARGUMENTS)):
        result = 0
        if word(entry, RELEASE) == PYTHON:
            result = run_by_python(entry, frame)
        elif make_outputs(entry, frame):
            result = run(entry, frame)
    held = frame + word(entry, HELD_AT)
    release(held, (word(frame, HELD) - held) >> 3)
    release(frame + word(entry, OUTPUTS_AT), word(entry, OUTPUTS))
    release(frame + word(entry, MADE_AT), word(entry, MADE))
    return result


@inline
def clear_words(at: int, count: int) -> None:
    i = 0
    while i < count:
        put(at, 8 * i, 0)
        i += 1


@inline
def release(at: int, count: int) -> None:
    """Give up some references, where there are any."""
    i = 0
    while i < count:
        C.Py_DecRef(word(at + 8 * i))
        i += 1


# -- arguments -------------------------------------------------------------------------------------


def take_arguments(frame: int, args: int, count: int) -> int:
    """Take the data of all arguments, if they are what the codes expect."""
    i = 0
    while i < count:
        position = following(frame)
        if not take(frame, word(args + 8 * position)):
            return 0
        i += 1
    return 1


@inline
def following(frame: int) -> int:
    """The word at the cursor, which moves on."""
    cursor = word(frame, CURSOR)
    put(frame, CURSOR, cursor + 8)
    return word(cursor)


def take(frame: int, x: int) -> int:
    """Take the data of the leaves of ``x``, if it is what the codes at the cursor expect."""
    code = following(frame)
    if code == ARRAY:
        return take_array(frame, x)
    if code == TUPLE:
        return take_tuple(frame, x)
    if code == DICT:
        return take_dict(frame, x)
    if code == LIST:
        return take_list(frame, x)
    if code == NONE:
        return x == address_of._Py_NoneStruct
    if code == NDARRAY:
        return take_ndarray(frame, x)
    if code == CUSTOM:
        return take_custom(frame, x)
    if code == OBJECT:
        return take_object(frame, x)
    return take_number(frame, code, x)


@inline
def give(frame: int, address: int) -> int:
    """Pass an address to the program."""
    place = word(frame, NEXT)
    put(place, 0, address)
    put(frame, NEXT, place + 8)
    return 1


@inline
def hold(frame: int, x: int) -> None:
    """Keep an object until the call is over: what has it may let go of it meanwhile."""
    C.Py_IncRef(x)
    place = word(frame, HELD)
    put(place, 0, x)
    put(frame, HELD, place + 8)


@inline
def take_array(frame: int, x: int) -> int:
    """Code: type; dtype, weak type; result that the argument is, or -1; then as NDARRAY."""
    code = word(frame, CURSOR)
    put(frame, CURSOR, code + 48 + 8 * word(code, 40))
    if word(x, TYPE) != address_of.array_class:
        return 0
    buffer = word(x, BUFFER)
    if not usable(buffer):
        return 0
    aval = word(x, AVAL)
    if aval != word(code):
        if word(aval, TYPE) != address_of.shaped_array_class:
            return 0
        if word(aval, AVAL_DTYPE) != word(code, 8) or word(aval, AVAL_WEAK) != word(code, 16):
            return 0
        if not same_form(buffer, code + 32):
            return 0
    result = word(code, 24)
    if result >= 0:
        C.Py_IncRef(x)
        put(word(frame, MADE_LIST) + 8 * result, 0, x)
    hold(frame, buffer)
    return give(frame, word(buffer, DATA))


def take_ndarray(frame: int, x: int) -> int:
    """Code: descriptor, number of dimensions, dimensions."""
    code = word(frame, CURSOR)
    put(frame, CURSOR, code + 16 + 8 * word(code, 8))
    if not usable(x):
        return 0
    if not same_form(x, code):
        return 0
    hold(frame, x)
    return give(frame, word(x, DATA))


@inline
def usable(x: int) -> int:
    """Whether an object, or none at all, is a NumPy array that programs can read in place."""
    if x == 0:
        return 0
    if word(x, TYPE) != address_of.PyArray_Type:
        return 0
    return int32(x, FLAGS) & USABLE == USABLE


def same_form(x: int, code: int) -> int:
    """Whether a NumPy array has the dtype and the shape of a code."""
    ndim = word(code, 8)
    if word(x, DESCR) != word(code) or int32(x, NDIM) != ndim:
        return 0
    dims = word(x, DIMS)
    i = 0
    while i < ndim:
        if word(dims + 8 * i) != word(code + 8 * i, 16):
            return 0
        i += 1
    return 1


def take_object(frame: int, x: int) -> int:
    """Code: class; type, shape, dtype and weak type of an array, or zeros. Takes ``x`` itself."""
    code = word(frame, CURSOR)
    put(frame, CURSOR, code + 40)
    if word(x, TYPE) != word(code):
        return 0
    if word(code, 8) != 0:
        aval = word(x, AVAL)
        if aval != word(code, 8):
            if word(aval, TYPE) != address_of.shaped_array_class:
                return 0
            if word(aval, AVAL_DTYPE) != word(code, 24) or word(aval, AVAL_WEAK) != word(code, 32):
                return 0
            shape = word(code, 16)
            if not equal(word(aval, AVAL_SHAPE), word(shape, TYPE), shape):
                return 0
    hold(frame, x)
    return 1


def take_number(frame: int, code: int, x: int) -> int:
    """Write a number of Python, or a scalar of NumPy, where the program can read it."""
    kind = word(x, TYPE)
    place = word(frame, NUMBER)
    put(frame, NUMBER, place + 16)
    if code == SCALAR:
        if kind != following(frame):
            return 0
        C.PyArray_ScalarAsCtype(x, place)
    elif code == F32 or code == F64:
        if kind != address_of.PyFloat_Type:
            return 0
        put_real(place, code == F32, x + VALUE, 0)
    elif code == C64 or code == C128:
        if kind != address_of.PyComplex_Type:
            return 0
        put_real(place, code == C64, x + VALUE, 0)
        put_real(place, code == C64, x + VALUE, 1)
    elif code == BOOL:
        if kind != address_of.PyBool_Type:
            return 0
        put8(place, 0, x == address_of._Py_TrueStruct)
    else:
        if kind != address_of.PyLong_Type:
            return 0
        return take_int(frame, code, x, place)
    return give(frame, place)


@inline
def put_real(place: int, single: int, source: int, i: int) -> None:
    """Write the double number ``i`` at ``source``, in single precision or as it is."""
    if single:
        narrow(place + 4 * i, source + 8 * i)
    else:
        put(place, 8 * i, word(source + 8 * i))


def take_int(frame: int, code: int, x: int, place: int) -> int:
    put(frame, SCRATCH, 0)
    value = C.PyLong_AsLongLongAndOverflow(x, frame + SCRATCH)
    if int32(frame, SCRATCH) != 0:
        return 0
    put(place, 0, value)
    if code == I32 and int32(place) != value:
        return 0
    return give(frame, place)


@inline
def take_child(frame: int, x: int) -> int:
    """Take what a container has, holding it: a custom node below may change the container."""
    C.Py_IncRef(x)
    fits = take(frame, x)
    C.Py_DecRef(x)
    return fits


def take_tuple(frame: int, x: int) -> int:
    """Code: type, number of items; each item."""
    kind = following(frame)
    count = following(frame)
    if word(x, TYPE) != kind or word(x, SIZE) != count:
        return 0
    i = 0
    while i < count:
        if not take(frame, word(x + 8 * i, ITEMS)):
            return 0
        i += 1
    return 1


def take_list(frame: int, x: int) -> int:
    """Code: number of items; each item."""
    count = following(frame)
    if word(x, TYPE) != address_of.PyList_Type:
        return 0
    i = 0
    while i < count and word(x, SIZE) == count:
        if not take_child(frame, word(word(x, ITEMS) + 8 * i)):
            return 0
        i += 1
    return i == count and word(x, SIZE) == count


def take_dict(frame: int, x: int) -> int:
    """Code: number of items; for each its key and its value, the keys in order."""
    count = following(frame)
    if word(x, TYPE) != address_of.PyDict_Type:
        return 0
    if word(x, SIZE) != count:
        return 0
    i = 0
    while i < count:
        value = C.PyDict_GetItemWithError(x, following(frame))
        if value == 0:
            C.PyErr_Clear()
            return 0
        if not take_child(frame, value):
            return 0
        i += 1
    return 1


def take_custom(frame: int, x: int) -> int:
    """Code: type, function that flattens, one that unflattens, aux data; number of children; each.

    The first function runs Python code; what it returns has been checked by ``_treenodes.py``.
    """
    code = word(frame, CURSOR)
    put(frame, CURSOR, code + 40)
    if word(x, TYPE) != word(code):
        return 0
    pair = C.PyObject_CallOneArg(word(code, 8), x)
    if pair == 0:
        C.PyErr_Clear()
        return 0
    aux = word(code, 24)
    fits = equal(word(pair + 8, ITEMS), word(aux, TYPE), aux)
    if fits:
        fits = take_children(frame, word(pair, ITEMS), word(code, 32))
    C.Py_DecRef(pair)
    return fits


def take_children(frame: int, children: int, count: int) -> int:
    """Take the items of a sequence."""
    if C.PySequence_Size(children) != count:
        return 0
    i = 0
    while i < count:
        child = C.PySequence_GetItem(children, i)
        if child == 0:
            C.PyErr_Clear()
            return 0
        fits = take(frame, child)
        C.Py_DecRef(child)
        if not fits:
            return 0
        i += 1
    return 1


# -- results ---------------------------------------------------------------------------------------


def make_outputs(entry: int, frame: int) -> int:
    """Allocate the arrays that the program writes; 0 where there is no memory."""
    outputs = frame + word(entry, OUTPUTS_AT)
    i = 0
    while i < word(entry, OUTPUTS):
        descr = following(frame)
        ndim = following(frame)
        made = C.tanx_array(descr, ndim, word(frame, CURSOR))
        if made == 0:
            return 0
        put(frame, CURSOR, word(frame, CURSOR) + 8 * ndim)
        put(outputs + 8 * i, 0, made)
        give(frame, word(made, DATA))
        i += 1
    return 1


def run(entry: int, frame: int) -> int:
    """Run the program and make the results; 0 where there is no memory."""
    arena = word(entry, ARENA)
    memory = frame + word(entry, ARENA_AT)
    if arena != 0:
        memory = C.tanx_alloc(arena)
        if memory == 0:
            return C.PyErr_NoMemory()
    give(frame, memory)
    if word(entry, RELEASE) == UNLOCKED:
        state = C.PyEval_SaveThread()
        call(word(entry, PROGRAM), frame + ADDRESSES)
        C.PyEval_RestoreThread(state)
    else:
        call(word(entry, PROGRAM), frame + ADDRESSES)
    if arena != 0:
        C.tanx_free(memory)
    if not make_arrays(entry, frame):
        return 0
    return make(frame)


def run_by_python(entry: int, frame: int) -> int:
    """Let a Python function of the leaves run the program; it returns a list of the results."""
    held = frame + word(entry, HELD_AT)
    count = (word(frame, HELD) - held) >> 3
    leaves = C.PyTuple_New(count)
    if leaves == 0:
        return 0
    i = 0
    while i < count:
        C.Py_IncRef(word(held + 8 * i))
        put(leaves + 8 * i, ITEMS, word(held + 8 * i))
        i += 1
    results = C.PyObject_CallOneArg(word(entry, PROGRAM), leaves)
    C.Py_DecRef(leaves)
    if results == 0:
        return 0
    i = 0
    while i < word(entry, MADE):
        made = word(word(results, ITEMS) + 8 * i)
        C.Py_IncRef(made)
        put(word(frame, MADE_LIST) + 8 * i, 0, made)
        i += 1
    C.Py_DecRef(results)
    return make(frame)


def make_arrays(entry: int, frame: int) -> int:
    """Wrap the data of results; 0 where there is no memory."""
    outputs = frame + word(entry, OUTPUTS_AT)
    i = 0
    while i < word(entry, RESULTS):
        place = following(frame)
        output = following(frame)
        buffer = following(frame)
        aval = following(frame)
        if output >= 0:
            buffer = word(outputs + 8 * output)
        made = C.PyType_GenericAlloc(address_of.array_class, 0)
        if made == 0:
            return 0
        C.Py_IncRef(buffer)
        C.Py_IncRef(aval)
        C.Py_IncRef(address_of._Py_NoneStruct)
        put(made, BUFFER, buffer)
        put(made, AVAL, aval)
        put(made, DEVICE, address_of._Py_NoneStruct)
        put(word(frame, MADE_LIST) + 8 * place, 0, made)
        i += 1
    return 1


def make(frame: int) -> int:
    """The tree that the codes at the cursor tell of; 0 where an error came up."""
    code = following(frame)
    if code == LEAF:
        leaf = word(word(frame, MADE_LIST) + 8 * following(frame))
        C.Py_IncRef(leaf)
        return leaf
    if code == TUPLE:
        following(frame)
        count = following(frame)
        return make_tuple(frame, count)
    if code == LIST:
        return make_list(frame, following(frame))
    if code == DICT:
        return make_dict(frame, following(frame))
    if code == CUSTOM:
        return make_custom(frame)
    C.Py_IncRef(address_of._Py_NoneStruct)
    return address_of._Py_NoneStruct


def make_tuple(frame: int, count: int) -> int:
    made = C.PyTuple_New(count)
    if made == 0:
        return 0
    i = 0
    while i < count:
        item = make(frame)
        if item == 0:
            C.Py_DecRef(made)
            return 0
        put(made + 8 * i, ITEMS, item)
        i += 1
    return made


def make_list(frame: int, count: int) -> int:
    made = C.PyList_New(count)
    if made == 0:
        return 0
    i = 0
    while i < count:
        item = make(frame)
        if item == 0:
            C.Py_DecRef(made)
            return 0
        put(word(made, ITEMS) + 8 * i, 0, item)
        i += 1
    return made


def make_dict(frame: int, count: int) -> int:
    made = C.PyDict_New()
    if made == 0:
        return 0
    i = 0
    while i < count:
        key = following(frame)
        item = make(frame)
        if item == 0:
            C.Py_DecRef(made)
            return 0
        failed = C.PyDict_SetItem(made, key, item)
        C.Py_DecRef(item)
        if failed:
            C.Py_DecRef(made)
            return 0
        i += 1
    return made


def make_custom(frame: int) -> int:
    """Code as for :func:`take_custom`."""
    code = word(frame, CURSOR)
    put(frame, CURSOR, code + 40)
    children = make_tuple(frame, word(code, 32))
    if children == 0:
        return 0
    pair = stack(16)
    put(pair, 0, word(code, 24))
    put(pair, 8, children)
    made = C.PyObject_Vectorcall(word(code, 16), pair, 2, 0)
    C.Py_DecRef(children)
    return made
