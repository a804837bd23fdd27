"""Meshes of available devices, and arrays laid out over them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from .._base.config import make_user_context
from .._base.traceback import boundary
from .._core.array import Array
from .._core.explicit import bare
from .._core.mesh import (
    AbstractMesh,
    AxisType,
    Mesh,
    concrete_mesh,
    get_abstract_mesh,
    use_abstract_mesh,
)
from .._core.sharding import NamedSharding, Sharding, SingleDeviceSharding, named, refuse_types
from .._core.spec import PartitionSpec, names_of
from .._core.trace import Tracer
from .._core.types import canonical_shape, is_arraylike
from .._core.types import typeof as type_of
from .._ops.annotations import laid_out, reshard_p, reshard_to
from .._ops.base import as_array
from .._runtime.device import devices_of
from .._transforms.manual import type_inside
from ..errors import explain
from ..tree_util import broadcast_prefix, tree_flatten, tree_map, tree_unflatten
from .arguments import check_callable

__all__ = ["auto_axes", "explicit_axes", "make_array_from_callback",
           "make_array_from_process_local_data", "make_array_from_single_device_arrays",
           "make_mesh", "make_single_device_sharding", "no_collectives", "reshard", "typeof"]


def make_mesh(axis_sizes: Sequence[int], axis_names: Sequence[Any], axis_types=None, *,
              devices=None) -> Mesh:
    """A mesh of the first devices, or of the given ones, with Explicit axes by default.

    >>> make_mesh((1, 1), ("data", "model"))
    Mesh(axis_sizes=(1, 1), axis_names=('data', 'model'), axis_types=(Explicit, Explicit))
    """
    shape = tuple(axis_sizes)
    there = list(devices_of() if devices is None else devices)
    if math.prod(shape) > len(there):
        raise ValueError(explain(
            "tanx.make_mesh", "there are not enough devices for the mesh.",
            f"axis_sizes: {shape}", f"devices:    {len(there)}"))
    chosen = np.empty(math.prod(shape), object)
    chosen[:] = there[:chosen.size]
    if axis_types is None:
        axis_types = AxisType.Explicit
    return Mesh(chosen.reshape(shape), axis_names, axis_types)


def make_single_device_sharding(device, *, memory_kind: str | None = None) -> SingleDeviceSharding:
    """The sharding of arrays on one device.

    >>> make_single_device_sharding(tanx.devices()[0])
    SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def reshard(xs, out_shardings):
    """A pytree of arrays with the shardings ``out_shardings``, along Explicit axes.

    ``out_shardings`` is a ``NamedSharding``, a ``PartitionSpec`` for the mesh in scope, or a
    pytree of them that is a prefix of ``xs``.

    >>> with tanx.set_mesh(tanx.make_mesh((1,), ("x",))):
    ...     reshard(jnp.ones((4, 2)), tanx.P("x")).sharding.spec
    P('x', None)
    """
    leaves, tree = tree_flatten(xs)
    targets = broadcast_prefix(out_shardings, xs, is_leaf=lambda s: s is None)
    return tree_unflatten(tree, [_resharded(x, s) for x, s in zip(leaves, targets, strict=True)])


def _resharded(x, target):
    target = named(target, "tanx.reshard", ValueError)
    if not isinstance(target, NamedSharding):
        raise ValueError(explain(
            "tanx.reshard", "needs a NamedSharding or a PartitionSpec for each leaf.",
            f"leaf: {type_of(x)}", f"sharding: {target!r:.100}"))
    refuse_types("tanx.reshard", target, AxisType.Auto, AxisType.Manual,
                 hint="tanx.lax.with_sharding_constraint is for Auto axes.")
    ndim = type_of(x).ndim
    target.check_compatible_aval(type_of(x).shape)
    whole = (*target.spec, *[None] * (ndim - len(target.spec)))
    target = target.update(spec=target.spec.update(whole))
    x = as_array(x)
    concrete: Any = x if type(x) is Array else type_of(x)
    before = concrete.sharding
    if _forbidden.value and isinstance(before, NamedSharding):
        _check_collectives(before.spec, target)
    if isinstance(x, Tracer):
        return reshard_p.bind(x, dst_sharding=target.update(mesh=target.mesh.abstract_mesh))
    return laid_out(x, target)


def undivided(tree):
    """A pytree with the arrays in it whole: no axis divides them."""
    return tree_map(lambda x: reshard_to(x, bare(type_of(x))) if is_arraylike(x) else x, tree)


def tells(out_sharding) -> bool:
    """Whether a sharding is given; the empty one of types without a sharding does not count."""
    return out_sharding is not None and not (
        isinstance(out_sharding, NamedSharding) and out_sharding.mesh.empty)


def by_out_sharding(fun: Callable) -> Callable:
    """Let a function take ``out_sharding``, the sharding of its result.

    If it is given, the function runs on whole arrays.
    """
    @functools.wraps(fun)
    def either(*args, out_sharding=None, **kwargs):
        if not tells(out_sharding):
            return fun(*args, **kwargs)
        args, kwargs = undivided((args, kwargs))
        return reshard(fun(*args, **kwargs), out_sharding)
    return either


def typeof(x) -> Any:
    """The type of a value: array, tracer, NumPy array or Python scalar.

    The type of an array laid out along Explicit axes of a mesh includes its sharding. Inside of
    :func:`tanx.shard_map`, types state the axes along which values vary: ``float32[4]{V:x}``.

    >>> print(tanx.typeof(np.zeros((2, 3), np.float32)))
    float32[2,3]
    >>> with tanx.set_mesh(tanx.make_mesh((1,), ("x",))):
    ...     print(tanx.typeof(tanx.reshard(jnp.ones((4, 2)), tanx.P("x"))))
    float32[4@x,2]
    """
    return type_inside(x)


# --- Collectives ----------------------------------------------------------------------------------

_forbidden = make_user_context(frozenset())


class ForbiddenCollectiveError(Exception):
    """Data would have to be exchanged along an axis of the mesh for which that is forbidden."""


def no_collectives(new_val=frozenset()):
    """A block in which values are not exchanged along some axes of the mesh that are Explicit.

    ``new_val`` is a set of names. :func:`reshard` refuses to remove a division along one of them,
    or to move it to another dimension.

    >>> with tanx.set_mesh(tanx.make_mesh((1,), ("x",))), tanx.sharding.no_collectives({"x"}):
    ...     tanx.reshard(jnp.ones(4), tanx.P("x")).sharding.spec
    P('x',)
    """
    if not isinstance(new_val, set | frozenset):
        raise TypeError(explain(
            "tanx.sharding.no_collectives", "needs a set of names of axes.",
            f"given: {new_val!r} of type {type(new_val).__name__}"))
    return _forbidden(frozenset(new_val))


def _check_collectives(before: PartitionSpec, target: NamedSharding) -> None:
    """Raise if the division of an array along a forbidden axis would change."""
    def dimension(spec: PartitionSpec, name) -> int | None:
        return next((k for k, entry in enumerate(spec) if name in names_of(entry)), None)

    for name in _forbidden.value & set(before.names):
        after = dimension(target.spec, name)
        if after != dimension(before, name) and name not in target.spec.unreduced:
            raise ForbiddenCollectiveError(explain(
                "tanx.reshard", f"no_collectives forbids collectives along the axis {name!r}.",
                f"from: {before}", f"to:   {target.spec}"))


# --- Arrays from their parts ----------------------------------------------------------------------


def make_array_from_callback(shape, sharding: Sharding, data_callback: Callable,
                             dtype=None) -> Array:
    """An array whose part on each device is ``data_callback(index)``, a tuple of slices.

    >>> place = tanx.sharding.SingleDeviceSharding(tanx.devices()[0])
    >>> make_array_from_callback((3,), place, lambda index: np.arange(3.0)[index])
    Array([0., 1., 2.], dtype=float32)
    """
    shape = canonical_shape(shape, "tanx.make_array_from_callback")
    sharding.check_compatible_aval(shape)
    parts = [as_array(data_callback(index))
             for index in sharding.addressable_devices_indices_map(shape).values()]
    return _from_parts("tanx.make_array_from_callback", shape, sharding, parts, dtype)


def make_array_from_single_device_arrays(shape, sharding: Sharding, arrays: Sequence[Array], *,
                                         dtype=None) -> Array:
    """An array from the parts ``arrays``, one for each device of ``sharding``.

    >>> place = tanx.sharding.SingleDeviceSharding(tanx.devices()[0])
    >>> make_array_from_single_device_arrays((2,), place, [jnp.ones(2)])
    Array([1., 1.], dtype=float32)
    """
    name = "tanx.make_array_from_single_device_arrays"
    if not isinstance(arrays, list | tuple):
        raise TypeError(explain(name, "arrays must be a list or a tuple.",
                                f"arrays: a value of type {type(arrays).__name__}"))
    for part in arrays:
        if not isinstance(part, Array):
            raise TypeError(explain(name, "the parts must be arrays of tanx.",
                                    f"found: a value of type {type(part).__name__}"))
    return _from_parts(name, canonical_shape(shape, name), sharding, arrays, dtype)


def make_array_from_process_local_data(sharding: Sharding, local_data, global_shape=None):
    """A pytree of arrays from the data of this process; with one process, all of it.

    ``global_shape`` is the shape of the whole array, or a pytree of such shapes.

    >>> place = tanx.sharding.SingleDeviceSharding(tanx.devices()[0])
    >>> make_array_from_process_local_data(place, np.ones(2, np.float32))
    Array([1., 1.], dtype=float32)
    """
    name = "tanx.make_array_from_process_local_data"
    leaves, tree = tree_flatten(local_data)
    shapes = [None] * len(leaves) if global_shape is None else broadcast_prefix(
        global_shape, local_data, is_leaf=_is_shape)
    places = broadcast_prefix(sharding, local_data)
    made = []
    for data, shape, place in zip(leaves, shapes, places, strict=True):
        if shape is not None and tuple(shape) != np.shape(data):
            raise ValueError(explain(
                name, "one process has all of the data: global_shape must be its shape.",
                f"global_shape: {tuple(shape)}", f"data:         {type_of(data)}"))
        made.append(_from_parts(name, np.shape(data), place, [as_array(data)], None))
    return tree_unflatten(tree, made)


def _is_shape(x) -> bool:
    return x is None or isinstance(x, tuple) and all(isinstance(n, int) for n in x)


def _from_parts(name: str, shape: tuple, sharding: Sharding, parts: Sequence[Array],
                dtype) -> Array:
    sharding.check_compatible_aval(shape)
    if len(parts) != len(sharding.addressable_devices):
        raise ValueError(explain(
            name, "needs one array for each device of the sharding.",
            f"devices: {len(sharding.addressable_devices)}", f"arrays:  {len(parts)}"))
    expected = sharding.shard_shape(shape)
    for part in parts:
        if part.shape != expected:
            raise ValueError(explain(
                name, "a part does not have the shape that the sharding requires.",
                f"part:     {part.aval}", f"expected: {expected}", f"sharding: {sharding}"))
        if dtype is not None and part.dtype != dtypes.dtype(dtype):
            raise ValueError(explain(
                name, "dtype must be the dtype of the parts.",
                f"part:  {part.aval}", f"dtype: {dtypes.dtype(dtype).name}"))
    (whole,) = parts
    return laid_out(whole, sharding)


# --- Other types of axes for a function -----------------------------------------------------------


def auto_axes(f: Callable | None = None, /, *, axes=None, out_sharding=None):
    """Run ``f`` with axes of the mesh in scope Auto; its results have ``out_sharding``.

    ``axes`` is a name or several; without it, all Explicit axes. The returned function also takes
    ``out_sharding``.

    >>> with tanx.set_mesh(tanx.make_mesh((1,), ("x",))):
    ...     auto_axes(lambda x: 2 * x, out_sharding=tanx.P("x"))(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    check_callable("tanx.sharding.auto_axes", f)

    @boundary
    @functools.wraps(f)
    def wrapped(*args, out_sharding=out_sharding, **kwargs):
        _check_given("auto_axes", "out_sharding", out_sharding)
        args, kwargs = undivided((args, kwargs))
        with use_abstract_mesh(_retyped("tanx.sharding.auto_axes", axes, AxisType.Auto)):
            result = f(*args, **kwargs)
        return reshard(result, out_sharding)
    return wrapped


def explicit_axes(f: Callable | None = None, /, *, axes=None, in_sharding=None):
    """Run ``f`` with axes of the mesh in scope Explicit, on arguments with ``in_sharding``.

    ``axes`` is a name or several; without it, all axes. The returned function also takes
    ``in_sharding``.

    >>> auto = (tanx.sharding.AxisType.Auto,)
    >>> with tanx.set_mesh(tanx.make_mesh((1,), ("x",), axis_types=auto)):
    ...     explicit_axes(lambda x: 2 * x, in_sharding=tanx.P("x"))(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    check_callable("tanx.sharding.explicit_axes", f)

    @boundary
    @functools.wraps(f)
    def wrapped(*args, in_sharding=in_sharding, **kwargs):
        _check_given("explicit_axes", "in_sharding", in_sharding)
        mesh = _retyped("tanx.sharding.explicit_axes", axes, AxisType.Explicit)
        devices = concrete_mesh().update(axis_types=mesh.axis_types)
        targets = tree_map(lambda spec: NamedSharding(devices, spec) if isinstance(
            spec, PartitionSpec) else spec, in_sharding)
        with use_abstract_mesh(mesh):
            return f(*reshard(args, targets), **kwargs)
    return wrapped


def _check_given(function: str, parameter: str, value) -> None:
    if value is None:
        raise TypeError(explain(f"tanx.sharding.{function}", f"needs {parameter}.",
                                hint=f"give it to {function}, or to the function."))


def _retyped(function: str, axes, wanted: AxisType) -> AbstractMesh:
    """The mesh in scope with other types for some of its axes."""
    mesh = get_abstract_mesh()
    if mesh.empty:
        raise ValueError(explain(function, "needs a mesh in scope.", hint="use tanx.set_mesh."))
    names = mesh.axis_names if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
    unknown = set(names) - set(mesh.axis_names)
    if unknown:
        raise ValueError(explain(function, "the mesh in scope has no such axis.",
                                 f"axes: {sorted(map(str, unknown))}", f"mesh: {mesh}"))
    return mesh.update_axis_types(dict.fromkeys(names, wanted))
