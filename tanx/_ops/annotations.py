"""Primitives that return their operands unchanged and annotate them.

They state where a value should be placed, that it is used, or an order of effects. With one device,
and a compiler that keeps effects in program order, they cost nothing.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from .._core import explicit
from .._core.array import Array
from .._core.effects import IOEffect
from .._core.linear import Zero, is_linear, is_zero, linear, never
from .._core.mesh import AbstractMesh, AxisType, Committed, Mesh, concrete_mesh, get_abstract_mesh
from .._core.placement import on_mesh
from .._core.primitive import Kind, Primitive, parameter
from .._core.sharding import NamedSharding, Sharding, SingleDeviceSharding, named, refuse_types
from .._core.spaces import MemorySpace
from .._core.spec import PartitionSpec
from .._core.trace import Tracer
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from ..tree_util import broadcast_prefix, tree_flatten, tree_leaves, tree_unflatten
from .base import as_array

__all__ = ["after_all", "after_all_p", "create_token", "create_token_p", "dce_sink",
           "device_put_p", "reshard_p", "sharding_constraint_p", "stage", "stage_p",
           "with_sharding_constraint"]

_TOKEN = ShapedArray((0,), np.dtype(bool))


class Identity(Primitive):
    """The operand itself; derivatives and batches pass through."""

    kind = Kind.LAYOUT
    divided = explicit.like_operand
    jvp = linear

    def infer(self, x, **params):
        return x

    def eval(self, x, **params):
        return x

    def transpose(self, ct, x, **params):
        return [self.bind(ct, **params)]

    def batch(self, args, dims, **params):
        return self.bind(*args, **params), dims[0]

    def lower(self, at, x, **params):
        return x[at]

    def is_view(self, **params):
        return True


class Stage(Identity):
    """A value that is computed when the function runs; it needs no equation."""

    name = "stage"

    def stage(self, trace, args, params):
        (x,) = args
        return x


class ShardingConstraint(Identity):
    """A value with a requested layout over devices; unchanged on one device."""

    name = "sharding_constraint"

    def batch(self, args, dims, *, unconstrained_dims, **params):
        (x,), (d,) = args, dims
        shifted = frozenset({*(k + (k >= d) for k in unconstrained_dims), d})
        return self.bind(x, unconstrained_dims=shifted, **params), d


class Reshard(Identity):
    """A value laid out along the Explicit axes of a mesh; unchanged on one device."""

    name = "reshard"
    sharding_parameter = "dst_sharding"

    def transpose(self, ct, x, *, dst_sharding):
        return [reshard_to(ct, x.aval)]

    def batch(self, args, dims, *, dst_sharding):
        (x,), (d,) = args, dims
        entries = list(dst_sharding.spec)
        entries.insert(d, typeof(x).entries[d])
        return self.bind(x, dst_sharding=dst_sharding.update(spec=PartitionSpec(*entries))), d


def reshard_to(x, aval):
    """A value with the sharding of a type."""
    if typeof(x).entries == aval.entries:
        return x
    sharding = (aval if explicit.is_divided(aval) else typeof(x)).placement.sharding
    return reshard_p.bind(x, dst_sharding=sharding.update(spec=PartitionSpec(*aval.entries)))


@parameter
class ArrayCopySemantics(enum.Enum):
    """Whether ``device_put`` may return the memory of its operand."""

    ALWAYS_COPY = "always copy"
    REUSE_INPUT = "reuse input"
    DONATE_INPUT = "donate input"

    def __repr__(self) -> str:
        return str(self)


class DevicePut(Primitive):
    """Values put on devices; unchanged on one device."""

    name = "device_put"
    kind = Kind.STATEMENT
    multiple_results = True

    def infer(self, *types, devices, srcs, copy_semantics):
        if not len(types) == len(devices) == len(srcs) == len(copy_semantics):
            raise ValueError(explain(
                "tanx.lax.device_put_p", "there must be one target for each operand.",
                f"operands: {', '.join(map(str, types))}", f"devices: {devices}"))
        return [t.update(memory_space=d) if isinstance(d, MemorySpace) else t
                for t, d in zip(types, devices)]

    def divided(self, *types, **params):
        return [t.entries for t in types]

    def eval(self, *operands, **params):
        return list(operands)

    def jvp(self, primals, tangents, **params):
        given = [k for k, t in enumerate(tangents) if not is_zero(t)]
        moved = iter(self.bind(*(tangents[k] for k in given), **_chosen(params, given)))
        return self.bind(*primals, **params), [t if is_zero(t) else next(moved) for t in tangents]

    def transpose(self, cts, *operands, **params):
        wanted = [k for k, (x, ct) in enumerate(zip(operands, cts))
                  if is_linear(x) and not is_zero(ct)]
        back = _chosen(params, wanted)
        back["devices"], back["srcs"] = tuple(
            operands[k].aval.memory_space if isinstance(d, MemorySpace) else s
            for k, s, d in zip(wanted, back["srcs"], back["devices"])), back["devices"]
        moved = dict(zip(wanted, self.bind(*(cts[k] for k in wanted), **back)))
        return [moved.get(k) for k in range(len(operands))]

    def batch(self, args, dims, **params):
        return self.bind(*args, **params), dims

    def lower(self, into, *operands, **params):
        return [build.copy(out, x) for out, x in zip(into, operands)]

    def is_view(self, **params):
        return True

    def written(self, params):
        """Without memory spaces, which are the same memory on the CPU: types do not state them."""
        return self.name, {**params, **{name: tuple(
            None if isinstance(d, MemorySpace) else d for d in params[name])
            for name in ("devices", "srcs")}}


def _chosen(params: dict, which: list[int]) -> dict:
    """Parameters for some of the operands."""
    return {name: tuple(values[k] for k in which) for name, values in params.items()}


class Token(Primitive):
    """Base of primitives that make tokens. A token is an array without elements."""

    kind = Kind.LAYOUT
    transpose = never("tokens have no elements")

    def infer(self, *tokens):
        return _TOKEN

    def eval(self, *tokens):
        return np.zeros(_TOKEN.shape, _TOKEN.dtype)

    def jvp(self, primals, tangents):
        out = self.bind(*primals)
        return out, Zero.tangent_of(out)

    def batch(self, args, dims):
        return self.bind(*(as_array(self.eval()) for _ in args)), None

    def lower(self, at, *tokens):
        return build.const(False, bool)


class CreateToken(Token):
    """A token that waits for nothing."""

    name = "create_token"


class AfterAll(Token):
    """A token that comes after others."""

    name = "after_all"

    def infer(self, *tokens):
        for x in tokens:
            if (x.shape, x.dtype) != (_TOKEN.shape, _TOKEN.dtype):
                raise TypeError(explain(
                    "tanx.lax.after_all", "operands must be tokens.", f"operand: {x}",
                    hint="tanx.lax.create_token makes one."))
        return _TOKEN


class DceSink(Primitive):
    """Uses a value, so that the equations that compute it stay in jaxprs."""

    name = "dce_sink"
    kind = Kind.STATEMENT
    multiple_results = True
    transpose = never("it has no results")

    def infer(self, x, *, prevent_mlir_dce):
        return []

    def effects(self, *types, **params):
        return frozenset((IOEffect(),))

    def eval(self, x, *, prevent_mlir_dce):
        return []

    def jvp(self, primals, tangents, **params):
        return self.bind(*primals, **params), []

    def batch(self, args, dims, **params):
        return self.bind(*args, **params), []

    def lower(self, into, x, *, prevent_mlir_dce):
        return []


stage_p, sharding_constraint_p, device_put_p = Stage(), ShardingConstraint(), DevicePut()
reshard_p = Reshard()
create_token_p, after_all_p, dce_sink_p = CreateToken(), AfterAll(), DceSink()


def stage(x, /):
    """``x`` as an array; while a function is traced, as a traced value.

    >>> lax.stage(3.5)
    Array(3.5, dtype=float32, weak_type=True)
    """
    return stage_p.bind(as_array(x))


def create_token(_=None):
    """A token: a value without data, which functions take and return to state their order.

    Compiled code keeps effects in program order, with or without tokens.

    >>> lax.create_token().shape
    (0,)
    """
    return create_token_p.bind()


def after_all(*operands):
    """A token that comes after the tokens ``operands``.

    >>> lax.after_all(lax.create_token(), lax.create_token()).shape
    (0,)
    """
    return after_all_p.bind(*operands)


def dce_sink(val, *, prevent_mlir_dce: bool = False):
    """Mark all leaves of a pytree as used, so that their equations stay in the jaxpr.

    >>> print(tanx.make_jaxpr(lambda x: lax.dce_sink(x + 1))(1.0))
    { lambda ; a:f32[]. let
        b:f32[] = add a 1.0:f32[]
        dce_sink[prevent_mlir_dce=False] b
      in () }
    """
    for leaf in tree_leaves(val):
        dce_sink_p.bind(leaf, prevent_mlir_dce=prevent_mlir_dce)


def with_sharding_constraint(x, shardings):
    """``x``, a pytree of arrays, with the given shardings.

    ``shardings`` is a sharding, a ``PartitionSpec`` for the mesh in scope, or a pytree of them
    that is a prefix of ``x``. Its axes are Auto; use ``tanx.reshard`` for Explicit axes.
    If all axes of the mesh in scope are Explicit, a ``PartitionSpec`` is an assertion about arrays
    whose sharding is known. On one device there is one layout, so data is unchanged; inside ``jit``
    the jaxpr records the request.

    >>> place = tanx.sharding.SingleDeviceSharding(tanx.devices()[0])
    >>> lax.with_sharding_constraint(jnp.array([1, 2]), place)
    Array([1, 2], dtype=int32)
    """
    leaves, tree = tree_flatten(x)
    targets = broadcast_prefix(shardings, x, is_leaf=lambda s: s is None)
    return tree_unflatten(tree, [
        _constrained(leaf, target) for leaf, target in zip(leaves, targets, strict=True)])


def _constrained(x, target):
    name = "tanx.lax.with_sharding_constraint"
    mesh = get_abstract_mesh()
    if isinstance(target, PartitionSpec) and not mesh.empty:
        if set(mesh.axis_types) == {AxisType.Explicit}:
            return _asserted(name, x, NamedSharding(mesh, target))
        if concrete_mesh().empty:
            target = NamedSharding(mesh, target)
    target = named(target, name)
    if not isinstance(target, Sharding):
        raise TypeError(explain(
            name, "needs a sharding for each leaf.",
            f"leaf: {typeof(x)}", f"sharding: {target!r:.100}",
            hint="tanx.sharding.SingleDeviceSharding(tanx.devices()[0]) is one."))
    free: frozenset[int] = frozenset()
    if isinstance(target, NamedSharding):
        refuse_types(name, target, AxisType.Explicit, AxisType.Manual,
                     hint="tanx.reshard lays out values along Explicit axes.")
        free = frozenset(k for k, entry in enumerate(target.spec)
                         if entry is PartitionSpec.UNCONSTRAINED)
    shape = typeof(x).shape
    target.check_compatible_aval(shape)
    target.shard_shape(shape)
    Committed.seen = True  # also while staging: the results are on the mesh
    given = as_array(x)
    out = sharding_constraint_p.bind(given, context_mesh=concrete_mesh(), layout=None,
                                     sharding=target, unconstrained_dims=free)
    if type(out) is not Array:
        return out
    if isinstance(target, NamedSharding) and isinstance(target.mesh, AbstractMesh):
        target = NamedSharding(_mesh_behind(name, given, target.mesh), target.spec)
    return laid_out(out, target)


def _mesh_behind(name: str, x: Any, mesh: AbstractMesh) -> Mesh:
    """The devices for an abstract mesh: those of the array, else those of the mesh in scope."""
    held, scope = x.sharding, concrete_mesh()
    if isinstance(held, NamedSharding):
        return held.mesh
    if scope.empty or scope.shape != mesh.shape:
        raise TypeError(explain(
            name, "a sharding over an abstract mesh needs an array on a mesh.",
            f"array: {x.aval}, {held}", f"mesh:  {mesh}",
            hint="put the array on a mesh by tanx.device_put, or set one by tanx.set_mesh."))
    return scope


def _asserted(name: str, x, target: NamedSharding):
    """``x``; raises if its type has another sharding over Explicit axes than ``target``."""
    array: Any = as_array(x)
    aval = typeof(array)
    target.check_compatible_aval(aval.shape)
    stated = (aval.placement and aval.placement.sharding) if (
        isinstance(array, Tracer)) else array.sharding
    if isinstance(stated, NamedSharding) and (
            _padded(stated.spec, aval.ndim) != _padded(target.spec, aval.ndim)):
        raise AssertionError(explain(
            name, "is an assertion if all axes of the mesh are Explicit, and the array has "
            "another sharding.", f"array:    {stated.spec}", f"expected: {target.spec}",
            hint="tanx.reshard(x, spec) gives it the sharding."))
    return array


def _padded(spec: PartitionSpec, ndim: int) -> tuple:
    return (*spec, *[None] * (ndim - len(spec)))


def laid_out(x: Array, sharding: Sharding) -> Array:
    """The same data, with a sharding over one device."""
    place = place_of(sharding)
    aval = explicit.laid_out(x.aval, place)
    if x._device == place and x.aval is aval:
        return x
    return x._shared(aval, place)


def beside(x, other):
    """``x`` placed like another array of the same rank, if the user placed that."""
    if not Committed.seen or type(x) is not Array or type(other) is not Array or (
            other._device is None or x.ndim != other.ndim):
        return x
    return x._shared(explicit.laid_out(x.aval, other._device), other._device)


def place_of(sharding: Sharding):
    """What an array records of a sharding: only the device, if it has just one."""
    devices = sharding.device_set
    if len(devices) > 1:
        raise NotImplementedError(explain(
            "tanx.Array", "arrays over several devices are not supported yet.",
            f"sharding: {sharding}"))
    (device,) = devices
    Committed.seen = True
    if isinstance(sharding, NamedSharding):
        return on_mesh(sharding.mesh, sharding.spec, sharding.memory_kind)
    return device if sharding == SingleDeviceSharding(device) else sharding
