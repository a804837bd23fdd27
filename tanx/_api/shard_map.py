"""Functions on the part of one device: ``shard_map``, ``smap`` and ``pmap``.

A mesh has one device so far: each of its axes has size 1, and the part of a device is the whole
array. A body runs once, inside of one map of size 1 for each axis, in which its values have no
batch axis, so compiled it costs the same as outside. Its values record along which axes they vary;
see :mod:`tanx._transforms.manual`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.traceback import boundary
from .._core.array import Array
from .._core.mesh import AbstractMesh, AxisType, Mesh, get_abstract_mesh, use_abstract_mesh
from .._core.naming import name_of, wraps
from .._core.sharding import NamedSharding
from .._core.spec import PartitionSpec
from .._core.types import typeof
from .._ops.annotations import laid_out
from .._ops.base import as_array
from .._ops.layout import expand_dims, squeeze
from .._runtime.device import default_device, devices_of
from .._transforms.manual import Place, run_manual
from .._transforms.vmap import Axis, batch
from ..errors import explain
from ..tree_util import (
    broadcast_prefix,
    prefix_errors,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)
from .arguments import check_callable, result_leaves
from .batching import axes_of
from .jit import PjitFunction
from .jit_shardings import ShardedFunction

__all__ = ["pmap", "shard_map", "smap"]

_INFER: Any = type("_Infer", (), {"__repr__": lambda self: "..."})()


def shard_map(f: Callable | None = None, /, *, out_specs: Any, in_specs: Any = _INFER,
              mesh: Mesh | AbstractMesh | None = None, axis_names=frozenset(),
              check_vma: bool = True):
    """Run a function on each device of a mesh, on that device's part of the arguments.

    ``in_specs`` and ``out_specs`` are pytrees of ``PartitionSpec`` that define how arguments are
    divided and results assembled. Collectives such as ``lax.psum`` work along ``axis_names``, by
    default all axes of the mesh. ``check_vma`` checks that results are the same along the axes that
    their specs omit. Without ``mesh``, the one in scope is used.

    >>> mesh = tanx.make_mesh((1,), ("x",))
    >>> total = shard_map(lambda x: lax.psum(x.sum(), "x"), mesh=mesh, in_specs=tanx.P("x"),
    ...                   out_specs=tanx.P())
    >>> total(jnp.arange(4))
    Array(6, dtype=int32)
    """
    if f is None:
        return functools.partial(shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh,
                                 axis_names=axis_names, check_vma=check_vma)
    check_callable("tanx.shard_map", f)
    if mesh is not None and not isinstance(mesh, Mesh | AbstractMesh):
        raise TypeError(explain("tanx.shard_map", "mesh must be a Mesh or an AbstractMesh.",
                                f"mesh: {mesh!r:.100} of type {type(mesh).__name__}"))
    fun: Callable = f

    @boundary
    @wraps(fun)
    def wrapped(*args):
        where = _Region(fun, mesh, axis_names)
        leaves, in_tree = tree_flatten(args)
        leaves = [as_array(x) for x in leaves]
        specs = where.in_specs(in_specs, args, leaves)
        out_tree: Any = None

        def flat(*xs):
            nonlocal out_tree
            outs, out_tree = result_leaves("tanx.shard_map", fun, fun(*tree_unflatten(in_tree, xs)))
            return outs

        outs, varying = where.run(flat, leaves, specs, check_vma)
        outs = [as_array(x) for x in outs]
        ends = where.out_specs(out_specs, tree_unflatten(out_tree, outs), outs)
        where.check_replicated(varying, ends)
        return tree_unflatten(out_tree, [where.placed(x, spec) for x, spec in zip(outs, ends)])
    return wrapped


class _Region:
    """The place of a body: a mesh, and the axes along which it gets the part of one device."""

    def __init__(self, fun: Callable, mesh: Mesh | AbstractMesh | None, axis_names):
        self.fun = fun
        self.mesh = mesh = get_abstract_mesh() if mesh is None else mesh
        if mesh.empty:
            raise ValueError(explain(
                "tanx.shard_map", "there is no mesh in scope.",
                hint="pass mesh=, or use tanx.set_mesh(mesh)."))
        if mesh.size > 1:
            raise NotImplementedError(explain(
                "tanx.shard_map", "a mesh of several devices is not supported yet.",
                f"mesh: {mesh}"))
        names = {axis_names} if isinstance(axis_names, str) else set(axis_names)
        if names - set(mesh.axis_names):
            raise ValueError(explain(
                "tanx.shard_map", "axis_names must be axes of the mesh.",
                f"axis_names: {sorted(map(str, names))}", f"mesh: {mesh}"))
        self.names = tuple(n for n in mesh.axis_names if not names or n in names)
        inside = set(get_abstract_mesh().manual_axes) & set(self.names)
        if inside:
            raise ValueError(explain(
                "tanx.shard_map", "the code runs inside of a shard_map over that axis already.",
                f"axes: {sorted(map(str, inside))}"))

    def in_specs(self, specs, args: tuple, leaves: list) -> list[PartitionSpec]:
        """A spec for each leaf of the arguments."""
        if specs is _INFER:
            types = dict(zip(self.mesh.axis_names, self.mesh.axis_types))
            if any(types[name] is AxisType.Auto for name in self.names):
                raise TypeError(explain(
                    "tanx.shard_map", "in_specs may be omitted only if all axes are Explicit.",
                    f"mesh: {self.mesh}"))
            return [self._own_spec(x) for x in leaves]
        if isinstance(specs, list):
            specs = tuple(specs)
        flat = _prefix("in_specs", specs, args, True)
        return self._checked("in_specs", flat, leaves)

    def _own_spec(self, x) -> PartitionSpec:
        place = x._device if type(x) is Array else None
        if isinstance(place, NamedSharding) and place.mesh.abstract_mesh == self.mesh.abstract_mesh:
            return place.spec
        return PartitionSpec()

    def out_specs(self, specs, result, leaves: list) -> list[PartitionSpec]:
        """A spec for each leaf of the results."""
        return self._checked("out_specs", _prefix("out_specs", specs, result, False), leaves)

    def _checked(self, what: str, specs: list, leaves: list) -> list[PartitionSpec]:
        specs = [PartitionSpec() if spec is None else spec for spec in specs]
        for spec, x in zip(specs, leaves, strict=True):
            if not isinstance(spec, PartitionSpec):
                raise TypeError(explain(
                    "tanx.shard_map", f"{what} must hold PartitionSpecs only.",
                    f"found: {spec!r:.100} of type {type(spec).__name__}"))
            unknown = set(spec.names) - set(self.names)
            if unknown:
                raise ValueError(explain(
                    "tanx.shard_map", f"{what} must only name axes that the function is "
                    "mapped over.", f"spec:  {spec}", f"axes:  {self.names}"))
            if len(spec) > typeof(x).ndim:
                raise ValueError(explain(
                    "tanx.shard_map", f"an entry of {what} has more entries than its value has "
                    "dimensions.", f"spec:  {spec}", f"value: {typeof(x)} of {name_of(self.fun)}"))
        return specs

    def run(self, flat: Callable[..., list], leaves: list, specs: list[PartitionSpec],
            check_vma: bool) -> tuple[list, list[frozenset]]:
        """The outputs of the body, and the axes along which they vary, if these are checked."""
        mesh = self.mesh.abstract_mesh
        manual = mesh.update_axis_types(dict.fromkeys(self.names, AxisType.Manual))
        axes = [frozenset(spec.names) if check_vma else frozenset() for spec in specs]
        with use_abstract_mesh(manual):
            return run_manual(flat, Place(self.names, self._text(), check_vma), leaves, axes)

    def _text(self) -> str:
        """The device and its position, for values that are printed."""
        mesh = self.mesh
        device = default_device() if isinstance(mesh, AbstractMesh) else mesh.devices.flat[0]
        return (f"On {device.platform}:{device.id} at mesh coordinates "
                f"({', '.join(map(str, mesh.axis_names))},) = {(0,) * len(mesh.axis_names)}")

    def check_replicated(self, varying: list[frozenset], ends: list[PartitionSpec]) -> None:
        """Raise a ValueError if an output varies along an axis that its spec omits."""
        for k, (axes, spec) in enumerate(zip(varying, ends)):
            for name in self.names:
                if name in axes and name not in spec.names and name not in spec.unreduced:
                    raise ValueError(explain(
                        "tanx.shard_map", f"output {k} of {name_of(self.fun)} varies along the "
                        f"axis {name!r}, but its spec does not name it.", f"spec: {spec}",
                        hint="name the axis in out_specs, combine with lax.psum, or pass "
                        "check_vma=False."))

    def placed(self, x, spec: PartitionSpec):
        """An output with its sharding, if the devices are known."""
        if type(x) is not Array or isinstance(self.mesh, AbstractMesh):
            return x
        return laid_out(x, NamedSharding(self.mesh, spec))


def _prefix(what: str, specs, tree, none_is_leaf: bool) -> list:
    is_leaf = (lambda s: s is None) if none_is_leaf else None
    try:
        return broadcast_prefix(specs, tree, is_leaf=is_leaf)
    except ValueError as error:
        details = prefix_errors(specs, tree, is_leaf=is_leaf)
        why = str(details[0](what)) if details else str(error)
        raise ValueError(explain(
            "tanx.shard_map", f"{what} must be a prefix of the structure it describes.",
            why)) from None


def smap(f: Callable | None = None, /, *, in_axes: Any = _INFER, out_axes: Any, axis_name: str):
    """Run a function on parts of its arguments, along one axis of the mesh in scope.

    ``in_axes`` and ``out_axes`` are pytrees of the dimension that the axis divides, or None. The
    function gets arrays of the same rank as the arguments.

    >>> auto = (tanx.sharding.AxisType.Auto,)
    >>> with tanx.set_mesh(tanx.make_mesh((1,), ("x",), axis_types=auto)):
    ...     smap(lambda x: 2 * x, in_axes=0, out_axes=0, axis_name="x")(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    if not isinstance(axis_name, str):
        raise TypeError(explain("tanx.smap", "axis_name must be the name of one axis, a str.",
                                f"axis_name: {axis_name!r}"))
    in_specs = in_axes if in_axes is _INFER else _specs("in_axes", in_axes, axis_name)
    return shard_map(f, in_specs=in_specs, out_specs=_specs("out_axes", out_axes, axis_name),
                     axis_names={axis_name})


def _specs(what: str, axes, name: str):
    """For each dimension in ``axes``, the spec that divides it."""
    def spec(axis) -> PartitionSpec:
        if axis is None:
            return PartitionSpec()
        if isinstance(axis, bool) or not isinstance(axis, int) or axis < 0:
            raise TypeError(explain(
                "tanx.smap", f"{what} must hold non-negative integers and None only.",
                f"found: {axis!r:.100}"))
        return PartitionSpec(*[None] * axis, name)
    return tree_map(spec, axes, is_leaf=lambda a: a is None)


# --- pmap -----------------------------------------------------------------------------------------


def pmap(fun: Callable, axis_name=None, *, in_axes: Any = 0, out_axes: Any = 0,
         static_broadcasted_argnums=(), devices=None, backend=None, axis_size: int | None = None,
         donate_argnums=()) -> Callable:
    """Map a function over devices: each gets one slice of the arguments along ``in_axes``.

    There is one device, so mapped axes have size 1. Arguments in ``static_broadcasted_argnums``
    are Python constants.

    >>> pmap(lambda x: lax.psum(x, "i"), axis_name="i")(jnp.ones((1, 3)))
    Array([[1., 1., 1.]], dtype=float32)
    """
    check_callable("tanx.pmap", fun)
    there = list(devices_of(backend) if devices is None else devices)
    if len(there) > 1:
        raise NotImplementedError(explain(
            "tanx.pmap", "several devices are not supported yet.", f"devices: {len(there)}"))
    name = "_internal_pmap_axis_name" if axis_name is None else axis_name
    static = ((static_broadcasted_argnums,) if isinstance(static_broadcasted_argnums, int)
              else tuple(static_broadcasted_argnums))

    @wraps(fun)
    def body(*args, **kwargs):
        return _on_one_device(fun, name, in_axes, out_axes, axis_size, static, args, kwargs)

    mesh = Mesh(np.array(there, object), (name,))
    shardings = tree_map(
        lambda axis: NamedSharding(mesh, PartitionSpec(*[None] * max(axis, 0), name)
                                   if axis is not None and axis >= 0 else PartitionSpec()),
        out_axes, is_leaf=lambda a: a is None)
    return ShardedFunction(
        PjitFunction(body, static or None, None, donate_argnums or None, None, False, False),
        None, shardings)


def _on_one_device(fun: Callable, name, in_axes, out_axes, axis_size: int | None, static: tuple,
                   args: tuple, kwargs: dict):
    """The body of a ``pmap``: mapped axes of size 1 are removed before and added after the call."""
    fixed = {i % len(args) for i in static if -len(args) <= i < len(args)}
    given = tuple(x for i, x in enumerate(args) if i not in fixed)
    axes = in_axes
    if isinstance(in_axes, tuple | list):
        if len(in_axes) != len(args):
            raise ValueError(explain(
                "tanx.pmap", "in_axes must have one entry for each positional argument.",
                f"in_axes:   {in_axes}", f"arguments: {len(args)} passed to {name_of(fun)}"))
        axes = tuple(a for i, a in enumerate(in_axes) if i not in fixed)
    leaves, in_tree = tree_flatten((given, kwargs))
    dims = axes_of("tanx.pmap", "in_axes", axes, given)
    dims += [0] * len(tree_leaves(kwargs))
    parts = [x if d is None else _part(fun, x, d) for x, d in zip(leaves, dims)]
    if axis_size not in (None, 1):
        raise ValueError(explain(
            "tanx.pmap", "axis_size must be the size of the mapped axes.",
            f"axis_size: {axis_size}", "size:      1"))
    if all(d is None for d in dims) and axis_size is None:
        raise ValueError(explain(
            "tanx.pmap", "at least one argument must be mapped.", f"in_axes: {in_axes}"))
    out_tree: Any = None

    def flat(*xs):
        nonlocal out_tree
        part, keywords = tree_unflatten(in_tree, xs)
        rest = iter(part)
        whole = [args[i] if i in fixed else next(rest) for i in range(len(args))]
        outs, out_tree = result_leaves("tanx.pmap", fun, fun(*whole, **keywords))
        return outs

    outs, found = batch(flat, Axis(name, 1), parts, [None] * len(parts))
    outs = [x if d is None else squeeze(x, (d,)) for x, d in zip(outs, found)]
    places = axes_of("tanx.pmap", "out_axes", out_axes, tree_unflatten(out_tree, outs))
    return tree_unflatten(out_tree, [
        x if place is None else expand_dims(x, (place,)) for x, place in zip(outs, places)])


def _part(fun: Callable, x, axis: int):
    """The part of the one device: a mapped argument without its axis of size 1."""
    aval = typeof(x)
    if not -aval.ndim <= axis < aval.ndim:
        raise ValueError(explain(
            "tanx.pmap", f"asked to map axis {axis} of an array that has {aval.ndim} dimensions.",
            f"argument: {aval} of {name_of(fun)}",
            hint="use in_axes=None for arguments that are not mapped."))
    if aval.shape[axis] != 1:
        raise ValueError(explain(
            "tanx.pmap", "mapped axes must have the size of the number of devices, which is 1.",
            f"argument: {aval} of {name_of(fun)}", f"axis:     {axis}",
            hint="tanx.vmap maps over any size."))
    return squeeze(x, (axis,))
