"""Meshes: devices in an array whose axes have names, and the mesh that is in scope.

A mesh is plain data. An :class:`AbstractMesh` has names and sizes and no devices, so that traced
programs can depend on it. There is one device so far, so a :class:`Mesh` has one.
"""

from __future__ import annotations

import enum
import math
from collections import OrderedDict
from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np

from .._base.config import make_user_context
from .._base.thread_state import STAGING, situation
from ..errors import explain

__all__ = ["AbstractDevice", "AbstractMesh", "AxisType", "Committed", "Explicit", "Mesh",
           "get_abstract_mesh", "get_mesh", "set_mesh", "use_abstract_mesh"]


class AxisType(enum.Enum):
    """What determines how arrays are divided along an axis of a mesh.

    The compiler (Auto), the types of the program (Explicit), or the code itself, which operates on
    the part of one device (Manual).
    """

    Auto = 0
    Explicit = 1
    Manual = 2

    def __repr__(self) -> str:
        return self.name


class Committed:
    """Whether anything in this process was put on a device or a mesh."""

    seen = False


class Explicit:
    """Whether there is a mesh with Explicit axes: types may state shardings along them.

    See :mod:`tanx._core.explicit`.
    """

    seen = False

    @staticmethod
    def note(mesh: _Named) -> None:
        """Record a mesh."""
        if mesh.explicit_axes:
            Explicit.seen = Committed.seen = True


class AbstractDevice:
    """Facts about a device that programs may depend on before they have one."""

    __slots__ = ("device_kind", "num_cores", "platform")

    def __init__(self, device_kind: str, num_cores: int | None, platform: str):
        self.device_kind, self.num_cores, self.platform = device_kind, num_cores, platform

    def _key(self) -> tuple:
        return self.device_kind, self.num_cores, self.platform

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractDevice) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def facts(self) -> str:
        """The fields as text."""
        return (f"device_kind={self.device_kind}, num_cores={self.num_cores}, "
                f"platform={self.platform}")

    def __repr__(self) -> str:
        return f"AbstractDevice({self.facts()})"


class _Named:
    """Base of meshes: axes with names, sizes and types."""

    axis_names: tuple
    axis_types: tuple[AxisType, ...]

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        """How many devices there are along each axis."""
        raise NotImplementedError

    @cached_property
    def shape(self) -> OrderedDict[Any, int]:
        """The size of each axis, by its name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @cached_property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """The pairs of name and size."""
        return tuple(self.shape.items())

    @property
    def size(self) -> int:
        """How many devices there are."""
        return math.prod(self.axis_sizes)

    def _axes_of_type(self, wanted: AxisType) -> tuple:
        return tuple(n for n, t in zip(self.axis_names, self.axis_types) if t is wanted)

    @cached_property
    def auto_axes(self) -> tuple:
        """The axes along which the compiler divides arrays."""
        return self._axes_of_type(AxisType.Auto)

    @cached_property
    def explicit_axes(self) -> tuple:
        """The axes along which types say how arrays are divided."""
        return self._axes_of_type(AxisType.Explicit)

    @cached_property
    def manual_axes(self) -> tuple:
        """The axes along which code sees the part of one device."""
        return self._axes_of_type(AxisType.Manual)

    def _all(self, *wanted: AxisType) -> bool:
        return bool(self.axis_types) and all(t in wanted for t in self.axis_types)

    @cached_property
    def are_all_axes_auto(self) -> bool:
        """Whether the mesh has axes and all are Auto."""
        return self._all(AxisType.Auto)

    @cached_property
    def are_all_axes_explicit(self) -> bool:
        """Whether the mesh has axes and all are Explicit."""
        return self._all(AxisType.Explicit)

    @cached_property
    def are_all_axes_manual(self) -> bool:
        """Whether the mesh has axes and all are Manual."""
        return self._all(AxisType.Manual)

    @cached_property
    def are_all_axes_explicit_or_manual(self) -> bool:
        """Whether the mesh has axes and none is Auto."""
        return self._all(AxisType.Explicit, AxisType.Manual)

    def _axes_as_text(self) -> str:
        return ", ".join(f"{name!r}: {size}" for name, size in self.shape.items())


class Mesh(_Named):
    """Devices in an array whose axes have names.

    ``axis_types`` has a type for each axis, or one for all; without it they are Auto.

    >>> Mesh(np.array(tanx.devices()[:1]).reshape(1, 1), ("data", "model"))
    Mesh(axis_sizes=(1, 1), axis_names=('data', 'model'), axis_types=(Auto, Auto))
    """

    def __init__(self, devices, axis_names, axis_types=None):
        self.devices = _as_devices(devices)
        self.axis_names = _as_names(axis_names)
        if self.devices.ndim != len(self.axis_names):
            raise ValueError(explain(
                "tanx.sharding.Mesh", "each dimension of the array of devices needs a name.",
                f"devices:    an array of shape {self.devices.shape}",
                f"axis_names: {self.axis_names}"))
        self.axis_types = _as_types("Mesh", axis_types, self.axis_names, AxisType.Auto)
        if self.devices.size > 1:
            raise NotImplementedError(explain(
                "tanx.sharding.Mesh", "a mesh of several devices is not supported yet.",
                f"devices: {self.devices.size}",
                hint="AbstractMesh describes a mesh of any size, without devices."))
        self._outer: list[set_mesh] = []
        Explicit.note(self)

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        return self.devices.shape

    @property
    def empty(self) -> bool:
        """Whether this is the empty mesh, which is in scope if no mesh was set."""
        return self.devices.ndim == 0 and self.devices.item() is None

    @property
    def is_scalar(self) -> bool:
        """Whether the mesh is one device without axes."""
        return self.devices.ndim == 0 and not self.empty

    @cached_property
    def device_ids(self) -> np.ndarray:
        """The numbers of the devices, in an array of the mesh's shape."""
        return np.array([d.id for d in self.devices.flat], np.int64).reshape(self.axis_sizes)

    @cached_property
    def local_devices(self) -> list:
        """The devices that this process can reach."""
        return [] if self.empty else list(self.devices.flat)

    @property
    def local_mesh(self) -> Mesh:
        """The part of the mesh that this process can reach."""
        return self

    is_multi_process = False

    @cached_property
    def abstract_mesh(self) -> AbstractMesh:
        """The names, sizes and types of the axes, and the kind of device."""
        device = None if self.empty else self.devices.flat[0]
        return AbstractMesh(
            self.axis_sizes, self.axis_names, self.axis_types, abstract_device=device
            and AbstractDevice(device.device_kind, None, device.platform))

    def update(self, devices=None, axis_names=None, axis_types=None) -> Mesh:
        """The same mesh with some parts replaced."""
        return Mesh(self.devices if devices is None else devices,
                    self.axis_names if axis_names is None else axis_names,
                    self.axis_types if axis_types is None else axis_types)

    def __enter__(self) -> Mesh:
        self._outer.append(set_mesh(self))
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._outer.pop().__exit__(*exc_info)

    def _key(self) -> tuple:
        return tuple(self.devices.flat), self.axis_sizes, self.axis_names, self.axis_types

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        types = "" if self.empty else f", axis_types={self.axis_types}"
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}{types})"

    def __str__(self) -> str:
        return "Mesh()" if self.empty else (
            f"Mesh({self._axes_as_text()}, axis_types={self.axis_types})")


class AbstractMesh(_Named):
    """The names, sizes and types of the axes of a mesh, without its devices.

    >>> AbstractMesh((2, 4), ("x", "y"))
    AbstractMesh('x': 2, 'y': 4, axis_types=(Explicit, Explicit))
    """

    def __init__(self, axis_sizes, axis_names, axis_types=None, *,
                 abstract_device: AbstractDevice | None = None):
        self._sizes = tuple(axis_sizes)
        self.axis_names = _as_names(axis_names)
        if len(self._sizes) != len(self.axis_names):
            raise ValueError(explain(
                "tanx.sharding.AbstractMesh", "each axis needs a size and a name.",
                f"axis_sizes: {self._sizes}", f"axis_names: {self.axis_names}"))
        self.axis_types = _as_types("AbstractMesh", axis_types, self.axis_names, AxisType.Explicit)
        self.abstract_device = abstract_device
        Explicit.note(self)

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        return self._sizes

    @property
    def empty(self) -> bool:
        """Whether the mesh has no axes."""
        return not self.axis_names

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh itself."""
        return self

    def _concrete(self, name: str):
        raise ValueError(explain(
            f"tanx.sharding.AbstractMesh.{name}", "an abstract mesh has no devices.",
            f"mesh: {self}", hint="ask the tanx.sharding.Mesh that it was made of."))

    devices = property(lambda self: self._concrete("devices"))
    device_ids = property(lambda self: self._concrete("device_ids"))
    local_devices = property(lambda self: self._concrete("local_devices"))
    local_mesh = property(lambda self: self._concrete("local_mesh"))
    is_multi_process = property(lambda self: self._concrete("is_multi_process"))

    def update(self, axis_sizes=None, axis_names=None, axis_types=None, **kwargs) -> AbstractMesh:
        """The same mesh with some parts replaced."""
        kwargs.setdefault("abstract_device", self.abstract_device)
        return AbstractMesh(self._sizes if axis_sizes is None else axis_sizes,
                            self.axis_names if axis_names is None else axis_names,
                            self.axis_types if axis_types is None else axis_types, **kwargs)

    def update_axis_types(self, name_to_type: dict[Any, AxisType]) -> AbstractMesh:
        """The same mesh with other types for the named axes."""
        return self.update(axis_types=tuple(
            name_to_type.get(n, t) for n, t in zip(self.axis_names, self.axis_types)))

    def _key(self) -> tuple:
        return self._sizes, self.axis_names, self.axis_types, self.abstract_device

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        device = "" if self.abstract_device is None else f", {self.abstract_device.facts()}"
        return (f"AbstractMesh({self._axes_as_text() or '()'}, axis_types={self.axis_types}"
                f"{device})")


def _as_devices(devices) -> np.ndarray:
    array = np.array(devices, object)
    for device in array.flat:
        if not (hasattr(device, "device_kind") or device is None and not array.ndim):
            raise TypeError(explain(
                "tanx.sharding.Mesh", "needs an array of devices.",
                f"found: {device!r:.100} of type {type(device).__name__}",
                hint="take devices from tanx.devices()."))
    array.flags.writeable = False
    return array


def _as_names(names) -> tuple:
    names = (names,) if isinstance(names, str) else tuple(names)
    if None in names:
        raise ValueError(explain("tanx.sharding.Mesh", "axes need names other than None.",
                                 f"axis_names: {names}"))
    return names


def _as_types(what: str, types, names: tuple, usual: AxisType) -> tuple[AxisType, ...]:
    if types is None:
        return (usual,) * len(names)
    given = tuple(types) if isinstance(types, tuple | list) else (types,) * len(names)
    if not all(isinstance(t, AxisType) for t in given):
        raise TypeError(explain(
            f"tanx.sharding.{what}", "axis_types must hold values of tanx.sharding.AxisType.",
            f"axis_types: {given!r:.100}"))
    if len(given) != len(names):
        raise ValueError(explain(
            f"tanx.sharding.{what}", "axis_types must have an entry for each axis.",
            f"axis_names: {names}", f"axis_types: {given}"))
    return given


# --- The mesh in scope ----------------------------------------------------------------------------

NO_MESH = Mesh(np.array(None, object), ())
NO_ABSTRACT_MESH = AbstractMesh((), ())

# Programs are staged again for another mesh: it is part of the key of their caches.
_concrete = make_user_context(NO_MESH)
_abstract = make_user_context(NO_ABSTRACT_MESH)


def get_mesh() -> Mesh:
    """The mesh that :func:`tanx.set_mesh` set; an empty one if none is set. Not inside of ``jit``.

    >>> tanx.get_mesh()
    Mesh(axis_sizes=(), axis_names=())
    """
    if situation.words[STAGING]:
        raise ValueError(explain(
            "tanx.get_mesh", "devices are not known while a function is traced.",
            hint="tanx.sharding.get_abstract_mesh() has the names and sizes of the axes."))
    return _concrete.value


def concrete_mesh() -> Mesh:
    """The mesh that was set last, also while a function is traced."""
    return _concrete.value


def get_abstract_mesh() -> AbstractMesh:
    """Names and sizes of the axes of the mesh in scope; an empty mesh if none is set.

    >>> with tanx.set_mesh(tanx.make_mesh((1,), ("x",))):
    ...     tanx.sharding.get_abstract_mesh().axis_names
    ('x',)
    """
    return _abstract.value


class set_mesh:
    """Bring a mesh into scope: for a ``with`` block, or until the next call.

    >>> with set_mesh(tanx.make_mesh((1,), ("x",))):
    ...     tanx.get_mesh().axis_names
    ('x',)
    """

    __slots__ = ("prev_mesh", "prev_abstract_mesh")

    def __init__(self, mesh: Mesh):
        if not isinstance(mesh, Mesh):
            raise ValueError(explain(
                "tanx.set_mesh", "needs a tanx.sharding.Mesh.",
                f"got: {mesh!r:.100} of type {type(mesh).__name__}"))
        if situation.words[STAGING]:
            raise ValueError(explain(
                "tanx.set_mesh", "the mesh cannot change while a function is traced.",
                hint="call it around the jitted function."))
        self.prev_mesh, self.prev_abstract_mesh = _concrete.value, _abstract.value
        _concrete.push(mesh)
        _abstract.push(mesh.abstract_mesh)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc_info: object) -> None:
        _concrete.pop()
        _abstract.pop()


class use_abstract_mesh:
    """A block in which :func:`get_abstract_mesh` returns ``mesh``.

    >>> with use_abstract_mesh(tanx.sharding.AbstractMesh((2,), ("x",))):
    ...     tanx.sharding.get_abstract_mesh().shape["x"]
    2
    """

    __slots__ = ("mesh", "prev")

    def __init__(self, mesh: AbstractMesh):
        if not isinstance(mesh, AbstractMesh):
            raise ValueError(explain(
                "tanx.sharding.use_abstract_mesh", "needs a tanx.sharding.AbstractMesh.",
                f"got: {mesh!r:.100} of type {type(mesh).__name__}"))
        self.mesh = mesh
        self.prev: Hashable = None

    def __enter__(self) -> None:
        self.prev = _abstract.value
        _abstract.push(self.mesh)

    def __exit__(self, *exc_info: object) -> None:
        _abstract.pop()
