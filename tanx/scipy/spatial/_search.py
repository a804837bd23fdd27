"""Searches in a tree of points: nearest neighbours, and neighbours within a radius.

Each function searches for one place ``x``; ``vmap`` turns it into a loop over places, each with its
own path through the tree. Distances are compared by their ``p``-th powers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ... import lax
from ... import numpy as jnp
from ._tree import Tree, distances, gap, power, span, walk

__all__ = ["count_pairs", "count_within", "find_within", "nearest", "partner"]


def nearest(tree: Tree, x, k: int, p: float, bound, stretch):
    """The indices of the ``k`` nearest points, nearest first, then -1 if there are fewer.

    Only points nearer than ``bound`` count. Of points at equal distance, the one of lower index
    comes first. Nodes that are too far away by a factor of ``stretch`` are skipped.
    """
    def enter(node, best):
        return gap(tree, node, x, p) * stretch <= best[0][-1], best

    def visit(start, stop, best):
        def is_near(state):
            least = state[0].min()
            return (least < np.inf) & (least <= state[1][0][-1])

        def take(state):  # the nearest first: then most of the others are too far
            near, best = state
            i = jnp.argmin(near)
            return near.at[i].set(np.inf), _insert(best, near[i], tree.order[start + i])
        found = distances(tree, start, stop, x, p, best[0][-1])
        return lax.while_loop(is_near, take, (found, best))[1]

    best = jnp.full(k, bound), jnp.full(k, -1, np.int32)
    return walk(tree, x, enter, visit, best)[1]


def _each(try_point: Callable) -> Callable:
    """The work of :func:`walk` at a leaf: try one point after the other."""
    return lambda start, stop, state: lax.fori_loop(start, stop, try_point, state)


def _insert(best, distance, index):
    """Insert a point into the sorted list of the best; the last one is dropped."""
    distances, indices = best
    before = (distances < distance) | ((distances == distance) & (indices < index))
    after_last = jnp.concatenate([jnp.ones(1, bool), before[:-1]])

    def placed(old, new):
        moved = jnp.concatenate([old[:1], old[:-1]])
        return jnp.where(before, old, jnp.where(after_last, new, moved))
    return placed(distances, distance), placed(indices, index)


def count_within(tree: Tree, x, p: float, bound, stretch):
    """How many points are at most ``bound`` away; nodes entirely within it are not opened."""
    leaves = tree.axis.shape[0]

    def enter(node, total):
        whole = span(tree, node, x, p) <= bound * stretch
        # A node of level l contains the leaves whose numbers begin with its l digits.
        depth = leaves.bit_length() - 1 - (31 - lax.clz(node))
        points = tree.first[((node + 1) << depth) - leaves] - tree.first[(node << depth) - leaves]
        return (~whole & (gap(tree, node, x, p) * stretch <= bound),
                total + jnp.where(whole, points, 0))

    def try_point(i, total):
        return total + (power(tree.points[i] - x, p) <= bound).astype(np.int32)

    return walk(tree, x, enter, _each(try_point), np.int32(0))


def find_within(tree: Tree, x, size: int, p: float, bound, stretch):
    """The indices of up to ``size`` points at most ``bound`` away, followed by -1."""
    def enter(node, state):
        return (gap(tree, node, x, p) * stretch <= bound) & (state[0] < size), state

    def add(state, i):
        count, found = state
        return count + 1, found.at[count].set(tree.order[i], mode="drop")

    def try_point(i, state):
        near = power(tree.points[i] - x, p) <= bound
        return lax.cond(near, add, lambda state, i: state, state, i)

    return walk(tree, x, enter, _each(try_point), (np.int32(0), jnp.full(size, -1, np.int32)))[1]


# -- pairs -----------------------------------------------------------------------------------------


def count_pairs(tree: Tree, x, index, p: float, bound, stretch):
    """How many points at most ``bound`` away have a higher index."""
    def enter(node, total):
        return gap(tree, node, x, p) * stretch <= bound, total

    def try_point(i, total):
        hit = (power(tree.points[i] - x, p) <= bound) & (tree.order[i] > index)
        return total + hit.astype(np.int32)

    return walk(tree, x, enter, _each(try_point), np.int32(0))


def partner(tree: Tree, x, index, rank, p: float, bound, stretch):
    """The point that :func:`count_pairs` visits as number ``rank``."""
    def enter(node, state):
        return (gap(tree, node, x, p) * stretch <= bound) & (state[0] >= 0), state

    def try_point(i, state):
        left, found = state
        hit = (power(tree.points[i] - x, p) <= bound) & (tree.order[i] > index)
        return left - hit.astype(np.int32), jnp.where(hit & (left == 0), tree.order[i], found)

    return walk(tree, x, enter, _each(try_point), (rank, np.int32(-1)))[1]
