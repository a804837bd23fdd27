"""Collectives for parts of unequal size, futures of collectives, and types of values under maps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._core.axes import axis_size_of
from .._core.linear import is_linear, linear, linear_in
from .._core.mesh import get_abstract_mesh
from .._core.types import typeof
from ..errors import explain
from ..tree_util import tree_map
from .arith import add, sub
from .base import broadcast_in_dim, materialize, reduce_sum, reshape
from .bits import bitwise_and
from .collective import Collective, all_gather, all_to_all, one_name, psum_p, psum_scatter
from .compare import clamp, ge, lt, select
from .convert import convert
from .create import iota
from .derive import add_any, zeros_of
from .gather_scatter import index_take
from .operands import letter, like
from .slicing import index_in_dim

__all__ = ["pcast", "psum_scatter_start", "ragged_all_to_all", "ragged_all_to_all_p"]

_INDEX = np.dtype(np.int32)


class RaggedAllToAll(Collective):
    """Sends slices of rows, of different sizes, between the positions of a named axis."""

    name = "ragged_all_to_all"

    def infer(self, operand, output, *integers, axis_name, axis_index_groups):
        names = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")
        size = axis_size_of(axis_name[0], "tanx.lax.ragged_all_to_all")
        facts = [f"operand: {operand}", f"output: {output}",
                 *(f"{name}: {x}" for name, x in zip(names, integers)), f"axis size: {size}"]
        if any(letter(x.dtype) not in "iu" or x.ndim != 1 or x.shape != integers[0].shape
               for x in integers) or integers[0].shape[0] % size:
            raise ValueError(explain(
                "tanx.lax.ragged_all_to_all",
                "offsets and sizes must be integers, one for each position of the axis.", *facts))
        if operand.dtype != output.dtype or not operand.ndim or (
                operand.shape[1:] != output.shape[1:]):
            raise ValueError(explain(
                "tanx.lax.ragged_all_to_all", "rows of operand and output must have one type.",
                *facts))
        return output.update(weak_type=False)

    def eval(self, *args, **params):
        self.unbound(params)

    jvp = linear_in(0, 1)

    def transpose(self, ct, operand, output, starts, sizes, firsts, received, *, axis_name,
                  axis_index_groups):
        """A slice that was sent gets the cotangent of its copy; overlapping slices get the sum."""
        to_operand = to_output = None
        count = typeof(starts).shape[0]
        if is_linear(operand):
            arrived = all_gather(ct, axis_name)
            each = count // typeof(arrived).shape[0]
            to_operand = zeros_of(operand.aval)
            for c in range(count):
                start, size, first = (_number(x, c) for x in (starts, sizes, firsts))
                back = _copied(zeros_of(operand.aval), index_in_dim(
                    arrived, c // each, keepdims=False), first, size, start)
                to_operand = add_any(to_operand, back)
        if is_linear(output):
            firsts = all_to_all(firsts, axis_name[0], 0, 0, tiled=True)
            to_output = ct
            for c in range(count):
                nothing = zeros_of(typeof(ct))
                first, size = _number(firsts, c), _number(received, c)
                to_output = _copied(to_output, nothing, first, size, first)
        return [to_operand, to_output, None, None, None, None]

    def batch_axis(self, axis, args, dims, *, axis_name, axis_index_groups):
        if axis.name not in axis_name:
            raise NotImplementedError(explain(
                "tanx.lax.ragged_all_to_all", "cannot be mapped over an axis besides its own.",
                f"its axis:    {axis_name}", f"mapped axis: {axis.name}",
                hint="map over the other axis further out."))
        operand, out, *integers, _ = (materialize(x, d, axis.size) for x, d in zip(args, dims))
        each = typeof(integers[0]).shape[1] // axis.size
        for sender, part in np.ndindex(axis.size, each):
            # The offsets and sizes that this sender passes to all receivers, one slice for each.
            start, size, first = (
                index_in_dim(reshape(index_in_dim(x, sender, keepdims=False), (axis.size, each)),
                             part, 1, keepdims=False) for x in integers)
            out = _copied(out, index_in_dim(operand, sender, keepdims=False), start, size, first)
        return out, 0


def _number(x, position: int):
    return index_in_dim(x, position, keepdims=False)


def _copied(target, source, start, size, first):
    """``target`` with ``size`` rows from ``first`` on replaced by rows of ``source`` at ``start``.

    ``target`` may have a leading dimension; then the three numbers have it as well.
    """
    shape, lead = typeof(target).shape, range(typeof(start).ndim)
    rows, width = typeof(source).shape[0], shape[len(lead)]
    if not rows or not width:
        return target
    whole = shape[:len(lead) + 1]
    start, size, first = (broadcast_in_dim(convert(x, _INDEX), whole, lead)
                          for x in (start, size, first))
    offset = sub(broadcast_in_dim(iota(_INDEX, width), whole, (len(lead),)), first)
    inside = bitwise_and(ge(offset, like(offset, 0)), lt(offset, size))
    place = clamp(like(start, 0), add(offset, start), like(start, rows - 1))
    taken = index_take(source, (reshape(place, (np.prod(whole, dtype=int),)),), (0,))
    inside = broadcast_in_dim(inside, shape, range(len(whole)))
    return select(inside, reshape(taken, shape), target)


ragged_all_to_all_p = RaggedAllToAll()


def ragged_all_to_all(operand, output, input_offsets, send_sizes, output_offsets, recv_sizes, *,
                      axis_name, axis_index_groups=None):
    """Send slices of rows of ``operand``, of different sizes, along a named axis.

    From row ``input_offsets[j]`` on, ``send_sizes[j]`` rows go to position ``j``, where the result
    has them from row ``output_offsets[j]`` on; its other rows are those of ``output``.
    ``recv_sizes[j]`` rows come from position ``j``.

    >>> send = lambda x, y, *rest: lax.ragged_all_to_all(x, y, *rest, axis_name="i")
    >>> starts, sizes = jnp.array([[0, 1], [0, 2]]), jnp.array([[1, 2], [2, 1]])
    >>> tanx.vmap(send, axis_name="i")(
    ...     jnp.array([[1, 2, 3], [4, 5, 6]]), jnp.zeros((2, 4), int), starts, sizes,
    ...     jnp.array([[0, 0], [1, 2]]), jnp.array([[1, 2], [2, 1]]))
    Array([[1, 4, 5, 0],
           [2, 3, 6, 0]], dtype=int32)
    """
    name = one_name("tanx.lax.ragged_all_to_all", axis_name, axis_index_groups)
    operands = (operand, output, input_offsets, send_sizes, output_offsets, recv_sizes)
    params = dict(axis_name=(name,), axis_index_groups=None)
    ragged_all_to_all_p.infer(*map(typeof, operands), **params)
    return ragged_all_to_all_p.bind(*operands, **params)


class Future:
    """The future result of a collective that was started; :meth:`done` returns it."""

    __slots__ = ("_result",)

    def __init__(self, result):
        self._result = result

    def done(self):
        """The result."""
        return self._result


def psum_scatter_start(*args, **kwargs):
    """Start :func:`psum_scatter`; ``.done()`` of the returned object is the result.

    The compiler orders work by dependencies, so this has no effect on one device.

    >>> f = lambda x: lax.psum_scatter_start(x, "i").done()
    >>> tanx.vmap(f, axis_name="i")(jnp.array([[1, 2], [3, 4]]))
    Array([4, 6], dtype=int32)
    """
    return Future(psum_scatter(*args, **kwargs))


class PVary(Collective):
    """A value that is the same along manual axes, as one that varies along them."""

    name = "pvary"

    def infer(self, x, *, axes):
        for name in axes:
            axis_size_of(name, "tanx.lax.pcast")
        return x

    def eval(self, x, **params):
        self.unbound(params)

    jvp = linear

    def transpose(self, ct, x, *, axes):
        return [psum_p.bind(ct, axes=axes, axis_index_groups=None)]

    def batch_axis(self, axis, args, dims, *, axes):
        (x,), (d,) = args, dims
        rest = tuple(name for name in axes if name != axis.name)
        if d is None and len(rest) < len(axes):
            x, d = materialize(x, None, axis.size), 0
        return (self.bind(x, axes=rest) if rest else x), d


class Differentiated(Collective):
    """A value with respect to which code inside of ``shard_map`` is differentiated.

    The second operand is the same value, as it was before. Along axes where it does not vary, all
    positions use one value, whose cotangent is the sum of theirs.
    """

    name = "differentiated"

    def varying(self, axes, params):
        return axes[0]

    def infer(self, x, origin, *, axes):
        return x

    def eval(self, x, origin, **params):
        self.unbound(params)

    jvp = linear_in(0)

    def transpose(self, ct, x, origin, *, axes):
        return [summed_cotangent_p.bind(ct, origin, axes=axes), None]

    def batch_axis(self, axis, args, dims, *, axes):
        (x, origin), (d, _) = args, dims
        rest = tuple(name for name in axes if name != axis.name)
        return (self.bind(x, origin, axes=rest) if rest else x), d


class SummedCotangent(Collective):
    """A cotangent, summed over the axes along which it varies but ``origin`` does not."""

    name = "summed_cotangent"

    def varying(self, axes, params):
        return (axes[0] - set(params["axes"])) | (axes[0] & axes[1])

    def infer(self, ct, origin, *, axes):
        return ct

    def eval(self, ct, origin, **params):
        self.unbound(params)

    jvp = linear_in(0)

    def transpose(self, ct, x, origin, *, axes):
        return [ct, None]

    def batch_axis(self, axis, args, dims, *, axes):
        (ct, origin), (d, place) = args, dims
        rest = tuple(name for name in axes if name != axis.name)
        if len(rest) < len(axes) and d is not None and place is None:
            ct, d = reduce_sum(ct, (d,)), None
        return (self.bind(ct, origin, axes=rest) if rest else ct), d


pvary_p, differentiated_p, summed_cotangent_p = PVary(), Differentiated(), SummedCotangent()


def differentiated(flat: Callable) -> Callable:
    """``flat``, as a function that is differentiated here, by each of its arguments.

    In ``shard_map``, the derivative by a value that is the same on all devices is the same there,
    too: the sum of the derivatives of what each device computes.
    """
    axes = get_abstract_mesh().manual_axes
    if not axes:
        return flat
    return lambda *xs: flat(*(
        x if typeof(x).is_high else differentiated_p.bind(x, x, axes=axes) for x in xs))


def pcast(x, axis_name, *, to: str):
    """``x``, a pytree, with another type along a named axis: ``to="varying"``.

    In ``shard_map``, the result varies along the axis. Under ``vmap`` any value may, so ``x`` is
    unchanged.

    >>> tanx.vmap(lambda x: lax.pcast(x, "i", to="varying"), axis_name="i")(jnp.arange(2))
    Array([0, 1], dtype=int32)
    """
    if to not in ("varying", "reduced", "unreduced"):
        raise ValueError(explain(
            "tanx.lax.pcast", "to is 'varying', 'reduced' or 'unreduced'.", f"to: {to!r}"))
    if to != "varying":
        raise NotImplementedError(explain(
            "tanx.lax.pcast", "values under vmap are never partly summed.", f"to: {to!r}",
            hint="tanx.lax.psum sums along a named axis."))
    names = tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)
    for name in names:
        axis_size_of(name, "tanx.lax.pcast")
    manual = tuple(name for name in names if name in get_abstract_mesh().manual_axes)
    return tree_map(lambda leaf: pvary_p.bind(leaf, axes=manual) if manual else leaf, x)
