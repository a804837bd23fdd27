"""Balanced trees of points: built by sorting, walked leaf by leaf.

The inner nodes of a tree are numbered like those of a heap: node ``i`` has the children ``2 i`` and
``2 i + 1``, the root is 1, and all leaves are on one level. A node halves its points along the
dimension of their largest extent. So the shape of a tree depends only on the number of points, and
all of its arrays have static shapes: level ``l`` has ``2**l`` nodes; node ``j`` has the points from
``j n / 2**l`` up to ``(j + 1) n / 2**l`` in the order of the leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import lax, ops
from ... import numpy as jnp
from ..._base.tuples import NamedTuple

__all__ = ["Tree", "build", "distances", "gap", "levels", "length", "power", "span", "walk"]


class Tree(NamedTuple):
    """The points in the order of the leaves, and the bounds and cuts of nodes."""

    points: Any
    columns: Any
    """The coordinates of points, one row per dimension, padded with zeros: a read of the largest
    leaf size stays inside for every leaf."""
    order: Any
    """The index of each point in the data."""
    axis: Any
    """The dimension along which an inner node is cut."""
    cut: Any
    """The least coordinate on the upper side of the cut."""
    low: Any
    """The least coordinates in each node, leaves included."""
    high: Any
    first: Any
    """The start of each leaf's points, and the end of the last leaf's."""


# -- building --------------------------------------------------------------------------------------


def levels(count: int, leafsize: int) -> int:
    """How often points are halved until every leaf has at most ``leafsize``."""
    return (max(count - 1, 0) // leafsize).bit_length()


def build(data, depth: int) -> Tree:
    """The tree with ``2**depth`` leaves: at each level, points are sorted within their nodes."""
    count, dimensions = data.shape
    leaves = 1 << depth
    first = np.arange(leaves + 1) * count >> depth
    leaf = jnp.asarray(np.repeat(np.arange(leaves), np.diff(first)), np.int32)
    first = jnp.asarray(first, np.int32)
    node = jnp.arange(leaves, dtype=np.int32)

    def halve(level, made):
        order, axis, cut = made
        within = leaf >> (depth - level)
        points = data[order]
        low, high = _bounds(points, within, leaves)
        widest = jnp.argmax(high - low, 1).astype(np.int32)
        key = jnp.take_along_axis(points, widest[within][:, None], 1)[:, 0]
        _, key, order = lax.sort((within, key, order), num_keys=2)
        middle = first[(2 * node + 1 << (depth - level - 1)) & (leaves - 1)]
        place = jnp.where(node < 1 << level, node + (1 << level), leaves)
        return (order, axis.at[place].set(widest, mode="drop"),
                cut.at[place].set(key[middle], mode="drop"))

    made = (jnp.arange(count, dtype=np.int32), jnp.zeros(leaves, np.int32),
            jnp.zeros(leaves, data.dtype))
    order, axis, cut = lax.fori_loop(0, depth, halve, made) if depth else made
    points = data[order]
    low, high = _bounds(points, leaf, leaves)

    def raise_bounds(_, bounds):
        low, high = (x.reshape(leaves, 2, dimensions) for x in bounds)
        return jnp.concatenate([low.min(1), leaf_low]), jnp.concatenate([high.max(1), leaf_high])

    leaf_low, leaf_high = low, high
    bounds = tuple(jnp.concatenate([x, x]) for x in (low, high))
    low, high = lax.fori_loop(0, depth, raise_bounds, bounds)
    columns = jnp.pad(points.T, ((0, 0), (0, most(count, leaves))))
    return Tree(points, columns, order, axis, cut, low, high, first)


def most(count: int, leaves: int) -> int:
    """How many points the largest of the leaves has."""
    return -(-count // leaves)


def _bounds(points, group, count: int):
    """The least and greatest coordinates of each group of points."""
    return (ops.segment_min(points, group, count, indices_are_sorted=True),
            ops.segment_max(points, group, count, indices_are_sorted=True))


# -- distances -------------------------------------------------------------------------------------


def power(difference, p: float):
    """The ``p``-th power of the length of vectors along the last dimension; the length for inf."""
    if p == 2:
        return (difference * difference).sum(-1)
    difference = abs(difference)
    if p == np.inf:
        return difference.max(-1)
    return (difference if p == 1 else difference ** p).sum(-1)


def length(powered, p: float):
    """The length from the result of :func:`power`; its derivative at zero is zero."""
    if p in (1, np.inf):
        return powered
    zero = powered == 0
    safe = jnp.where(zero, 1, powered)
    return jnp.where(zero, 0, jnp.sqrt(safe) if p == 2 else safe ** (1 / p))


def distances(tree: Tree, start, stop, x, p: float, bound):
    """The powers of the distances from ``x`` to the points of a leaf; infinite above ``bound``."""
    size = most(tree.order.shape[0], tree.axis.shape[0])
    found = power(lax.dynamic_slice_in_dim(tree.columns, start, size, 1).T - x, p)
    return jnp.where((jnp.arange(size) < stop - start) & (found <= bound), found, np.inf)


def gap(tree: Tree, node, x, p: float):
    """The power of the distance from ``x`` to the nearest place in the box of a node."""
    return power(jnp.maximum(0, jnp.maximum(tree.low[node] - x, x - tree.high[node])), p)


def span(tree: Tree, node, x, p: float):
    """The power of the distance from ``x`` to the farthest place in the box of a node."""
    return power(jnp.maximum(x - tree.low[node], tree.high[node] - x), p)


# -- walking ---------------------------------------------------------------------------------------


def walk(tree: Tree, x, enter: Callable, visit: Callable, state):
    """Visit the leaves that may have points near ``x``, the nearer side of each cut first.

    ``enter(node, state)`` returns whether to enter a node, and the new state; ``visit(start, stop,
    state)`` returns the state after the points of a leaf. Two integers replace a stack: the node,
    whose binary digits are the path to it, and ``pending``, which has a digit 1 for each node of
    the path whose sibling is still to be visited.
    """
    leaves = tree.axis.shape[0]
    if not tree.order.shape[0]:
        return state

    def descend(place):
        node, pending = place
        upper = x[tree.axis[node]] >= tree.cut[node]
        return 2 * node + upper.astype(np.int32), 2 * pending + 1

    def try_sibling(carry):
        node, pending, _, state = carry
        up = lax.population_count((pending & -pending) - 1)
        node, pending = (node >> up) ^ 1, (pending >> up) ^ 1
        return node, pending, *enter(node, state)

    def step(carry):
        node, pending, _, state = carry
        node, pending = lax.while_loop(lambda place: place[0] < leaves, descend, (node, pending))
        state = visit(tree.first[node - leaves], tree.first[node - leaves + 1], state)
        return lax.while_loop(lambda carry: (carry[1] != 0) & ~carry[2], try_sibling,
                              (node, pending, np.False_, state))

    root = np.int32(1), np.int32(0), *enter(np.int32(1), state)
    return lax.while_loop(lambda carry: carry[2], step, root)[3]
