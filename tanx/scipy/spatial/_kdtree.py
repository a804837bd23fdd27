"""Nearest neighbours of points: SciPy's KDTree on immutable arrays."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np

from ... import dtypes, lax, tree_util
from ... import numpy as jnp
from ..._api.batching import vmap
from ..._api.jit import jit, library_jit
from ..._base.traceback import boundary
from ...errors import ConcretizationTypeError, explain
from ...numpy._promotion import Tracer, typeof
from ._search import count_pairs, count_within, find_within, nearest, partner
from ._tree import build, length, levels, power

__all__ = ["KDTree"]

_NAME = "tanx.scipy.spatial.KDTree"


class KDTree:
    """A tree of points in space, which finds the points near a place.

    ``data`` has one point per row; a leaf of the tree has up to ``leafsize`` points. Methods and
    their results are SciPy's. Trees can be built and queried under ``jit`` and ``vmap``, and are
    pytrees; distances have derivatives by places and points. Of points at equal distance, the one
    of lower index comes first. A place with a NaN coordinate has no neighbours.

    >>> tree = tanx.scipy.spatial.KDTree(jnp.array([[0., 0.], [3., 0.], [0., 4.]]))
    >>> distances, indices = tree.query(jnp.array([0., 1.]), k=2)
    >>> distances, indices
    (Array([1., 3.], dtype=float32), Array([0, 2], dtype=int32))
    >>> tree.query_ball_point(jnp.array([0., 1.]), r=3.5)
    [0, 1, 2]
    """

    # 16 points per leaf were the fastest of 8, 16 and 32, by a fifth, for 100,000 points in three
    # dimensions and 8 neighbours (x86-64, AVX-512).
    def __init__(self, data, leafsize: int = 16):
        data = jnp.asarray(data)
        if data.ndim != 2 or data.dtype.kind == "c" or not data.shape[1]:
            raise ValueError(explain(_NAME, "data must have a row of real coordinates per point.",
                                     f"data: {typeof(data)}"))
        if leafsize < 1:
            raise ValueError(explain(_NAME, "leafsize must be at least 1.",
                                     f"leafsize: {leafsize}"))
        data = data.astype(dtypes.to_inexact_dtype(data.dtype))
        if not isinstance(data, Tracer) and not np.isfinite(np.asarray(data)).all():
            raise ValueError(explain(_NAME, "coordinates must be finite numbers."))
        self.data, self.leafsize = data, operator.index(leafsize)
        self._tree = _build(lax.stop_gradient(data), levels(data.shape[0], self.leafsize))

    n = property(lambda self: self.data.shape[0], doc="How many points there are.")
    m = property(lambda self: self.data.shape[1], doc="How many dimensions they have.")
    mins = property(lambda self: self.data.min(0), doc="The least coordinates of all points.")
    maxes = property(lambda self: self.data.max(0), doc="The greatest coordinates of all points.")

    @boundary
    def query(self, x, k: Any = 1, eps=0.0, p: float = 2.0,
              distance_upper_bound=np.inf, workers: int = 1):
        """The distances to the ``k`` nearest points and their indices, nearest first.

        The last dimension of ``x`` holds coordinates. Results have the shape of its other
        dimensions, and a last dimension of size ``k``, unless ``k`` is 1. A sequence ``k`` selects
        neighbours: ``[1, 3]`` for the nearest and the third. Only points nearer than
        ``distance_upper_bound``, a number or one for each place, count; if there are too few,
        distances are infinite and indices ``n``. ``p`` chooses the norm, from 1 to infinity. With
        ``eps``, the ``k``-th distance may be larger than the true one by the factor ``1 + eps``.
        ``workers`` has no effect: compiled code uses the threads of tanx.
        """
        p, x = self._norm("query", p), self._places("query", x)
        chosen = [operator.index(i) for i in ([k] if np.ndim(k) == 0 else k)]
        most = max(chosen, default=0)
        if min(chosen, default=0) < 1:
            raise ValueError(explain(f"{_NAME}.query", "k must be 1 or more.", f"k: {k}"))
        found = _nearest(self._searched(), *_still(x, distance_upper_bound, eps), most, p)
        distances, indices = _measure(self.data, x, found, p)
        if np.ndim(k) == 0:
            return (distances[..., 0], indices[..., 0]) if k == 1 else (distances, indices)
        columns = np.array(chosen) - 1
        return distances[..., columns], indices[..., columns]

    @boundary
    def query_ball_point(self, x, r, p: float = 2.0, eps=0.0, workers: int = 1,
                         return_sorted: bool | None = None, return_length: bool = False, *,
                         size: int | None = None):
        """The indices of points at most ``r`` away from places.

        The result is a list, or an array of lists for several places, as in SciPy, in increasing
        order unless ``return_sorted`` is False. With ``size``, which ``jit`` needs, it is an array
        whose last dimension has that size: indices, followed by ``n`` if there are fewer points. If
        there are more, only ``size`` of them are returned. ``return_length`` returns their number
        instead. ``r`` is a number, or one for each place. With ``eps``, points farther than
        ``r / (1 + eps)`` may be missing, and points nearer than ``r (1 + eps)`` may be included.
        """
        p, x = self._norm("query_ball_point", p), self._places("query_ball_point", x)
        operands = self._searched(), *_still(x, r, eps)
        if return_length:
            return _count_within(*operands, p)
        if size is not None:
            return _find_within(*operands, _size("query_ball_point", size), p,
                                return_sorted is not False)
        self._need_data("query_ball_point", x, r, eps)
        lengths = np.asarray(_count_within(*operands, p))
        # Sizes are powers of two, so that few programs are compiled.
        size = 1 << int(lengths.max(initial=0)).bit_length()
        found = np.asarray(_find_within(*operands, size, p, return_sorted is not False))
        lists = np.empty(lengths.shape, object)
        for place in np.ndindex(lengths.shape):
            lists[place] = [i for i in found[place].tolist() if i < self.n]
        return lists if lengths.ndim else lists[()]

    @boundary
    def query_ball_tree(self, other: KDTree, r, p: float = 2.0, eps=0.0):
        """For each point, a list of the indices of points of another tree at most ``r`` away."""
        return other.query_ball_point(self.data, r, p, eps).tolist()

    @boundary
    def query_pairs(self, r, p: float = 2.0, eps=0.0, output_type: str = "set", *,
                    size: int | None = None):
        """The pairs of points at most ``r`` apart, as indices ``i < j``.

        The result is a set, or with ``output_type="ndarray"`` an array with a row per pair. With
        ``size``, which ``jit`` needs, it has ``size`` rows: pairs in order of ``i``, then rows of
        ``n``.
        """
        p = self._norm("query_pairs", p)
        if output_type not in ("set", "ndarray"):
            raise ValueError(explain(f"{_NAME}.query_pairs", "output_type is 'set' or 'ndarray'.",
                                     f"output_type: {output_type!r}"))
        operands = self._searched(), *_still(self.data, r, eps)
        counts = _count_pairs(*operands, p)
        if size is not None:
            return _pairs(*operands, counts, _size("query_pairs", size), p)
        self._need_data("query_pairs", self.data, r, eps)
        total = int(np.asarray(counts).sum())
        pairs = np.asarray(_pairs(*operands, counts, 1 << total.bit_length(), p))[:total]
        return set(map(tuple, pairs.tolist())) if output_type == "set" else pairs.astype(np.intp)

    @boundary
    def count_neighbors(self, other: KDTree, r, p: float = 2.0, cumulative: bool = True):
        """How many pairs of a point of each tree are at most ``r`` apart, for each of the radii.

        Without ``cumulative``, radii must increase, and each count is of pairs farther apart than
        the radius before.
        """
        p, r = self._norm("count_neighbors", p), jnp.asarray(r)
        x, radii, eps = _still(self._places("count_neighbors", other.data), r.reshape(-1, 1), 0.0)
        counts = _count_within(self._searched(), x, radii, eps, p)
        # The number of pairs may exceed int32, so NumPy counts them outside of traces.
        xp: Any = jnp if isinstance(counts, Tracer) else np
        totals = xp.asarray(counts, int).sum(-1).reshape(r.shape)
        return totals if cumulative else xp.diff(totals, prepend=0)

    # -- operands ----------------------------------------------------------------------------------

    def _searched(self):
        """The tree without derivatives: those of distances come from the data."""
        return lax.stop_gradient(self._tree)

    def _norm(self, method: str, p: float) -> float:
        if not p >= 1:
            raise ValueError(explain(f"{_NAME}.{method}", "p must be 1 or more.", f"p: {p}"))
        return float(p)

    def _places(self, method: str, x):
        x = jnp.asarray(x)
        if not x.ndim or x.shape[-1] != self.m or x.dtype.kind == "c":
            raise ValueError(explain(
                f"{_NAME}.{method}", "places must be real, with one coordinate per dimension.",
                f"x:    {typeof(x)}", f"data: {typeof(self.data)}"))
        return x.astype(jnp.promote_types(x.dtype, self.data.dtype))

    def _need_data(self, method: str, *operands) -> None:
        for x in (*operands, self.data):
            if isinstance(x, Tracer):
                raise ConcretizationTypeError.of(
                    f"{_NAME}.{method}", "the number of points found", x, "give size=....")


def _flatten(tree: KDTree):
    return (tree.data, tree._tree), tree.leafsize


def _unflatten(leafsize: int, leaves) -> KDTree:
    made = object.__new__(KDTree)
    made.data, made._tree = leaves
    made.leafsize = leafsize
    return made


tree_util.register_pytree_node(KDTree, _flatten, _unflatten)


def _size(method: str, size: int) -> int:
    size = operator.index(size)
    if size < 0:
        raise ValueError(explain(f"{_NAME}.{method}", "size must not be negative.",
                                 f"size: {size}"))
    return size


def _still(x, radius, eps) -> tuple:
    """Operands of a search, without derivatives."""
    return (lax.stop_gradient(x), lax.stop_gradient(jnp.asarray(radius, x.dtype)),
            lax.stop_gradient(jnp.asarray(eps, x.dtype)))


# -- programs: a search for each place -------------------------------------------------------------


def _bound(radius, p: float):
    """The bounds for powers of distances; nothing is within a negative radius."""
    return jnp.where(radius < 0, -1, radius if p in (1, np.inf) else radius ** p)


def _each_place(search, x, radius, eps, p: float, *beside):
    """``search(place, …, bound, stretch)`` for each place; radii are broadcast to them."""
    shape = jnp.broadcast_shapes(x.shape[:-1], radius.shape)
    places = jnp.broadcast_to(x, (*shape, x.shape[-1])).reshape(-1, x.shape[-1])
    bounds = jnp.broadcast_to(_bound(radius, p), shape).reshape(-1)
    stretch = _bound(1 + eps, p)
    found = vmap(lambda *one: search(*one, stretch))(places, *beside, bounds)
    return found.reshape(*shape, *found.shape[1:])


_build = jit(build, static_argnums=1)


@partial(jit, static_argnums=(4, 5))
def _nearest(tree, x, radius, eps, k, p):
    return _each_place(lambda x, bound, stretch: nearest(tree, x, k, p, bound, stretch),
                       x, radius, eps, p)


@library_jit(static_argnums=3)
def _measure(data, x, found, p):
    """The distances and indices of the points found."""
    missing = found < 0
    indices = jnp.where(missing, data.shape[0], found)
    if data.shape[0]:
        x = x[..., None, :] - data.at[indices].get(mode="fill", fill_value=0)
        distances = length(power(x, p), p)
    else:
        distances = jnp.zeros(found.shape, x.dtype)
    return (jnp.where(missing, np.inf, distances),
            indices.astype(dtypes.canonicalize_dtype(np.int64)))


@partial(jit, static_argnums=4)
def _count_within(tree, x, radius, eps, p):
    return _each_place(lambda x, bound, stretch: count_within(tree, x, p, bound, stretch),
                       x, radius, eps, p)


@partial(jit, static_argnums=(4, 5, 6))
def _find_within(tree, x, radius, eps, size, p, ordered):
    if not size:
        return jnp.zeros((*jnp.broadcast_shapes(x.shape[:-1], radius.shape), 0), np.int32)
    found = _each_place(lambda x, bound, stretch: find_within(tree, x, size, p, bound, stretch),
                        x, radius, eps, p)
    found = jnp.where(found < 0, tree.order.shape[0], found)
    return jnp.sort(found, axis=-1) if ordered else found


@partial(jit, static_argnums=4)
def _count_pairs(tree, x, radius, eps, p):
    index = jnp.arange(x.shape[0], dtype=np.int32)
    return _each_place(
        lambda x, index, bound, stretch: count_pairs(tree, x, index, p, bound, stretch),
        x, radius, eps, p, index)


@partial(jit, static_argnums=(5, 6))
def _pairs(tree, x, radius, eps, counts, size, p):
    """One search for each pair; the counts give its point, and which neighbour it is."""
    count, ends = x.shape[0], jnp.cumsum(counts, dtype=np.int32)
    if not count:
        return jnp.zeros((size, 2), dtypes.canonicalize_dtype(np.int64))
    slot = jnp.arange(size, dtype=np.int32)
    index = jnp.searchsorted(ends, slot, side="right").astype(np.int32)
    filled = index < count
    own = jnp.minimum(index, count - 1)
    rank = jnp.where(filled, slot - ends[own] + counts[own], -1)
    other = _each_place(
        lambda x, index, rank, bound, stretch: partner(tree, x, index, rank, p, bound, stretch),
        x[own], radius, eps, p, own, rank)
    pairs = lax.sort((index, jnp.where(filled, other, count)), num_keys=2)
    return jnp.stack(pairs, -1).astype(dtypes.canonicalize_dtype(np.int64))
