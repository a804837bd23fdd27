"""tanx.experimental.multihost_utils: communication of distributed processes.

There is one process: it broadcasts to itself, gathers its own values, and never waits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import tree_util
from .._api.placement import device_put
from .._base.traceback import boundary
from .._core.array import Array
from .._core.sharding import NamedSharding
from .._core.spec import PartitionSpec
from .._core.types import ShapedArray, is_arraylike
from .._ops.annotations import Identity
from ..distributed import is_initialized
from ..errors import explain

__all__ = [
    "ProcessFailureError", "assert_equal", "broadcast_one_to_all",
    "global_array_to_host_local_array", "global_array_to_host_local_array_impl",
    "gtl_abstract_eval", "host_local_array_to_global_array",
    "host_local_array_to_global_array_impl", "live_devices", "ltg_abstract_eval", "ltg_batcher",
    "process_allgather", "reached_preemption_sync_point", "sync_global_devices"]


class ProcessFailureError(Exception):
    """Some processes have failed, and with them their devices."""

    def __init__(self, failed_devices: Sequence[Any]):
        super().__init__(f"Devices failed: {list(failed_devices)}")
        self.failed_devices = failed_devices


# -- values of all processes -----------------------------------------------------------------------


@boundary
def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The pytree of arrays that the first process has, for all of them; as NumPy arrays.

    >>> from tanx.experimental import multihost_utils
    >>> multihost_utils.broadcast_one_to_all({"a": jnp.ones(2)})
    {'a': array([1., 1.], dtype=float32)}
    """
    return tree_util.tree_map(np.asarray, in_tree)


@boundary
def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The pytrees of all processes: stacked, or joined along the first axis if ``tiled``.

    >>> from tanx.experimental import multihost_utils
    >>> multihost_utils.process_allgather(jnp.ones(2)).shape
    (1, 2)
    """
    return tree_util.tree_map(
        lambda x: np.asarray(x) if tiled else np.asarray(x)[None], in_tree)


@boundary
def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have the same pytree, which holds for one process.

    >>> from tanx.experimental import multihost_utils
    >>> multihost_utils.assert_equal({"a": jnp.ones(2)})
    """
    for leaf in tree_util.tree_leaves(in_tree):
        np.asarray(leaf)  # missing or wrong data is an error with one process, too


@boundary
def sync_global_devices(name: str) -> None:
    """Wait until all processes have reached the barrier of that name.

    >>> from tanx.experimental import multihost_utils
    >>> multihost_utils.sync_global_devices("before saving")
    """
    if not isinstance(name, str):
        raise AttributeError(explain(
            "tanx.experimental.multihost_utils.sync_global_devices", "the name must be a str.",
            f"got: {name!r:.100}"))


@boundary
def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether all processes should save their state at this step, because one of them will end.

    >>> from tanx.experimental import multihost_utils
    >>> multihost_utils.reached_preemption_sync_point(3)
    False
    """
    return False


@contextlib.contextmanager
def live_devices(devices: Sequence[Any]) -> Iterator[list[Any]]:
    """A block that is given the devices whose processes are alive.

    >>> tanx.distributed.initialize(num_processes=1)
    >>> from tanx.experimental import multihost_utils
    >>> with multihost_utils.live_devices(tanx.devices()) as alive:
    ...     alive
    [CpuDevice(id=0)]
    >>> tanx.distributed.shutdown()
    """
    if not is_initialized():
        raise RuntimeError(explain(
            "tanx.experimental.multihost_utils.live_devices",
            "the distributed processes are not set up.",
            hint="call tanx.distributed.initialize()."))
    yield list(devices)


# -- arrays of all processes -----------------------------------------------------------------------


class _HostLocalToGlobal(Identity):
    """The whole array, from the part of a process."""

    name = "host_local_array_to_global_array"

    def eval(self, x, *, global_mesh, pspec):
        return x

    def transpose(self, ct, x, **params):
        return [global_array_to_host_local_array_p.bind(ct, **params)]

    def batch(self, args, dims, *, global_mesh, pspec):
        (x,), (dim,) = args, dims
        return self.bind(x, global_mesh=global_mesh, pspec=_widened(pspec, dim, None)), dim


class _GlobalToHostLocal(_HostLocalToGlobal):
    """The part of a process, from the whole array."""

    name = "global_array_to_host_local_array"

    def transpose(self, ct, x, **params):
        return [host_local_array_to_global_array_p.bind(ct, **params)]


host_local_array_to_global_array_p = _HostLocalToGlobal()
global_array_to_host_local_array_p = _GlobalToHostLocal()


def _widened(spec: PartitionSpec, dim: int, axis: Any) -> PartitionSpec:
    entries = [*spec, *(None,) * (dim - len(spec))]
    return PartitionSpec(*entries[:dim], axis, *entries[dim:])


@boundary
def host_local_array_to_global_array(local_inputs: Any, global_mesh, pspecs: Any) -> Any:
    """Arrays over a mesh, from the parts of the processes.

    ``pspecs`` is a ``PartitionSpec``, or a pytree of them that is a prefix of the arrays. With one
    process its part is the whole.

    >>> from tanx.experimental import multihost_utils
    >>> mesh = tanx.make_mesh((1,), ("x",))
    >>> x = multihost_utils.host_local_array_to_global_array(np.ones(2), mesh, tanx.P("x"))
    >>> x.sharding.spec
    P('x',)
    """
    return _converted("host_local_array_to_global_array", host_local_array_to_global_array_p,
                      local_inputs, global_mesh, pspecs)


@boundary
def global_array_to_host_local_array(global_inputs: Any, global_mesh, pspecs: Any) -> Any:
    """The parts of this process, from arrays over a mesh: with one process, all.

    >>> from tanx.experimental import multihost_utils
    >>> mesh = tanx.make_mesh((1,), ("x",))
    >>> multihost_utils.global_array_to_host_local_array(jnp.ones(2), mesh, tanx.P("x"))
    Array([1., 1.], dtype=float32)
    """
    return _converted("global_array_to_host_local_array", global_array_to_host_local_array_p,
                      global_inputs, global_mesh, pspecs)


def _converted(function: str, primitive: Identity, inputs: Any, mesh, specs: Any) -> Any:
    name = f"tanx.experimental.multihost_utils.{function}"
    leaves, tree = tree_util.tree_flatten(inputs)
    found = tree_util.broadcast_prefix(specs, inputs, is_leaf=lambda s: s is None)
    outs = []
    for x, spec in zip(leaves, found):
        if not isinstance(spec, PartitionSpec):
            raise ValueError(explain(
                name, "needs a PartitionSpec for each array.", f"got: {spec!r:.100}",
                hint="PartitionSpec() is for arrays that every device has whole."))
        if not is_arraylike(x):
            raise TypeError(explain(name, "needs arrays.", f"got: {x!r:.100}"))
        place = NamedSharding(mesh, spec)  # checks the names
        out = primitive.bind(x, global_mesh=mesh, pspec=spec)
        outs.append(device_put(out, place) if type(out) is Array else out)
    return tree_util.tree_unflatten(tree, outs)


def host_local_array_to_global_array_impl(arr, *, global_mesh, pspec) -> Array:
    """:func:`host_local_array_to_global_array` of one array.

    >>> from tanx.experimental import multihost_utils
    >>> mesh = tanx.make_mesh((1,), ("x",))
    >>> multihost_utils.host_local_array_to_global_array_impl(
    ...     jnp.ones(2), global_mesh=mesh, pspec=tanx.P("x"))
    Array([1., 1.], dtype=float32)
    """
    return host_local_array_to_global_array(arr, global_mesh, pspec)


def global_array_to_host_local_array_impl(arr, *, global_mesh, pspec) -> Array:
    """:func:`global_array_to_host_local_array` of one array.

    >>> from tanx.experimental import multihost_utils
    >>> mesh = tanx.make_mesh((1,), ("x",))
    >>> multihost_utils.global_array_to_host_local_array_impl(
    ...     jnp.ones(2), global_mesh=mesh, pspec=tanx.P("x"))
    Array([1., 1.], dtype=float32)
    """
    return global_array_to_host_local_array(arr, global_mesh, pspec)


def ltg_abstract_eval(arr: ShapedArray, *, global_mesh, pspec) -> ShapedArray:
    """The type of the whole array, given that of the part of a process; with one, the same.

    >>> from tanx.experimental import multihost_utils
    >>> multihost_utils.ltg_abstract_eval(
    ...     tanx.typeof(jnp.ones(2)), global_mesh=tanx.make_mesh((1,), ("x",)), pspec=tanx.P("x"))
    ShapedArray(float32[2])
    """
    return arr.strip_weak_type()


def gtl_abstract_eval(arr: ShapedArray, *, global_mesh, pspec) -> ShapedArray:
    """The type of the part of a process, given that of the whole array; with one, the same.

    >>> from tanx.experimental import multihost_utils
    >>> multihost_utils.gtl_abstract_eval(
    ...     tanx.typeof(jnp.ones(2)), global_mesh=tanx.make_mesh((1,), ("x",)), pspec=tanx.P("x"))
    ShapedArray(float32[2])
    """
    return arr.strip_weak_type()


def ltg_batcher(insert_axis: bool, axis_data, vals_in, dims_in, global_mesh, pspec):
    """The rule for ``vmap``: the spec gets an entry for the mapped axis.

    >>> from tanx.experimental import multihost_utils
    >>> mesh = tanx.make_mesh((1,), ("x",))
    >>> y, dim = multihost_utils.ltg_batcher(False, None, (jnp.ones(2),), (0,), mesh, tanx.P())
    >>> dim
    0
    """
    (x,), (dim,) = vals_in, dims_in
    spec = _widened(pspec, dim, getattr(axis_data, "spmd_name", None))
    return host_local_array_to_global_array_p.bind(x, global_mesh=global_mesh, pspec=spec), dim
