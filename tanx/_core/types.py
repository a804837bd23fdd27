"""Types of values: :class:`ShapedArray`, and the type of any value.

A type is what a trace knows of a value: shape, dtype, and whether the dtype is *weak* (from a
Python scalar, so that other dtypes win in promotion). Types print as ``float32[3,4]``, weak ones as
``~float32[]``; jaxprs write them shorter, ``f32[3,4]``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, ClassVar

import numpy as np

from .. import dtypes
from .._base.symbolic import DimExpr
from .._base.tuples import NamedTuple
from ..errors import explain
from .mesh import AxisType, get_abstract_mesh
from .placement import NOWHERE, placed, written
from .sharding import ManualAxisType, NamedSharding, named
from .spaces import MemorySpace
from .spec import PartitionSpec, names_of

__all__ = ["NUMBERS", "AbstractValue", "AbstractToken", "ShapedArray",
           "ShapeDtypeStruct", "ambiguous_truth", "aval_method", "aval_property",
           "canonical_shape", "described", "high_classes", "is_arraylike", "not_arraylike",
           "refuse_masked", "typeof", "type_rules", "value_rules", "without_length"]


class aval_method(NamedTuple):
    """An attribute of a type: a method that its values have, ``fun(value, *args)``."""

    fun: Callable


class aval_property(NamedTuple):
    """An attribute of a type: a property that its values have, ``fget(value)``."""

    fget: Callable


class AbstractValue:
    """Base of all types.

    Libraries for JAX use the methods up to :meth:`to_tangent`, and may define them in their own
    types. A value of a *high* type consists of values of other types, its ``lo_ty``.
    """

    __slots__ = ()

    is_high = False

    def to_tangent(self) -> AbstractValue:
        """The type of tangents and cotangents of values of this type."""
        return self

    def to_tangent_aval(self) -> AbstractValue:
        """The type of tangents, under JAX's name."""
        return self.to_tangent()

    to_cotangent_aval = to_ct_aval = at_least_vspace = to_tangent_aval

    def lo_ty(self) -> list[AbstractValue]:
        """The types of the parts of a value: itself, if it is not high."""
        return [self]

    def lower_val(self, val, /) -> list:
        """The parts of a value."""
        return [val]

    def raise_val(self, *vals):
        """The value with parts as :meth:`lower_val` returns them."""
        (val,) = vals
        return val

    def lower_val2(self, hi_val) -> list:
        """As :meth:`lower_val`."""
        return self.lower_val(hi_val)

    def raise_val2(self, lo_vals_ft: Sequence[Any]):
        """As :meth:`raise_val`, of a sequence."""
        return self.raise_val(*lo_vals_ft)

    def normalize(self) -> AbstractValue:
        """The type in canonical form."""
        return self

    def matches(self, other: AbstractValue) -> bool:
        """Whether another type is the same, weak or not."""
        return self == other

    def strip_weak_type(self) -> AbstractValue:
        """The same type, not weak."""
        return self

    def update_weak_type(self, weak_type: bool) -> AbstractValue:
        """The same type, weak or not; unchanged for types that are never weak."""
        return self

    def update_manual_axis_type(self, mat) -> AbstractValue:
        """The same type with another relation to manual axes; other types than arrays have none."""
        return self

    def leading_axis_spec(self) -> Any:
        """The spec of the first axis for ``vmap`` and ``scan``."""
        return 0

    def inc_rank(self, size: int, spec) -> AbstractValue:
        """The type with one more axis of a size, at ``spec``."""
        raise TypeError(self._lacks("inc_rank", "how it gets one more axis"))

    def dec_rank(self, size: int, spec) -> AbstractValue:
        """The type without the axis at ``spec``."""
        raise TypeError(self._lacks("dec_rank", "how an axis is removed"))

    def update(self, **kwargs) -> AbstractValue:
        """The same type with some attributes replaced."""
        raise NotImplementedError(self._lacks("update", "which attributes can be replaced"))

    def reshard(self, sharding) -> AbstractValue:
        """The same type, laid out over devices in another way."""
        raise NotImplementedError(self._lacks("reshard", "how values are laid out over devices"))

    def shard(self, mesh, manual_axes, check_vma: bool, spec) -> AbstractValue:
        """The type of the part that one device has of a value, in ``shard_map``."""
        raise NotImplementedError(self._lacks("shard", "how values are divided over devices"))

    def unshard(self, mesh, check_vma: bool, spec) -> AbstractValue:
        """The type of the whole value, if this is the type of one device's part."""
        raise NotImplementedError(self._lacks("unshard", "how values are divided over devices"))

    def vspace_add(self, x, y):
        """The sum of two tangents of this type."""
        return x + y

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """The type as text, as in jaxprs."""
        return str(self)

    def _lacks(self, method: str, what: str) -> str:
        return explain(f"tanx.core.{type(self).__name__}.{method}",
                       f"this type does not define {what}.", f"type: {self}")


class AbstractToken(AbstractValue):
    """The type of tokens, which order effects and carry no data."""

    __slots__ = ()
    shape: tuple[int, ...] = ()
    weak_type = False

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        return "Tok"

    def inc_rank(self, size: int, spec) -> AbstractToken:
        return self

    def dec_rank(self, size: int, spec) -> AbstractToken:
        return self

    def __str__(self) -> str:
        return "Tok"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return type(other) is AbstractToken

    def __hash__(self) -> int:
        return hash(AbstractToken)


class ShapedArray(AbstractValue):
    """The type of arrays of one shape and dtype.

    A type may also state, by keyword, how values are divided over the Explicit axes of a mesh
    (``sharding``), how they relate to its manual axes (``manual_axis_type``), in which memory they
    are (``memory_space``), and in which ``layout``.

    >>> str(ShapedArray((3, 4), np.float32))
    'float32[3,4]'
    """

    __slots__ = ("shape", "dtype", "weak_type", "placement", "_hash")

    array_abstraction_level = 2

    # Types are created often: four keywords with defaults would cost a tenth of a microsecond.
    def __init__(self, shape, dtype, weak_type: bool = False, **where):
        self.shape = shape if type(shape) is tuple else tuple(shape)
        self.dtype = dtype if isinstance(dtype, np.dtype) else dtypes.dtype(dtype)
        self.weak_type = weak_type
        self.placement = None
        self._hash: int | None = None
        if where:
            self.placement = placed(self.shape, where)

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
        """How values are divided over a mesh; by no axis if the type does not state it."""
        stated = self.placement and self.placement.sharding
        return stated or NamedSharding(get_abstract_mesh(), PartitionSpec(*self.entries))

    @property
    def entries(self) -> tuple:
        """What divides each dimension: None, an axis of a mesh, or a tuple of axes."""
        stated = self.placement and self.placement.sharding
        return tuple(stated.spec) if stated else (None,) * len(self.shape)

    @property
    def manual_axis_type(self):
        """How values relate to the manual axes of a mesh, in ``shard_map``."""
        return self._placed("manual_axis_type")

    mat = manual_axis_type

    @property
    def memory_space(self) -> MemorySpace:
        """The memory that holds values."""
        return self._placed("memory_space")

    @property
    def layout(self):
        """The order of elements in memory, if the type states one."""
        return self._placed("layout")

    def _placed(self, field: str):
        return getattr(self.placement or NOWHERE, field)

    def update_weak_type(self, weak_type: bool) -> ShapedArray:
        """The same type, weak or not."""
        return self.update(weak_type=weak_type)

    def update(self, **changes) -> ShapedArray:
        """The same type with some attributes replaced."""
        where = {} if self.placement is None else self.placement._asdict()
        where.update((name, value) for name, value in changes.items() if name in _WHERE)
        return ShapedArray(changes.get("shape", self.shape), changes.get("dtype", self.dtype),
                           changes.get("weak_type", self.weak_type), **where)

    def matches(self, other: AbstractValue) -> bool:
        return isinstance(other, ShapedArray) and (
            self.shape == other.shape and self.dtype == other.dtype)

    def update_manual_axis_type(self, mat) -> ShapedArray:
        return self.update(manual_axis_type=mat)

    def strip_weak_type(self) -> ShapedArray:
        return self.update(weak_type=False) if self.weak_type else self

    def to_tangent(self) -> ShapedArray:
        if dtypes.issubdtype(self.dtype, np.inexact):
            return self
        dtype: Any = self.dtype
        tangent = dtype.tangent if dtypes.is_extended(dtype) else dtypes.float0
        return self.update(dtype=tangent, weak_type=False)

    def inc_rank(self, size: int, spec) -> ShapedArray:
        if spec is None:
            return self
        return self._reshaped((*self.shape[:spec], size, *self.shape[spec:]),
                              lambda entries: (*entries[:spec], None, *entries[spec:]))

    def dec_rank(self, size: int, spec) -> ShapedArray:
        if spec is None:
            return self
        return self._reshaped(self.shape[:spec] + self.shape[spec + 1:],
                              lambda entries: entries[:spec] + entries[spec + 1:])

    def _reshaped(self, shape: tuple, entries: Callable[[tuple], tuple]) -> ShapedArray:
        """The type with another shape, and with its spec changed accordingly."""
        placement = self.placement
        if placement is None or placement.sharding is None:
            return self.update(shape=shape)
        sharding = placement.sharding
        spec = sharding.spec.update(entries(tuple(sharding.spec)))
        is_stated = any(entry is not None for entry in spec) or spec.unreduced or spec.reduced
        return self.update(shape=shape, sharding=sharding.update(spec=spec) if is_stated else None)

    def reshard(self, sharding) -> ShapedArray:
        sharding = named(sharding, "tanx.core.ShapedArray.reshard", ValueError)
        return self.update(sharding=sharding and sharding.update(mesh=sharding.mesh.abstract_mesh))

    def shard(self, mesh, manual_axes, check_vma: bool, spec) -> ShapedArray:
        part = NamedSharding(mesh, spec).shard_shape(self.shape)
        varying = self.mat.update(varying=self.mat.varying | {*spec.names})
        inside = mesh.abstract_mesh.update_axis_types(dict.fromkeys(manual_axes, AxisType.Manual))
        return self.update(
            shape=part, manual_axis_type=varying if check_vma else ManualAxisType(),
            sharding=NamedSharding(inside, PartitionSpec(*[None] * self.ndim)))

    def unshard(self, mesh, check_vma: bool, spec) -> ShapedArray:
        entries = [*map(names_of, spec), *[()] * (self.ndim - len(spec))]
        shape = self.shape
        for axis, names in enumerate(entries):
            for name in names:
                shape = (*shape[:axis], shape[axis] * mesh.shape[name], *shape[axis + 1:])
        return self.update(shape=shape, manual_axis_type=ManualAxisType(),
                           sharding=NamedSharding(mesh.abstract_mesh, spec))

    def nospec(self, mesh, check_vma: bool, all_names: Sequence[Any]):
        """The spec that states only the manual axes along which a value varies."""
        names = tuple(n for n in all_names if n in self.mat.varying) if check_vma else tuple(
            all_names)
        return PartitionSpec(names) if names else PartitionSpec()

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """Dtype and shape as text; with ``short_dtypes`` as in jaxprs: ``f32[3,4]``."""
        name = (dtypes.short_name(self.dtype) if short_dtypes
                else "float0" if self.dtype == dtypes.float0 else self.dtype.name)
        if self.placement is None:
            space, sizes, marks = "", ",".join(map(str, self.shape)), ""
        else:
            space, sizes, marks = written(self.shape, self.placement)
        if mesh_axis_types:
            mesh = self.sharding.mesh
            kinds = {kind: tuple(n for n, t in zip(mesh.axis_names, mesh.axis_types) if t is kind)
                     for kind in dict.fromkeys(mesh.axis_types)}
            marks += f"({kinds})"
        return f"{name}{space}[{sizes}]{marks}"

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.str_short()}"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is ShapedArray and self.shape == other.shape
            and self.dtype == other.dtype and self.weak_type == other.weak_type
            and self.placement == other.placement)

    def __hash__(self) -> int:
        found = self._hash
        if found is None:
            found = self._hash = hash((self.shape, self.dtype, self.weak_type, self.placement))
        return found

    def __len__(self) -> int:
        return self.shape[0]


_WHERE = ("sharding", "manual_axis_type", "memory_space", "layout")


class ShapeDtypeStruct:
    """A shape and a dtype without data: what :func:`tanx.eval_shape` takes and returns.

    >>> ShapeDtypeStruct((2, 3), np.float32)
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("shape", "dtype", "sharding", "weak_type", "_layout", "is_ref")
    reference_to: ClassVar[type]  # the type of references; :mod:`.refs` sets it

    def __init__(self, shape, dtype, *, sharding=None, weak_type: bool = False,
                 is_ref: bool = False, **_unused):
        if dtype is None:
            raise ValueError(explain(
                "tanx.ShapeDtypeStruct", "dtype must be given.", f"shape: {shape}"))
        self.shape = tuple(shape)
        if None in self.shape:
            raise ValueError(explain(
                "tanx.ShapeDtypeStruct", "sizes must be numbers.", f"shape: {self.shape}",
                hint="tanx.export.symbolic_shape makes sizes that vary."))
        self.dtype = dtypes.dtype(dtype)
        self._layout = None
        if hasattr(sharding, "layout"):  # a Format: a layout and a sharding
            self._layout, sharding = sharding.layout, sharding.sharding
        self.sharding = sharding if sharding is None else _checked_sharding(self.shape, sharding)
        self.weak_type = weak_type
        self.is_ref = is_ref

    @classmethod
    def like(cls, x) -> ShapeDtypeStruct:
        """The shape and dtype of an array, a number, or any object that has both.

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
        return prod(self.shape)

    manual_axis_type = None

    @property
    def format(self):
        """The layout and the sharding, if given.

        >>> ShapeDtypeStruct((2,), np.float32).format
        Format(layout=None, sharding=None)
        """
        from .layouts import Format
        return Format(self._layout, self.sharding)

    def update(self, **changes) -> ShapeDtypeStruct:
        """The same struct with some attributes replaced."""
        fields = {name: getattr(self, name)
                  for name in ("shape", "dtype", "sharding", "weak_type", "is_ref")}
        if self._layout is not None and "sharding" not in changes:
            fields["sharding"] = self.format
        return ShapeDtypeStruct(**{**fields, **changes})

    def __len__(self) -> int:
        try:
            return self.shape[0]
        except IndexError as error:
            raise TypeError("len() of unsized object") from error

    def __repr__(self) -> str:
        sharding = f", sharding={self.sharding}" if self.sharding is not None else ""
        sharding += f", format={self._layout}" if self._layout is not None else ""
        weak = ", weak_type=True" if self.weak_type else ""
        ref = ", is_ref=True" if self.is_ref else ""
        return (f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{sharding}{weak}"
                f"{ref})")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.sharding, self.weak_type, self.is_ref))


def _checked_sharding(shape: tuple, sharding):
    """A sharding that arrays of a shape can have; a partition spec means the mesh in scope."""
    sharding = named(sharding, "tanx.ShapeDtypeStruct", TypeError)
    sharding.check_compatible_aval(shape)
    return sharding


class _ByClass(dict[type, Callable]):
    """Functions by class; ``[]`` also finds the function of a base class."""

    def __missing__(self, cls: type) -> Callable:
        for base in cls.__mro__[1:]:
            if base in self:
                return self[base]
        raise KeyError(cls)


class _Values(_ByClass):
    """As :class:`_ByClass`; for classes whose type is known, NumPy's conversion is found."""

    def __missing__(self, cls: type) -> Callable:
        try:
            return super().__missing__(cls)
        except KeyError:
            type_rules[cls]  # a KeyError if values of the class are not arrays
            return lambda x, **_: np.asarray(x, typeof(x).dtype)


# From Python type to the rule that returns the type of its values. Array and Tracer are not here:
# they have ``.aval``. Others (typed keys, users' array types) may be added.
type_rules: dict[type, Callable[[Any], AbstractValue]] = _ByClass()
# Classes whose values are of high types; see :mod:`tanx._core.high`. Such values may define any
# attribute, so none is looked up.
high_classes: dict[type, Callable[[Any], AbstractValue]] = {}
# From Python type to the function that returns a NumPy array of the same value, for users' types
# that NumPy must not convert by itself.
value_rules: dict[type, Callable[[Any], np.ndarray]] = _Values()


def _of_numpy(x) -> ShapedArray:
    if type(x) is not np.ndarray:
        refuse_masked(x)
    return ShapedArray(x.shape, _dtype_of(x))


def _dtype_of(x) -> np.dtype:
    """The dtype that a NumPy array or scalar has here."""
    if not dtypes.is_valid(x.dtype):
        raise TypeError(explain("tanx.typeof", "arrays hold booleans, numbers or keys.",
                                f"value: {x!r:.200}", f"dtype: {x.dtype}"))
    return dtypes.canonicalize_dtype(x.dtype)


def refuse_masked(x) -> None:
    """Raise for NumPy's masked arrays, whose masks would be lost."""
    # Not by their class: it is slow to import, and few programs use it.
    if isinstance(x, np.ndarray) and hasattr(x, "mask") and hasattr(x, "filled"):
        raise ValueError(explain(
            "tanx.numpy.asarray", "arrays have no masks, so masked arrays are not supported.",
            f"array: {x.dtype.name}{list(x.shape)}", hint="fill it: x.filled(value)."))


@lru_cache(maxsize=64)
def _scalar(dtype: np.dtype, weak_type: bool) -> ShapedArray:
    """The type of numbers; one object, because a call may have a hundred thousand of them."""
    return ShapedArray((), dtype, weak_type)


def _of_numpy_scalar(x) -> ShapedArray:
    return _scalar(_dtype_of(x), False)


def _of_python_scalar(x) -> ShapedArray:
    return _scalar(dtypes.dtype(x, canonicalize=True), type(x) is not bool)


type_rules[np.ndarray] = _of_numpy
type_rules[np.generic] = _of_numpy_scalar  # np.float64 is a float as well
type_rules.update(dict.fromkeys(np.sctypeDict.values(), _of_numpy_scalar))  # found at once
type_rules[DimExpr] = lambda size: _of_python_scalar(0)  # an ordinary number in computations
NUMBERS = frozenset((bool, int, float, complex))
"""Types of Python numbers."""
type_rules.update(dict.fromkeys(NUMBERS, _of_python_scalar))


def typeof(x) -> Any:  # a ShapedArray for all but tokens; Any, so that its attributes type-check
    """The type of a value: array, tracer, NumPy array or Python scalar.

    >>> print(typeof(np.zeros((2, 3), np.float32)))
    float32[2,3]
    """
    if high_classes and type(x) in high_classes:
        return high_classes[type(x)](x)
    aval = getattr(x, "aval", None)
    if aval is not None:
        return aval
    for base in type(x).__mro__:
        rule = type_rules.get(base)
        if rule is not None:
            return rule(x)
    if isinstance(x, ShapeDtypeStruct):
        return _of_struct(x)
    raise TypeError(explain(
        "tanx.typeof", f"needs an array or a number, but was given a {type(x).__name__}.",
        f"value: {x!r:.200}", hint="convert it with tanx.numpy.asarray(...)."))


def _of_struct(x: ShapeDtypeStruct) -> AbstractValue:
    aval = ShapedArray(x.shape, x.dtype, x.weak_type)
    if isinstance(x.sharding, NamedSharding) and x.sharding.mesh.explicit_axes:
        aval = aval.reshard(x.sharding)
    if not x.is_ref:
        return aval
    return x.reference_to(aval.strip_weak_type())


def described(x) -> Any:
    """As :func:`typeof`, and for objects that only have a shape and a dtype.

    >>> print(described(ShapeDtypeStruct((2,), np.float32)))
    float32[2]
    """
    if is_arraylike(x) or isinstance(x, np.ndarray | np.generic) or not (
            hasattr(x, "shape") and hasattr(x, "dtype")):
        return typeof(x)
    if getattr(x, "is_ref", False):
        return _of_struct(x)
    aval = ShapedArray(canonical_shape(x.shape, "tanx.typeof"),
                       dtypes.canonicalize_dtype(x.dtype, allow_extended_dtype=True),
                       bool(getattr(x, "weak_type", False)))
    sharding = getattr(x, "sharding", None)
    if isinstance(sharding, NamedSharding) and sharding.mesh.explicit_axes:
        return aval.reshard(sharding)
    return aval


def is_arraylike(x) -> bool:
    """Whether :func:`typeof` accepts ``x``, so that it may be an operand."""
    if type(x) in high_classes or getattr(x, "aval", None) is not None:
        return True
    if isinstance(x, np.ndarray | np.generic) and not dtypes.is_valid(x.dtype):
        return False
    return any(base in type_rules for base in type(x).__mro__)


def not_arraylike(function: str, x, position: int) -> TypeError:
    """The error for an operand that is not an array."""
    if isinstance(x, np.ndarray | np.generic):
        return TypeError(explain(
            function, "arrays hold booleans, numbers or keys.",
            f"argument {position}: {x!r:.200}", f"dtype: {x.dtype}"))
    return TypeError(explain(
        function, f"needs arrays or numbers, but argument {position} is a {type(x).__name__}.",
        f"argument {position}: {x!r:.200}",
        hint="convert it with tanx.numpy.asarray(...)."))


def ambiguous_truth(aval) -> ValueError:
    """The error for the truth value of an array with other than one element."""
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
            shape = tuple(map(_size, shape if isinstance(shape, tuple | list) else (shape,)))
        except TypeError:
            raise _no_shape(function, shape) from None
        if not any(size < 0 for size in shape):
            return shape
    if shape and min(shape) < 0:
        raise TypeError(explain(function, "sizes must not be negative.", f"shape: {shape}"))
    return shape


def _size(size) -> Any:
    return size if type(size) is DimExpr else operator.index(size)


def _no_shape(function: str, shape) -> TypeError:
    sizes = shape if isinstance(shape, list | tuple) else (shape,)
    if any(hasattr(size, "aval") for size in sizes):
        hint = "take sizes from x.shape, or mark the argument with static_argnums."
    else:
        hint = "make sizes integers with int(...), or divide them with //."
    return TypeError(explain(
        function, "a shape is a sequence of integers known while tracing.", f"shape: {shape!r}",
        hint=hint))
