"""Reading arrays from files, and printing them."""

from __future__ import annotations

import numpy as np
from numpy import (
    array_repr,
    array_str,
    get_printoptions,
    iterable,
    printoptions,
    save,
    savez,
)

from .. import dtypes
from ._creation import asarray

__all__ = ["array_repr", "array_str", "fromfile", "get_printoptions", "iterable", "load",
           "printoptions", "save", "savez", "set_printoptions"]


def load(file, *args, **kwargs):
    """An array from a file written by :func:`save`; for a :func:`savez` file, NumPy's object.

    Other arguments go to :func:`numpy.load`; pickled objects are refused by default.

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
    if found.dtype == np.dtype("V2"):  # how NumPy writes bfloat16 to a file
        found = found.view(dtypes.bfloat16)
    return asarray(found)


def fromfile(*args, **kwargs):
    """The contents of a file as an array; arguments as in :func:`numpy.fromfile`.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(bytes([1, 2, 3]))
    ...     file.flush()
    ...     jnp.fromfile(file.name, np.uint8)
    Array([1, 2, 3], dtype=uint8)
    """
    return asarray(np.fromfile(*args, **kwargs))


def set_printoptions(*args, **kwargs):
    """Set how arrays are printed; arguments as in :func:`numpy.set_printoptions`.

    The options are NumPy's own, so its arrays follow them, too.

    >>> jnp.set_printoptions(precision=3)
    >>> jnp.array([2 / 3])
    Array([0.667], dtype=float32)
    >>> jnp.set_printoptions(precision=8)
    """
    np.set_printoptions(*args, **kwargs)
