"""Kinds of dtypes, their names, widths and ranges, as loop nests see them."""

from __future__ import annotations

from functools import cache

import numpy as np

__all__ = ["BOOL", "INDEX", "kind_of", "short_name", "value_range", "width"]

BOOL = np.dtype(np.bool_)
INDEX = np.dtype(np.int64)


@cache
def kind_of(dtype: np.dtype) -> str:
    """The kind of a dtype: one of ``b i u f c``, with the types of ml_dtypes among them.

    >>> kind_of(np.dtype("bfloat16")), kind_of(np.dtype("uint4"))
    ('f', 'u')
    """
    for prefix, kind in (("bool", "b"), ("int", "i"), ("uint", "u"), ("float", "f"),
                         ("bfloat", "f"), ("complex", "c")):
        if dtype.name.startswith(prefix):
            return kind
    raise TypeError(f"loop nests have no elements of dtype {dtype}.")


@cache
def short_name(dtype: np.dtype) -> str:
    """A dtype as jaxprs write it.

    >>> short_name(np.dtype("float32")), short_name(np.dtype("bool"))
    ('f32', 'bool')
    """
    for long, short in (("bfloat", "bf"), ("float", "f"), ("complex", "c"), ("uint", "u"),
                        ("int", "i")):
        if dtype.name.startswith(long):
            return short + dtype.name[len(long):]
    return dtype.name


@cache
def width(dtype: np.dtype) -> int:
    """Bits of one element; 4 for int4 although NumPy stores it in a byte."""
    digits = dtype.name.removeprefix("u").removeprefix("int")
    return int(digits) if kind_of(dtype) in "iu" else 8 * dtype.itemsize


@cache
def value_range(dtype: np.dtype) -> tuple[int, int]:
    """The least and the greatest value of an integer dtype (or bool, as 0 and 1)."""
    kind, bits = kind_of(dtype), width(dtype)
    if kind == "b":
        return 0, 1
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind == "i" else (0, (1 << bits) - 1)
