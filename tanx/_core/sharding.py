"""Shardings: how the data of an array is laid out over devices. Plain data."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

from ..errors import explain
from .mesh import NO_MESH, AbstractMesh, AxisType, Mesh, concrete_mesh
from .spec import PartitionSpec, UnreducedKind, names_of

__all__ = ["ManualAxisType", "NamedSharding", "Sharding", "SingleDeviceSharding"]

MEMORIES = ("device", "pinned_host", "unpinned_host")


class Sharding:
    """Base of all shardings."""

    @property
    def device_set(self) -> set:
        """The devices that hold a part of the data."""
        raise NotImplementedError(explain(
            f"tanx.sharding.{type(self).__name__}", "a sharding must define device_set."))

    memory_kind: str | None = None

    @property
    def num_devices(self) -> int:
        """How many devices hold a part of the data."""
        return len(self.device_set)

    @property
    def addressable_devices(self) -> set:
        """The devices that this process can reach."""
        return self.device_set

    @property
    def _addressable_device_assignment(self) -> tuple:
        """The devices of this process, in their order; orbax asks for it."""
        return tuple(sorted(self.addressable_devices, key=lambda device: device.id))

    @property
    def has_addressable_devices(self) -> bool:
        """Whether this process can reach some of the data."""
        return bool(self.addressable_devices)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process can reach all of the data."""
        return True

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds all of the data."""
        raise NotImplementedError

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the part that one device holds."""
        raise NotImplementedError

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict:
        """Which part of the data each device holds, as a tuple of slices."""
        self.shard_shape(global_shape)
        return {d: (slice(None),) * len(global_shape) for d in self.device_set}

    def addressable_devices_indices_map(self, global_shape: tuple[int, ...]) -> dict:
        """Which part of the data each device of this process holds, as a tuple of slices."""
        return self.devices_indices_map(global_shape)

    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        """Raise a ValueError if arrays of a shape cannot be laid out like this."""

    def with_memory_kind(self, kind: str) -> Sharding:
        """The same devices, another kind of their memory."""
        raise NotImplementedError

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether two shardings lay out an array of ``ndim`` dimensions in the same way."""
        if self == other:
            return True
        return (isinstance(other, Sharding) and self.memory_kind == other.memory_kind
                and _known_devices(self) == _known_devices(other) is not None)


class SingleDeviceSharding(Sharding):
    """All of the data on one device."""

    def __init__(self, device, *, memory_kind: str | None = None):
        self._device = device
        self.memory_kind = _checked_memory("SingleDeviceSharding", memory_kind)

    @property
    def device_set(self) -> set:
        return {self._device}

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(global_shape)

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self._device, memory_kind=kind)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, SingleDeviceSharding) and self._device == other._device
                and self.memory_kind == other.memory_kind)

    def __hash__(self) -> int:
        return hash((self._device, self.memory_kind))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"


class NamedSharding(Sharding):
    """The data divided over a mesh by a partition spec.

    >>> mesh = tanx.make_mesh((1,), ("x",), axis_types=(tanx.sharding.AxisType.Auto,))
    >>> NamedSharding(mesh, tanx.P("x"))
    NamedSharding(mesh=Mesh('x': 1, axis_types=(Auto,)), spec=P('x',), memory_kind=device)
    """

    def __init__(self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, *,
                 memory_kind: str | None = None):
        if not isinstance(mesh, Mesh | AbstractMesh) or not isinstance(spec, PartitionSpec):
            raise TypeError(explain(
                "tanx.sharding.NamedSharding", "needs a mesh and a PartitionSpec.",
                f"mesh: {mesh!r:.100}", f"spec: {spec!r:.100}"))
        _check_names(mesh, spec)
        self._mesh, self._spec = mesh, spec
        abstract = isinstance(mesh, AbstractMesh)
        self.memory_kind = memory_kind if abstract and memory_kind is None else _checked_memory(
            "NamedSharding", memory_kind)

    mesh = property(lambda self: self._mesh, doc="The mesh that the data is divided over.")
    spec = property(lambda self: self._spec, doc="The axes that divide each dimension.")

    @property
    def device_set(self) -> set:
        if isinstance(self._mesh, AbstractMesh):
            raise ValueError(explain(
                "tanx.sharding.NamedSharding.device_set", "an abstract mesh has no devices.",
                f"mesh: {self._mesh}"))
        return set(self._mesh.devices.flat)

    @property
    def num_devices(self) -> int:
        return self._mesh.size

    @cached_property
    def is_fully_replicated(self) -> bool:
        return math.prod(map(self._parts, self._spec)) == 1

    @cached_property
    def replicated_axes(self) -> frozenset:
        """The axes of the mesh along which every device has the same data."""
        spec = self._spec
        return frozenset(self._mesh.axis_names) - {*spec.names} - spec.unreduced - spec.reduced

    def _parts(self, entry) -> int:
        return math.prod(self._mesh.shape[name] for name in names_of(entry))

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        parts = [*map(self._parts, self._spec)][:len(global_shape)]
        parts += [1] * (len(global_shape) - len(parts))
        for axis, (size, count) in enumerate(zip(global_shape, parts)):
            if size % count:
                raise ValueError(explain(
                    "tanx.sharding.NamedSharding", "the parts of a dimension must be equal.",
                    f"sharding:  {self}", f"shape:     {tuple(global_shape)}",
                    f"dimension: {axis}, of {size} elements in {count} parts"))
        return tuple(size // count for size, count in zip(global_shape, parts))

    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        if len(aval_shape) < len(self._spec):
            raise ValueError(explain(
                "tanx.sharding.NamedSharding", "the spec has more entries than the array has "
                "dimensions.", f"spec:  {self._spec}", f"shape: {tuple(aval_shape)}"))

    def update(self, **kwargs) -> NamedSharding:
        """The same sharding with another ``mesh``, ``spec`` or ``memory_kind``."""
        mesh, spec = kwargs.pop("mesh", self._mesh), kwargs.pop("spec", self._spec)
        return NamedSharding(mesh, spec, **{"memory_kind": self.memory_kind, **kwargs})

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return self.update(memory_kind=kind)

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        if (isinstance(other, NamedSharding) and self._mesh == other._mesh
                and self.memory_kind == other.memory_kind):
            return self._divided(ndim) == other._divided(ndim)
        return super().is_equivalent_to(other, ndim)

    def _divided(self, ndim: int) -> tuple:
        """The axes of more than one device that divide each dimension."""
        entries = (*self._spec, *[None] * (ndim - len(self._spec)))
        return tuple(tuple(name for name in names_of(entry) if self._mesh.shape[name] > 1)
                     for entry in entries)

    def _key(self) -> tuple:
        return self._mesh, self._spec, self.memory_kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        memory = "" if self.memory_kind is None else f", memory_kind={self.memory_kind}"
        return f"NamedSharding(mesh={self._mesh!s}, spec={self._spec}{memory})"


class ManualAxisType:
    """How a value in ``shard_map`` relates to the manual axes: it varies, or is (un)reduced."""

    __slots__ = ("varying", "unreduced", "reduced", "unreduced_kind")

    def __init__(self, *, varying=frozenset(), unreduced=frozenset(), reduced=frozenset(),
                 unreduced_kind: UnreducedKind | None = None):
        self.varying, self.unreduced = frozenset(varying), frozenset(unreduced)
        self.reduced, self.unreduced_kind = frozenset(reduced), unreduced_kind

    @property
    def empty(self) -> bool:
        """Whether the value is the same everywhere."""
        return not self.vur

    @property
    def vur(self) -> frozenset:
        """All axes that are mentioned."""
        return self.varying | self.unreduced | self.reduced

    def invarying(self, mesh) -> frozenset:
        """The manual axes of a mesh that are not mentioned."""
        return frozenset(mesh.manual_axes) - self.vur

    def to_ct_mat(self) -> ManualAxisType:
        """The type of cotangents: unreduced axes become reduced ones, and vice versa."""
        return self.update(unreduced=self.reduced, reduced=self.unreduced)

    def update(self, **kwargs) -> ManualAxisType:
        """The same type with some sets replaced."""
        return ManualAxisType(**{n: getattr(self, n) for n in self.__slots__} | kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ManualAxisType) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.varying, self.unreduced, self.reduced, self.unreduced_kind))

    def __repr__(self) -> str:
        return f"ManualAxisType({', '.join(f'{n}={getattr(self, n)}' for n in self.__slots__)})"


def _known_devices(sharding: Sharding) -> set | None:
    """The devices of a sharding whose devices are known."""
    abstract = isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, AbstractMesh)
    return None if abstract else sharding.device_set


def _checked_memory(what: str, kind: str | None) -> str:
    if kind is None:
        return "device"
    if kind not in MEMORIES:
        raise ValueError(explain(
            f"tanx.sharding.{what}", "the device has no memory of that kind.",
            f"memory_kind: {kind!r}", f"there are:   {', '.join(MEMORIES)}"))
    return kind


def _check_names(mesh: Mesh | AbstractMesh, spec: PartitionSpec) -> None:
    names = spec.names
    for name in (*names, *spec.unreduced, *spec.reduced):
        if name not in mesh.axis_names:
            raise ValueError(explain(
                "tanx.sharding.NamedSharding", f"the mesh has no axis {name!r}.",
                f"spec: {spec}", f"mesh: {mesh}"))
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(explain(
            "tanx.sharding.NamedSharding", f"the axis {twice[0]!r} divides two dimensions.",
            f"spec: {spec}", hint="each axis of the mesh may divide one dimension."))


def named(target, function: str, error: type[Exception] = RuntimeError):
    """``target``, a sharding; a partition spec means the mesh in scope."""
    if not isinstance(target, PartitionSpec):
        return target
    mesh = concrete_mesh()
    if mesh is NO_MESH or mesh.empty:
        raise error(explain(
            function, "a PartitionSpec needs a mesh in scope.", f"spec: {target}",
            hint="use tanx.set_mesh(mesh), or pass a tanx.NamedSharding."))
    return NamedSharding(mesh, target)


def refuse_types(function: str, sharding: NamedSharding, *wrong: AxisType, hint: str) -> None:
    """Raise a ValueError if a spec names an axis of the wrong type."""
    types = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types))
    for name in sharding.spec.names:
        if types[name] in wrong:
            raise ValueError(explain(
                function, f"the axis {name!r} has the type {types[name]!r}.",
                f"spec: {sharding.spec}", f"mesh: {sharding.mesh}", hint=hint))
