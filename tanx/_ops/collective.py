"""Collectives: operations along the named axes of surrounding maps.

``vmap`` turns them into ordinary operations along its batch axis. In jaxprs of bodies that are not
mapped yet they appear with the names; running such a body needs the axis to be in scope.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import dtypes
from .._base.axes import canonical_axis
from .._core.axes import axis_size_of
from .._core.effects import NamedAxisEffect
from .._core.linear import linear, never
from .._core.primitive import Kind, Primitive
from .._core.trace import context
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from ..tree_util import tree_map
from .arith import add, div, mul
from .base import broadcast_in_dim, materialize, move_axis, reduce_sum, reduced_shape, reshape
from .compare import eq
from .convert import convert
from .create import iota
from .dynamic import dynamic_index_in_dim
from .extremes import Extreme, maximum, minimum
from .gather_scatter import index_take
from .operands import ANY, NUMBER, letter, like
from .slicing import index_in_dim

__all__ = ["all_gather", "all_gather_p", "all_to_all", "all_to_all_p", "axis_index",
           "axis_index_p", "axis_size", "pbroadcast", "pmax", "pmax_p", "pmean", "pmin", "pmin_p",
           "ppermute", "ppermute_p", "pshuffle", "psum", "psum_p", "psum_scatter", "pswapaxes"]


def names_in(axes) -> tuple:
    """The named axes among ``axes``: a name, a position, or a tuple of both."""
    axes = axes if isinstance(axes, tuple | list) else (axes,)
    return tuple(a for a in axes if not isinstance(a, int))


class Collective(Primitive):
    """Base of collectives; its rules say which axes are involved."""

    kind = Kind.CALL

    def named_axes(self, params) -> tuple:
        """Names of the axes that a use of this primitive involves."""
        return names_in(params.get("axes", params.get("axis_name", ())))

    def varying(self, axes, params):
        return frozenset(self.named_axes(params)).union(*axes)

    def effects(self, *types, **params):
        return frozenset(map(NamedAxisEffect, self.named_axes(params)))

    batch = never("collectives are batched by batch_axis, which gets the mapped axis")
    lower = never("only a map gives a named axis a meaning; it rewrites the operation")

    def unbound(self, params):
        """The error for a use outside of any map: the axis does not exist."""
        for name in self.named_axes(params):
            axis_size_of(name, f"tanx.lax.{self.name}")
        raise NotImplementedError(explain(
            f"tanx.lax.{self.name}", "a named axis was not mapped by vmap.",
            f"axes: {self.named_axes(params)}"))


def check_groups(function: str, groups) -> None:
    if groups is not None:
        raise NotImplementedError(explain(
            function, "axis_index_groups is not supported under vmap.",
            hint="use two nested vmaps, one for the groups."))


class AllReduce(Collective):
    """Combines the values of all positions of named axes, and along axes given by number."""

    kind = Kind.REDUCTION
    accepts: frozenset[str] = ANY
    combine: str
    ufunc: np.ufunc | Extreme
    repeated: Callable  # the reduction of n equal elements

    def infer(self, x, *, axes, axis_index_groups):
        if letter(x.dtype) not in self.accepts:
            raise TypeError(explain(f"tanx.lax.{self.name}", "needs numbers.", f"operand: {x}"))
        for name in names_in(axes):
            axis_size_of(name, f"tanx.lax.{self.name}")
        gone = tuple(a for a in axes if isinstance(a, int))
        return ShapedArray(reduced_shape(self.name, x, gone), x.dtype, x.weak_type)

    def varying(self, axes, params):
        return frozenset().union(*axes) - set(self.named_axes(params))

    def eval(self, x, *, axes, axis_index_groups):
        if names_in(axes):
            self.unbound(dict(axes=axes))
        return self.ufunc.reduce(x, axis=axes, dtype=x.dtype)

    def batch_axis(self, axis, args, dims, *, axes, axis_index_groups):
        (x,), (d,) = args, dims
        named = axis.name is not None and axis.name in axes
        rest = tuple(a for a in axes if not (named and a == axis.name))
        if d is None:
            out = self.repeated(x, axis.size) if named else x
            return (self.reduce(out, rest) if rest else out), None
        rest = tuple(a + (a >= d) if isinstance(a, int) else a for a in rest)
        if named:
            return self.reduce(x, (*rest, d)), None
        return self.reduce(x, rest), d - sum(isinstance(a, int) and a < d for a in rest)

    def reduce(self, x, axes):
        return self.bind(x, axes=axes, axis_index_groups=None)

    def lower(self, at, x, *, axes, axis_index_groups):
        order = [d for d in range(x.ndim) if d not in axes]

        def element(k):
            index = dict(zip(axes, k)) | dict(zip(order, at))
            return x[[index[d] for d in range(x.ndim)]]
        return build.reduce(self.combine, [x.shape[d] for d in axes], element)


class PSum(AllReduce):
    """The sum over named axes."""

    name = "psum"
    accepts = NUMBER
    combine = "add"
    ufunc = np.add
    jvp = linear

    def repeated(self, x, size):
        return x if size == 1 else mul(like(x, size), x)

    def transpose(self, ct, x, *, axes, axis_index_groups):
        names = names_in(axes)
        if names:
            ct = self.bind(ct, axes=names, axis_index_groups=axis_index_groups)
        kept = [d for d in range(x.ndim) if d not in axes]
        return [broadcast_in_dim(ct, x.shape, kept)]


class _Extremum(AllReduce):
    transpose = never("a maximum is not linear")

    def repeated(self, x, size):
        return x

    def jvp(self, primals, tangents, *, axes, axis_index_groups):
        """Tied extrema share the tangent equally, as along axes of arrays."""
        (x,), (t,) = primals, tangents
        out = self.bind(x, axes=axes, axis_index_groups=axis_index_groups)
        aval = typeof(x)
        kept = [d for d in range(aval.ndim) if d not in axes]
        hit = convert(eq(x, broadcast_in_dim(out, aval.shape, kept)), aval.dtype)
        total = psum_p.bind(mul(t, hit), axes=axes, axis_index_groups=axis_index_groups)
        count = psum_p.bind(hit, axes=axes, axis_index_groups=axis_index_groups)
        return out, div(total, count)


class PMax(_Extremum):
    """The maximum over named axes."""

    name = "pmax"
    combine = "max"
    ufunc = maximum


class PMin(_Extremum):
    """The minimum over named axes."""

    name = "pmin"
    combine = "min"
    ufunc = minimum


psum_p, pmax_p, pmin_p = PSum(), PMax(), PMin()


class AxisIndex(Collective):
    """The position along a named axis."""

    name = "axis_index"

    def infer(self, *, axis_name):
        axis_size_of(axis_name, "tanx.lax.axis_index")
        return ShapedArray((), np.dtype(np.int32))

    def eval(self, *, axis_name):
        self.unbound(dict(axis_name=axis_name))

    jvp = never("an index is an integer")
    transpose = never("an index has no operand")

    def batch_axis(self, axis, args, dims, *, axis_name):
        return iota(np.int32, axis.size), 0


class AllGather(Collective):
    """Values of all positions of a named axis, along a new axis or (tiled) one after another."""

    name = "all_gather"

    def infer(self, x, *, all_gather_dimension, axis_name, axis_index_groups, axis_size, tiled):
        shape = list(x.shape)
        if not 0 <= all_gather_dimension < x.ndim + (not tiled):
            raise ValueError(explain(
                "tanx.lax.all_gather", "axis must be a dimension of the result.",
                f"operand: {x}", f"axis:    {all_gather_dimension}", f"tiled:   {tiled}"))
        if tiled:
            shape[all_gather_dimension] *= axis_size
        else:
            shape.insert(all_gather_dimension, axis_size)
        return ShapedArray(tuple(shape), x.dtype, x.weak_type)

    def eval(self, x, **params):
        self.unbound(params)

    jvp = linear

    def transpose(self, ct, x, *, all_gather_dimension, axis_name, axis_index_groups, axis_size,
                  tiled):
        return [reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension,
                                      axis_name=axis_name, axis_index_groups=axis_index_groups,
                                      axis_size=axis_size, tiled=tiled)]

    def batch_axis(self, axis, args, dims, *, all_gather_dimension, axis_name, tiled, **params):
        (x,), (d,) = args, dims
        place = all_gather_dimension
        if axis.name not in axis_name:
            x = move_axis(x, d, 0)
            return self.bind(x, all_gather_dimension=place + 1, axis_name=axis_name, tiled=tiled,
                             **params), 0
        out = materialize(x, d, axis.size, place)
        return (_merge(out, place) if tiled else out), None


class ReduceScatter(Collective):
    """The sum over a named axis; each position keeps its own part."""

    name = "reduce_scatter"

    def infer(self, x, *, scatter_dimension, axis_name, axis_index_groups, axis_size, tiled):
        shape = list(x.shape)
        size = shape[scatter_dimension] if scatter_dimension < x.ndim else 0
        if (size % axis_size if tiled else size != axis_size) or not size:
            raise ValueError(explain(
                "tanx.lax.psum_scatter",
                "the scattered dimension must " + ("be a multiple of" if tiled else "equal")
                + " the size of the named axis.", f"operand:   {x}",
                f"dimension: {scatter_dimension}", f"axis size: {axis_size}"))
        if tiled:
            shape[scatter_dimension] //= axis_size
        else:
            del shape[scatter_dimension]
        return ShapedArray(tuple(shape), x.dtype, x.weak_type)

    def eval(self, x, **params):
        self.unbound(params)

    jvp = linear

    def transpose(self, ct, x, *, scatter_dimension, axis_name, axis_index_groups, axis_size,
                  tiled):
        return [all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, axis_name=axis_name,
                                  axis_index_groups=axis_index_groups, axis_size=axis_size,
                                  tiled=tiled)]

    def batch_axis(self, axis, args, dims, *, scatter_dimension, axis_name, tiled, **params):
        (x,), (d,) = args, dims
        place = scatter_dimension
        if axis.name not in axis_name:
            x = move_axis(x, d, 0)
            return self.bind(x, scatter_dimension=place + 1, axis_name=axis_name, tiled=tiled,
                             **params), 0
        total = mul(like(x, axis.size), x) if d is None else reduce_sum(x, (d,))
        return (_cut(total, place, axis.size) if tiled else total), place


class PPermute(Collective):
    """Sends values between positions of a named axis; positions that receive nothing get zeros."""

    name = "ppermute"

    def infer(self, x, *, axis_name, perm):
        return x

    def eval(self, x, **params):
        self.unbound(params)

    jvp = linear

    def transpose(self, ct, x, *, axis_name, perm):
        return [ppermute(ct, axis_name, [(b, a) for a, b in perm])]

    def batch_axis(self, axis, args, dims, *, axis_name, perm):
        (x,), (d,) = args, dims
        if axis.name not in axis_name:
            return self.bind(x, axis_name=axis_name, perm=perm), d
        x = materialize(x, d, axis.size)
        source = np.full(axis.size, -1, np.int32)
        for a, b in perm:
            source[b] = a
        out = index_take(x, (np.maximum(source, 0),), (0,))
        if (source < 0).any():
            got = np.asarray(source >= 0, typeof(x).dtype)
            out = mul(out, broadcast_in_dim(got, (axis.size, *[1] * (typeof(x).ndim - 1)), (0,)))
        return out, 0


class AllToAll(Collective):
    """Splits along one axis, sends the parts to the positions, and joins the received parts."""

    name = "all_to_all"

    def infer(self, x, *, axis_name, split_axis, concat_axis, axis_index_groups, tiled):
        size = axis_size_of(axis_name, "tanx.lax.all_to_all")
        return exchanged(x, size, split_axis, concat_axis, tiled)

    def eval(self, x, **params):
        self.unbound(params)

    jvp = linear

    def transpose(self, ct, x, *, axis_name, split_axis, concat_axis, axis_index_groups, tiled):
        return [self.bind(ct, axis_name=axis_name, split_axis=concat_axis, concat_axis=split_axis,
                          axis_index_groups=axis_index_groups, tiled=tiled)]

    def batch_axis(self, axis, args, dims, *, axis_name, split_axis, concat_axis,
                   axis_index_groups, tiled):
        (x,), (d,) = args, dims
        if axis.name != axis_name:
            x = move_axis(x, d, 0)
            return self.bind(x, axis_name=axis_name, split_axis=split_axis + 1,
                             concat_axis=concat_axis + 1, axis_index_groups=axis_index_groups,
                             tiled=tiled), 0
        x = materialize(x, d, axis.size)  # [sender, ...]
        if tiled:
            x = _cut(x, split_axis + 1, axis.size)
        x = move_axis(x, split_axis + 1, 0)  # [receiver, sender, ...]
        x = move_axis(x, 1, concat_axis + 1)
        return (_merge(x, concat_axis + 1) if tiled else x), 0


def exchanged(x: ShapedArray, size: int, split_axis: int, concat_axis: int, tiled: bool):
    """The type of ``x`` after an exchange of parts between ``size`` positions."""
    shape = list(x.shape)
    if (shape[split_axis] % size if tiled else shape[split_axis] != size):
        raise ValueError(explain(
            "tanx.lax.all_to_all",
            "the split dimension must " + ("be a multiple of" if tiled else "equal")
            + " the size of the named axis.", f"operand:    {x}",
            f"split_axis: {split_axis}", f"axis size:  {size}"))
    if tiled:
        shape[split_axis] //= size
        shape[concat_axis] *= size
    else:
        del shape[split_axis]
        shape.insert(concat_axis, size)
    return ShapedArray(tuple(shape), x.dtype, x.weak_type)


class PBroadcast(Collective):
    """The value of one position of a named axis, at all of them."""

    name = "pbroadcast"

    def varying(self, axes, params):
        return frozenset().union(*axes) - set(self.named_axes(params))

    def infer(self, x, *, axis_name, source):
        axis_size_of(axis_name, "tanx.lax.pbroadcast")
        return x

    def eval(self, x, **params):
        self.unbound(params)

    jvp = linear

    def transpose(self, ct, x, *, axis_name, source):
        total = psum(ct, axis_name)
        mine = convert(eq(axis_index(axis_name), np.int32(source)), ct.dtype)
        return [mul(total, mine)]

    def batch_axis(self, axis, args, dims, *, axis_name, source):
        (x,), (d,) = args, dims
        if axis.name != axis_name:
            return self.bind(x, axis_name=axis_name, source=source), d
        return (x if d is None else index_in_dim(x, source, d, keepdims=False)), None


axis_index_p, all_gather_p, reduce_scatter_p = AxisIndex(), AllGather(), ReduceScatter()
ppermute_p, all_to_all_p, pbroadcast_p = PPermute(), AllToAll(), PBroadcast()


def _merge(x, place: int):
    """Merge the dimensions at ``place`` and after it."""
    shape = typeof(x).shape
    return reshape(x, (*shape[:place], shape[place] * shape[place + 1], *shape[place + 2:]))


def _cut(x, place: int, size: int):
    """Split the dimension at ``place`` in two, the first of the given size."""
    shape = typeof(x).shape
    return reshape(x, (*shape[:place], size, shape[place] // size, *shape[place + 1:]))


def _names(axis_name) -> tuple:
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


def axis_size(axis_name) -> int:
    """The size of a named axis, or the product of several, as a Python int.

    >>> tanx.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(jnp.ones(4))
    Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    return _size(_names(axis_name), "tanx.lax.axis_size")


def _size(axes: tuple, function: str) -> int:
    """The product of the sizes of the named axes among ``axes``."""
    return math.prod(axis_size_of(name, function) for name in names_in(axes))


def axis_index(axis_name):
    """The position along a named axis; along several, counted row by row.

    >>> tanx.vmap(lambda x: lax.axis_index("i"), axis_name="i")(jnp.zeros(3))
    Array([0, 1, 2], dtype=int32)
    """
    if not isinstance(axis_name, tuple | list):
        return axis_index_p.bind(axis_name=axis_name)
    index = context.trace.literal(np.zeros((), np.int32), ShapedArray((), np.int32))
    stride = 1
    for name in reversed(axis_name):
        index = add(index, mul(axis_index(name), np.int32(stride)))
        stride *= axis_size(name)
    return index


def _all_reduce(primitive: AllReduce, x, axis_name, axis_index_groups):
    function = f"tanx.lax.{primitive.name}"
    check_groups(function, axis_index_groups)
    axes = _names(axis_name)
    size = _size(axes, function)

    def one(leaf):
        if dtypes.is_python_scalar(leaf):
            return leaf * size if primitive is psum_p else leaf
        if primitive is psum_p and typeof(leaf).dtype == np.bool_:
            leaf = convert(leaf, dtypes.canonicalize_dtype(np.int64))
        ndim = typeof(leaf).ndim
        wrapped = tuple(a + ndim if isinstance(a, int) and a < 0 else a for a in axes)
        return _bind(primitive, leaf, axes=wrapped, axis_index_groups=None)
    return tree_map(one, x)


def psum(x, axis_name, *, axis_index_groups=None):
    """The sum over a named axis (or several), of each leaf of a pytree.

    >>> tanx.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    return _all_reduce(psum_p, x, axis_name, axis_index_groups)


def pmean(x, axis_name, *, axis_index_groups=None):
    """The mean over a named axis (or several), of each leaf of a pytree.

    >>> tanx.vmap(lambda x: lax.pmean(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([2., 2.], dtype=float32)
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    count = _size(_names(axis_name), "tanx.lax.pmean")

    def mean(leaf):
        if dtypes.is_python_scalar(leaf):
            return leaf / count
        if not dtypes.issubdtype(typeof(leaf).dtype, np.inexact):
            leaf = convert(leaf, dtypes.to_inexact_dtype(typeof(leaf).dtype))
        return div(leaf, like(leaf, count))
    return tree_map(mean, total)


def pmax(x, axis_name, *, axis_index_groups=None):
    """The maximum over a named axis (or several), of each leaf of a pytree.

    >>> tanx.vmap(lambda x: lax.pmax(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([3., 3.], dtype=float32)
    """
    return _all_reduce(pmax_p, x, axis_name, axis_index_groups)


def pmin(x, axis_name, *, axis_index_groups=None):
    """The minimum over a named axis (or several), of each leaf of a pytree.

    >>> tanx.vmap(lambda x: lax.pmin(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([1., 1.], dtype=float32)
    """
    return _all_reduce(pmin_p, x, axis_name, axis_index_groups)


def _bind(primitive: Collective, x, **params):
    """Apply a collective, after checks that ``vmap`` does not make."""
    primitive.infer(typeof(x), **params)
    return primitive.bind(x, **params)


def all_gather(x, axis_name, *, axis_index_groups=None, axis=0, tiled=False, to="varying"):
    """Values of all positions of a named axis, stacked along ``axis``; joined there if ``tiled``.

    ``to`` concerns types of values in ``shard_map``.

    >>> tanx.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(jnp.array([1, 2]))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    check_groups("tanx.lax.all_gather", axis_index_groups)
    names = _names(axis_name)
    sizes = [axis_size_of(name, "tanx.lax.all_gather") for name in names]

    def one(leaf):
        rank = typeof(leaf).ndim + (not tiled)
        place = axis + rank if axis < 0 else axis
        # The first name is the slowest.
        for k, (name, size) in enumerate(zip(reversed(names), reversed(sizes))):
            leaf = _bind(all_gather_p, leaf, all_gather_dimension=place, axis_name=(name,),
                         axis_index_groups=None, axis_size=size, tiled=tiled)
            leaf = _merge(leaf, place) if k and not tiled else leaf
        return leaf
    return tree_map(one, x)


def psum_scatter(x, axis_name, *, scatter_dimension=0, axis_index_groups=None, tiled=False):
    """The sum over a named axis; each position keeps its slice along ``scatter_dimension``.

    >>> tanx.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(jnp.array([[1, 2], [3, 4]]))
    Array([4, 6], dtype=int32)
    """
    name = one_name("tanx.lax.psum_scatter", axis_name, axis_index_groups)
    size = axis_size_of(name, "tanx.lax.psum_scatter")
    return tree_map(lambda leaf: _bind(
        reduce_scatter_p, leaf, scatter_dimension=scatter_dimension % max(typeof(leaf).ndim, 1),
        axis_name=(name,), axis_index_groups=None, axis_size=size, tiled=tiled), x)


def ppermute(x, axis_name, perm):
    """Send values along a named axis: ``perm`` holds pairs (from, to); the rest get zeros.

    >>> shift = lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)])
    >>> tanx.vmap(shift, axis_name="i")(jnp.array([1, 2, 3]))
    Array([3, 1, 2], dtype=int32)
    """
    name = one_name("tanx.lax.ppermute", axis_name)
    perm = tuple((int(a), int(b)) for a, b in perm)
    size = axis_size_of(name, "tanx.lax.ppermute")
    sources, targets = [a for a, _ in perm], [b for _, b in perm]
    if len(set(sources)) < len(perm) or len(set(targets)) < len(perm) or any(
            not 0 <= i < size for i in (*sources, *targets)):
        raise ValueError(explain(
            "tanx.lax.ppermute", "sources and destinations must be distinct positions of the axis.",
            f"perm:      {perm}", f"axis size: {size}"))
    return tree_map(lambda leaf: ppermute_p.bind(leaf, axis_name=(name,), perm=perm), x)


def pshuffle(x, axis_name, perm):
    """Permute values along a named axis: position ``i`` gets the value of ``perm[i]``.

    >>> tanx.vmap(lambda x: lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(jnp.array([1, 2, 3]))
    Array([3, 1, 2], dtype=int32)
    """
    if sorted(perm) != list(range(len(perm))):
        raise ValueError(explain("tanx.lax.pshuffle", "perm must be a permutation.",
                                 f"perm: {perm}"))
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)))))


def all_to_all(x, axis_name, split_axis, concat_axis, *, axis_index_groups=None, tiled=False):
    """Split along ``split_axis``, send part ``i`` to position ``i``, join along ``concat_axis``.

    >>> swap = lambda x: lax.all_to_all(x, "i", 0, 0)
    >>> tanx.vmap(swap, axis_name="i")(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    check_groups("tanx.lax.all_to_all", axis_index_groups)
    names = _names(axis_name)
    size = _size(names, "tanx.lax.all_to_all")

    def one(leaf):
        aval = typeof(leaf)
        split, concat = (canonical_axis("tanx.lax.all_to_all", a, aval)
                         for a in (split_axis, concat_axis))
        exchanged(aval, size, split, concat, tiled)
        if len(names) == 1:
            return all_to_all_p.bind(leaf, axis_name=names[0], split_axis=split,
                                     concat_axis=concat, axis_index_groups=None, tiled=tiled)
        leaf = all_gather(_cut(leaf, split, size) if tiled else leaf, names)
        leaf = dynamic_index_in_dim(leaf, axis_index(names), split + 1, keepdims=False)
        leaf = move_axis(leaf, 0, concat)
        return _merge(leaf, concat) if tiled else leaf
    return tree_map(one, x)


def one_name(function: str, axis_name, axis_index_groups=None):
    """The name of the axis to work along; only one is allowed, and no groups."""
    check_groups(function, axis_index_groups)
    names = _names(axis_name)
    if len(names) != 1:
        raise NotImplementedError(explain(
            function, "takes one named axis.", f"axis_name: {axis_name}",
            hint="merge them: use one vmap over the reshaped array."))
    return names[0]


def pswapaxes(x, axis_name, axis, *, axis_index_groups=None):
    """Swap a named axis with an axis of the operand.

    >>> tanx.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def pbroadcast(x, axis_name, source):
    """The value of position ``source`` of a named axis, at every position.

    >>> tanx.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(jnp.array([5, 7]))
    Array([7, 7], dtype=int32)
    """
    name = one_name("tanx.lax.pbroadcast", axis_name)
    size = axis_size_of(name, "tanx.lax.pbroadcast")
    if not 0 <= source < size:
        raise ValueError(explain("tanx.lax.pbroadcast", "source must be a position of the axis.",
                                 f"source:    {source}", f"axis size: {size}"))
    return tree_map(lambda leaf: pbroadcast_p.bind(leaf, axis_name=name, source=source), x)
