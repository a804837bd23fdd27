"""Where results lie: as the operands do that the user put on a device or a mesh.

On one device data lies in one way, whatever its sharding says, so this decides what ``x.sharding``
and ``x.committed`` say of results and nothing else. The rule is JAX's on one device:

- Results of operands that were put nowhere lie nowhere in particular.
- If the first operand lies on a mesh, results of as many dimensions lie as it does, and others are
  whole on that mesh. If another operand lies on another mesh, all are whole.
- If the first operand was put on a device, so are results.
- Else results are whole on the first mesh that an operand lies on, or that a constraint inside of
  the function names, or on the device of an operand.

Over Explicit axes the types of results state their shardings, and the mesh is all that is left to
say. ``Committed.seen`` is False until something is put somewhere: until then, a program pays for
one test of a flag.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._base.tuples import NamedTuple
from .._core.array import Array
from .._core.jaxpr import ClosedJaxpr, Jaxpr, cached_by_jaxpr, subjaxprs
from .._core.mesh import Committed, Mesh
from .._core.placement import on_mesh
from .._core.sharding import NamedSharding, Sharding
from .._core.spec import PartitionSpec
from .._core.types import ShapedArray

__all__ = ["Committed", "Places", "places_ahead", "places_of", "placed", "result_places"]


class Places(NamedTuple):
    """Where the results of some operands lie."""

    place: Any              # of those that have ``rank`` dimensions, if that is known
    rank: int | None
    mesh: Mesh | None       # where the others are whole; None if all lie at ``place``

    def of(self, aval: ShapedArray) -> Any:
        """What an array of a type keeps: a device or a sharding."""
        if self.mesh is None:
            return self.place
        if self.mesh.explicit_axes:
            return on_mesh(self.mesh, PartitionSpec(*aval.entries))
        return self.place if aval.ndim == self.rank else on_mesh(self.mesh, PartitionSpec())


def places_of(operands: Iterable[Any]) -> tuple:
    """For each operand its place; () if none was put anywhere."""
    places = tuple([x._device if type(x) is Array else None for x in operands])
    return () if places.count(None) == len(places) else places


def result_places(operands: Sequence[Any], closed: ClosedJaxpr | None = None) -> Places | None:
    """Where results of operands lie, by ``closed`` if they are a function's; None for nowhere."""
    if closed is not None:
        operands = [x for x, is_read in zip(operands, _reads(closed), strict=True) if is_read]
    places = places_of(operands)
    if not places:
        mesh = None if closed is None else _mesh_inside(closed)
        return None if mesh is None else Places(None, None, mesh)
    return _by_first(places, operands[0])


def places_ahead(types: Sequence[ShapedArray], places: Sequence[Any],
                 closed: ClosedJaxpr) -> Places | None:
    """Where results of a function will lie whose operands have some types and places."""
    read = [n for n, is_read in enumerate(_reads(closed)) if is_read]
    used = [places[n] for n in read]
    if used.count(None) == len(used):
        mesh = next((p.mesh for p in places if isinstance(p, NamedSharding)),
                    _mesh_inside(closed))
        return None if mesh is None else Places(None, None, mesh)
    return _by_first(used, types[read[0]])


def _by_first(places: Sequence[Any], first_operand: Any) -> Places:
    meshes = dict.fromkeys(p.mesh for p in places if isinstance(p, NamedSharding))
    first = places[0]
    if isinstance(first, NamedSharding):
        if len(meshes) > 1 or first.memory_kind != "device":
            return Places(None, None, first.mesh)
        return Places(first, first_operand.ndim, first.mesh)
    if first is None and meshes:
        return Places(None, None, next(iter(meshes)))
    return Places(_device_of(next(p for p in places if p is not None)), None, None)


def placed(results: list, places: Places | None, operands: Sequence[Any]) -> list:
    """Results at their places, except for operands that come back as they are."""
    if places is None:
        return results
    given = {*map(id, operands)}
    return [y._shared(y.aval, places.of(y.aval)) if (
        type(y) is Array and y._device is None and id(y) not in given) else y for y in results]


def _device_of(place: Any) -> Any:
    if isinstance(place, Sharding):
        (place,) = place.device_set
    return place


@cached_by_jaxpr
def _reads(closed: ClosedJaxpr) -> tuple[bool, ...]:
    """For each argument of a function whether anything reads it."""
    jaxpr = closed.jaxpr
    read = {atom for eqn in jaxpr.eqns for atom in eqn.invars}.union(jaxpr.outvars)
    return tuple(v in read for v in jaxpr.invars)


@cached_by_jaxpr
def _mesh_inside(closed: ClosedJaxpr) -> Mesh | None:
    """The mesh of the first sharding that a function asks for inside, if it has devices."""
    return _mesh_in(closed.jaxpr)


def _mesh_in(jaxpr: Jaxpr) -> Mesh | None:
    for eqn in jaxpr.eqns:
        sharding = eqn.params.get("sharding")
        if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
            return sharding.mesh
    return next(filter(None, map(_mesh_in, subjaxprs(jaxpr))), None)
