"""The call of a jitted function, as native code: guards, memory, run, results.

``native.py`` translates the files ``call*.py``. A jitted function holds a tuple of *entries*, one
for each signature. An entry is a tuple whose first item is a ``bytes`` of words, written by
``entries.py``; the other items are the objects that the words refer to. The words are a header, and
then what :func:`attempt` reads from front to back with a *cursor*:

    the static arguments: for each its position, its type, its value
    the guards: see ``call_guards.py``
    the addresses of the constants
    the other arguments in the order of leaves: for each its position and the *codes* of its tree
    the outputs: for each the number of the argument whose memory it takes, or -1 and its form: the
        descriptor (NumPy's), the number of dimensions, the dimensions
    the results that are not unchanged arguments: for each its position among those created, its
        type, its device or sharding or None, and where its data comes from: an output, a constant,
        an argument whose data it shares in the same shape or in another one, or one to be copied
    the codes of the tree of results

Codes describe a tree, node by node; the same codes say what to expect and what to build. Entries
never change. Nothing here raises except the program itself: if an argument does not match an entry,
or an error occurs, the call goes to the method ``__call__``, which explains what is wrong.

A call has a *frame*: a few words, the addresses that the program takes, the objects that the call
holds (the array of each argument), arrays whose data ends with the call, and the program's
temporaries if they are small.
"""

from __future__ import annotations

from .call_arguments import take_arguments
from .call_frame import *
from .call_guards import guarded
from .call_results import make, make_arrays, make_outputs

__all__ = ["vectorcall"]


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
            if result > RAISED:
                return result
            if result == RAISED:
                return 0
            if result == 0:
                C.PyErr_Clear()
    return slow(self, args, flagged, names)


def search(self: int, entries: int, key: int, args: int, count: int, names: int) -> int:
    """Try the entry that matched last, then the others."""
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


# -- one entry -------------------------------------------------------------------------------------


def attempt(words: int, key: int, args: int, count: int, names: int) -> int:
    """The result of a call by the program of an entry, or MISS if the arguments do not match."""
    entry = words + BYTES
    if word(entry, KEY) != key or word(entry, COUNT) != count:
        return MISS
    if word(entry, NAMES) != names:
        if not same_names(word(entry, NAMES), names):
            return MISS
    if not same_statics(entry, args):
        return MISS
    if not guarded(entry):
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
    """Whether the keywords of a call are the expected ones, in the same order."""
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
    """Whether the static arguments have the expected types and equal values."""
    item = entry + HEADER
    i = 0
    while i < word(entry, STATICS):
        if not equal(word(args + 8 * word(item)), word(item, 8), word(item, 16)):
            return 0
        item += 24
        i += 1
    return 1


def in_frame(entry: int, args: int, frame: int) -> int:
    """As ``attempt``, for the words after the static arguments; releases everything it holds."""
    constants = word(entry, CONSTANTS)
    cursor = entry + HEADER + 24 * word(entry, STATICS) + word(entry, GUARDS)
    copy_words(frame + ADDRESSES, cursor, constants)
    put(frame, CURSOR, cursor + 8 * constants)
    put(frame, NEXT, frame + ADDRESSES + 8 * constants)
    put(frame, HELD, frame + word(entry, HELD_AT))
    put(frame, END, frame + word(entry, ENDED_AT))
    put(frame, NUMBER, frame + word(entry, NUMBERS_AT))
    put(frame, MADE_LIST, frame + word(entry, MADE_AT))
    clear_words(frame + word(entry, OUTPUTS_AT), word(entry, OUTPUTS))
    clear_words(frame + word(entry, MADE_AT), word(entry, MADE))
    result = MISS
    if take_arguments(frame, args, word(entry, ARGUMENTS)):
        if word(entry, RELEASE) == PYTHON:
            result = run_by_python(entry, frame)
        elif may_end(entry, frame):
            result = 0
            if make_outputs(entry, frame):
                result = run(entry, frame)
    held = frame + word(entry, HELD_AT)
    release(held, (word(frame, HELD) - held) >> 3)
    ended = frame + word(entry, ENDED_AT)
    release(ended, (word(frame, END) - ended) >> 3)
    release(frame + word(entry, OUTPUTS_AT), word(entry, OUTPUTS))
    release(frame + word(entry, MADE_AT), word(entry, MADE))
    return result


# -- arguments that end with the call --------------------------------------------------------------


def may_end(entry: int, frame: int) -> int:
    """Whether only one array and this call hold the data of those arrays."""
    x = frame + word(entry, ENDED_AT)
    while x < word(frame, END):
        buffer = word(word(x), BUFFER)
        if not usable(buffer):
            return 0
        if int32(buffer, COUNTED) != 2:
            return 0
        x += 8
    return 1


def end(entry: int, frame: int) -> None:
    """Take the data from arrays, which are deleted."""
    x = frame + word(entry, ENDED_AT)
    while x < word(frame, END):
        buffer = word(word(x), BUFFER)
        C.Py_IncRef(address_of._Py_NoneStruct)
        put(word(x), BUFFER, address_of._Py_NoneStruct)
        C.Py_DecRef(buffer)
        x += 8


# -- the program -----------------------------------------------------------------------------------


def run(entry: int, frame: int) -> int:
    """Run the program and create the results; 0 if there is no memory."""
    arena = word(entry, ARENA)
    memory = frame + word(entry, ARENA_AT)
    if arena != 0:
        memory = C.tanx_alloc(arena)
        if memory == 0:
            return C.PyErr_NoMemory()
    append(frame, NEXT, memory)
    end(entry, frame)
    if word(entry, RELEASE) == UNLOCKED:
        state = C.PyEval_SaveThread()
        call(word(entry, PROGRAM), frame + ADDRESSES)
        C.PyEval_RestoreThread(state)
    else:
        call(word(entry, PROGRAM), frame + ADDRESSES)
    if arena != 0:
        C.tanx_free(memory)
    if word(address_of.tanx_stop) != 0:
        settled = C.PyObject_CallNoArgs(address_of.settle)
        if settled == 0:
            return RAISED
        C.Py_DecRef(settled)
    if not make_arrays(entry, frame):
        return 0
    if word(entry, LARGE) != 0:
        if not note_results(entry, frame):
            return RAISED
    return make(frame)


def note_results(entry: int, frame: int) -> int:
    """Record the line of the call for large results; 0 if Python raised, as on Ctrl-C."""
    made = word(frame, MADE_LIST)
    count = word(entry, MADE)
    arrays = C.PyTuple_New(count)
    if arrays == 0:
        return 0
    i = 0
    while i < count:
        x = word(made + 8 * i)
        if x == 0:
            x = address_of._Py_NoneStruct
        C.Py_IncRef(x)
        put(arrays + 8 * i, ITEMS, x)
        i += 1
    noted = C.PyObject_CallOneArg(address_of.note_all, arrays)
    C.Py_DecRef(arrays)
    C.Py_DecRef(noted)
    return noted != 0


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
        return RAISED
    i = 0
    while i < word(entry, MADE):
        made = word(word(results, LIST_ITEMS) + 8 * i)
        C.Py_IncRef(made)
        put(word(frame, MADE_LIST) + 8 * i, 0, made)
        i += 1
    C.Py_DecRef(results)
    return make(frame)
