"""References: cells that hold an array and can be written to; their type, and their methods.

The type of a reference is :class:`AbstractRef`; jaxprs write it ``Ref{f32[3]}``. What holds the
content depends on the running trace:

* In eager code a :class:`~tanx._core.cells.Ref` holds an array.
* While a function is staged, a reference is a variable of the jaxpr, and reads and writes are
  equations; see :class:`~tanx._core.stage.StageRef`.
* Under any other transformation a :class:`~tanx._core.cells.Cell` holds a value of that
  transformation, a tracer. Reads and writes are operations on values, which have their rules.

So no transformation needs rules for references. A primitive that runs functions on references runs
them as functions from values to values: see :mod:`tanx._transforms.discharge`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import dtypes
from .._base.traceback import boundary
from ..errors import explain
from .types import (
    AbstractValue,
    ShapedArray,
    ShapeDtypeStruct,
    aval_method,
    aval_property,
    without_length,
)

__all__ = ["AbstractRef", "Accessible", "Reference", "check_distinct", "check_not_returned",
           "is_ref"]


NO_GRADIENT = "no_grad_no_remat"
"""The kind of references without derivatives: writes store only values."""


class AbstractRef(AbstractValue):
    """The type of references to values of type ``inner_aval``."""

    __slots__ = ("inner_aval", "memory_space", "kind")

    def __init__(self, inner_aval: ShapedArray, memory_space: Any = None, kind: Any = None):
        self.inner_aval, self.memory_space, self.kind = inner_aval, memory_space, kind

    weak_type = False
    shape = property(lambda self: self.inner_aval.shape)
    dtype = property(lambda self: self.inner_aval.dtype)
    ndim = property(lambda self: self.inner_aval.ndim)
    size = property(lambda self: self.inner_aval.size)
    nbytes = property(lambda self: self.inner_aval.nbytes)
    sharding = property(lambda self: self.inner_aval.sharding)
    entries = property(lambda self: self.inner_aval.entries)
    manual_axis_type = mat = property(lambda self: self.inner_aval.mat)

    def update(self, inner_aval=None, memory_space=None, kind=None, **changes) -> AbstractRef:
        """The same type with some attributes, or some of its inner type, replaced."""
        inner = self.inner_aval if inner_aval is None else inner_aval
        return AbstractRef(inner.update(**changes) if changes else inner,
                           self.memory_space if memory_space is None else memory_space,
                           self.kind if kind is None else kind)

    def inc_rank(self, size: int, spec) -> AbstractRef:
        return self.update(self.inner_aval.inc_rank(size, spec))

    def dec_rank(self, size: int, spec) -> AbstractRef:
        return self.update(self.inner_aval.dec_rank(size, spec))

    def update_weak_type(self, weak_type: bool) -> AbstractRef:
        """The type itself: contents of references are never weak."""
        return self

    def strip_weak_type(self) -> AbstractRef:
        return self

    def to_tangent(self) -> ShapedArray:
        """No values: a reference is not differentiated, but the values read from it are."""
        return ShapedArray(self.shape, dtypes.float0)

    def to_tangent_aval(self) -> AbstractRef:
        return AbstractRef(self.inner_aval.to_tangent(), self.memory_space, self.kind)

    to_cotangent_aval = to_ct_aval = to_tangent_aval

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type as text, as in jaxprs."""
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __str__(self) -> str:
        return self.str_short()

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return type(other) is AbstractRef and (
            self.inner_aval, self.memory_space, self.kind) == (
            other.inner_aval, other.memory_space, other.kind)

    def __hash__(self) -> int:
        return hash((AbstractRef, self.inner_aval))

    def __len__(self) -> int:
        return len(self.inner_aval)


def _not_plugged(*_):
    raise RuntimeError("tanx is not initialised: import tanx")


class Accessible:
    """Methods of references and parts of them: reads and writes, by index.

    The operations live in :mod:`tanx._ops.refs`, which sets these hooks.
    """

    __slots__ = ()
    aval: Any

    _get = _set = _swap = _addupdate = _part = _viewed = _not_plugged

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: self.aval.size)
    nbytes = property(lambda self: self.aval.nbytes)

    @boundary
    def __getitem__(self, idx):
        return self._get(idx)

    @boundary
    def __setitem__(self, idx, value):
        self._set(idx, value)

    @boundary
    def get(self, idx=None):
        """The content, or the part of it at ``idx``."""
        return self._get(idx)

    @boundary
    def set(self, value, idx=None) -> None:
        """Replace the content, or the part of it at ``idx``."""
        self._set(idx, value)

    @boundary
    def swap(self, value, idx=None):
        """Replace the content, or the part of it at ``idx``; returns the old content."""
        return self._swap(idx, value)

    @boundary
    def addupdate(self, value, idx=None) -> None:
        """Add to the content, or to the part of it at ``idx``."""
        self._addupdate(idx, value)

    @property
    def at(self) -> _At:
        """``ref.at[idx]`` is a part of the reference: writes to it go to the reference."""
        return _At(self)

    @property
    def T(self):
        """A view with the dimensions in reverse order; writes to it go to the reference."""
        return self._viewed("transpose", range(self.ndim)[::-1])

    @boundary
    def transpose(self, permutation):
        """A view with the dimensions in another order."""
        return self._viewed("transpose", permutation)

    @boundary
    def reshape(self, *shape):
        """A view in another shape, with the elements in the same row-major order."""
        return self._viewed("reshape", shape)

    @boundary
    def bitcast(self, dtype):
        """A view of the bits as elements of another dtype of the same width."""
        return self._viewed("bitcast", dtype)

    @boundary
    def memory_space_cast(self, memory_space):
        """A view in another memory space; there is only one."""
        return self._viewed("memory_space_cast", memory_space)

    @boundary
    def __len__(self) -> int:
        if not self.aval.shape:
            raise without_length(self.aval)
        return self.aval.shape[0]

    @boundary
    def __iter__(self):
        raise self._no_array("iter")

    @boundary
    def __array__(self, dtype=None, copy=None):
        raise self._no_array("numpy.asarray")

    def _no_array(self, function: str) -> TypeError:
        return no_array(function, self.aval)


class _At:
    """The type of ``ref.at``."""

    __slots__ = ("ref",)

    def __init__(self, ref: Accessible):
        self.ref = ref

    @boundary
    def __getitem__(self, idx):
        return self.ref._part(idx)


class Reference(Accessible):
    """Base of all references: eager ones, variables of jaxprs, and cells of transformations."""

    __slots__ = ()

    def load(self):
        """The content, as a value of the trace that holds it."""
        raise NotImplementedError(f"{type(self).__name__}.load")

    def store(self, value) -> None:
        """Replace the content."""
        raise NotImplementedError(f"{type(self).__name__}.store")

    # Two references are equal if they are one. Arithmetic is for contents.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __bool__(self) -> bool:
        return True


def is_ref(x) -> bool:
    """Whether a value is a reference."""
    return isinstance(x, Reference)


for _name in ("addupdate", "bitcast", "get", "memory_space_cast", "reshape", "set", "swap",
              "transpose"):
    setattr(AbstractRef, _name, aval_method(getattr(Accessible, _name)))
for _name in ("T", "at"):
    setattr(AbstractRef, _name, aval_property(getattr(Accessible, _name).fget))
ShapeDtypeStruct.reference_to = AbstractRef


def no_array(function: str, aval) -> TypeError:
    """The error for a reference where an array is expected."""
    return TypeError(explain(
        function, "a Ref can't be passed where an array is expected.", f"given: {aval}",
        hint="read its content: ref[...]."))


def check_not_returned(function: str, results: Iterable, known: Iterable = ()) -> None:
    """Check that a function returns no references except ``known`` ones."""
    allowed = {id(x) for x in known}
    for at, x in enumerate(results):
        if isinstance(x, Reference) and id(x) not in allowed:
            raise ValueError(explain(
                function, "returns a reference to a mutable array, but references cannot be "
                "returned.", f"result {at}: {x.aval}", hint="return its content: ref[...]."))


def check_distinct(function: str, args: Iterable, names: Iterable[str] | None = None) -> None:
    """Check that no reference is passed twice to a function, which would alias it."""
    first: dict[int, str] = {}
    labels = iter(names) if names is not None else None
    for i, x in enumerate(args):
        label = f"#{i}" if labels is None else next(labels, f"#{i}")
        if isinstance(x, Reference):
            if id(x) in first:
                raise ValueError(explain(
                    function, "only one reference to a mutable array may be passed to a function.",
                    f"reference: {x.aval}", f"passed as: {first[id(x)]} and {label}",
                    hint="pass it once, and do not close over it as well."))
            first[id(x)] = label
