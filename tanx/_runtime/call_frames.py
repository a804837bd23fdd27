"""Call frames of XLA's typed interface for foreign functions, in memory.

The layout is public, version 0 of ``XLA_FFI_CallFrame``, which libraries compiled for JAX expect. A
frame refers to buffers, which differ from call to call, and to attributes, which do not.
:class:`Template` has the frame of one call in a program without the addresses of its buffers;
``foreign_native.py`` fills these in.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.forever import forever
from ..errors import explain

__all__ = ["DATA_TYPES", "ERROR_CODES", "Attribute", "Template", "api_table", "empty_attributes",
           "encoded"]

VERSION = 0, 5
"""The version of the interface, as counted by its header."""

DATA_TYPES = {
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8,
    "uint64": 9, "float16": 10, "float32": 11, "float64": 12, "complex64": 15, "bfloat16": 16,
    "complex128": 18, "float8_e5m2": 19, "float8_e4m3fn": 20, "float8_e4m3b11fnuz": 23,
    "float8_e5m2fnuz": 24, "float8_e4m3fnuz": 25, "float8_e4m3": 28, "float8_e3m4": 29,
    "float8_e8m0fnu": 33}
"""Numbers of dtypes that have whole bytes."""

ERROR_CODES = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
    "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
    "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED")
"""Names of errors, by their codes."""

_ARRAY, _DICTIONARY, _SCALAR, _STRING = range(1, 5)  # kinds of attributes
_BUFFER = 1  # the only kind of operands and results

Attribute = tuple[str, str, Any, bytes]
"""An attribute as plain data: its name, its kind, the dtype or the attributes inside, the bytes."""


# -- the structures, each of which begins with its size -------------------------------------------


class _Structure(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p)]


class _Buffer(_Structure):
    _fields_ = [("dtype", ctypes.c_int32), ("data", ctypes.c_void_p), ("rank", ctypes.c_int64),
                ("dims", ctypes.c_void_p)]


class _Buffers(_Structure):
    """Operands or results."""

    _fields_ = [("size", ctypes.c_int64), ("types", ctypes.c_void_p), ("items", ctypes.c_void_p)]


class _Attributes(_Structure):
    _fields_ = [("size", ctypes.c_int64), ("types", ctypes.c_void_p), ("names", ctypes.c_void_p),
                ("items", ctypes.c_void_p)]


class _Frame(_Structure):
    _fields_ = [("api", ctypes.c_void_p), ("context", ctypes.c_void_p), ("stage", ctypes.c_int32),
                ("args", _Buffers), ("rets", _Buffers), ("attrs", _Attributes),
                ("future", ctypes.c_void_p)]


class _Version(_Structure):
    _fields_ = [("major", ctypes.c_int32), ("minor", ctypes.c_int32)]


class _Span(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Scalar(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int32), ("value", ctypes.c_void_p)]


class _Array(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int32), ("size", ctypes.c_size_t), ("data", ctypes.c_void_p)]


def api_table(functions: Sequence[int]) -> int:
    """The address of ``XLA_FFI_Api`` with these functions, which lives as long as the process."""
    version = _Version(ctypes.sizeof(_Version), None, *VERSION)
    count = len(functions)

    class Api(_Structure):
        _fields_ = [("version", _Version), ("internal", ctypes.c_void_p),
                    ("functions", ctypes.c_void_p * count)]

    return ctypes.addressof(forever(Api(
        ctypes.sizeof(Api), None, version, None, (ctypes.c_void_p * count)(*functions))))


# -- attributes ------------------------------------------------------------------------------------


def encoded(name: str, value: Any) -> Attribute:
    """An attribute as plain data.

    >>> encoded("count", np.int8(65)), encoded("mode", "fast")
    (('count', 'scalar', 'int8', b'A'), ('mode', 'string', None, b'fast'))
    """
    if isinstance(value, str | bytes):
        return name, "string", None, value.encode() if isinstance(value, str) else bytes(value)
    if isinstance(value, dict):
        items = sorted(value.items(), key=lambda item: str(item[0]).encode())
        return name, "dict", tuple(encoded(str(k), v) for k, v in items), b""
    if isinstance(value, bool | int | float | np.ndarray | np.generic):
        kind = {bool: np.bool_, int: np.int64, float: np.float64}.get(type(value))
        data = np.asarray(value, kind)
        if data.dtype.name in DATA_TYPES:
            return (name, "array" if isinstance(value, np.ndarray) else "scalar", data.dtype.name,
                    data.tobytes())
    raise TypeError(explain(
        "tanx.ffi.ffi_call", "an attribute must be a number, a string, an array of numbers, or a "
        "dict of these.", f"attribute: {name} = {value!r:.80}",
        hint="np.asarray makes an array of a list; what changes from call to call is an operand."))


class _Keeper:
    """Creates structures that live as long as this object."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def keep(self, thing: Any) -> int:
        """The address of a ctypes object."""
        self.kept.append(thing)
        return ctypes.addressof(thing)

    def numbers(self, kind: Any, numbers: Sequence[int]) -> int:
        """The address of an array."""
        return self.keep((kind * max(1, len(numbers)))(*numbers))

    def data(self, data: bytes) -> int:
        """The address of bytes, aligned for any number, with a terminating zero."""
        room = ctypes.create_string_buffer(len(data) + 32)
        start = -(-self.keep(room) // 16) * 16
        ctypes.memmove(start, data, len(data))
        return start

    def attributes(self, attributes: Sequence[Attribute]) -> _Attributes:
        kinds, names, items = [], [], []
        for name, kind, inside, data in attributes:
            text = name.encode()
            names.append(self.keep(_Span(self.data(text), len(text))))
            if kind == "dict":
                kinds.append(_DICTIONARY)
                items.append(self.keep(self.attributes(inside)))
            elif kind == "string":
                kinds.append(_STRING)
                items.append(self.keep(_Span(self.data(data), len(data))))
            elif kind == "array":
                kinds.append(_ARRAY)
                items.append(self.keep(_Array(
                    DATA_TYPES[inside], len(data) // np.dtype(inside).itemsize, self.data(data))))
            else:
                kinds.append(_SCALAR)
                items.append(self.keep(_Scalar(DATA_TYPES[inside], self.data(data))))
        return _Attributes(
            ctypes.sizeof(_Attributes), None, len(attributes), self.numbers(ctypes.c_int32, kinds),
            self.numbers(ctypes.c_void_p, names), self.numbers(ctypes.c_void_p, items))


def empty_attributes() -> int:
    """The address of an empty list of attributes, which lives as long as the process."""
    keeper = forever(_Keeper())
    return keeper.keep(keeper.attributes(()))


# -- frames ----------------------------------------------------------------------------------------


class Template:
    """The frame of a call without the addresses of buffers.

    ``data`` has the frame, then pointers to the buffers, then the buffers, operands first.
    ``moves`` are pairs of offsets in it: of a pointer, and of its target. ``places`` are the
    offsets of addresses of data, results first. It must live as long as its data is used.
    """

    def __init__(self, api: int, results: Sequence[tuple[Sequence[int], np.dtype]],
                 operands: Sequence[tuple[Sequence[int], np.dtype]],
                 attributes: Sequence[Attribute]):
        self.keeper = keeper = _Keeper()
        buffers = [self._buffer(*kind) for kind in (*operands, *results)]
        pointers = ctypes.sizeof(_Frame)
        start = pointers + 8 * len(buffers)
        sides = [_Buffers(ctypes.sizeof(_Buffers), None, len(side),
                          keeper.numbers(ctypes.c_int32, [_BUFFER] * len(side)), None)
                 for side in (operands, results)]
        frame = _Frame(_Frame.future.offset, None, api, None, 0, *sides,
                       keeper.attributes(attributes), None)
        self.data = b"".join((bytes(frame), bytes(8 * len(buffers)), *map(bytes, buffers)))
        each, items = ctypes.sizeof(_Buffer), _Buffers.items.offset
        self.moves = [
            (_Frame.args.offset + items, pointers),
            (_Frame.rets.offset + items, pointers + 8 * len(operands)),
            *((pointers + 8 * n, start + each * n) for n in range(len(buffers)))]
        numbers = (*range(len(operands), len(buffers)), *range(len(operands)))
        self.places = [start + each * n + _Buffer.data.offset for n in numbers]

    def _buffer(self, shape: Sequence[int], dtype: np.dtype) -> _Buffer:
        if dtype.name not in DATA_TYPES:
            raise NotImplementedError(explain(
                "tanx.ffi.ffi_call", "foreign functions have no such dtype.", f"dtype: {dtype}",
                hint="x.astype(tanx.numpy.int8) makes whole bytes of smaller numbers."))
        return _Buffer(ctypes.sizeof(_Buffer), None, DATA_TYPES[dtype.name], None, len(shape),
                       self.keeper.numbers(ctypes.c_int64, shape))
