"""Kinds of types, such as ``np.floating``, and the type of a kind nearest to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import explain
from ._requests import dtype, is_value, own_dtype
from ._scalars import ScalarMeta
from ._types import (
    ABSTRACT,
    BOOL,
    COMPLEX64,
    COMPLEX128,
    CONCRETE,
    FLOAT32,
    FLOAT64,
    HALF,
    INT32,
    PYTHON_SCALARS,
    DType,
    ExtendedDType,
    KeyType,
    as_dtype,
    by_name,
)

__all__ = ["isdtype", "issubdtype", "no_number", "scalar_type_of", "to_complex_dtype",
           "to_floating_dtype", "to_inexact_dtype", "to_numeric_dtype"]


_belongs: dict[tuple[Any, Any], bool] = {}


def issubdtype(a: Any, b: Any) -> bool:
    """Whether type ``a`` belongs to ``b``, a type or an abstract class such as ``np.floating``.

    >>> issubdtype("bfloat16", np.floating), issubdtype("int4", np.integer)
    (True, True)
    """
    try:
        return _belongs[a, b]
    except (KeyError, TypeError):  # not seen yet, or an array, which is not hashable
        pass
    if is_value(a):
        return issubdtype(own_dtype(a), b)
    if isinstance(b, ExtendedDType):
        return a == b
    a_class, b_class = _scalar_class(a), _scalar_class(b)
    belongs = issubclass(a_class, b_class) or issubclass(ABSTRACT.get(a_class, object), b_class)
    return _belongs.setdefault((a, b), belongs)


def _scalar_class(x: Any) -> type:
    """The scalar class behind a dtype or its name; abstract classes unchanged."""
    if isinstance(x, ExtendedDType):
        return x.type
    if isinstance(x, type) and issubclass(x, np.generic):
        return x
    return np.dtype(x).type


_KINDS: dict[str, type] = {
    "bool": np.bool_,
    "signed integer": np.signedinteger,
    "unsigned integer": np.unsignedinteger,
    "integral": np.integer,
    "real floating": np.floating,
    "complex floating": np.complexfloating,
    "numeric": np.number,
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether ``dtype`` is of the given kind: a word, a type, or a tuple of these.

    The words are those of the array API standard: ``"bool"``, ``"signed integer"``,
    ``"unsigned integer"``, ``"integral"``, ``"real floating"``, ``"complex floating"`` and
    ``"numeric"``.

    >>> isdtype("bfloat16", "real floating"), isdtype("int4", ("bool", "integral"))
    (True, True)
    """
    found = own_dtype(dtype) if is_value(dtype) else as_dtype(dtype)
    # Every member of a tuple is checked: an invalid kind must raise even after a valid one.
    answers = [_is_of_kind(found, one) for one in (kind if isinstance(kind, tuple) else (kind,))]
    return any(answers)


def _is_of_kind(dtype: DType, kind: Any) -> bool:
    if isinstance(kind, str):
        if kind in _KINDS:
            return issubdtype(dtype, _KINDS[kind])
        if kind not in by_name:
            raise ValueError(_bad_kind(kind))
    elif not (isinstance(kind, (np.dtype, ScalarMeta, ExtendedDType))
              or (isinstance(kind, type) and (kind in PYTHON_SCALARS or kind in CONCRETE))):
        raise TypeError(_bad_kind(kind))
    return dtype == as_dtype(kind)


def _bad_kind(kind: Any) -> str:
    return explain(
        "tanx.numpy.isdtype", "kind must be a type, the name of a kind, or a tuple of these.",
        f"kind: {kind!r}", f"kinds: {', '.join(_KINDS)}")


def scalar_type_of(x: Any) -> type:
    """The Python class of numbers like those in ``x``: ``bool``, ``int``, ``float``, ``complex``.

    >>> scalar_type_of(np.ones(3, "bfloat16"))
    <class 'float'>
    """
    found = dtype(x)
    for abstract, cls in ((np.bool_, bool), (np.integer, int), (np.floating, float),
                          (np.complexfloating, complex)):
        if issubdtype(found, abstract):
            return cls
    raise TypeError(explain(
        "tanx.dtypes.scalar_type_of", "the type has no counterpart in Python.", f"type: {found}"))


def to_numeric_dtype(dtype: Any) -> np.dtype:
    """``dtype``, or ``int32`` for booleans.

    >>> to_numeric_dtype(np.bool_)
    dtype('int32')
    """
    found = as_dtype(dtype)
    return INT32 if found == BOOL else found


def to_inexact_dtype(dtype: Any) -> np.dtype:
    """The type in which functions like ``sin`` compute: floating, of the width of the integer.

    >>> to_inexact_dtype("int64"), to_inexact_dtype("int8"), to_inexact_dtype("bfloat16")
    (dtype('float64'), dtype('float32'), dtype(bfloat16))
    """
    found = as_dtype(dtype)
    if issubdtype(found, np.inexact):
        return found
    if isinstance(found, ExtendedDType):
        raise no_number(found, "tanx.dtypes.to_inexact_dtype", f"dtype: {found}")
    return FLOAT64 if found in HALF else FLOAT32


def to_floating_dtype(dtype: Any) -> np.dtype:
    """The real type of the parts of numbers of type ``dtype``.

    >>> to_floating_dtype(np.complex64)
    dtype('float32')
    """
    found = to_inexact_dtype(dtype)
    return {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}.get(found, found)


def to_complex_dtype(dtype: Any) -> np.dtype:
    """The complex type that holds numbers of type ``dtype``.

    >>> to_complex_dtype(np.float32)
    dtype('complex64')
    """
    return COMPLEX128 if to_floating_dtype(dtype) == FLOAT64 else COMPLEX64


def no_number(dtype: Any, function: str, *facts: str) -> TypeError:
    """The error for random keys, or elements of another extended type, instead of numbers.

    >>> raise no_number(tanx.random.key(0).dtype, "tanx.numpy.sin", "operand: key<fry>[]")
    Traceback (most recent call last):
    TypeError: tanx.numpy.sin: keys are not numbers.
      operand: key<fry>[]
      Hint: split and fold_in of tanx.random make new keys; key_data returns the words of one.
    """
    if not isinstance(dtype, KeyType):
        return TypeError(explain(
            function, f"elements of {dtype.name} are not numbers.", *facts,
            hint=f"lax.convert_element_type(x, jnp.{dtype.stored}) is how they are stored."))
    return TypeError(explain(
        function, "keys are not numbers.", *facts,
        hint="split and fold_in of tanx.random make new keys; key_data returns the words of one."))
