"""Shardings over the Explicit axes of a mesh as part of types, and their propagation.
A rule ``infer`` ignores meshes. If an operand states a sharding, or a parameter requests one,
:func:`infer` infers the types of the results without it, and calls the primitive's rule ``divided``
for the entries of their partition specs: for each dimension None, the name of the axis that divides
it, or a tuple of such names. A sharding that divides nothing is not stated.

``Explicit.seen`` is False until a mesh with Explicit axes is made, so that programs without meshes
only pay for the test of a flag.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import ShardingTypeError, explain
from .jaxpr import ClosedJaxpr, JaxprEqn
from .mesh import AbstractMesh, AxisType, Explicit, Mesh, concrete_mesh, get_abstract_mesh
from .primitive import Kind
from .retype import Retyping
from .sharding import NamedSharding
from .spec import PartitionSpec, names_of
from .types import ShapedArray, is_arraylike, typeof

__all__ = ["Explicit", "alike", "asked_for", "bare", "bare_jaxpr", "batched_type", "concerns",
           "divided_as", "divided_lanes", "divided_results", "dividing", "infer", "is_divided",
           "joined", "joint_sharding", "laid_out", "like_operand", "on_devices", "requested",
           "same_entries", "sharding_error", "sharding_for", "sharding_of_lanes", "stated",
           "undivided_params", "whole"]


def is_divided(aval) -> bool:
    """Whether a type states a sharding that divides some dimension."""
    if type(aval) is not ShapedArray or aval.placement is None:
        return False
    sharding = aval.placement.sharding
    return sharding is not None and any(entry is not None for entry in sharding.spec)


def alike(a, b) -> bool:
    """Whether two types are the same, weak or not, with their shardings."""
    return a.matches(b) and (
        not Explicit.seen or type(a) is not ShapedArray or a.entries == b.entries)


def bare(aval):
    """The type without its sharding."""
    return aval.update(sharding=None) if is_divided(aval) else aval


def divided_as(aval, mesh: AbstractMesh, entries: Iterable[Any]):
    """The type with a sharding; equal ones are one object, which compiled calls compare."""
    entries = tuple(entries)
    return _divided_as(bare(aval), mesh, entries) if any(map(names_of, entries)) else bare(aval)


@lru_cache(maxsize=4096)
def _divided_as(aval: ShapedArray, mesh: AbstractMesh, entries: tuple) -> ShapedArray:
    try:
        return aval.update(sharding=NamedSharding(mesh, PartitionSpec(*entries)))
    except ValueError as error:
        raise ShardingTypeError(str(error)) from None


# --- Inference ------------------------------------------------------------------------------------


def asked_for(primitive, params: dict[str, Any]) -> NamedSharding | None:
    """The sharding that a use requests for its result by a parameter."""
    name = primitive.sharding_parameter
    return None if name is None else params.get(name)


def concerns(primitive, types: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether shardings matter to a use. Primitives that run functions have them in their types."""
    return primitive.kind is not Kind.CALL and not primitive.ref_primitive and (
        asked_for(primitive, params) is not None or any(map(is_divided, types)))


def undivided_params(primitive, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a use whose results state no sharding."""
    if asked_for(primitive, params) is None:
        return params
    return params | {primitive.sharding_parameter: None}


def infer(primitive, types: Sequence[Any], params: dict[str, Any]):
    """The type of the result, or a list of types, with their shardings."""
    if not concerns(primitive, types, params):
        return primitive.infer(*types, **params)
    out = primitive.infer(*map(bare, types), **undivided_params(primitive, params))
    return divided_results(primitive, types, params, out)


def divided_results(primitive, types: Sequence[Any], params: dict[str, Any], out):
    """The types of results with their shardings, from those without."""
    wanted = asked_for(primitive, params)
    if wanted is not None:
        mesh = wanted.mesh.abstract_mesh
        entries = (*wanted.spec, *[None] * (out.ndim - len(wanted.spec)))
        return divided_as(out, mesh, entries)
    mesh = _mesh_of(primitive, types)
    rule = primitive.divided
    if rule is None:
        if primitive.kind is not Kind.ELEMENTWISE:
            raise sharding_error(
                primitive, "has no rule for operands that are divided over a mesh.", types,
                hint="tanx.reshard(x, tanx.P()) makes them whole; or use "
                     "tanx.sharding.auto_axes.")
        entries = joined(primitive, types)
        results: Any = [entries] * len(out) if primitive.multiple_results else entries
    else:
        results = rule(*types, **params)
    if primitive.multiple_results:
        return [_checked(primitive, types, t, mesh, e) for t, e in zip(out, results, strict=True)]
    return _checked(primitive, types, out, mesh, results)


def _mesh_of(primitive, types: Sequence[Any]) -> AbstractMesh:
    meshes = dict.fromkeys(t.placement.sharding.mesh for t in types if is_divided(t))
    if len(meshes) > 1:
        raise ValueError(explain(
            f"tanx.lax.{primitive.name}", "operands are divided over different meshes.",
            *(f"mesh: {mesh}" for mesh in meshes)))
    return next(iter(meshes))


def _checked(primitive, types, out, mesh: AbstractMesh, entries: tuple):
    """A type divided by entries; further dimensions are whole."""
    entries = (*entries, *[None] * (out.ndim - len(entries)))
    names = [name for entry in entries for name in names_of(entry)]
    if len(set(names)) < len(names):
        sizes = ",".join(str(n) + (f"@{e}" if e is not None else "")
                         for n, e in zip(out.shape, entries))
        raise sharding_error(
            primitive, "an axis of the mesh would divide two dimensions of the result.", types,
            f"result:    [{sizes}]",
            hint="tanx.reshard one of the operands first.")
    return divided_as(out, mesh, entries)


def sharding_error(primitive, rule: str, types: Sequence[Any], *facts: str,
                   hint: str = "") -> ShardingTypeError:
    """The error for operands whose shardings do not fit."""
    operands = [f"operand {i}: {t}" for i, t in enumerate(types)]
    return ShardingTypeError(explain(f"tanx.lax.{primitive.name}", rule, *operands, *facts,
                                     hint=hint))


# --- Common rules ---------------------------------------------------------------------------------


def joined(primitive, types: Sequence[Any]) -> tuple:
    """The entries of an elementwise result; scalars divide nothing."""
    ranked = [t for t in types if t.ndim]
    entries = []
    for of_dimension in zip(*(t.entries for t in ranked)):
        found = dict.fromkeys(e for e in of_dimension if e is not None)
        if len(found) > 1:
            raise sharding_error(primitive, "operands are divided in different ways.", types,
                                 hint="tanx.reshard one of them first.")
        entries.append(next(iter(found), None))
    return tuple(entries)


def like_operand(self, x, *others, **params) -> tuple:
    """A rule ``divided``: each dimension is divided as in the first operand."""
    return x.entries


def same_entries(primitive, types: Sequence[Any], rule: str) -> tuple:
    """The entries that all types share; otherwise an error."""
    first, *others = types
    if any(t.entries != first.entries for t in others):
        raise sharding_error(primitive, rule, types, hint="tanx.reshard one of them first.")
    return first.entries


def whole(primitive, types: Sequence[Any], dimensions: Iterable[int], rule: str) -> None:
    """Raise an error if operands are divided along some dimensions, whose elements are combined."""
    for d in dimensions:
        if any(t.entries[d] is not None for t in types):
            raise sharding_error(primitive, rule, types, f"dimension: {d}",
                                 hint="tanx.reshard makes it whole.")


# --- Requested shardings --------------------------------------------------------------------------


def requested(function: str, sharding, ndim: int) -> NamedSharding | None:
    """``out_sharding`` of a function as a sharding over the axes of the mesh in scope.

    Axes must be Explicit; a sharding over a mesh without such axes is left to the compiler.
    """
    if sharding is None:
        return None
    if isinstance(sharding, PartitionSpec):
        mesh = get_abstract_mesh()
        if mesh.empty:
            raise ValueError(explain(
                function, "a PartitionSpec as out_sharding needs a mesh in scope.",
                f"spec: {sharding}", hint="use tanx.set_mesh(mesh), or pass a "
                "tanx.NamedSharding."))
        sharding = NamedSharding(mesh, sharding)
    if not isinstance(sharding, NamedSharding):
        raise NotImplementedError(explain(
            function, "out_sharding must be a PartitionSpec or a NamedSharding.",
            f"out_sharding: {sharding!r:.100}"))
    mesh = sharding.mesh.abstract_mesh
    if len(sharding.spec) > ndim:
        raise ValueError(explain(
            function, "out_sharding has more entries than the result has dimensions.",
            f"out_sharding: {sharding.spec}", f"dimensions:   {ndim}"))
    types = dict(zip(mesh.axis_names, mesh.axis_types))
    if any(types[name] is not AxisType.Explicit for name in sharding.spec.names):
        raise ValueError(explain(
            function, "out_sharding may name Explicit axes of the mesh only.",
            f"out_sharding: {sharding.spec}", f"mesh: {mesh}",
            hint="tanx.lax.with_sharding_constraint is for Auto axes."))
    if not mesh.explicit_axes:
        return None
    entries = (*sharding.spec, *[None] * (ndim - len(sharding.spec)))
    return NamedSharding(mesh, sharding.spec.update(entries))


def stated(aval) -> NamedSharding | None:
    """The sharding that a type states; None if it divides nothing."""
    return aval.placement.sharding if Explicit.seen and is_divided(aval) else None


def joint_sharding(shape: tuple[int, ...], *operands) -> NamedSharding | None:
    """How operands that broadcast to a shape divide it; None if none is divided.

    Broadcast values get this layout, so that it matches operands that are already divided.
    """
    divided = [t for t in map(typeof, operands) if is_divided(t)] if Explicit.seen else []
    if not divided:
        return None
    entries = [None] * len(shape)
    for t in divided:
        for d, entry in enumerate(t.entries, len(shape) - t.ndim):
            entries[d] = entries[d] if entry is None else entry
    return NamedSharding(divided[0].placement.sharding.mesh, PartitionSpec(*entries))


def sharding_for(aval, permutation: Sequence[int] | None, *operands) -> NamedSharding | None:
    """The sharding of a type, with permuted dimensions, to request in a computation on operands.

    Cotangents must have it. None if no operand is divided.
    """
    divided = [t for t in map(typeof, operands) if is_divided(t)] if Explicit.seen else []
    if not divided:
        return None
    entries = aval.entries if permutation is None else [aval.entries[d] for d in permutation]
    return NamedSharding(divided[0].placement.sharding.mesh, PartitionSpec(*entries))


def laid_out(aval, place):
    """The type of an array with a sharding, or on a device."""
    if not isinstance(place, NamedSharding) or not place.mesh.explicit_axes:
        return bare(aval)
    types = dict(zip(place.mesh.axis_names, place.mesh.axis_types))
    entries = [tuple(n for n in names_of(e) if types[n] is AxisType.Explicit) for e in place.spec]
    entries += [()] * (aval.ndim - len(entries))
    return divided_as(aval, place.mesh.abstract_mesh, PartitionSpec(*entries))


def on_devices(aval, device) -> NamedSharding | None:
    """The sharding of an array of a type, on the devices of its mesh; None if it states none."""
    if not is_divided(aval):
        return None
    sharding = aval.placement.sharding
    mesh = concrete_mesh()
    if mesh.abstract_mesh.shape_tuple != sharding.mesh.shape_tuple:
        mesh = _mesh_of_one(sharding.mesh, device)
    return NamedSharding(mesh, sharding.spec)


@lru_cache(maxsize=64)
def _mesh_of_one(mesh: AbstractMesh, device) -> Mesh:
    devices = np.empty(mesh.axis_sizes, object)
    devices[...] = device
    return Mesh(devices, mesh.axis_names, mesh.axis_types)


# --- Mapped axes ----------------------------------------------------------------------------------


class _Lanes(threading.local):
    """What divides the lanes that a batching rule is running for: a mesh and an entry, or None."""

    divided: tuple[AbstractMesh, Any] | None = None


_lanes = _Lanes()


class dividing:
    """A block in which values that are repeated for all lanes are divided like the lanes."""

    __slots__ = ("divided", "outer")

    def __init__(self, divided: tuple[AbstractMesh, Any] | None):
        self.divided = divided

    def __enter__(self) -> None:
        self.outer, _lanes.divided = _lanes.divided, self.divided

    def __exit__(self, *exc_info: object) -> None:
        _lanes.divided = self.outer


def batched_type(aval, size: int, dim: int, divided: tuple[AbstractMesh, Any] | None):
    """The type with a batch axis, which may be divided."""
    whole = aval.inc_rank(size, dim)
    if divided is None or type(whole) is not ShapedArray:  # the type of a reference
        return whole
    mesh, entry = divided
    return divided_as(whole, mesh, (*whole.entries[:dim], entry, *whole.entries[dim + 1:]))


def sharding_of_lanes(aval, position: int) -> NamedSharding | None:
    """The sharding to request when a value of a type is repeated for all lanes."""
    if _lanes.divided is None:
        return None
    mesh, entry = _lanes.divided
    return NamedSharding(mesh, PartitionSpec(
        *aval.entries[:position], entry, *aval.entries[position:]))


def divided_lanes(function: str, values: Sequence[Any], dims: Sequence[int | None],
                  ) -> tuple[AbstractMesh, Any] | None:
    """What divides the mapped axis, the same for all values; None if nothing does."""
    if not Explicit.seen:
        return None
    mapped = [(typeof(x), d) for x, d in zip(values, dims) if type(d) is int and is_arraylike(x)]
    entries = {t.entries[d] for t, d in mapped}
    if len(entries) > 1:
        raise ValueError(explain(
            function, "the axes that are mapped must be divided in the same way.",
            *(f"argument: {t}, mapped axis {d}" for t, d in mapped),
            hint="tanx.reshard one of them first."))
    if not entries - {None}:
        return None
    (entry,) = entries
    for x, d in zip(values, dims):
        if d is None and is_arraylike(x) and is_divided(typeof(x)) and (
                {*names_of(entry)} & {*typeof(x).placement.sharding.spec.names}):
            raise ValueError(explain(
                function, "an axis of the mesh divides the lanes and a value that is not mapped.",
                f"value: {typeof(x)}", f"axis:  {entry}", hint="tanx.reshard the value first."))
    mesh = next(t for t, _ in mapped if is_divided(t)).placement.sharding.mesh
    return mesh, entry


# --- Programs without shardings -------------------------------------------------------------------


def bare_jaxpr(closed: ClosedJaxpr) -> ClosedJaxpr:
    """An equivalent program with types that state no sharding, as compilers need it.

    With one device there is nothing to divide.
    """
    return _Bare().closed(closed) if Explicit.seen else closed


class _Bare(Retyping):
    def part(self, value: Any) -> Any:
        return bare(value)

    def params(self, eqn: JaxprEqn) -> dict[str, Any]:
        return undivided_params(eqn.primitive, super().params(eqn))
