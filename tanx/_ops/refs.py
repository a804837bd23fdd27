"""Primitives that make, read and write references, and the functions that apply them.

They become equations while a function is staged. Otherwise they act on the content of the
reference, by operations on values; see :mod:`tanx._core.refs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from .._core.array import Array
from .._core.cells import Cell, Ref, check_writable, holds, too_high
from .._core.effects import AccumEffect, AllocateEffect, ReadEffect, WriteEffect
from .._core.linear import never
from .._core.primitive import Kind, Primitive
from .._core.refs import NO_GRADIENT, AbstractRef, Accessible, Reference, is_ref, no_array
from .._core.stage import StageTrace
from .._core.trace import EvalTrace, Trace, Tracer, context, leaked, running
from .._core.types import ShapedArray, described, is_arraylike, typeof
from ..errors import explain
from ..tree_util import tree_flatten, tree_unflatten
from .base import as_array, broadcast_in_dim
from .convert import convert, stop_gradient
from .ref_index import NDIndexer, added, indexers_of, part_type, place, read, total, written

__all__ = ["TransformedRef", "addupdate", "addupdate_p", "empty_ref", "empty_ref_p", "free_ref",
           "free_ref_p", "freeze", "freeze_p", "get", "get_p", "new_ref", "new_ref_p", "set",
           "swap", "swap_p"]

_WHOLE = tree_flatten(())[1]


class _OnRef(Primitive):
    """A primitive on references: an equation while staging, executed immediately otherwise."""

    kind = Kind.STATEMENT
    ref_primitive = is_effectful = True
    effect: Any

    def effects(self, *types, **params):
        return frozenset((self.effect,))

    def bind(self, *args, **params):
        if type(context.trace) is StageTrace:
            return context.trace.process(self, args, params)
        return self.apply(*args, **params)

    def apply(self, *args, **params):
        """Apply the operation to the content of the reference."""
        raise NotImplementedError(f"{self}.apply")

    eval = jvp = transpose = batch = lower = never(
        "it acts on the content of the reference, by operations on values")

    def referred(self, function: str, ref) -> Any:
        """The type of the content of a reference."""
        if type(ref) is not AbstractRef:
            raise ValueError(explain(function, "needs a reference.", f"given: {ref}",
                                     hint="tanx.new_ref makes one."))
        return ref.inner_aval


class NewRef(_OnRef):
    """Makes a reference to a value."""

    name = "new_ref"
    ref_allocating = True
    effect = AllocateEffect()

    def infer(self, x, *, memory_space, kind, pin):
        return AbstractRef(x.strip_weak_type(), memory_space, kind)

    def apply(self, x, *, memory_space, kind, pin):
        return _held(_strong(x), AbstractRef(typeof(x).strip_weak_type(), memory_space, kind))


class EmptyRef(_OnRef):
    """Makes a reference whose content is not set yet."""

    name = "empty_ref"
    ref_allocating = True
    effect = AllocateEffect()

    def infer(self, *, ty, memory_space, pin):
        return AbstractRef(ty, memory_space)

    def apply(self, *, ty, memory_space, pin):
        zero = np.zeros((), dtypes.stored(ty.dtype))
        return _held(broadcast_in_dim(Array(zero, False, ty.update(shape=())), ty.shape, ()),
                     AbstractRef(ty, memory_space))


class Freeze(_OnRef):
    """Ends the life of a reference and returns its content."""

    name = "freeze"
    effect = AllocateEffect()

    def infer(self, ref):
        return self.referred("tanx.freeze", ref)

    def apply(self, ref):
        content = _read(ref, ())
        _end(ref)
        return content


class FreeRef(_OnRef):
    """Ends the life of a reference."""

    name = "free_ref"
    multiple_results = True
    effect = AllocateEffect()

    def infer(self, ref):
        self.referred("tanx.free_ref", ref)
        return []

    def apply(self, ref):
        _end(ref)
        return []


class _Access(_OnRef):
    """Reads or writes a part of a reference.

    The last operands are the leaves of indexers; ``tree`` is their structure.
    """

    def indexers(self, leaves: Sequence, tree) -> tuple[NDIndexer, ...]:
        return tree_unflatten(tree, leaves)

    def part(self, ref, leaves: Sequence, tree) -> ShapedArray:
        """The type of the part."""
        return part_type(self.referred(f"tanx.ref.{self.name}", ref), self.indexers(leaves, tree))

    def check_value(self, ref, value, leaves: Sequence, tree) -> ShapedArray:
        """Check that a written value has the type of the part."""
        part = self.part(ref, leaves, tree)
        if value.dtype != part.dtype:
            raise ValueError(explain(
                f"tanx.ref.{self.name}", "the value must have the reference's dtype.",
                f"reference: {ref}", f"value:     {value}",
                hint=f"convert it: value.astype({part.dtype.name!r})."))
        if value.shape != part.shape:
            raise ValueError(explain(
                f"tanx.ref.{self.name}", "the value must have the shape of the part it goes to.",
                f"reference: {ref}", f"part:      {part}", f"value:     {value}",
                hint=f"tanx.numpy.broadcast_to(value, {part.shape}) repeats it."
                if value.shape == part.shape[len(part.shape) - len(value.shape):] else None))
        return part

    def place_text(self, eqn, count: int, show: Callable[[Any], str]) -> str:
        """The part as jaxprs write it: ``a[0,:]``."""
        def bare(atom) -> str:
            return show(atom).partition(":")[0]  # no types of literals

        indexers = self.indexers(eqn.invars[count:], eqn.params["tree"])
        return show(eqn.invars[0]) + ("".join(i.text(bare) for i in indexers) or "[...]")


class Get(_Access):
    """Reads a part of a reference."""

    name = "get"
    effect = ReadEffect()

    def infer(self, ref, *leaves, tree):
        return self.part(ref, leaves, tree)

    def apply(self, ref, *leaves, tree):
        return _read(_checked("tanx.ref.get", ref), self.indexers(leaves, tree))

    def show_equation(self, eqn, binders, show):
        return [*binders, " <- ", self.place_text(eqn, 1, show)]


class Swap(_Access):
    """Writes a part of a reference; the result is its old content."""

    name = "swap"
    effect = WriteEffect()

    def infer(self, ref, value, *leaves, tree):
        return self.check_value(ref, value, leaves, tree)

    def apply(self, ref, value, *leaves, tree):
        indexers = self.indexers(leaves, tree)
        old = _read(_checked("tanx.ref.swap", ref), indexers)
        _write(ref, indexers, value)
        return old

    def show_equation(self, eqn, binders, show):
        place, value = self.place_text(eqn, 2, show), show(eqn.invars[1])
        if show(eqn.outvars[0]) == "_":
            return [f"{place} <- {value}"]
        return [*binders, f", {place} <- {place}, {value}"]


class AddUpdate(_Access):
    """Adds to a part of a reference."""

    name = "addupdate"
    multiple_results = True
    effect = AccumEffect()

    def infer(self, ref, value, *leaves, tree):
        self.check_value(ref, value, leaves, tree)
        return []

    def apply(self, ref, value, *leaves, tree):
        _write(_checked("tanx.ref.addupdate", ref), self.indexers(leaves, tree), value, adds=True)
        return []

    def show_equation(self, eqn, binders, show):
        return [f"{self.place_text(eqn, 2, show)} += {show(eqn.invars[1])}"]


new_ref_p, empty_ref_p, freeze_p, free_ref_p = NewRef(), EmptyRef(), Freeze(), FreeRef()
get_p, swap_p, addupdate_p = Get(), Swap(), AddUpdate()


# -- contents of references ------------------------------------------------------------------------


def _held(x, aval: AbstractRef) -> Reference:
    """A reference that holds a value, in the running trace."""
    trace = context.trace
    if not isinstance(trace, EvalTrace):
        return Cell(trace, x, aval)
    if isinstance(x, Tracer):
        raise leaked(x)
    return Ref(x._shared(aval.inner_aval, x._device), aval)


def _strong(x):
    """A value whose type is not weak, as contents of references are."""
    aval = typeof(x)
    return convert(x, aval.dtype, False) if aval.weak_type else x


def _checked(function: str, ref) -> Reference:
    if not is_ref(ref):
        raise ValueError(explain(function, "needs a reference.", f"given: {typeof(ref)}"))
    return ref


def _end(ref: Reference) -> None:
    if isinstance(ref, Cell):
        ref.load()  # raises if its life has ended
        ref.ended = True


def _stage_of(ref: Reference) -> Trace | None:
    """The trace that records operations on a reference; None if they are executed immediately.

    It is the topmost staging trace, if the reference belongs to that trace or to one below it.
    """
    trace: Trace | None = context.trace
    while trace is not None:
        if type(trace) is StageTrace:
            return trace
        if isinstance(ref, Tracer) and trace.owns(ref):
            return None
        trace = trace.below
    if isinstance(ref, Tracer):
        raise leaked(ref)
    return None


def _recorded(stage: Trace, primitive: Primitive, ref: Reference, *operands, indexers=()) -> Any:
    """Record a use of a primitive on a reference in a trace below the running one."""
    leaves, tree = tree_flatten(indexers)
    with running(stage):
        return primitive.bind(ref, *operands, *leaves, tree=tree)


def _read(ref: Reference, indexers: Sequence[NDIndexer]):
    """The part of a reference that indexers select."""
    stage = _stage_of(ref)
    if stage is None:
        return read(ref.load(), indexers)
    if all(holds(stage, x) for x in tree_flatten(indexers)[0]):
        return _recorded(stage, get_p, ref, indexers=tuple(indexers))
    return read(_recorded(stage, get_p, ref), indexers)


def _write(ref: Reference, indexers: Sequence[NDIndexer], value, adds: bool = False) -> None:
    """Replace the part of a reference that indexers select, or add to it."""
    check_writable(ref)
    change = added if adds else written
    if ref.aval.kind == NO_GRADIENT:
        value = stop_gradient(value)
    if isinstance(value, Tracer):
        value = value.full_lower()
    stage = _stage_of(ref)
    if stage is not None:
        if all(holds(stage, x) for x in (value, *tree_flatten(indexers)[0])):
            _recorded(stage, addupdate_p if adds else swap_p, ref, value, indexers=tuple(indexers))
            return
        new = change(_recorded(stage, get_p, ref), indexers, value)
        if not holds(stage, new):
            raise too_high(ref, new)
        _recorded(stage, swap_p, ref, new)
    elif not _written_in_place(ref, indexers, value, adds):
        ref.store(_strong(change(ref.load(), indexers, value)))


def _written_in_place(ref: Reference, indexers: Sequence[NDIndexer], value, adds: bool) -> bool:
    """Write a part to the memory of an eager reference; False if that is not possible."""
    if type(ref) is not Ref or isinstance(value, Tracer) or not indexers:
        return False
    where = place(indexers)
    if where is None or (adds and indexers[0].int_indexer_shape):
        return False
    new = total(read(ref.load(), indexers), value) if adds else as_array(value)
    ref.exclusive()[where] = new._value
    return True


# -- public functions ------------------------------------------------------------------------------


class TransformedRef(Accessible):
    """A part or a view of a reference, as ``ref.at[idx]`` and ``ref.T`` return.

    It can be read and written by index, too.
    """

    __slots__ = ("ref", "transforms")

    def __init__(self, ref: Reference, transforms: tuple):
        self.ref, self.transforms = ref, transforms

    @property
    def aval(self) -> AbstractRef:
        inner = self.ref.aval.inner_aval
        return AbstractRef(part_type(inner, self.transforms), self.memory_space)

    type = aval
    is_dynamic_size = False  # sizes of parts are known while tracing
    multiref = False  # it is a part of one reference

    @property
    def memory_space(self):
        for transform in reversed(self.transforms):
            if hasattr(transform, "memory_space"):  # a cast
                return transform.memory_space
        return self.ref.aval.memory_space

    def __repr__(self) -> str:
        return f"TransformedRef(ref={self.ref}, transforms={self.transforms})"


def new_ref(init_val, *, memory_space: Any = None, kind: str | None = None, pin: bool = False):
    """A reference to an array that can be read and written, starting as a copy of ``init_val``.

    ``ref[...]`` reads its content, ``ref[...] = x`` and ``ref[i] = y`` write to it, inside of
    transformed functions too. References may be passed to functions and closed over, but not
    returned. Writes to a reference of the kind ``"no_grad_no_remat"`` have no derivative. There is
    one memory space, so ``memory_space`` and ``pin`` are only shown.

    >>> ref = tanx.new_ref(jnp.zeros(3))
    >>> @tanx.jit
    ... def count(ref):
    ...     ref[0] += 1.0
    >>> count(ref), count(ref)
    (None, None)
    >>> ref
    Ref([2., 0., 0.], dtype=float32)
    """
    if is_ref(init_val):
        raise no_array("tanx.new_ref", init_val.aval)
    if not is_arraylike(init_val):
        raise TypeError(explain(
            "tanx.new_ref", "needs an array or a number.",
            f"given: {init_val!r:.100} of type {type(init_val).__name__}",
            hint="tanx.tree.map(tanx.new_ref, tree) makes a reference of each leaf."))
    return new_ref_p.bind(_owned(init_val), memory_space=memory_space, kind=kind, pin=pin)


def empty_ref(ty, memory_space: Any = None, pin: bool = False):
    """A reference to an array of a type, without content yet.

    ``ty`` is an array, a :class:`tanx.ShapeDtypeStruct`, or anything with a shape and a dtype.

    >>> ref = tanx.empty_ref(tanx.ShapeDtypeStruct((2,), np.int32))
    >>> ref[...] = jnp.arange(2)
    >>> ref
    Ref([0, 1], dtype=int32)
    """
    aval = ty if isinstance(ty, ShapedArray) else described(ty)
    return empty_ref_p.bind(ty=aval.strip_weak_type(), memory_space=memory_space, pin=pin)


def freeze(ref):
    """The content of a reference, whose life ends: a function must not use it any more.

    >>> tanx.freeze(tanx.new_ref(jnp.arange(3)))
    Array([0, 1, 2], dtype=int32)
    """
    return freeze_p.bind(_needed("tanx.freeze", ref))


def free_ref(ref) -> None:
    """End the life of a reference: a function must not use it any more.

    >>> tanx.free_ref(tanx.new_ref(1.0))
    """
    free_ref_p.bind(_needed("tanx.free_ref", ref))


def get(ref, idx=None):
    """The content of a reference, or the part at ``idx``: ``ref[idx]``.

    >>> tanx.ref.get(tanx.new_ref(jnp.arange(3)), 1)
    Array(1, dtype=int32)
    """
    ref, indexers = _located("tanx.ref.get", ref, idx)
    leaves, tree = tree_flatten(indexers)
    return get_p.bind(ref, *leaves, tree=tree)


def swap(ref, idx, value):
    """Replace the content of a reference, or the part at ``idx``; returns the old content.

    >>> tanx.ref.swap(tanx.new_ref(jnp.arange(3)), 2, 5)
    Array(2, dtype=int32)
    """
    ref, indexers = _located("tanx.ref.swap", ref, idx)
    leaves, tree = tree_flatten(indexers)
    return swap_p.bind(ref, _fitting("tanx.ref.swap", ref, indexers, value), *leaves, tree=tree)


def set(ref, idx, value) -> None:
    """Replace the content of a reference, or the part at ``idx``: ``ref[idx] = value``.

    >>> ref = tanx.new_ref(jnp.arange(3))
    >>> tanx.ref.set(ref, 0, 7)
    >>> ref
    Ref([7, 1, 2], dtype=int32)
    """
    ref, indexers = _located("tanx.ref.set", ref, idx)
    value = _fitting("tanx.ref.set", ref, indexers, value)
    if type(context.trace) is StageTrace:
        leaves, tree = tree_flatten(indexers)
        swap_p.bind(ref, value, *leaves, tree=tree)
    else:
        _write(ref, indexers, value)


def addupdate(ref, idx, x) -> None:
    """Add to the content of a reference, or to the part at ``idx``; repeated indices add up.

    >>> ref = tanx.new_ref(jnp.arange(3))
    >>> tanx.ref.addupdate(ref, jnp.array([0, 0]), jnp.array([5, 6]))
    >>> ref
    Ref([11,  1,  2], dtype=int32)
    """
    ref, indexers = _located("tanx.ref.addupdate", ref, idx)
    leaves, tree = tree_flatten(indexers)
    addupdate_p.bind(ref, _fitting("tanx.ref.addupdate", ref, indexers, x), *leaves, tree=tree)


def _owned(x):
    """An array that shares no memory with one of NumPy."""
    if isinstance(x, np.ndarray):
        aval = typeof(x)
        return Array(np.array(x, dtypes.stored(aval.dtype)), False, aval)
    return as_array(x)


def _needed(function: str, ref) -> Reference:
    if not is_ref(ref):
        raise TypeError(explain(function, "needs a reference.",
                                f"given: {ref!r:.100} of type {type(ref).__name__}"))
    return ref


def _located(function: str, ref, idx) -> tuple[Reference, tuple[NDIndexer, ...]]:
    """The reference behind another or a part of it, and the indexers that lead to a part."""
    before: tuple = ()
    if isinstance(ref, TransformedRef):
        ref, before = ref.ref, ref.transforms
    aval = _needed(function, ref).aval
    shape = part_type(aval.inner_aval, before).shape
    return ref, (*before, *indexers_of(function, idx, shape))


def _fitting(function: str, ref: Reference, indexers, value):
    """A value that fits a part of a reference.

    Numbers of a smaller dtype of the same kind are converted; the shape must be that of the part.
    """
    if is_ref(value):
        raise no_array(function, value.aval)
    if not is_arraylike(value):
        raise TypeError(explain(function, "needs an array or a number.",
                                f"given: {value!r:.100} of type {type(value).__name__}"))
    value, part = _owned(value), part_type(ref.aval.inner_aval, indexers)
    aval = typeof(value)
    if aval.dtype != part.dtype and _kind(aval.dtype) == _kind(part.dtype) != "other" and (
            dtypes.result_type(part, aval) == part.dtype):
        value = convert(value, part.dtype)
    (addupdate_p if function.endswith("addupdate") else swap_p).check_value(
        ref.aval, typeof(value), tree_flatten(indexers)[0], tree_flatten(indexers)[1])
    return value


def _kind(dtype) -> str:
    for kind in (np.integer, np.floating, np.complexfloating):
        if dtypes.issubdtype(dtype, kind):
            return kind.__name__
    return "other"


def _part(ref, idx) -> TransformedRef:
    return TransformedRef(*_located("tanx.ref", ref, idx))


def _viewed(ref, name: str, *given) -> TransformedRef:
    """The view of a reference that the method ``name`` returns."""
    from . import ref_views as views  # late: classes that are slow to make and rarely used
    view = {"reshape": views.ReshapeTransform.of, "transpose": views.TransposeTransform.of,
            "bitcast": views.BitcastTransform.of,
            "memory_space_cast": lambda _, space: views.MemorySpaceCast(space),
            }[name](ref.aval, *given)
    base, before = _located("tanx.ref", ref, None)
    return TransformedRef(base, (*before, view))


# Sets the hooks.
Accessible._get = get
Accessible._set = set
Accessible._swap = swap
Accessible._addupdate = addupdate
Accessible._part = _part
Accessible._viewed = _viewed
