"""Types of values: :class:`ShapedArray`, and how to find the type of anything.

A type is what a trace knows of a value: shape, dtype, and whether the dtype is *weak* (came from a
Python scalar, and so gives way in promotion). Types print as ``float32[3,4]``, weak ones as
``~float32[]``; jaxprs write them shorter, ``f32[3,4]``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import explain

__all__ = ["NUMBERS", "AbstractValue", "AbstractToken", "ShapedArray", "ShapeDtypeStruct",
           "ambiguous_truth", "canonical_shape", "described", "is_arraylike", "not_arraylike",
           "refuse_masked", "typeof", "type_rules", "without_length"]


class AbstractValue:
    """Base of all types."""

    __slots__ = ()

    is_high = False  # whether values are made of others, which no type here is

    def to_tangent(self) -> AbstractValue:
        """The type of tangents and cotangents of values of this type."""
        return self

    def to_tangent_aval(self) -> AbstractValue:
        """The type of tangents, as libraries for JAX ask for it."""
        return self.to_tangent()

    to_cotangent_aval = to_ct_aval = to_tangent_aval


class AbstractToken(AbstractValue):
    """The type of tokens, which order effects and carry no data."""

    __slots__ = ()
    shape: tuple[int, ...] = ()
    weak_type = False

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type as text, as in jaxprs."""
        return "Tok"

    def __str__(self) -> str:
        return "Tok"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return type(other) is AbstractToken

    def __hash__(self) -> int:
        return hash(AbstractToken)


class ShapedArray(AbstractValue):
    """The type of arrays of one shape and dtype.

    >>> str(ShapedArray((3, 4), np.float32))
    'float32[3,4]'
    """

    __slots__ = ("shape", "dtype", "weak_type", "_hash")

    def __init__(self, shape, dtype, weak_type: bool = False):
        self.shape = shape if type(shape) is tuple else tuple(shape)
        self.dtype = dtype if isinstance(dtype, np.dtype) else dtypes.dtype(dtype)
        self.weak_type = weak_type
        self._hash: int | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def sharding(self):
        """How values lie on devices: types leave that open, so no axis divides a dimension."""
        from .mesh import NO_ABSTRACT_MESH  # late: meshes know of traces, which know of types
        from .sharding import NamedSharding
        from .spec import PartitionSpec
        return NamedSharding(NO_ABSTRACT_MESH, PartitionSpec(*[None] * self.ndim))

    def update_weak_type(self, weak_type: bool) -> ShapedArray:
        """The same type, weak or not."""
        return self.update(weak_type=weak_type)

    def update(self, **changes) -> ShapedArray:
        """The same type with some attributes replaced."""
        return ShapedArray(changes.get("shape", self.shape), changes.get("dtype", self.dtype),
                           changes.get("weak_type", self.weak_type))

    def strip_weak_type(self) -> ShapedArray:
        return ShapedArray(self.shape, self.dtype) if self.weak_type else self

    def to_tangent(self) -> ShapedArray:
        if dtypes.issubdtype(self.dtype, np.inexact):
            return self
        return ShapedArray(self.shape, dtypes.float0)

    def str_short(self, short_dtypes: bool = False) -> str:
        """Dtype and shape as text; with ``short_dtypes`` as in jaxprs: ``f32[3,4]``."""
        name = (dtypes.short_name(self.dtype) if short_dtypes
                else "float0" if self.dtype == dtypes.float0 else self.dtype.name)
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.str_short()}"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is ShapedArray and self.shape == other.shape
            and self.dtype == other.dtype and self.weak_type == other.weak_type)

    def __hash__(self) -> int:
        found = self._hash
        if found is None:
            found = self._hash = hash((self.shape, self.dtype, self.weak_type))
        return found

    def __len__(self) -> int:
        return self.shape[0]


class ShapeDtypeStruct:
    """A shape and a dtype without data: what :func:`tanx.eval_shape` takes and returns.

    >>> ShapeDtypeStruct((2, 3), np.float32)
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("shape", "dtype", "sharding", "weak_type")

    def __init__(self, shape, dtype, *, sharding=None, weak_type: bool = False, **_unused):
        if dtype is None:
            raise ValueError(explain(
                "tanx.ShapeDtypeStruct", "dtype must be given.", f"shape: {shape}"))
        self.shape = tuple(shape)
        self.dtype = dtypes.dtype(dtype)
        self.sharding = sharding if sharding is None else _checked_sharding(self.shape, sharding)
        self.weak_type = weak_type

    @classmethod
    def like(cls, x) -> ShapeDtypeStruct:
        """The shape and dtype of an array, a number, or of anything that has both.

        >>> ShapeDtypeStruct.like(2.0)
        ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
        """
        if isinstance(x, ShapeDtypeStruct):
            return x
        aval = typeof(x)
        return cls(aval.shape, aval.dtype, weak_type=aval.weak_type)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    is_ref = False  # there are no structs of references yet
    manual_axis_type = None

    def update(self, **changes) -> ShapeDtypeStruct:
        """The same struct with some attributes replaced."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return ShapeDtypeStruct(**{**fields, **changes})

    def __len__(self) -> int:
        try:
            return self.shape[0]
        except IndexError as error:
            raise TypeError("len() of unsized object") from error

    def __repr__(self) -> str:
        sharding = f", sharding={self.sharding}" if self.sharding is not None else ""
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{sharding}{weak})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.sharding, self.weak_type))


def _checked_sharding(shape: tuple, sharding):
    """A sharding that arrays of a shape can have; a partition spec means the mesh in scope."""
    from .sharding import named  # late: shardings know of traces, which know of types
    sharding = named(sharding, "tanx.ShapeDtypeStruct", TypeError)
    if hasattr(sharding, "check_compatible_aval"):  # a Format is not checked
        sharding.check_compatible_aval(shape)
    return sharding


# From Python type to the rule that gives the type of its values. Array and Tracer are not here:
# they answer ``.aval``. Others (typed keys, users' array types) may be added.
type_rules: dict[type, Callable[[Any], AbstractValue]] = {}


def _of_numpy(x) -> ShapedArray:
    if type(x) is not np.ndarray:
        refuse_masked(x)
    return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype))


def refuse_masked(x) -> None:
    """NumPy's masked arrays are refused, whose masks would be lost."""
    # Not by their class: importing that takes time, and few programs have any.
    if isinstance(x, np.ndarray) and hasattr(x, "mask") and hasattr(x, "filled"):
        raise ValueError(explain(
            "tanx.numpy.asarray", "arrays have no masks, so masked arrays are not taken.",
            f"array: {x.dtype.name}{list(x.shape)}", hint="fill it: x.filled(value)."))


def _of_python_scalar(x) -> ShapedArray:
    return ShapedArray((), dtypes.dtype(x, canonicalize=True), weak_type=type(x) is not bool)


type_rules[np.ndarray] = type_rules[np.generic] = _of_numpy  # np.float64 is a float as well
NUMBERS = frozenset((bool, int, float, complex))
"""Types of Python numbers."""
type_rules.update(dict.fromkeys(NUMBERS, _of_python_scalar))


def typeof(x) -> Any:  # a ShapedArray of all but tokens, so its attributes are at hand
    """The type of a value: array, tracer, NumPy array or Python scalar.

    >>> print(typeof(np.zeros((2, 3), np.float32)))
    float32[2,3]
    """
    aval = getattr(x, "aval", None)
    if aval is not None:
        return aval
    for base in type(x).__mro__:
        rule = type_rules.get(base)
        if rule is not None:
            return rule(x)
    if isinstance(x, ShapeDtypeStruct):
        return ShapedArray(x.shape, x.dtype, x.weak_type)
    raise TypeError(explain(
        "tanx.typeof", f"needs an array or a number, but was given a {type(x).__name__}.",
        f"value: {x!r:.200}", hint="convert it with tanx.numpy.asarray(...)."))


def described(x) -> Any:
    """The type of a value as :func:`typeof` knows it, or of one that just tells shape and dtype.

    >>> print(described(ShapeDtypeStruct((2,), np.float32)))
    float32[2]
    """
    if is_arraylike(x) or not (hasattr(x, "shape") and hasattr(x, "dtype")):
        return typeof(x)
    return ShapedArray(canonical_shape(x.shape, "tanx.typeof"),
                       dtypes.canonicalize_dtype(x.dtype, allow_extended_dtype=True),
                       bool(getattr(x, "weak_type", False)))


def is_arraylike(x) -> bool:
    """Whether :func:`typeof` knows ``x``, so that it may be an operand."""
    return (getattr(x, "aval", None) is not None
            or any(base in type_rules for base in type(x).__mro__))


def not_arraylike(function: str, x, position: int) -> TypeError:
    """The error for an operand that is no array."""
    return TypeError(explain(
        function, f"needs arrays or numbers, but argument {position} is a {type(x).__name__}.",
        f"argument {position}: {x!r:.200}",
        hint="convert it with tanx.numpy.asarray(...)."))


def ambiguous_truth(aval) -> ValueError:
    """The error for asking whether an array is true that has other than one element."""
    return ValueError(explain(
        "bool", "the truth value of an array with other than one element is ambiguous.",
        f"array: {aval}", hint="use x.any() or x.all()."))


def without_length(aval) -> TypeError:
    """The error for asking for the length of an array of zero dimensions."""
    return TypeError(explain("len", "an array of zero dimensions has no length.",
                             f"array: {aval}", hint="x.size counts elements."))


def canonical_shape(shape, function: str = "shape") -> tuple[int, ...]:
    """A shape as a tuple of non-negative Python ints.

    >>> canonical_shape([2, np.int64(3)])
    (2, 3)
    """
    try:
        shape = tuple(map(operator.index, shape))
    except TypeError:
        try:
            shape = (operator.index(shape),)
        except TypeError:
            raise _no_shape(function, shape) from None
    if shape and min(shape) < 0:
        raise TypeError(explain(function, "sizes must not be negative.", f"shape: {shape}"))
    return shape


def _no_shape(function: str, shape) -> TypeError:
    sizes = shape if isinstance(shape, list | tuple) else (shape,)
    if any(hasattr(size, "aval") for size in sizes):
        hint = "take sizes from x.shape, or mark the argument with static_argnums."
    else:
        hint = "make sizes integers with int(...), or divide them with //."
    return TypeError(explain(
        function, "a shape is a sequence of integers known while tracing.", f"shape: {shape!r}",
        hint=hint))
