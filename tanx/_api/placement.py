"""Public functions for devices, and for moving arrays to them."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING

import numpy as np

from .. import tree_util
from .._base.config import transfer_guard_host_to_device
from .._base.flags import strict
from .._core.array import Array
from .._core.buffer import Buffer
from .._core.explicit import is_divided, laid_out, on_devices
from .._core.mesh import AbstractMesh, Committed, concrete_mesh
from .._core.sharding import NamedSharding, Sharding, SingleDeviceSharding, named
from .._core.spaces import MemorySpace
from .._core.spec import PartitionSpec
from .._core.trace import Tracer
from .._core.transfers import watch_transfer
from .._core.types import is_arraylike, typeof
from .._ops.annotations import ArrayCopySemantics, device_put_p, place_of, reshard_to
from .._ops.base import as_array
from .._ops.convert import copy_p
from .._runtime.device import Device, buffers_of, default_device, device_of, devices_of
from ..dtypes import is_extended, no_number
from ..errors import explain

if TYPE_CHECKING:
    from .._core.layouts import Format

__all__ = ["Device", "Shard", "block_until_ready", "copy_to_host_async", "default_backend",
           "device_count", "device_get", "device_of", "device_put", "devices", "effects_barrier",
           "host_count", "host_id", "host_ids", "local_device_count", "local_devices",
           "print_environment_info", "process_count", "process_index", "process_indices",
           "shards_of", "sharding_of"]


class Shard:
    """The part of an array that one device holds."""

    __slots__ = ("device", "data", "index", "replica_id")

    def __init__(self, device: Device, sharding: Sharding, global_shape, data=None):
        self.device = device
        self.data = data
        self.index = (slice(None),) * len(global_shape)
        self.replica_id = 0

    def __repr__(self) -> str:
        return (f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
                f"data={self.data})")


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform (``"cpu"``), or of the default one.

    >>> devices()
    [CpuDevice(id=0)]
    """
    return devices_of(backend)


def local_devices(process_index: int | None = None, backend: str | None = None,
                  host_id: int | None = None) -> list[Device]:
    """The devices of this process; with one process, all of them.

    >>> tanx.local_devices() == tanx.devices()
    True
    """
    if (process_index or 0) != 0 or (host_id or 0) != 0:
        raise ValueError(explain(
            "tanx.local_devices", "there is one process only, process 0.",
            f"process_index: {process_index if process_index is not None else host_id}"))
    return devices_of(backend)


def device_count(backend: str | None = None) -> int:
    """How many devices there are.

    >>> tanx.device_count() == len(tanx.devices())
    True
    """
    return len(devices_of(backend))


def local_device_count(backend: str | None = None) -> int:
    """How many devices this process has.

    >>> tanx.local_device_count() == tanx.device_count()
    True
    """
    return len(devices_of(backend))


def default_backend() -> str:
    """The default platform of computations.

    >>> tanx.default_backend()
    'cpu'
    """
    return default_device().platform


def process_index(backend: str | None = None) -> int:
    """The number of this process among the processes that compute together.

    >>> tanx.process_index()
    0
    """
    return 0


def process_count(backend: str | None = None) -> int:
    """How many processes compute together.

    >>> tanx.process_count()
    1
    """
    return 1


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of the processes that compute together.

    >>> tanx.process_indices()
    [0]
    """
    return [0]


host_id, host_count, host_ids = process_index, process_count, process_indices


def sharding_of(x: Array) -> Sharding:
    """How the data of an array is laid out over devices.

    An array that was not placed explicitly is whole on each device of the mesh in scope.
    """
    place = x._device
    if isinstance(place, Sharding):
        return place
    device = device_of(x)
    divided = on_devices(x.aval, device)
    if divided is not None:
        return divided
    mesh = concrete_mesh()
    if place is not None or mesh.empty:
        return SingleDeviceSharding(device)
    return NamedSharding(mesh, PartitionSpec(*[None] * x.ndim if mesh.explicit_axes else ()))


def format_of(x: Array) -> Format:
    """The order of an array's elements in memory, and the devices."""
    from .._core.layouts import Format, Layout  # late: most programs never ask
    return Format(Layout(tuple(range(x.ndim)), ()), sharding_of(x))


class RawBuffer:
    """The memory of an array: its address, valid as long as this object lives."""

    __slots__ = ("_buffer",)

    def __init__(self, buffer: Buffer):
        self._buffer = buffer

    @property
    def ptr(self) -> int:
        """The address of the first element."""
        return self._buffer.pointer

    def __repr__(self) -> str:
        return f"<RawBuffer {self.ptr:#x}>"


def ready_buffer(x: Array) -> Buffer:
    """The only buffer of an array, when its elements are ready, in row-major order."""
    if is_extended(x.aval.dtype):
        raise no_number(x.aval.dtype, "tanx.Array.unsafe_buffer_pointer", f"array: {x.aval}")
    if x.block_until_ready()._data is not None:
        x._row_major()
    (buffer,) = buffers_of(x)
    return buffer


def shards_of(x: Array) -> list[Shard]:
    """The parts of an array, device by device."""
    return [Shard(device_of(x), sharding_of(x), x.shape, x)]


def device_put(x, device=None, *, src=None, donate: bool = False, may_alias: bool | None = None):
    """Put a pytree of arrays and numbers on a device; each leaf becomes an ``Array``.

    ``device`` may be a device, a sharding, a ``PartitionSpec`` for the mesh in scope, or a pytree
    of them that is a prefix of ``x``.

    >>> device_put({"a": 1.5})
    {'a': Array(1.5, dtype=float32, weak_type=True)}
    """
    if may_alias and donate:
        raise ValueError(explain(
            "tanx.device_put", "may_alias and donate cannot be True at the same time.",
            hint="donate gives up the memory of x, may_alias lets x and the result share it."))
    leaves, tree = tree_util.tree_flatten(x)
    targets = tree_util.broadcast_prefix(device, x, is_leaf=lambda d: d is None)
    placed = [_put(leaf, _target(leaf, d), donate) for leaf, d in zip(leaves, targets)]
    if may_alias is False:
        placed = [copy_p.bind(new) if new is old and type(new) is Array else new
                  for new, old in zip(placed, leaves)]
    traced = [k for k, leaf in enumerate(placed) if isinstance(leaf, Tracer)]
    if traced:
        how = (ArrayCopySemantics.DONATE_INPUT if donate else ArrayCopySemantics.ALWAYS_COPY
               if may_alias is False else ArrayCopySemantics.REUSE_INPUT)
        outs = device_put_p.bind(
            *(placed[k] for k in traced), devices=tuple(targets[k] for k in traced),
            srcs=(src,) * len(traced), copy_semantics=(how,) * len(traced))
        for k, out in zip(traced, outs):
            placed[k] = out
    return tree_util.tree_unflatten(tree, placed)


def _check_layout(x, layout) -> None:
    """Check that a layout, if it is given, is row-major."""
    order = getattr(layout, "major_to_minor", None)
    if order is not None and tuple(order) != tuple(range(len(order))):
        raise NotImplementedError(explain(
            "tanx.device_put", "arrays are kept in row-major order only.",
            f"array:  {typeof(x)}", f"layout: {layout}"))


def _target(x, target) -> Device | Sharding | None:
    """The place that an array keeps when it is put on a target."""
    if target is None or isinstance(target, Device):
        return target
    if hasattr(target, "layout") and hasattr(target, "sharding"):  # a Format
        _check_layout(x, target.layout)
        target = target.sharding
        if target is None:
            return None
    if isinstance(target, MemorySpace):
        return place_of(SingleDeviceSharding(
            device_of(x) if type(x) is Array else default_device(), memory_kind=target.kind))
    if isinstance(target, PartitionSpec):
        target = named(target, "tanx.device_put", ValueError)
    if isinstance(target, Sharding):
        if is_arraylike(x):
            target.check_compatible_aval(typeof(x).shape)
        if isinstance(target, NamedSharding) and isinstance(target.mesh, AbstractMesh):
            return target  # the devices of the array
        return place_of(target)
    raise ValueError(explain(
        "tanx.device_put", "the target must be a device, a sharding, a memory "
        "space, None, or a pytree of these.",
        f"target: {target!r:.100}", hint="take a device from tanx.devices()."))


def _put(x, place: Device | Sharding | None, donate: bool):
    if not is_arraylike(x):
        raise TypeError(explain(
            "tanx.device_put", "only arrays and numbers can be put on a device.",
            f"value: {x!r:.100} of type {type(x).__name__}"))
    if isinstance(x, Tracer):
        wanted = laid_out(typeof(x), place)
        return reshard_to(x, wanted) if is_divided(wanted) else x
    if type(x) is not Array and strict.value:
        watch_transfer(typeof(x), explicit=True)
        with transfer_guard_host_to_device("allow"):
            placed = as_array(x)
    else:
        placed = as_array(x)
    if type(placed) is not Array or (  # a number is a tracer while tracing; float0 is NumPy's
            place is None or placed._device is place or placed._device == place):
        return placed
    if isinstance(place, NamedSharding) and isinstance(place.mesh, AbstractMesh):
        return reshard_to(placed, laid_out(placed.aval, place))
    Committed.seen = True
    moved = placed._shared(laid_out(placed.aval, place), place)
    if donate and type(x) is Array:
        x.delete()
    return moved


def device_get(x):
    """Bring a pytree of arrays to the host, as NumPy arrays. Traced values stay as they are.

    >>> device_get({"a": jnp.ones(2)})
    {'a': array([1., 1.], dtype=float32)}
    """
    def on_host(leaf):
        has_data = hasattr(leaf, "__array__") and not isinstance(leaf, Tracer)
        return np.asarray(leaf) if has_data and not is_extended(
            getattr(leaf, "dtype", None)) else leaf
    return tree_util.tree_map(on_host, x)


def block_until_ready(x):
    """Wait until every array of a pytree has its data; returns the pytree.

    >>> block_until_ready((jnp.ones(2), 3))
    (Array([1., 1.], dtype=float32), 3)
    """
    for leaf in tree_util.tree_leaves(x):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def copy_to_host_async(x):
    """Start copying every array of a pytree to the host; returns the pytree.

    >>> tanx.copy_to_host_async({"a": jnp.ones(2)})
    {'a': Array([1., 1.], dtype=float32)}
    """
    for leaf in tree_util.tree_leaves(x):
        if hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    return x


def effects_barrier() -> None:
    """Wait until all started computations, and so their effects, are done.

    >>> tanx.effects_barrier()
    """
    from .._runtime.background import barrier  # late: nothing is pending before it is loaded
    barrier()


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the facts that belong in a bug report: versions, devices, machine.

    >>> tanx.print_environment_info(return_string=True).splitlines()[0].startswith("tanx")
    False
    """
    from importlib import metadata
    lines = [f"{name + ':':<11}{metadata.version(name)}" for name in
             ("numpy", "scipy", "llvmlite", "ml_dtypes")]
    text = "\n".join([
        *lines, f"python:    {sys.version}", f"devices:   {devices_of()}",
        f"platform:  {platform.platform()}"])
    if return_string:
        return text
    print(text)
    return None

