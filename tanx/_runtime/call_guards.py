"""Guards of a native call: whether the Python state that the trace has read is unchanged.

Translated with ``call.py``, which describes entries. The guards of an entry come after its static
arguments, each with a kind and its words:

    MEMBERS  whose ``__dict__`` it is or 0; the dict, its version; how many items it has, or -1 if
             others may be added; the number of names; each name and its value, or 0 if missing
    CLASS    the class, its version
    WORD     an address, the word there
    ITEMS    a list, its length, the items

Versions are those of the last call in which all guards held. A dict gets a new one whenever it
changes, so two words are compared for an object that did not change. If anything is not identical,
Python compares values: see ``_core/guards.py``.
"""

from __future__ import annotations

from .call_frame import *

__all__ = ["guarded"]


@inline
def guarded(entry: int) -> int:
    """Whether all guards of an entry hold; comparing may run any Python code."""
    if word(entry, GUARDS) == 0:
        return 1
    if same_words(entry):
        return 1
    before = mixed_versions(entry)
    held = C.PyObject_CallNoArgs(word(entry, HOLD))
    if held == 0:
        C.PyErr_Clear()
        return 0
    C.Py_DecRef(held)
    if held != address_of._Py_TrueStruct:
        return 0
    # Python compares one guard after the other. Something that another thread or a user's __eq__
    # changes meanwhile may already have been compared: its version must not be recorded.
    if mixed_versions(entry) == before:
        renew(entry)
    return 1


def same_words(entry: int) -> int:
    """Whether everything that was read is identical."""
    at = entry + HEADER + 24 * word(entry, STATICS)
    end = at + word(entry, GUARDS)
    while at < end:
        kind = word(at)
        if kind == MEMBERS:
            if not same_members(at):
                return 0
            at += 48 + 16 * word(at, 40)
        elif kind == CLASS:
            if not same_version(at):
                return 0
            at += 24
        elif kind == WORD:
            if word(word(at, 8)) != word(at, 16):
                return 0
            at += 24
        else:
            if not same_items(at):
                return 0
            at += 24 + 8 * word(at, 16)
    return 1


def same_version(at: int) -> int:
    """Whether a class has its recorded version; one without a version may have changed."""
    if not VERSIONED or word(at, 16) == 0:
        return 0
    return int32(word(at, 8), TYPE_VERSION) == word(at, 16)


def same_members(at: int) -> int:
    """Whether a dict has the values that were read."""
    members = word(at, 16)
    if word(at, 8) != 0:
        current = C.PyObject_GenericGetDict(word(at, 8), 0)
        if current == 0:
            C.PyErr_Clear()
            return 0
        C.Py_DecRef(current)
        if current != members:
            return 0
    version = word(members, DICT_VERSION)
    if VERSIONED and version == word(at, 24):
        return 1
    if word(at, 32) >= 0 and word(members, SIZE) != word(at, 32):
        return 0
    item = at + 48
    end = item + 16 * word(at, 40)
    while item < end:
        value = C.PyDict_GetItemWithError(members, word(item))
        if value != word(item, 8):
            return 0
        item += 16
    put(at, 24, version)
    return 1


def same_items(at: int) -> int:
    """Whether a list has the items that were read."""
    items = word(at, 8)
    count = word(at, 16)
    if word(items, SIZE) != count:
        return 0
    first = word(items, LIST_ITEMS)
    i = 0
    while i < count:
        if word(first + 8 * i) != word(at + 24 + 8 * i):
            return 0
        i += 1
    return 1


def mixed_versions(entry: int) -> int:
    """A number that changes with any version that the guards of an entry watch."""
    at = entry + HEADER + 24 * word(entry, STATICS)
    end = at + word(entry, GUARDS)
    mixed = 0
    while at < end:
        kind = word(at)
        if kind == MEMBERS:
            mixed = mixed * 31 + word(word(at, 16), DICT_VERSION)
            at += 48 + 16 * word(at, 40)
        elif kind == CLASS:
            mixed = mixed * 31 + int32(word(at, 8), TYPE_VERSION)
            at += 24
        elif kind == WORD:
            at += 24
        else:
            at += 24 + 8 * word(at, 16)
    return mixed


def renew(entry: int) -> None:
    """Record the versions for which Python has found that all guards hold."""
    at = entry + HEADER + 24 * word(entry, STATICS)
    end = at + word(entry, GUARDS)
    while at < end:
        kind = word(at)
        if kind == MEMBERS:
            put(at, 24, word(word(at, 16), DICT_VERSION))
            at += 48 + 16 * word(at, 40)
        elif kind == CLASS:
            put(at, 16, int32(word(at, 8), TYPE_VERSION))
            at += 24
        elif kind == WORD:
            at += 24
        else:
            at += 24 + 8 * word(at, 16)
