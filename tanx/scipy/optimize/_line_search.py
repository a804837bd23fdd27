"""A step along a direction that satisfies Wolfe's conditions (Nocedal and Wright, 3.5 and 3.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import lax
from ... import numpy as jnp
from ..._base.tuples import NamedTuple
from ._common import precision

__all__ = ["FAILED_IN_INTERVAL", "TOO_MANY_STEPS", "Point", "Step", "line_search"]

DECREASE, CURVATURE = 1e-4, 0.9
FAILED_IN_INTERVAL, TOO_MANY_STEPS = 3, 5
"""Why a search failed: the interval became empty, or the limit of trials was reached."""


class Point(NamedTuple):
    """A length of the step, and the function there: value, slope along the direction, gradient."""

    length: Any
    value: Any
    slope: Any
    gradient: Any


class Step(NamedTuple):
    """A search in progress.

    Before there is an interval, ``low`` is the last trial, and trials grow. In an interval, ``low``
    is the best point so far, and an acceptable step lies between it and ``high``.
    """

    low: Point
    high: Point
    trial: Any
    found: Any
    in_interval: Any
    failed: Any
    count: Any


def line_search(fun: Callable, x, direction, start: Point, first, most: int) -> Step:
    """Search for a step from ``x``; if ``failed`` is 0, it is ``low`` of the result.

    ``fun`` returns value and gradient. ``start`` is the point of length 0, ``first`` the first
    trial.
    """
    # Near a minimum, values differ by rounding only: such a difference does not count as increase.
    noise = 2 * precision(x) * jnp.abs(start.value)

    def enough(point: Point):
        return point.value <= start.value + DECREASE * point.length * start.slope + noise

    def is_flat(point: Point):
        return jnp.abs(point.slope) <= -CURVATURE * start.slope

    def goes_on(state: Step):
        return ~state.found & (state.failed == 0)

    def advance(state: Step) -> Step:
        value, gradient = fun(x + state.trial * direction)
        slope = jnp.vdot(gradient, direction, precision="highest")
        now = Point(state.trial, value, slope, gradient)
        low, high = state.low, state.high
        is_high = ~enough(now) | ((now.value >= low.value + noise) & (low.length > 0))
        found = ~is_high & is_flat(now)
        turns = jnp.where(state.in_interval, slope * (high.length - low.length) >= 0, slope >= 0)
        in_interval = state.in_interval | is_high | turns
        high = _chosen(is_high, now, _chosen(turns | ~state.in_interval, low, high))
        low = _chosen(is_high, low, now)
        trial = jnp.where(in_interval, _between(low, high), 2 * now.length)
        count = state.count + 1
        gap = jnp.abs(high.length - low.length)
        is_empty = in_interval & (gap <= precision(x) * jnp.maximum(high.length, low.length))
        failed = jnp.where(found, 0, jnp.where(
            is_empty, FAILED_IN_INTERVAL, jnp.where(count >= most, TOO_MANY_STEPS, 0)))
        # After a failure, a lower point is accepted even if the slope is still steep there.
        will_do = (failed > 0) & (low.length > 0) & (low.value < start.value)
        return Step(low, high, trial, found | will_do, in_interval, jnp.where(will_do, 0, failed),
                    count)

    return lax.while_loop(goes_on, advance, Step(
        start, start, first, jnp.array(False), jnp.array(False), jnp.array(0), jnp.array(0)))


def _chosen(condition, x: Point, y: Point) -> Point:
    return Point(*(jnp.where(condition, a, b) for a, b in zip(x, y)))


def _between(low: Point, high: Point):
    """The minimum of the cubic through two points if it is away from both ends; else the middle."""
    gap = high.length - low.length
    safe = jnp.where(gap == 0, 1, gap)
    bend = low.slope + high.slope - 3 * (high.value - low.value) / safe
    square = bend * bend - low.slope * high.slope
    root = jnp.sign(gap) * jnp.sqrt(jnp.where(square > 0, square, 0))
    below = high.slope - low.slope + 2 * root
    share = 1 - (high.slope + root - bend) / jnp.where(below == 0, 1, below)
    middle = jnp.isfinite(share) & (square >= 0) & (below != 0)
    return low.length + gap * jnp.where(middle, jnp.clip(share, 0.1, 0.9), 0.5)
