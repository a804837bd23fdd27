"""Types of array elements: which exist, how they promote, what they are called.

Concrete types are NumPy's ``np.dtype``, with the small ones of ``ml_dtypes``; random keys have
extended types, which NumPy does not know. Promotion happens on a lattice of *nodes*: a node is a
dtype, or one of the Python classes ``int``, ``float`` and ``complex``, which stand for weakly
typed values (Python scalars and what is computed from them alone).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Literal, overload

import ml_dtypes
import numpy as np
from ml_dtypes import bfloat16, finfo, iinfo

from ._base.config import enable_x64, explicit_x64_dtypes, numpy_dtype_promotion
from ._base.flags import strict as checks
from .errors import explain, warn_user

__all__ = [
    "ExtendedDType",
    "KeyType",
    "ScalarMeta",
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "default_complex",
    "default_float",
    "default_int",
    "default_uint",
    "dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "is_extended",
    "is_python_scalar",
    "is_weakly_typed",
    "isdtype",
    "issubdtype",
    "itemsize_bits",
    "keys_are_no_numbers",
    "prng_key",
    "promote_types",
    "requested_dtype",
    "result_type",
    "scalar_type_of",
    "scalar_types",
    "short_name",
    "stored",
    "stored_as",
    "stored_numbers",
    "to_complex_dtype",
    "to_floating_dtype",
    "to_inexact_dtype",
    "to_numeric_dtype",
]

DType = Any  # np.dtype or ExtendedDType
Node = Any  # np.dtype, or one of int, float, complex


class TypePromotionError(ValueError):
    """Types that have no common type, or none without an explicit cast.

    Eight-bit floats and integers below eight bits do not promote by themselves; with
    ``numpy_dtype_promotion("strict")`` nothing does but Python scalars. Cast one operand:

    >>> promote_types("float8_e4m3fn", "float32")
    Traceback (most recent call last):
        ...
    tanx.dtypes.TypePromotionError: tanx.numpy.promote_types: these types do not promote implicitly.
      types: f8_e4m3fn, f32
      Hint: cast one of them, for example x.astype('float32').
    """


# --- The types there are --------------------------------------------------------------------------

_SMALL_INTS = tuple(name for name in ("int1", "int2", "int4", "uint1", "uint2", "uint4")
                    if hasattr(ml_dtypes, name))  # the 1-bit ones are recent
_INTS = ("int8", "int16", "int32", "int64")
_UINTS = ("uint8", "uint16", "uint32", "uint64")
_SMALL_FLOATS = (
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3",
    "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu")
_FLOATS = ("bfloat16", "float16", "float32", "float64")
_COMPLEXES = ("complex64", "complex128")

_by_name: dict[str, np.dtype] = {
    name: np.dtype(getattr(ml_dtypes, name, name))
    for name in ("bool", *_SMALL_INTS, *_INTS, *_UINTS, *_SMALL_FLOATS, *_FLOATS, *_COMPLEXES)}
_BOOL, _INT32, _INT64, _FLOAT32, _FLOAT64, _COMPLEX64, _COMPLEX128 = (
    _by_name[name] for name in
    ("bool", "int32", "int64", "float32", "float64", "complex64", "complex128"))

#: The type of tangents and cotangents of integers: it has one value and no bytes.
float0 = np.dtype([("float0", np.void, 0)])

_HALF = {_by_name[wide]: _by_name[narrow] for wide, narrow in (
    ("int64", "int32"), ("uint64", "uint32"), ("float64", "float32"), ("complex128", "complex64"))}
NAMES = tuple(_by_name)
"""The names of all dtypes of numbers."""
_CONCRETE = frozenset(dtype.type for dtype in _by_name.values())
_SETTLED = frozenset(_by_name.values()) - _HALF.keys()
# NumPy calls the types of ml_dtypes just "generic"; these are the classes they belong under.
_ABSTRACT = {
    _by_name[name].type: cls
    for names, cls in (
        ([n for n in _SMALL_INTS if n[0] == "i"], np.signedinteger),
        ([n for n in _SMALL_INTS if n[0] == "u"], np.unsignedinteger),
        (_SMALL_FLOATS, np.floating), (("bfloat16",), np.floating))
    for name in names}
# Sets, because np.dtype("int64") == int.
_WEAK = frozenset({int, float, complex})
_PYTHON_SCALARS: dict[type, np.dtype] = {
    bool: _BOOL, int: _INT64, float: _FLOAT64, complex: _COMPLEX128}


_STORED = {itemsize: np.dtype(code) for itemsize, code in ((4, "u4"), (8, "u8"), (16, "c16"))}


class extended(np.generic):
    """The abstract class of element types that NumPy does not know."""


class prng_key(extended):
    """The abstract class of the types of random keys: ``issubdtype(key.dtype, prng_key)``."""


class ExtendedDType:
    """An element type that NumPy does not know; ``type`` is its abstract class."""

    name: str
    type: type
    itemsize: int
    stored: np.dtype  # how elements lie in memory
    kind = "V"  # NumPy's letter for types that it does not know

    def __repr__(self) -> str:
        return self.name


class KeyType(ExtendedDType):
    """The type of random keys of one generator.

    ``impl`` describes the generator: ``impl.tag`` names it in jaxprs, ``impl.key_shape`` is the
    shape of the ``uint32`` words of a key. Equal generators make equal types.
    """

    type = prng_key

    def __init__(self, impl: Any):
        self.impl = impl
        self.name = f"key<{impl.tag}>"
        self.itemsize = 4 * math.prod(impl.key_shape)
        self.stored = stored_as(self.itemsize)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyType) and self.impl == other.impl

    def __hash__(self) -> int:
        return hash((KeyType, self.impl))


def stored_as(itemsize: int) -> np.dtype:
    """The dtype in which keys of so many bytes are stored: as one element, which is only moved.

    It may be longer than the key; the words at its end are zero.

    >>> stored_as(8).itemsize, stored_as(12).itemsize
    (8, 16)
    """
    for size, dtype in _STORED.items():
        if itemsize <= size:
            return dtype
    raise NotImplementedError(explain(
        "tanx.random", "a key has at most four words.", f"bytes of a key: {itemsize}"))


def stored(dtype: Any) -> np.dtype:
    """The dtype of the elements in memory of arrays of ``dtype``.

    >>> stored(np.dtype(np.int8))
    dtype('int8')
    """
    return dtype.stored if isinstance(dtype, ExtendedDType) else dtype


_MODEST = 65504
"""The greatest number of 16 bits: none below it is too large for a float."""


def stored_numbers(x: Any, dtype: Any) -> np.ndarray:
    """Python numbers, or lists of them, in memory; raises OverflowError where they do not fit.

    >>> stored_numbers([1, 2.5], np.dtype(np.float32))
    array([1. , 2.5], dtype=float32)
    """
    try:
        if type(x) in (int, float, bool) and -_MODEST <= x <= _MODEST or (
                getattr(x, "dtype", None) == dtype):
            return np.array(x, stored(dtype))  # quicker, and most numbers are
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


def is_extended(dtype: Any) -> bool:
    """Whether ``dtype`` is an extended type, as that of random keys is.

    >>> is_extended(np.dtype(np.float32))
    False
    """
    return isinstance(dtype, ExtendedDType)


# --- Scalar types: tanx.numpy.float32 and others --------------------------------------------------

#: Makes an array: ``make_array(x, dtype)``. Given by ``tanx.numpy`` when it is imported.
make_array: Callable[[Any, np.dtype], Any] | None = None


class ScalarMeta(type):
    """The class of ``tanx.numpy.float32`` and the like: calling one makes an array of that type.

    A scalar type equals its dtype and NumPy's class, and ``np.dtype`` takes it for its dtype.

    >>> scalar_types["float32"] == np.dtype("float32") == np.float32
    True
    """

    dtype: np.dtype

    def __call__(cls, x: Any) -> Any:
        if make_array is None:
            raise RuntimeError(explain(
                f"tanx.numpy.{cls.__name__}", "tanx.numpy has not been imported."))
        return make_array(x, cls.dtype)

    def __eq__(cls, other: object) -> bool:
        if isinstance(other, np.dtype):
            return cls.dtype == other
        return cls is other or cls.dtype.type is other

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)


def _scalar_type(dtype: np.dtype) -> ScalarMeta:
    return ScalarMeta(dtype.name, (), {
        "dtype": dtype, "__module__": "tanx.numpy",
        "__doc__": f"Makes an array of type {dtype.name} from a value."})


#: The scalar types by the names they have in ``tanx.numpy``, NumPy's other names included.
scalar_types: dict[str, ScalarMeta] = {
    name: _scalar_type(dtype) for name, dtype in _by_name.items()}
scalar_types |= {alias: scalar_types[name] for alias, name in (
    ("bool_", "bool"), ("int_", "int64"), ("uint", "uint64"), ("float_", "float64"),
    ("complex_", "complex128"), ("single", "float32"), ("double", "float64"),
    ("csingle", "complex64"), ("cdouble", "complex128"))}


# --- From what users write to a dtype -------------------------------------------------------------


def default_int() -> np.dtype:
    """The type of a Python int: ``int32``, or ``int64`` under ``enable_x64``.

    >>> default_int()
    dtype('int32')
    """
    return _INT64 if enable_x64.value else _INT32


def default_uint() -> np.dtype:
    """``uint32``, or ``uint64`` under ``enable_x64``.

    >>> default_uint()
    dtype('uint32')
    """
    return _by_name["uint64" if enable_x64.value else "uint32"]


def default_float() -> np.dtype:
    """The type of a Python float: ``float32``, or ``float64`` under ``enable_x64``.

    >>> default_float()
    dtype('float32')
    """
    return _FLOAT64 if enable_x64.value else _FLOAT32


def default_complex() -> np.dtype:
    """The type of a Python complex: ``complex64``, or ``complex128`` under ``enable_x64``.

    >>> default_complex()
    dtype('complex64')
    """
    return _COMPLEX128 if enable_x64.value else _COMPLEX64


def _as_dtype(x: Any) -> DType:
    """``x`` as a dtype; ``x`` is what users may write where a dtype is expected."""
    if isinstance(x, ExtendedDType):
        return x
    try:
        return np.dtype(x)
    except TypeError:
        raise TypeError(explain(
            "dtype", "there is no such type of elements.", f"dtype: {x!r:.100}",
            hint="write tanx.numpy.float32, or its name as a string.")) from None


# What was asked for and what it stands for, without x64 and with it. Only names of element types
# that arrays can have get in, so these stay small.
_canonical: tuple[dict[Any, np.dtype], ...] = ({}, {})
_granted: tuple[dict[Any, np.dtype], ...] = ({}, {})


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> DType:
    """The type that stands for ``dtype`` at present: without ``enable_x64``, the 32-bit one.

    >>> canonicalize_dtype("float64")
    dtype('float32')
    """
    known = _canonical[enable_x64.value]
    try:
        return known[dtype]
    except KeyError:
        found = _as_dtype(dtype)
    except TypeError:  # without a hash: an array, or the fields of a structure
        return canonicalize_dtype(_as_dtype(dtype), allow_extended_dtype)
    if isinstance(found, ExtendedDType) and not allow_extended_dtype:
        raise ValueError(explain(
            "tanx.dtypes.canonicalize_dtype", "an extended type is not a NumPy dtype.",
            f"dtype: {found}", hint="pass allow_extended_dtype=True where keys are welcome."))
    if found not in _upward:
        return found
    return known.setdefault(dtype, found if known is _canonical[True] else _HALF.get(found, found))


def requested_dtype(dtype: Any, function: str = "dtype") -> DType:
    """The type to use when a user of ``function`` asks for ``dtype``.

    Python's own ``int``, ``float`` and ``complex`` mean the default types. An explicit request for
    64 bits without ``enable_x64`` is truncated with a warning, or as ``explicit_x64_dtypes`` says.
    Types that arrays cannot have, such as strings, raise ``TypeError``.

    >>> requested_dtype(float, "tanx.numpy.zeros")
    dtype('float32')
    """
    x64 = enable_x64.value
    try:
        return _granted[x64][dtype]
    except KeyError:
        wanted = _as_dtype(dtype)
    except TypeError:  # without a hash: an array, or the fields of a structure
        return requested_dtype(_as_dtype(dtype), function)
    if isinstance(wanted, ExtendedDType) or wanted == float0:
        return wanted
    if wanted not in _upward:
        raise TypeError(explain(
            function, "arrays hold booleans, numbers or keys.", f"dtype: {wanted}"))
    if x64 or wanted not in _HALF:
        return _granted[x64].setdefault(dtype, wanted)
    if dtype is None or dtype in _WEAK:
        return _granted[x64].setdefault(dtype, _HALF[wanted])
    return wanted if _insist(wanted, function) else _HALF[wanted]


def _insist(wanted: np.dtype, function: str) -> bool:
    """Whether a 64-bit type is granted although ``enable_x64`` is off; if not, says so."""
    mode = explicit_x64_dtypes.value
    if mode == "allow":
        return True
    facts = (f"asked for: {short_name(wanted)}", f"available: {short_name(_HALF[wanted])}")
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
    return type(x) in _PYTHON_SCALARS or (
        isinstance(x, (int, float, complex)) and not isinstance(x, np.generic))


def is_weakly_typed(x: Any) -> bool:
    """Whether ``x`` gives way to the types of other operands, as Python's numbers do.

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
    found = _PYTHON_SCALARS.get(type(x))
    if found is None:
        if isinstance(x, (type, str, np.dtype, ExtendedDType)):
            found = _as_dtype(x)
        elif is_python_scalar(x):
            found = np.dtype(_node(x))
        else:
            found = _own_dtype(x)
    return canonicalize_dtype(found, allow_extended_dtype=True) if canonicalize else found


def _is_value(x: Any) -> bool:
    """Whether ``x`` is an array, not something that names a type."""
    return hasattr(x, "dtype") and not isinstance(x, type)


def _own_dtype(x: Any) -> DType:
    """The dtype that the value ``x`` says it has."""
    found = getattr(x, "dtype", None)
    if found is None and hasattr(x, "__jax_array__"):
        return _own_dtype(x.__jax_array__())
    if not isinstance(found, (np.dtype, ExtendedDType)):
        raise TypeError(explain(
            "tanx.numpy.result_type", "an operand is neither an array, a number nor a type.",
            f"operand: {x!r}", hint="tanx.numpy.asarray makes an array of a list."))
    return found


# --- Kinds ----------------------------------------------------------------------------------------


_belongs: dict[tuple[Any, Any], bool] = {}


def issubdtype(a: Any, b: Any) -> bool:
    """Whether type ``a`` belongs to ``b``, a type or an abstract class such as ``np.floating``.

    >>> issubdtype("bfloat16", np.floating), issubdtype("int4", np.integer)
    (True, True)
    """
    try:
        return _belongs[a, b]
    except (KeyError, TypeError):  # not seen yet, or an array, which has no hash
        pass
    if _is_value(a):
        return issubdtype(_own_dtype(a), b)
    if isinstance(b, ExtendedDType):
        return a == b
    a_class, b_class = _scalar_class(a), _scalar_class(b)
    belongs = issubclass(a_class, b_class) or issubclass(_ABSTRACT.get(a_class, object), b_class)
    return _belongs.setdefault((a, b), belongs)


def _scalar_class(x: Any) -> type:
    """The scalar class behind a dtype or its name; abstract classes stand for themselves."""
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
    """Whether ``dtype`` is of the given kind: a word, a type, or a tuple of such.

    The words are those of the array API standard: ``"bool"``, ``"signed integer"``,
    ``"unsigned integer"``, ``"integral"``, ``"real floating"``, ``"complex floating"`` and
    ``"numeric"``.

    >>> isdtype("bfloat16", "real floating"), isdtype("int4", ("bool", "integral"))
    (True, True)
    """
    found = _own_dtype(dtype) if _is_value(dtype) else _as_dtype(dtype)
    # Every member of a tuple is looked at: a wrong kind must not hide behind a right one.
    answers = [_is_of_kind(found, one) for one in (kind if isinstance(kind, tuple) else (kind,))]
    return any(answers)


def _is_of_kind(dtype: DType, kind: Any) -> bool:
    if isinstance(kind, str):
        if kind in _KINDS:
            return issubdtype(dtype, _KINDS[kind])
        if kind not in _by_name:
            raise ValueError(_bad_kind(kind))
    elif not (isinstance(kind, (np.dtype, ScalarMeta, ExtendedDType))
              or (isinstance(kind, type) and (kind in _PYTHON_SCALARS or kind in _CONCRETE))):
        raise TypeError(_bad_kind(kind))
    return dtype == _as_dtype(kind)


def _bad_kind(kind: Any) -> str:
    return explain(
        "tanx.numpy.isdtype", "kind must be a type, the name of a kind, or a tuple of such.",
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


_BITS = {dtype: (int(name.lstrip("uintfloa").partition("_")[0])
                 if name in (*_SMALL_INTS, *_SMALL_FLOATS) else 8 * dtype.itemsize)
         for name, dtype in _by_name.items()}


def itemsize_bits(dtype: Any) -> int:
    """The number of bits of one element, as far as its values go.

    >>> itemsize_bits("int4"), itemsize_bits("float32")
    (4, 32)
    """
    found = _as_dtype(dtype)
    if found not in _BITS:
        raise ValueError(explain(
            "tanx.dtypes.itemsize_bits", "the type has no fixed number of bits.",
            f"type: {found}"))
    return _BITS[found]


_SHORT = {dtype: name if name == "bool" else (
    name.replace("bfloat", "bf").replace("float", "f").replace("complex", "c")
    .replace("uint", "u").replace("int", "i")) for name, dtype in _by_name.items()}
_SHORT[float0] = "float0"


def short_name(dtype: Any) -> str:
    """The name of a type in jaxprs.

    >>> short_name("float32"), short_name("bfloat16"), short_name("float8_e4m3fn")
    ('f32', 'bf16', 'f8_e4m3fn')
    """
    short = _SHORT.get(dtype)
    if short is None:
        found = _as_dtype(dtype)
        short = _SHORT.get(found, found.name)
    return short


def to_numeric_dtype(dtype: Any) -> np.dtype:
    """``dtype``, or ``int32`` for booleans.

    >>> to_numeric_dtype(np.bool_)
    dtype('int32')
    """
    found = _as_dtype(dtype)
    return _INT32 if found == _BOOL else found


def to_inexact_dtype(dtype: Any) -> np.dtype:
    """The type in which functions like ``sin`` compute: floating, of the width of the integer.

    >>> to_inexact_dtype("int64"), to_inexact_dtype("int8"), to_inexact_dtype("bfloat16")
    (dtype('float64'), dtype('float32'), dtype(bfloat16))
    """
    found = _as_dtype(dtype)
    if issubdtype(found, np.inexact):
        return found
    return _FLOAT64 if found in _HALF else _FLOAT32


def to_floating_dtype(dtype: Any) -> np.dtype:
    """The real type in which parts of numbers of type ``dtype`` are held.

    >>> to_floating_dtype(np.complex64)
    dtype('float32')
    """
    found = to_inexact_dtype(dtype)
    return {_COMPLEX64: _FLOAT32, _COMPLEX128: _FLOAT64}.get(found, found)


def to_complex_dtype(dtype: Any) -> np.dtype:
    """The complex type that holds numbers of type ``dtype``.

    >>> to_complex_dtype(np.float32)
    dtype('complex64')
    """
    return _COMPLEX128 if to_floating_dtype(dtype) == _FLOAT64 else _COMPLEX64


# --- Promotion ------------------------------------------------------------------------------------


def _above(edges: dict[Node, tuple[Node, ...]]) -> dict[Node, frozenset[Node]]:
    """For each node, the nodes it may become: itself, and what its successors may become."""
    above: dict[Node, frozenset[Node]] = {}

    def visit(node: Node) -> frozenset[Node]:
        if node not in above:
            above[node] = frozenset({node}).union(*map(visit, edges.get(node, ())))
        return above[node]

    for node in (*_by_name.values(), int, float, complex):
        visit(node)
    return above


def _dtypes(*names: str) -> tuple[np.dtype, ...]:
    return tuple(_by_name[name] for name in names)


def _chain(*names: str) -> dict[Node, tuple[Node, ...]]:
    return {_by_name[a]: (_by_name[b],) for a, b in zip(names, names[1:], strict=False)}


# An edge goes from a node to those it may become next; types below eight bits lead nowhere.
_upward = _above({
    _BOOL: (int,),
    int: _dtypes(*_SMALL_INTS, "int8", "uint8"),
    **_chain(*_INTS),
    **{_by_name[f"uint{n}"]: _dtypes(f"int{2 * n}", f"uint{2 * n}") for n in (8, 16, 32)},
    _INT64: (float,),
    _by_name["uint64"]: (float,),
    float: (complex, *_dtypes(*_SMALL_FLOATS, "bfloat16", "float16")),
    **dict.fromkeys(_dtypes("bfloat16", "float16"), (_FLOAT32,)),
    _FLOAT32: (_FLOAT64, _COMPLEX64),
    _FLOAT64: (_COMPLEX128,),
    complex: (_COMPLEX64,),
    _COMPLEX64: (_COMPLEX128,),
})
_strictly_upward = _above({
    int: (float, *_dtypes(*_SMALL_INTS, *_INTS, *_UINTS)),
    float: (complex, *_dtypes(*_SMALL_FLOATS, *_FLOATS)),
    complex: _dtypes(*_COMPLEXES),
})


@functools.lru_cache(maxsize=8192)
def _join(a: Node, b: Node, strict: bool) -> Node | None:
    """The least dtype that both may become, or None if there is no such dtype.

    Of the common nodes the least is the one above which all the others lie.
    """
    above = _strictly_upward if strict else _upward
    common = above[a] & above[b]
    return next((node for node in common if above[node] == common), None)


def _join_all(nodes: list[Node], function: str) -> Node:
    """The least dtype that all may become; TypePromotionError if there is no such dtype."""
    strict = checks.value and numpy_dtype_promotion.value == "strict"
    joined = nodes[0]
    for node in nodes:
        if node is joined:
            continue
        if node not in _upward or joined not in _upward:
            return _same(nodes, function)
        joined = _join(joined, node, strict)
        if joined is None:
            raise TypePromotionError(_no_promotion(nodes, strict, function))
    if checks.value and numpy_dtype_promotion.value == "lossless" and not isinstance(joined, type):
        _check_lossless(nodes, canonicalize_dtype(joined), function)
    return joined


def _check_lossless(nodes: list[Node], joined: np.dtype, function: str) -> None:
    lost = [node for node in nodes if not isinstance(node, type) and not holds(joined, node)]
    if lost:
        raise TypePromotionError(explain(
            function, f"{short_name(joined)} does not have all numbers of {short_name(lost[0])}, "
            'and numpy_dtype_promotion is "lossless".', _types_of(nodes),
            hint="cast with x.astype, or leave that mode."))


@functools.lru_cache(maxsize=1024)
def holds(wide: np.dtype, narrow: np.dtype) -> bool:
    """Whether each number of one type is one of the other.

    >>> holds(np.dtype("float32"), np.dtype("int16")), holds(np.dtype("float32"), np.dtype("int32"))
    (True, False)
    """
    if wide == narrow or narrow == _BOOL:
        return True
    part = to_floating_dtype(wide) if wide.kind == "c" else wide
    if issubdtype(narrow, np.integer):
        most, least = int(iinfo(narrow).max), int(iinfo(narrow).min)
        if issubdtype(part, np.integer):
            return int(iinfo(part).min) <= least and most <= int(iinfo(part).max)
        return issubdtype(part, np.floating) and (
            finfo(part).nmant + 1 >= most.bit_length() and most <= float(finfo(part).max))
    if narrow.kind == "c":
        return wide.kind == "c" and holds(part, to_floating_dtype(narrow))
    if not (issubdtype(part, np.floating) and issubdtype(narrow, np.floating)):
        return False
    return (finfo(part).nmant >= finfo(narrow).nmant and finfo(part).maxexp >= finfo(narrow).maxexp
            and finfo(part).minexp <= finfo(narrow).minexp)


def _same(nodes: list[Node], function: str) -> Node:
    """Keys and ``float0`` have nothing above or below them: they must be all of one type."""
    if all(node == nodes[0] for node in nodes):
        return nodes[0]
    if any(map(is_extended, nodes)):
        raise keys_are_no_numbers(function, _types_of(nodes))
    raise ValueError(explain(
        function, "only booleans and numbers promote to a common type.", _types_of(nodes)))


def keys_are_no_numbers(function: str, *facts: str) -> TypeError:
    """The error for random keys where numbers are wanted.

    >>> raise keys_are_no_numbers("tanx.numpy.sin", "operand: key<fry>[]")
    Traceback (most recent call last):
    TypeError: tanx.numpy.sin: keys are not numbers.
      operand: key<fry>[]
      Hint: split and fold_in of tanx.random make new keys; key_data gives the words of one.
    """
    return TypeError(explain(
        function, "keys are not numbers.", *facts,
        hint="split and fold_in of tanx.random make new keys; key_data gives the words of one."))


def _types_of(nodes: list[Node]) -> str:
    names = [f"Python {node.__name__}" if isinstance(node, type) else short_name(node)
             for node in dict.fromkeys(nodes)]
    return f"types: {', '.join(names)}"


def _no_promotion(nodes: list[Node], strict: bool, function: str) -> str:
    if strict:
        return explain(
            function, 'types must agree while numpy_dtype_promotion is "strict".',
            _types_of(nodes), hint="cast with x.astype, or leave that mode.")
    return explain(function, "these types do not promote implicitly.", _types_of(nodes),
                   hint="cast one of them, for example x.astype('float32').")


_Reader = Callable[[Any], Node]


def _read_typed(x: Any) -> Node:
    """Arrays, tracers and abstract values keep their type; booleans are weak to begin with."""
    return scalar_type_of(x.dtype) if x.weak_type and x.dtype.kind != "b" else x.dtype


def _read_numpy(x: Any) -> Node:
    """NumPy's values, and scalar types, follow ``enable_x64`` silently."""
    found = x.dtype
    if found in _SETTLED:
        return found
    if found in _HALF:
        return canonicalize_dtype(found)
    return requested_dtype(found, "tanx.numpy.result_type")


def _read_dtype(x: Any) -> Node:
    """A type that is written out follows ``enable_x64`` as an explicit request does."""
    return x if x in _SETTLED else requested_dtype(x, "tanx.numpy.result_type")


def _read_name(x: Any) -> Node:
    """So do other ways of naming a type, but Python's classes of numbers are weak."""
    return x if x in _WEAK else requested_dtype(x, "tanx.numpy.result_type")


def _read_other(x: Any) -> Node:
    """Anything else must say what type it has."""
    found = _own_dtype(x)
    return scalar_type_of(found) if getattr(x, "weak_type", False) else found


# How to get the node of an operand of some class; grows with the classes that turn up.
_readers: dict[type, Callable[[Any], Node]] = {}


def _node(x: Any) -> Node:
    """The node of an operand of ``result_type``: a value, or something that names a type."""
    cls = type(x)
    if cls not in _readers:
        _readers[cls] = _choose_reader(cls)
    return _readers[cls](x)


def _choose_reader(cls: type) -> Callable[[Any], Node]:
    if issubclass(cls, (np.ndarray, np.generic, ScalarMeta)):
        return _read_numpy
    if issubclass(cls, (np.dtype, ExtendedDType)):
        return _read_dtype
    if issubclass(cls, (type, str, type(None))):
        return _read_name
    for python_class, dtype in _PYTHON_SCALARS.items():
        if issubclass(cls, python_class):
            node = dtype if python_class is bool else python_class
            return lambda x: node
    return _read_typed if hasattr(cls, "dtype") and hasattr(cls, "weak_type") else _read_other


@overload
def result_type(*args: Any, return_weak_type_flag: Literal[True]) -> tuple[DType, bool]: ...
@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = False) -> DType: ...


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The type to which ``args``, values or types, promote; see :func:`promote_types`.

    With ``return_weak_type_flag``, also whether the result is weakly typed, as it is when all
    operands are Python scalars.

    >>> result_type("int8", 1), result_type("int8", 1.0), result_type("int8", "uint8")
    (dtype('int8'), dtype('float32'), dtype('int16'))
    """
    nodes = []
    for arg in args:
        nodes.append((_readers.get(type(arg)) or _node)(arg))
    if len(nodes) == 2 and nodes[0] is nodes[1] and nodes[0] in _SETTLED:
        return (nodes[0], False) if return_weak_type_flag else nodes[0]
    if not nodes:
        raise ValueError(explain(
            "tanx.numpy.result_type", "there must be at least one array or type."))
    joined = _join_all(nodes, "tanx.numpy.result_type")
    weak = joined in _WEAK
    if weak:
        joined = canonicalize_dtype(joined)
    elif joined in _HALF and len(nodes) > 1 and not enable_x64.value:
        joined = _without_x64(joined, nodes)
    return (joined, weak) if return_weak_type_flag else joined


def _without_x64(joined: np.dtype, nodes: list[Node]) -> np.dtype:
    """64 bits that come from promotion alone are dropped silently; those of an operand are not."""
    if any(node in _HALF for node in nodes) and _insist(joined, "tanx.numpy.result_type"):
        return joined
    return _HALF[joined]


def promote_types(a: Any, b: Any) -> np.dtype:
    """The least type that both ``a`` and ``b`` may become.

    Python's ``int``, ``float`` and ``complex`` are weak: they give way to types of their own kind.
    Without ``enable_x64``, the result has 64 bits only if an operand has.

    >>> promote_types("int16", "uint16"), promote_types("int64", "float16")
    (dtype('int32'), dtype('float16'))
    >>> promote_types(int, "int8")
    dtype('int8')
    """
    nodes: list[Node] = []
    for x in (a, b):
        nodes.append(x if x in _WEAK else _as_dtype(x))
        if isinstance(nodes[-1], np.dtype) and nodes[-1] not in _upward and nodes[-1] != float0:
            raise ValueError(explain(
                "tanx.numpy.promote_types", "arrays hold booleans, numbers or keys.",
                f"dtype: {nodes[-1]}"))
    joined = _join_all(nodes, "tanx.numpy.promote_types")
    if joined in _HALF and not enable_x64.value and not any(node in _HALF for node in nodes):
        return _HALF[joined]
    return _as_dtype(joined)


def __dir__() -> list[str]:
    return __all__
