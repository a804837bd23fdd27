"""Dtypes from the forms that users write, and from values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.config import enable_x64, explicit_x64_dtypes
from ..errors import explain, warn_user
from ._types import (
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    HALF,
    INT32,
    INT64,
    PYTHON_SCALARS,
    WEAK,
    DType,
    ExtendedDType,
    as_dtype,
    by_name,
    float0,
    short_name,
)

__all__ = ["canonicalize_dtype", "default_complex", "default_float", "default_int", "default_uint",
           "dtype", "insist", "is_python_scalar", "is_value", "is_weakly_typed", "own_dtype",
           "requested_dtype"]

_NUMBERS = frozenset(by_name.values())


def default_int() -> np.dtype:
    """The type of a Python int: ``int32``, or ``int64`` under ``enable_x64``.

    >>> default_int()
    dtype('int32')
    """
    return INT64 if enable_x64.value else INT32


def default_uint() -> np.dtype:
    """``uint32``, or ``uint64`` under ``enable_x64``.

    >>> default_uint()
    dtype('uint32')
    """
    return by_name["uint64" if enable_x64.value else "uint32"]


def default_float() -> np.dtype:
    """The type of a Python float: ``float32``, or ``float64`` under ``enable_x64``.

    >>> default_float()
    dtype('float32')
    """
    return FLOAT64 if enable_x64.value else FLOAT32


def default_complex() -> np.dtype:
    """The type of a Python complex: ``complex64``, or ``complex128`` under ``enable_x64``.

    >>> default_complex()
    dtype('complex64')
    """
    return COMPLEX128 if enable_x64.value else COMPLEX64


# Requested types and their canonical forms, without x64 and with it. Only names of valid element
# types are stored, so these stay small.
_canonical: tuple[dict[Any, np.dtype], ...] = ({}, {})
_granted: tuple[dict[Any, np.dtype], ...] = ({}, {})


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> DType:
    """The type that is currently used for ``dtype``: without ``enable_x64``, the 32-bit one.

    >>> canonicalize_dtype("float64")
    dtype('float32')
    """
    known = _canonical[enable_x64.value]
    try:
        return known[dtype]
    except KeyError:
        found = as_dtype(dtype)
    except TypeError:  # without a hash: an array, or the fields of a structure
        return canonicalize_dtype(as_dtype(dtype), allow_extended_dtype)
    if isinstance(found, ExtendedDType) and not allow_extended_dtype:
        raise ValueError(explain(
            "tanx.dtypes.canonicalize_dtype", "an extended type is not a NumPy dtype.",
            f"dtype: {found}", hint="pass allow_extended_dtype=True where keys are allowed."))
    if found not in _NUMBERS:
        return found
    return known.setdefault(dtype, found if known is _canonical[True] else HALF.get(found, found))


def is_valid(dtype: np.dtype) -> bool:
    """Whether arrays may have a NumPy dtype: numbers, not more than 64 bits, in native byte order.

    >>> is_valid(np.dtype("int8")), is_valid(np.dtype(object)), is_valid(np.dtype(">f4"))
    (True, False, False)
    """
    return dtype in _canonical[enable_x64.value] or dtype in _NUMBERS or dtype == float0


def requested_dtype(dtype: Any, function: str = "dtype") -> DType:
    """The type to use when a user of ``function`` requests ``dtype``.

    Python's own ``int``, ``float`` and ``complex`` mean the default types. An explicit request for
    64 bits without ``enable_x64`` is truncated with a warning, or handled by
    ``explicit_x64_dtypes``.
    Types that arrays cannot have, such as strings, raise ``TypeError``.

    >>> requested_dtype(float, "tanx.numpy.zeros")
    dtype('float32')
    """
    x64 = enable_x64.value
    try:
        return _granted[x64][dtype]
    except KeyError:
        wanted = as_dtype(dtype)
    except TypeError:  # without a hash: an array, or the fields of a structure
        return requested_dtype(as_dtype(dtype), function)
    if isinstance(wanted, ExtendedDType) or wanted == float0:
        return wanted
    if wanted not in _NUMBERS:
        raise TypeError(explain(
            function, "arrays hold booleans, numbers or keys.", f"dtype: {wanted}"))
    if x64 or wanted not in HALF:
        return _granted[x64].setdefault(dtype, wanted)
    if dtype is None or dtype in WEAK:
        return _granted[x64].setdefault(dtype, HALF[wanted])
    return wanted if insist(wanted, function) else HALF[wanted]


def insist(wanted: np.dtype, function: str) -> bool:
    """Whether a 64-bit type is allowed without ``enable_x64``; if not, warns or raises."""
    mode = explicit_x64_dtypes.value
    if mode == "allow":
        return True
    facts = (f"asked for: {short_name(wanted)}", f"available: {short_name(HALF[wanted])}")
    hint = 'tanx.config.update("jax_enable_x64", True) enables 64-bit types.'
    if mode == "error":
        raise ValueError(explain(
            function, "64-bit types are not enabled.", *facts, hint=hint))
    warn_user(explain(
        function, "64-bit types are not enabled, so the type is truncated.", *facts, hint=hint))
    return False


def is_python_scalar(x: Any) -> bool:
    """Whether ``x`` is a plain ``bool``, ``int``, ``float`` or ``complex``.

    >>> is_python_scalar(1.0), is_python_scalar(np.float32(1.0))
    (True, False)
    """
    return type(x) in PYTHON_SCALARS or (
        isinstance(x, (int, float, complex)) and not isinstance(x, np.generic))


def is_weakly_typed(x: Any) -> bool:
    """Whether the types of other operands win over that of ``x``, as for Python's numbers.

    >>> is_weakly_typed(1.0), is_weakly_typed(True), is_weakly_typed(np.float32(1.0))
    (True, False, False)
    """
    weak = getattr(x, "weak_type", None)
    return is_python_scalar(x) and not isinstance(x, bool) if weak is None else weak


def dtype(x: Any, *, canonicalize: bool = False) -> DType:
    """The dtype of the value ``x``, or of the type ``x``.

    >>> dtype(1.0), dtype(1.0, canonicalize=True), dtype("bfloat16")
    (dtype('float64'), dtype('float32'), dtype(bfloat16))
    """
    found = PYTHON_SCALARS.get(type(x))
    if found is None:
        if isinstance(x, (type, str, np.dtype, ExtendedDType)):
            found = as_dtype(x)
        elif is_python_scalar(x):
            found = next(d for cls, d in PYTHON_SCALARS.items() if isinstance(x, cls))
        else:
            found = own_dtype(x)
    return canonicalize_dtype(found, allow_extended_dtype=True) if canonicalize else found


def is_value(x: Any) -> bool:
    """Whether ``x`` is an array, not the name of a type."""
    return hasattr(x, "dtype") and not isinstance(x, type)


def own_dtype(x: Any) -> DType:
    """The attribute ``dtype`` of the value ``x``."""
    found = getattr(x, "dtype", None)
    if found is None and hasattr(x, "__jax_array__"):
        return own_dtype(x.__jax_array__())
    if not isinstance(found, (np.dtype, ExtendedDType)):
        raise TypeError(explain(
            "tanx.numpy.result_type", "an operand is neither an array, a number nor a type.",
            f"operand: {x!r}", hint="tanx.numpy.asarray converts a list to an array."))
    return found
