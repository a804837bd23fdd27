"""The results of a native call: memory for outputs, arrays around it, trees of these.

Translated with ``call.py``, which describes entries and frames.
"""

from __future__ import annotations

from .call_frame import *

__all__ = ["make", "make_arrays", "make_outputs"]


def new_array(frame: int) -> int:
    """A NumPy array of the form at the cursor; 0 if there is no memory."""
    descr = following(frame)
    ndim = following(frame)
    dims = word(frame, CURSOR)
    put(frame, CURSOR, dims + 8 * ndim)
    return C.tanx_array(descr, ndim, dims)


def make_outputs(entry: int, frame: int) -> int:
    """Find or allocate the arrays that the program writes; 0 if there is no memory."""
    held = frame + word(entry, HELD_AT)
    outputs = frame + word(entry, OUTPUTS_AT)
    i = 0
    while i < word(entry, OUTPUTS):
        argument = following(frame)
        if argument < 0:
            made = new_array(frame)
            if made == 0:
                return 0
        else:
            made = word(held + 8 * argument)
            C.Py_IncRef(made)
        put(outputs + 8 * i, 0, made)
        append(frame, NEXT, word(made, DATA))
        i += 1
    return 1


def make_arrays(entry: int, frame: int) -> int:
    """Wrap the data of results; 0 if there is no memory."""
    i = 0
    while i < word(entry, RESULTS):
        place = following(frame)
        aval = following(frame)
        device = following(frame)
        buffer = data_of_result(entry, frame)
        made = C.PyType_GenericAlloc(address_of.array_class, 0)
        if made == 0 or buffer == 0:
            C.Py_DecRef(made)
            C.Py_DecRef(buffer)
            return 0
        C.Py_IncRef(aval)
        C.Py_IncRef(device)
        put(made, BUFFER, buffer)
        put(made, AVAL, aval)
        put(made, DEVICE, device)
        put(word(frame, MADE_LIST) + 8 * place, 0, made)
        i += 1
    return 1


def data_of_result(entry: int, frame: int) -> int:
    """Code: the kind and number of the source of the data; for a view also its shape, for a copy
    its size in bytes and its form."""
    kind = following(frame)
    which = following(frame)
    if kind == COPIED:
        size = following(frame)
        made = new_array(frame)
        if made != 0:
            source = frame + ADDRESSES + 8 * (word(entry, CONSTANTS) + which)
            C.memcpy(word(made, DATA), word(source), size)
        return made
    data = which
    if kind == OUTPUT or kind == OUTPUT_VIEWED:
        data = word(frame + word(entry, OUTPUTS_AT) + 8 * which)
    elif kind != CONSTANT:
        data = word(frame + word(entry, HELD_AT) + 8 * which)
    if kind == VIEWED or kind == OUTPUT_VIEWED:
        return view(frame, data)
    C.Py_IncRef(data)
    return data


def view(frame: int, data: int) -> int:
    """The same data in the shape at the cursor; 0 if there is no memory."""
    ndim = following(frame)
    shape = stack(16)
    put(shape, 0, word(frame, CURSOR))
    put(shape, 8, ndim)
    put(frame, CURSOR, word(frame, CURSOR) + 8 * ndim)
    return C.PyArray_Newshape(data, shape, ROW_MAJOR)


def make(frame: int) -> int:
    """The tree that the codes at the cursor describe; 0 if an error occurred."""
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
    return filled(frame, made, made + ITEMS, count)


def make_list(frame: int, count: int) -> int:
    made = C.PyList_New(count)
    if made == 0:
        return 0
    return filled(frame, made, word(made, LIST_ITEMS), count)


def filled(frame: int, made: int, items: int, count: int) -> int:
    """A sequence whose items, at ``items``, are built now; 0 if one of them fails."""
    i = 0
    while i < count:
        item = make(frame)
        if item == 0:
            C.Py_DecRef(made)
            return 0
        put(items, 8 * i, item)
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
