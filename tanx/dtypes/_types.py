"""The element types, their names, and how elements are stored.

Concrete types are NumPy's ``np.dtype``, with the small ones of ``ml_dtypes``; random keys have
extended types, which NumPy does not know.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from ..errors import explain, warn_user

__all__ = ["ABSTRACT", "BOOL", "COMPLEX64", "COMPLEX128", "COMPLEXES", "CONCRETE", "DType",
           "ExtendedDType", "FLOAT32", "FLOAT64", "FLOATS", "HALF", "INT32", "INT64", "INTS",
           "KeyType", "NAMES", "PYTHON_SCALARS", "SETTLED", "SMALL_FLOATS", "SMALL_INTS", "UINTS",
           "WEAK", "as_dtype", "by_name", "extended", "float0", "is_extended", "itemsize_bits",
           "prng_key", "short_name", "stored", "stored_as", "stored_numbers"]

DType = Any  # np.dtype or ExtendedDType


SMALL_INTS = tuple(name for name in ("int1", "int2", "int4", "uint1", "uint2", "uint4")
                   if hasattr(ml_dtypes, name))  # the 1-bit ones are recent
INTS = ("int8", "int16", "int32", "int64")
UINTS = ("uint8", "uint16", "uint32", "uint64")
SMALL_FLOATS = (
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3",
    "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu")
FLOATS = ("bfloat16", "float16", "float32", "float64")
COMPLEXES = ("complex64", "complex128")

by_name: dict[str, np.dtype] = {
    name: np.dtype(getattr(ml_dtypes, name, name))
    for name in ("bool", *SMALL_INTS, *INTS, *UINTS, *SMALL_FLOATS, *FLOATS, *COMPLEXES)}
BOOL, INT32, INT64, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 = (
    by_name[name] for name in
    ("bool", "int32", "int64", "float32", "float64", "complex64", "complex128"))

#: The type of tangents and cotangents of integers: it has one value and no bytes.
float0 = np.dtype([("float0", np.void, 0)])

HALF = {by_name[wide]: by_name[narrow] for wide, narrow in (
    ("int64", "int32"), ("uint64", "uint32"), ("float64", "float32"), ("complex128", "complex64"))}
NAMES = tuple(by_name)
"""The names of all dtypes of numbers."""
CONCRETE = frozenset(dtype.type for dtype in by_name.values())
SETTLED = frozenset(by_name.values()) - HALF.keys()
# NumPy classifies the types of ml_dtypes as "generic"; these are their abstract classes.
ABSTRACT = {
    by_name[name].type: cls
    for names, cls in (
        ([n for n in SMALL_INTS if n[0] == "i"], np.signedinteger),
        ([n for n in SMALL_INTS if n[0] == "u"], np.unsignedinteger),
        (SMALL_FLOATS, np.floating), (("bfloat16",), np.floating))
    for name in names}
# Sets, because np.dtype("int64") == int.
WEAK = frozenset({int, float, complex})
PYTHON_SCALARS: dict[type, np.dtype] = {
    bool: BOOL, int: INT64, float: FLOAT64, complex: COMPLEX128}


_STORED = {itemsize: np.dtype(code) for itemsize, code in ((4, "u4"), (8, "u8"), (16, "c16"))}


class extended(np.generic):
    """The abstract class of element types that NumPy does not know."""


class prng_key(extended):
    """The abstract class of the types of random keys: ``issubdtype(key.dtype, prng_key)``."""


class ExtendedDType:
    """An element type that NumPy does not know; ``type`` is its abstract class.

    Libraries define subclasses. Their ``_rules`` have functions of the type:
    ``physical_element_aval(dtype)`` is the type of an element in memory, ``tangent_dtype(dtype)``
    the dtype of tangents; ``zero(dtype)``, ``add(dtype, x, y)`` and ``full(shape, value, dtype)``
    are operations on arrays. ``allow_conversion``, or ``convert_to(other, dtype)`` and
    ``convert_from(dtype, other)``, say whether elements convert to and from the dtype in memory.
    """

    name: str
    type: type
    kind = "V"  # NumPy's letter for unknown types
    _rules: Any = None

    @property
    def stored(self) -> np.dtype:
        """The dtype of elements in memory."""
        element = self._rules.physical_element_aval(self)
        if tuple(element.shape):
            raise NotImplementedError(explain(
                "dtype", "elements of extended types are single numbers in memory; types whose "
                "elements are arrays are those of random keys only.",
                f"dtype:   {self}", f"element: {element}"))
        return np.dtype(element.dtype)

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        return self.stored.itemsize

    @property
    def tangent(self) -> DType:
        """The dtype of tangents."""
        rule = getattr(self._rules, "tangent_dtype", None)
        return float0 if rule is None else rule(self)

    def converts(self, rule: str, *dtypes: DType) -> bool:
        """Whether a conversion is allowed; ``rule`` is ``convert_to`` or ``convert_from``."""
        decide = getattr(self._rules, rule, None)
        if decide is not None:
            return decide(*dtypes)
        return getattr(self._rules, "allow_conversion", False)

    def __repr__(self) -> str:
        return self.name


class KeyType(ExtendedDType):
    """The type of random keys of one generator.

    ``impl`` describes the generator: ``impl.tag`` names it in jaxprs, ``impl.key_shape`` is the
    shape of the ``uint32`` words of a key. Equal generators make equal types.
    """

    type = prng_key
    stored: np.dtype = float0  # of each instance, as the next
    itemsize: int = 0
    any_is_long = False  # whether there are keys that compiled code splits into words

    def __init__(self, impl: Any):
        self.impl = impl
        self.name = f"key<{impl.tag}>"
        self.itemsize = 4 * math.prod(impl.key_shape)
        self.stored = stored_as(self.itemsize)
        if self.stored.kind == "V":
            KeyType.any_is_long = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyType) and self.impl == other.impl

    def __hash__(self) -> int:
        return hash((KeyType, self.impl))


def stored_as(itemsize: int) -> np.dtype:
    """The dtype in which keys of ``itemsize`` bytes are stored: as one element.

    It may be longer than the key; the words at its end are zero. Keys of more than four words are
    bytes to NumPy.

    >>> stored_as(8).itemsize, stored_as(12).itemsize, stored_as(20)
    (8, 16, dtype('V20'))
    """
    for size, dtype in _STORED.items():
        if itemsize <= size:
            return dtype
    return np.dtype(f"V{itemsize}")


def stored(dtype: Any) -> np.dtype:
    """The dtype of the elements in memory of arrays of ``dtype``.

    >>> stored(np.dtype(np.int8))
    dtype('int8')
    """
    return dtype.stored if isinstance(dtype, ExtendedDType) else dtype


def is_extended(dtype: Any) -> bool:
    """Whether ``dtype`` is an extended type, such as that of random keys.

    >>> is_extended(np.dtype(np.float32))
    False
    """
    return isinstance(dtype, ExtendedDType)


def as_dtype(x: Any) -> DType:
    """``x`` as a dtype; ``x`` is any form that users may write for a dtype."""
    if isinstance(x, ExtendedDType):
        return x
    try:
        return np.dtype(x)
    except TypeError:
        raise TypeError(explain(
            "dtype", "there is no such type of elements.", f"dtype: {x!r:.100}",
            hint="write tanx.numpy.float32, or its name as a string.")) from None


_BITS = {dtype: (int(name.lstrip("uintfloa").partition("_")[0])
                 if name in (*SMALL_INTS, *SMALL_FLOATS) else 8 * dtype.itemsize)
         for name, dtype in by_name.items()}


def itemsize_bits(dtype: Any) -> int:
    """The number of significant bits of one element.

    >>> itemsize_bits("int4"), itemsize_bits("float32")
    (4, 32)
    """
    found = as_dtype(dtype)
    if found not in _BITS:
        raise ValueError(explain(
            "tanx.dtypes.itemsize_bits", "the type has no fixed number of bits.",
            f"type: {found}"))
    return _BITS[found]


_SHORT = {dtype: name if name == "bool" else (
    name.replace("bfloat", "bf").replace("float", "f").replace("complex", "c")
    .replace("uint", "u").replace("int", "i")) for name, dtype in by_name.items()}
_SHORT[float0] = "float0"


def short_name(dtype: Any) -> str:
    """The name of a type in jaxprs.

    >>> short_name("float32"), short_name("bfloat16"), short_name("float8_e4m3fn")
    ('f32', 'bf16', 'f8_e4m3fn')
    """
    short = _SHORT.get(dtype)
    if short is None:
        found = as_dtype(dtype)
        short = str(found) if isinstance(found, ExtendedDType) else _SHORT.get(found, found.name)
    return short


_MODEST = 65504
"""The greatest number of 16 bits: none below it is too large for a float."""


def stored_numbers(x: Any, dtype: Any) -> np.ndarray:
    """Python numbers, or lists of them, in memory; raises OverflowError if they do not fit.

    >>> stored_numbers([1, 2.5], np.dtype(np.float32))
    array([1. , 2.5], dtype=float32)
    """
    try:
        if type(x) in (int, float, bool) and -_MODEST <= x <= _MODEST or (
                getattr(x, "dtype", None) == dtype):
            return np.array(x, stored(dtype))  # faster, and the usual case
        with np.errstate(over="raise"):
            return np.array(x, stored(dtype))
    except FloatingPointError:
        warn_user(explain(
            "tanx.numpy.asarray", f"a number is too large for {short_name(dtype)}, and becomes "
            "infinite.", f"value: {x!r:.100}"), RuntimeWarning)
        with np.errstate(over="ignore"):
            return np.array(x, stored(dtype))
    except OverflowError:
        raise OverflowError(explain(
            "int", f"a Python integer does not fit into {short_name(dtype)}.", f"value: {x!r:.100}",
            hint="use a wider dtype, or a float; tanx.config.update('jax_enable_x64', True) "
            "gives Python integers 64 bits.")) from None
