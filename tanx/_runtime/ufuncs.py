"""Eager arithmetic on large arrays: NumPy's own loops, run in pieces by the thread pool.

A NumPy ufunc holds a C function for each dtype that computes a range of elements. If the arrays are
large, tanx calls it directly, piece by piece in all threads and without Python's lock, and writes
to memory of its own allocator. Nothing is compiled and the bits are NumPy's.
"""

from __future__ import annotations

import ctypes
from functools import cache, partial

import numpy as np

from . import host, ufuncs_native
from .machine_code import permanent
from .native import translate
from .objects import obstacle
from .threads import parallel_address

__all__ = ["spread"]

_PIECE = 1 << 15
"""Elements of a piece; a multiple of vectors and cache lines."""


class _Ufunc(ctypes.Structure):
    """The fields after the head of a ufunc."""

    _fields_ = [("nin", ctypes.c_int), ("nout", ctypes.c_int), ("nargs", ctypes.c_int),
                ("identity", ctypes.c_int), ("functions", ctypes.POINTER(ctypes.c_void_p)),
                ("data", ctypes.POINTER(ctypes.c_void_p)), ("ntypes", ctypes.c_int),
                ("reserved", ctypes.c_int), ("name", ctypes.c_char_p), ("types", ctypes.c_void_p)]


@cache
def _loop(ufunc: np.ufunc, dtype: np.dtype, out: np.dtype) -> tuple[int, int] | None:
    """The loop of a ufunc from one dtype to another, and its data; None if it has none."""
    wanted = f"{dtype.char * ufunc.nin}->{out.char}"
    if not (dtype.isbuiltin == out.isbuiltin == 1) or wanted not in ufunc.types:
        return None
    fields = _Ufunc.from_address(id(ufunc) + object.__basicsize__)
    number, size = ufunc.types.index(wanted), len(ufunc.types) * ufunc.nargs
    known = [np.dtype(char).num for text in ufunc.types for char in text.replace("->", "")]
    if (fields.nin, fields.nout, fields.nargs, fields.ntypes) != (
            ufunc.nin, ufunc.nout, ufunc.nargs, len(ufunc.types)) or (
            list(ctypes.string_at(fields.types or 0, size)) != known):
        return None  # another layout than expected
    function = fields.functions[number]
    return (function, fields.data[number] or 0) if function else None


@cache
def _native():
    """The native function and the address of the one for a piece; None if there is none."""
    if obstacle() is not None:
        return None
    try:
        addresses = permanent("loops of ufuncs", partial(
            translate, (ufuncs_native,), ("spread", "piece")),
            {"tanx_parallel": parallel_address()}, tidy=True)
    except NotImplementedError:  # no machine code on this system
        return None
    return host.builtin("spread", addresses["spread"]), addresses["piece"]


def spread(ufunc: np.ufunc, shape: tuple[int, ...], out: np.dtype, *operands: np.ndarray,
           ) -> np.ndarray | None:
    """A ufunc on arrays of one dtype, each of the result's shape or a scalar.

    None if the operands are of another kind, and left to NumPy.

    >>> x = np.arange(100_000.0)
    >>> bool((spread(np.sqrt, x.shape, x.dtype, x) == np.sqrt(x)).all())
    True
    """
    dtype = operands[0].dtype
    for x in operands:
        if x.shape != shape and x.ndim or not x.flags.c_contiguous or not x.flags.aligned or (
                x.dtype != dtype):
            return None
    loop, native = _loop(ufunc, dtype, out), _native()
    if loop is None or native is None or len(operands) != ufunc.nin:
        return None
    result = host.empty(shape, out)
    function, piece = native
    arguments: list = []
    for x in (*operands, result):
        arguments += (x, x.itemsize if x.ndim else 0)
    function(piece, -(-result.size // _PIECE), None, *loop, result.size, _PIECE,
             len(operands) + 1, *arguments)
    return result
