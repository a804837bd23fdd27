"""Batching rules in the form that libraries write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.types import typeof
from .._ops.base import batch_together, materialize, to_front
from .._transforms.vmap import Axis, mapped_types
from ..errors import explain
from .rules import RuleBook, as_given, in_tuples

__all__ = ["axis_primitive_batchers", "bdim_at_front", "broadcast", "defbroadcasting", "defreducer",
           "defvectorized", "fancy_primitive_batchers", "not_mapped", "primitive_batchers",
           "register_vmappable", "unregister_vmappable", "zero_if_mapped"]

not_mapped = None
"""Instead of an axis: the operand is the same for the whole batch."""


class _ZeroIfMapped:
    """Instead of an axis of a result: axis 0 if the result is batched, otherwise none."""

    def __repr__(self) -> str:
        return "zero_if_mapped"


zero_if_mapped = _ZeroIfMapped()


def _with_axis(rule: Callable) -> Callable:
    """A rule that takes the axis, and operands and their axes as tuples."""
    def batch_axis(axis: Axis, args, dims, **params):
        return rule(axis, tuple(args), tuple(dims), **params)

    batch_axis.of_axis = rule  # type: ignore[attr-defined]
    return batch_axis


def _with_size_and_name(rule: Callable) -> Callable:
    """A rule of the older form, which takes the axis in three parts."""
    def batch_axis(axis: Axis, args, dims, **params):
        return rule(axis.size, axis.name, None, tuple(args), tuple(dims), **params)

    batch_axis.given = rule  # type: ignore[attr-defined]
    return batch_axis


def _in_three_parts(primitive, rule: Callable) -> Callable:
    given = getattr(rule, "given", None)
    if given is not None:
        return given
    return lambda size, name, main_type, args, dims, **params: rule(
        Axis(name, size), args, dims, **params)


primitive_batchers = RuleBook("batch", in_tuples, as_given)
fancy_primitive_batchers = RuleBook("batch_axis", _with_axis,
                                    lambda primitive, rule: getattr(rule, "of_axis", rule))
axis_primitive_batchers = RuleBook("batch_axis", _with_size_and_name, _in_three_parts)


def defvectorized(prim) -> None:
    """Declare that a primitive of one operand works elementwise.

    >>> p = tanx.extend.core.Primitive("negative")
    >>> _ = p.def_impl(lambda x: -x), p.def_abstract_eval(lambda x: x)
    >>> tanx.interpreters.batching.defvectorized(p)
    >>> tanx.vmap(p.bind)(jnp.arange(3))
    Array([ 0, -1, -2], dtype=int32)
    """
    primitive_batchers[prim] = lambda args, dims, **params: (prim.bind(*args, **params), dims[0])


def defbroadcasting(prim) -> None:
    """Declare that a primitive of several operands works elementwise.

    >>> p = tanx.extend.core.Primitive("plus")
    >>> _ = p.def_impl(jnp.add), p.def_abstract_eval(lambda x, y: x)
    >>> tanx.interpreters.batching.defbroadcasting(p)
    >>> tanx.vmap(p.bind, in_axes=(0, None))(jnp.arange(3), 10)
    Array([10, 11, 12], dtype=int32)
    """
    def batch(args, dims, **params):
        ranks = {typeof(x).ndim - (d is not None) for x, d in zip(args, dims)}
        if len(ranks) == 1:
            args, dim = batch_together(args, dims)
            return prim.bind(*args, **params), dim
        raise ValueError(explain(
            f"tanx.vmap of {prim}", "operands must have the same number of dimensions.",
            *(f"operand: {typeof(x)}, mapped at axis {d}" for x, d in zip(args, dims))))

    primitive_batchers[prim] = batch


def defreducer(prim, ident: Any = None) -> None:
    """Declare that a primitive reduces the dimensions in its parameter ``axes``.

    >>> p = tanx.extend.core.Primitive("total")
    >>> _ = p.def_impl(lambda x, axes: jnp.sum(x, axes))
    >>> tanx.interpreters.batching.defreducer(p)
    >>> tanx.vmap(lambda x: p.bind(x, axes=(0,)))(jnp.ones((2, 3)))
    Array([3., 3.], dtype=float32)
    """
    def batch(args, dims, *, axes, **params):
        (x,), (dim,) = args, dims
        moved = tuple(a + (a >= dim) for a in axes)
        return prim.bind(x, axes=moved, **params), dim - sum(a < dim for a in moved)

    primitive_batchers[prim] = batch


def bdim_at_front(x, bdim, size, mesh_axis=None):
    """The operand with its batch axis first, repeated along it if it had none.

    >>> tanx.interpreters.batching.bdim_at_front(jnp.ones(3), None, 2).shape
    (2, 3)
    """
    return materialize(x, bdim, size) if bdim is None else to_front(x, bdim)


def broadcast(x, sz, axis, mesh_axis=None):
    """The operand repeated along a new axis.

    >>> tanx.interpreters.batching.broadcast(jnp.ones(3), 2, 1, None).shape
    (3, 2)
    """
    return materialize(x, None, sz, axis)


def register_vmappable(data_type: type, spec_type: type, axis_size_type: type, to_elt: Callable,
                       from_elt: Callable, make_iota: Callable | None) -> None:
    """Declare the functions by which ``vmap`` maps over values of a class.

    Libraries call it when they are imported. tanx does not use these functions: ``vmap`` of a
    value of the class raises ``NotImplementedError``.

    >>> class Table: pass
    >>> batching = tanx.interpreters.batching
    >>> batching.register_vmappable(Table, int, int, None, None, None)
    >>> tanx.vmap(lambda x: x)(Table())
    Traceback (most recent call last):
    NotImplementedError: tanx.vmap: ...
    >>> batching.unregister_vmappable(Table)
    """
    mapped_types.add(data_type)


def unregister_vmappable(data_type: type) -> None:
    """Undo :func:`register_vmappable`.

    >>> tanx.interpreters.batching.unregister_vmappable(list)
    """
    mapped_types.discard(data_type)
