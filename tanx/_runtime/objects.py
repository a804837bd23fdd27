"""The layout of Python's objects, for native code that reads their fields.

Offsets are read from the interpreter and confirmed on live objects; :func:`obstacle` says why
native calls are impossible in this process, if they are. :func:`callable_class` gives a class the
fields through which native code takes its calls.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from types import MemberDescriptorType
from typing import Any, TypeVar

import numpy as np

from .._base.forever import forever

__all__ = ["FIELDS", "callable_class", "member_offset", "native_calls", "obstacle", "slot_offset",
           "versions"]


class _Plain:
    """A class without ``__slots__``."""


FIELDS = _Plain.__basicsize__
"""Offsets of the fields of a callable object: the address of the function that takes its calls, a
tuple of entries, and the number of the entry that matched last."""

_WORD = 8


def slot_offset(cls: type, name: str) -> int:
    """The offset of one of a class's ``__slots__`` in its instances."""
    return member_offset(cls.__dict__[name])


def member_offset(descriptor: MemberDescriptorType) -> int:
    """The offset of one of the ``__slots__`` in objects, from its descriptor."""
    member = _word(id(descriptor) + 40)  # PyMemberDescrObject.d_member
    return _word(member + 16)  # PyMemberDef.offset


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


@cache
def obstacle() -> str | None:
    """Why calls cannot be native in this process; None if they can."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} is not CPython"
    if sys.maxsize != 2 ** 63 - 1 or sys.byteorder != "little":
        return "the processor does not have little-endian words of 64 bits"
    if "t" in getattr(sys, "abiflags", ""):
        return "this Python runs threads without a global lock"
    if hasattr(sys, "getobjects"):
        return "objects of a Python built to trace references have other layouts"
    found = _unexpected()
    return f"{found} is not laid out as expected" if found else None


@cache
def versions() -> str | None:
    """Why the versions of dicts and classes cannot be trusted; None if they can.

    Python has none from 3.14 on, and where it has, attributes that are set must change them.
    """
    sample: Any = _Plain()
    plain: Any = _Plain
    members = vars(sample)

    def dict_version() -> int:
        return _word(id(members) + 24)

    def class_version() -> int:
        sample.missing = 0
        return ctypes.c_uint32.from_address(id(_Plain) + 384).value

    seen = set()
    for i in range(40):  # often enough for the interpreter to specialize
        sample.value = i
        seen.add(dict_version())
    members["value"] = 1
    seen.add(dict_version())
    settled = dict_version() == dict_version()
    first = class_version()
    plain.changed = 1
    second = ctypes.c_uint32.from_address(id(_Plain) + 384).value
    third = class_version()
    del plain.changed
    if len(seen) != 41 or not settled:
        return "dicts do not report changes"
    return None if first not in (second, third) and first else "classes do not report changes"


def _unexpected() -> str | None:
    """The first kind of object that does not have the expected layout."""
    a, b = object(), object()
    array = np.zeros((2, 3), np.int16)
    dims = _word(id(array) + 32)
    sample = _Sample(a, b)
    items = tuple.__basicsize__
    expected = {
        "tuple": [_word(id(_keep((a, b))) + at) for at in (16, items, items + 8)] == [
            2, id(a), id(b)],
        "list": [_word(_word(id(_keep([a, b])) + 24) + at) for at in (0, 8)] == [id(a), id(b)],
        "dict": _word(id(_keep({a: b})) + 16) == 1,
        "cell": _word(id((lambda: a).__closure__[0]) + 16) == id(a),  # type: ignore[index]
        "float": ctypes.c_double.from_address(id(_keep(2.5)) + 16).value == 2.5,
        "complex": ctypes.c_double.from_address(id(_keep(1 + 3.5j)) + 24).value == 3.5,
        "bytes": ctypes.string_at(id(_keep(b"abc")) + bytes.__basicsize__ - 1, 3) == b"abc",
        "type": _word(id(a) + _WORD) == id(object),
        "ndarray": (_word(id(array) + 16) == array.ctypes.data
                    and ctypes.c_int32.from_address(id(array) + 24).value == 2
                    and [_word(dims), _word(dims + 8)] == [2, 3]
                    and _word(id(array) + 56) == id(array.dtype)
                    and ctypes.c_int32.from_address(id(array) + 64).value & 0xFFF == 0x505),
        "object with slots": [_word(id(sample) + slot_offset(_Sample, name))
                              for name in _Sample.__slots__] == [id(a), id(b)],
    }
    return next((kind for kind, right in expected.items() if not right), None)


class _Sample:
    __slots__ = ("first", "second")

    def __init__(self, first, second):
        self.first, self.second = first, second


_kept: list = []


def _keep(x):
    """Hold a temporary object while its fields are read."""
    _kept[:] = [x]
    return x


# -- callable classes ------------------------------------------------------------------------------

T = TypeVar("T", bound=type)

# Flags of types: Py_TPFLAGS_HAVE_VECTORCALL and others.
_VECTORCALL, _METHOD, _BASETYPE, _VERSIONED = 1 << 11, 1 << 17, 1 << 10, 1 << 18
_MEMBERS = 72  # Py_tp_members
_OBJECT, _SIZE, _READONLY = 16, 19, 1  # T_OBJECT_EX, T_PYSSIZET, READONLY


class _Member(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("offset", ctypes.c_ssize_t),
                ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int),
                ("flags", ctypes.c_uint), ("slots", ctypes.POINTER(_Slot))]


def callable_class(cls: T) -> T:
    """A class decorator: calls of instances go to the native function of :func:`native_calls`.

    Until an instance has one, and where native code is not possible, they go to ``__call__`` as
    usual. The class behaves like functions when it is an attribute of another class, so it must
    have a ``__get__`` that binds.
    """
    if obstacle() is not None or cls.__basicsize__ != FIELDS:
        return cls
    members = (_Member * 3)(
        _Member(b"__vectorcalloffset__", _SIZE, FIELDS, _READONLY),
        _Member(b"_native", _OBJECT, FIELDS + _WORD, 0))
    slots = (_Slot * 2)(_Slot(_MEMBERS, ctypes.addressof(members)))
    name = f"{cls.__module__}.{cls.__qualname__}".encode()
    spec = _Spec(name, FIELDS + 3 * _WORD, 0, _VECTORCALL | _METHOD | _BASETYPE | _VERSIONED, slots)
    forever((members, slots, name, spec))  # the type refers to them
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Spec), ctypes.py_object)(
        ("PyType_FromSpecWithBases", ctypes.pythonapi))
    made = make(spec, (cls,))
    made.__doc__ = cls.__doc__
    return made


def native_calls(instance, function: int, entries: tuple) -> None:
    """Let a native function take the calls of an instance of a :func:`callable_class`."""
    instance._native = entries
    ctypes.c_int64.from_address(id(instance) + FIELDS).value = function
