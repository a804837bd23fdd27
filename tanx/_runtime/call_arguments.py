"""The arguments of a native call: compare them with the codes of an entry, and take their data.

Translated with ``call.py``, which describes entries and frames.
"""

from __future__ import annotations

from .call_frame import *

__all__ = ["take_arguments"]


def take_arguments(frame: int, args: int, count: int) -> int:
    """Take the data of all arguments, if they match the codes."""
    i = 0
    while i < count:
        position = following(frame)
        if not take(frame, word(args + 8 * position)):
            return 0
        i += 1
    return 1


def take(frame: int, x: int) -> int:
    """Take the data of the leaves of ``x``, if it matches the codes at the cursor."""
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
def give(frame: int, address: int, holder: int) -> int:
    """Pass an address to the program; the owner of the memory, if any, is held meanwhile."""
    C.Py_IncRef(holder)
    append(frame, HELD, holder)
    append(frame, NEXT, address)
    return 1


@inline
def take_array(frame: int, x: int) -> int:
    """Code: type; dtype, weak type; place; the result that it is, or -1; what is done to it; its
    form."""
    code = word(frame, CURSOR)
    put(frame, CURSOR, code + 64 + 8 * word(code, 56))
    if word(x, TYPE) != address_of.array_class:
        return 0
    if word(x, DEVICE) != word(code, 24):
        return 0
    buffer = word(x, BUFFER)
    if not usable(buffer):
        return 0
    aval = word(x, AVAL)
    if aval != word(code):
        if word(aval, TYPE) != address_of.shaped_array_class:
            return 0
        if word(aval, AVAL_PLACEMENT) != address_of._Py_NoneStruct:
            return 0
        if word(aval, AVAL_DTYPE) != word(code, 8) or word(aval, AVAL_WEAK) != word(code, 16):
            return 0
        if not same_form(buffer, code + 48):
            return 0
    if word(code, 40) != KEPT:
        if word(code, 40) == OVERWRITTEN:
            if word(buffer, BASE) != 0 or int32(buffer, FLAGS) & OWNED != OWNED:
                return 0
        C.Py_IncRef(x)
        append(frame, END, x)
    result = word(code, 32)
    if result >= 0:
        C.Py_IncRef(x)
        put(word(frame, MADE_LIST) + 8 * result, 0, x)
    return give(frame, word(buffer, DATA), buffer)


def take_ndarray(frame: int, x: int) -> int:
    """Code: the descriptor that the program wants; its form."""
    code = word(frame, CURSOR)
    put(frame, CURSOR, code + 24 + 8 * word(code, 16))
    if word(x, TYPE) != address_of.PyArray_Type:
        return 0
    if not same_form(x, code + 8):
        return 0
    if word(code) == word(code, 8) and usable(x):
        return give(frame, word(x, DATA), x)
    C.Py_IncRef(word(code))  # for the array, which takes ownership
    converted = C.PyArray_FromArray(x, word(code), FORCED)
    if converted == 0:
        C.PyErr_Clear()
        return 0
    give(frame, word(converted, DATA), converted)
    C.Py_DecRef(converted)
    return 1


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
            if word(aval, AVAL_PLACEMENT) != address_of._Py_NoneStruct:
                return 0
            if word(aval, AVAL_DTYPE) != word(code, 24) or word(aval, AVAL_WEAK) != word(code, 32):
                return 0
            shape = word(code, 16)
            if not equal(word(aval, AVAL_SHAPE), word(shape, TYPE), shape):
                return 0
    return give(frame, 0, x)


def take_number(frame: int, code: int, x: int) -> int:
    """Write a Python number, or a NumPy scalar, where the program can read it."""
    kind = word(x, TYPE)
    place = word(frame, NUMBER)
    put(frame, NUMBER, place + 16)
    if code == SCALAR:
        if kind != following(frame):
            return 0
        C.PyArray_ScalarAsCtype(x, place)
        doubles = following(frame)  # those that are wanted as floats
        if doubles > 0:
            narrow(place, place)
        if doubles > 1:
            narrow(place + 4, place + 8)
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
    return give(frame, place, 0)


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
    return give(frame, place, 0)


@inline
def take_child(frame: int, x: int) -> int:
    """Take the contents of a container, holding it: a custom node below may change it."""
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
        if not take_child(frame, word(word(x, LIST_ITEMS) + 8 * i)):
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

    The first function runs Python code; what it returns has been checked by ``_base/treenodes.py``.
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
