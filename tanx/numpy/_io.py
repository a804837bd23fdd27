"""Arrays in files and on the screen; questions about types, under NumPy's names."""

from __future__ import annotations

import numpy as np
from numpy import (
    array_repr,
    array_str,
    can_cast,
    dtype,
    get_printoptions,
    iterable,
    printoptions,
    save,
    savez,
    set_printoptions,
)

from .. import dtypes
from ..dtypes import finfo, iinfo, isdtype, promote_types
from ._creation import asarray

__all__ = ["array_repr", "array_str", "can_cast", "dtype", "finfo", "get_printoptions", "iinfo",
           "isdtype", "issubdtype", "iterable", "load", "printoptions", "promote_types",
           "result_type", "save", "savez", "set_printoptions"]


def load(file, *args, **kwargs):
    """An array from a file written by :func:`save`; what :func:`savez` wrote stays NumPy's.

    Other arguments go to :func:`numpy.load`; pickled objects are refused unless it is told.

    >>> import io
    >>> file = io.BytesIO()
    >>> jnp.save(file, jnp.array([1.5, 2.5], "bfloat16"))
    >>> _ = file.seek(0)
    >>> jnp.load(file)
    Array([1.5, 2.5], dtype=bfloat16)
    """
    found = np.load(file, *args, **kwargs)
    if not isinstance(found, np.ndarray) or found.dtype.hasobject:
        return found
    if found.dtype == np.dtype("V2"):  # what NumPy makes of bfloat16 when it writes a file
        found = found.view(dtypes.bfloat16)
    return asarray(found)


def result_type(*args):
    """The dtype that ``args``, values or types, promote to.

    >>> jnp.result_type(jnp.int8, 1.0), jnp.result_type("int32", "float16")
    (dtype('float32'), dtype('float16'))
    """
    return dtypes.result_type(*args)


def issubdtype(arg1, arg2):
    """Whether the type ``arg1`` belongs to ``arg2``, a type or a class such as ``np.floating``.

    >>> jnp.issubdtype("bfloat16", np.floating)
    True
    """
    return dtypes.issubdtype(arg1, arg2)
