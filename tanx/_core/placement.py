"""The placement that a type may state besides its shape and dtype; most types state none."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .._base.tuples import NamedTuple
from ..errors import explain
from .mesh import AbstractMesh, AxisType
from .sharding import ManualAxisType, NamedSharding
from .spaces import MemorySpace
from .spec import PartitionSpec, names_of

__all__ = ["AUTO_LAYOUT", "AutoLayout", "NOWHERE", "Placement", "on_mesh",
           "placed", "written"]


class AutoLayout:
    """Instead of a :class:`~tanx._core.layouts.Layout`: the compiler chooses."""

    def __repr__(self) -> str:
        return "AutoLayout"

    def __reduce__(self) -> str:
        return "AUTO_LAYOUT"


AUTO_LAYOUT = AutoLayout()


@lru_cache(maxsize=4096)
def on_mesh(mesh: Any, spec: PartitionSpec, memory_kind: str | None = None) -> NamedSharding:
    """A sharding; equal ones are one object, which compiled calls compare."""
    return NamedSharding(mesh, spec, memory_kind=memory_kind)


ANY_AXIS = ManualAxisType()


class Placement(NamedTuple):
    """The layout over devices and in memory that a type states."""

    sharding: NamedSharding | None = None
    manual_axis_type: ManualAxisType = ANY_AXIS
    memory_space: MemorySpace = MemorySpace.Device
    layout: Any = AUTO_LAYOUT


NOWHERE = Placement()


def placed(shape: tuple[int, ...], given: dict[str, Any]) -> Placement | None:
    """The checked placement of a type of a shape; None if it states no placement."""
    unknown = given.keys() - set(Placement._fields)
    if unknown:
        raise TypeError(explain(
            "tanx.core.ShapedArray", "there is no such keyword.",
            f"given: {', '.join(sorted(unknown))}", f"known: {', '.join(Placement._fields)}"))
    stated = {name: value for name, value in given.items() if value is not None}
    if "sharding" in stated:
        stated["sharding"] = _of_type(shape, stated["sharding"])
    placement = NOWHERE._replace(**stated)
    return None if placement == NOWHERE else placement


def _of_type(shape: tuple[int, ...], sharding) -> NamedSharding:
    """The sharding of a type: on an abstract mesh, with an entry for each dimension."""
    if not isinstance(sharding, NamedSharding):
        raise AttributeError(explain(
            "tanx.core.ShapedArray", "the sharding of a type is a tanx.NamedSharding.",
            f"sharding: {sharding!r:.100}"))
    if not isinstance(sharding.mesh, AbstractMesh):
        raise ValueError(explain(
            "tanx.core.ShapedArray", "the sharding of a type has a mesh without devices.",
            f"mesh: {sharding.mesh}", hint="mesh.abstract_mesh is one."))
    if len(sharding.spec) > len(shape):
        raise ValueError(explain(
            "tanx.core.ShapedArray", "the spec has more entries than there are dimensions.",
            f"spec: {sharding.spec}", f"shape: {shape}"))
    whole = (*sharding.spec, *[None] * (len(shape) - len(sharding.spec)))
    types = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types))
    stated = [tuple(n for n in names_of(entry) if types[n] is AxisType.Explicit)
              for entry in whole]  # Auto axes are not part of a type
    sharding = sharding.update(spec=sharding.spec.update(stated))
    sharding.shard_shape(shape)
    return sharding


def written(shape: tuple[int, ...], placement: Placement | None) -> tuple[str, str, str]:
    """The text of a placement in types: the memory, the shape with axes, and marks after it.

    >>> mesh = tanx.sharding.AbstractMesh((2,), ("x",))
    >>> sharding = tanx.NamedSharding(mesh, tanx.P("x"))
    >>> written((4, 3), Placement(sharding))
    ('', '4@x,3', '')
    """
    if placement is None:
        return "", ",".join(map(str, shape)), ""
    memory = placement.memory_space
    space = "" if memory is MemorySpace.Device else f"<{memory.name.lower()}>"
    spec = PartitionSpec() if placement.sharding is None else placement.sharding.spec
    entries = [names_of(entry) for entry in spec] + [()] * (len(shape) - len(spec))
    sizes = ",".join(f"{size}@{_axes(names)}" if names else str(size)
                     for size, names in zip(shape, entries))
    manual = placement.manual_axis_type
    marks = [f"{letter}:{_axes(sorted(axes, key=str))}"
             for letter, axes in (("V", manual.varying), ("U", spec.unreduced | manual.unreduced),
                                  ("R", spec.reduced | manual.reduced)) if axes]
    return space, sizes, f"{{{', '.join(marks)}}}" if marks else ""


def _axes(names) -> str:
    names = list(map(str, names))
    return names[0] if len(names) == 1 else f"({','.join(names)})"
