"""Types of elements and questions about them, under NumPy's names."""

from __future__ import annotations

from numpy import (
    can_cast,
    character,
    complexfloating,
    dtype,
    flexible,
    floating,
    generic,
    inexact,
    integer,
    number,
    object_,
    signedinteger,
    unsignedinteger,
)
from numpy.exceptions import ComplexWarning

from .. import dtypes
from ..dtypes import finfo, iinfo, isdtype, promote_types
from ._promotion import Array as ndarray

__all__ = ["ComplexWarning", "can_cast", "character", "complexfloating", "dtype", "finfo",
           "flexible", "floating", "generic", "iinfo", "inexact", "integer", "isdtype",
           "issubdtype", "ndarray", "number", "object_", "promote_types", "result_type",
           "signedinteger", "unsignedinteger"]


def result_type(*args):
    """The dtype that ``args``, values or types, promote to.

    >>> jnp.result_type(jnp.int8, 1.0), jnp.result_type("int32", "float16")
    (dtype('float32'), dtype('float16'))
    """
    return dtypes.result_type(*args)


def issubdtype(arg1, arg2):
    """Whether the type ``arg1`` belongs to ``arg2``, a type or a class such as ``jnp.floating``.

    >>> jnp.issubdtype("bfloat16", jnp.floating)
    True
    """
    return dtypes.issubdtype(arg1, arg2)
