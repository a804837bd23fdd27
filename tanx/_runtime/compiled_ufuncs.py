"""Elementary functions for eager code: NumPy ufuncs whose loops tanx compiles once.

NumPy's own ``exp`` and similar functions differ from compiled programs in the last bit, and between
processors. These are the same everywhere. A loop is compiled at its first use, and cached on disk;
it does not depend on shapes.
"""

from __future__ import annotations

import ctypes
from functools import cache, partial

import numpy as np

from .._base.config import native_code
from .availability import is_native
from .objects import obstacle

__all__ = ["element_ufunc"]

_FROM_LOOPS = 1
"""The index of ``PyUFunc_FromFuncAndData`` in NumPy's table of C functions."""
_kept: list = []
"""Memory that ufuncs point to; they live as long as the process."""


def element_ufunc(name: str, dtype: np.dtype, operands: int) -> np.ufunc | None:
    """The ufunc of an instruction on one float dtype; None if there is no native code.

    >>> element_ufunc("exp", np.dtype("float32"), 1)(np.float32([0, 1]))
    array([1.       , 2.7182817], dtype=float32)
    """
    return _compiled(name, dtype, operands) if native_code.value else None


@cache
def _compiled(name: str, dtype: np.dtype, operands: int) -> np.ufunc | None:
    if obstacle() is not None or not is_native():
        return None
    from .machine_code import permanent  # late: half of what an import of tanx would take
    try:
        address = permanent(f"loop of {name} of {dtype} {operands}", partial(
            _text, name, dtype, operands))["tanx_loop"]
    except NotImplementedError:  # no machine code on this system
        return None
    return _ufunc(name, address, dtype, operands)


def _text(name: str, dtype: np.dtype, operands: int) -> str:
    from .._compiler.emit.cpu.ufunc_loop import loop_text
    from .._compiler.machine import host  # late: not needed if the code is on disk
    return loop_text(name, dtype, operands, host())


def _ufunc(name: str, address: int, dtype: np.dtype, operands: int) -> np.ufunc:
    """A ufunc made of one loop."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    from numpy._core._multiarray_umath import _UFUNC_API
    table = ctypes.cast(pointer(_UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int,
        ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p,
        ctypes.c_int)(table[_FROM_LOOPS])
    loops, data = (ctypes.c_void_p * 1)(address), (ctypes.c_void_p * 1)(None)
    types = (ctypes.c_byte * (operands + 1))(*[dtype.num] * (operands + 1))
    title, text = name.encode(), b""
    _kept.append((loops, data, types, title, text))
    none = -1  # no identity for reductions
    return make(ctypes.addressof(loops), ctypes.addressof(data), ctypes.addressof(types), 1,
                operands, 1, none, title, text, 0)
