"""tanx.example_libraries.optimizers: first-order methods that minimise functions of pytrees.

An optimizer is three functions::

    init_fn(params) -> state
    update_fn(step, gradients, state) -> state
    params_fn(state) -> params

A step size is a number, or a schedule: a function of the number of the step. The methods below are
written for one array; :func:`optimizer` extends them to pytrees.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

from .. import numpy as jnp
from .._base.traceback import boundary, shown
from .._base.tuples import NamedTuple
from .._base.window import publish
from ..errors import explain
from ..tree_util import register_pytree_node, tree_flatten, tree_leaves, tree_map, tree_unflatten

__all__ = [
    "JoinPoint", "Optimizer", "OptimizerState", "Schedule", "adagrad", "adam", "adamax",
    "clip_grads", "constant", "exponential_decay", "inverse_time_decay", "l2_norm", "make_schedule",
    "momentum", "nesterov", "optimizer", "pack_optimizer_state", "piecewise_constant",
    "polynomial_decay", "rmsprop", "rmsprop_momentum", "sgd", "sm3", "unpack_optimizer_state"]

Schedule = Callable[[int], Any]

OptimizerState = namedtuple("OptimizerState", ["packed_state", "tree_def", "subtree_defs"])
OptimizerState.__doc__ = """The state of an optimizer, a pytree of arrays.

``packed_state`` has the arrays that belong to each leaf of the parameters, ``tree_def`` is the
structure of the parameters, ``subtree_defs`` are the structures of the arrays of each leaf.
"""
register_pytree_node(
    OptimizerState, lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structure, children: OptimizerState(children[0], *structure))


class Optimizer(NamedTuple):
    """The three functions of an optimizer."""

    init_fn: Callable
    update_fn: Callable
    params_fn: Callable


class JoinPoint:
    """A placeholder in a pytree of parameters for the state of one leaf, ``subtree``."""

    def __init__(self, subtree):
        self.subtree = subtree

    def __repr__(self) -> str:
        return f"JoinPoint({self.subtree!r})"


def _packed(subtrees, tree_def) -> OptimizerState:
    """States of leaves as one state."""
    flat = [tree_flatten(subtree) for subtree in subtrees]
    return OptimizerState(tuple(x for x, _ in flat), tree_def, tuple(d for _, d in flat))


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """A decorator that extends a method for single arrays to pytrees.

    ``opt_maker`` returns three functions for one array ``x0``, whose state is any pytree:
    ``init(x0)``, ``update(i, g, state)`` and ``get_params(state)``.

    >>> @tanx.example_libraries.optimizers.optimizer
    ... def descent(rate):
    ...     return lambda x: x, lambda i, g, x: x - rate * g, lambda x: x
    >>> method = descent(0.5)
    >>> state = method.init_fn({"a": jnp.ones(2)})
    >>> method.params_fn(method.update_fn(0, {"a": jnp.ones(2)}, state))
    {'a': Array([0.5, 0.5], dtype=float32)}
    """
    @wraps(opt_maker)
    def maker(*args, **kwargs):
        init, update, get_params = opt_maker(*args, **kwargs)

        @boundary
        def init_fn(x0_tree):
            leaves, tree_def = tree_flatten(x0_tree)
            return _packed([init(x) for x in leaves], tree_def)

        @boundary
        def update_fn(i, grad_tree, opt_state):
            packed, tree_def, subtree_defs = opt_state
            gradients, given = tree_flatten(grad_tree)
            if given != tree_def:
                raise TypeError(explain(
                    "update_fn of an optimizer",
                    "gradients must have the structure of the parameters.",
                    f"parameters: {tree_def}", f"gradients:  {given}"))
            states = map(tree_unflatten, subtree_defs, packed)
            new = _packed([update(i, g, s) for g, s in zip(gradients, states)], tree_def)
            for before, after in zip(subtree_defs, new.subtree_defs):
                if before != after:
                    raise TypeError(explain(
                        "update_fn of an optimizer", "update must keep the structure of the state.",
                        f"before: {before}", f"after:  {after}"))
            return new

        @boundary
        def params_fn(opt_state):
            packed, tree_def, subtree_defs = opt_state
            states = map(tree_unflatten, subtree_defs, packed)
            return tree_unflatten(tree_def, [get_params(state) for state in states])
        return Optimizer(init_fn, update_fn, params_fn)
    return maker


def unpack_optimizer_state(opt_state):
    """The state as a pytree like the parameters, with a :class:`JoinPoint` for each leaf.

    >>> from tanx.example_libraries import optimizers
    >>> state = optimizers.momentum(0.1, 0.9).init_fn({"w": jnp.array(1.0)})
    >>> optimizers.unpack_optimizer_state(state)["w"].subtree
    (Array(1., dtype=float32, weak_type=True), Array(0., dtype=float32, weak_type=True))
    """
    packed, tree_def, subtree_defs = opt_state
    return tree_unflatten(tree_def, map(JoinPoint, map(tree_unflatten, subtree_defs, packed)))


def pack_optimizer_state(marked_pytree) -> OptimizerState:
    """The state that :func:`unpack_optimizer_state` showed as a pytree.

    >>> from tanx.example_libraries import optimizers
    >>> state = optimizers.sgd(0.1).init_fn(jnp.array(1.0))
    >>> optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state)) == state
    True
    """
    points, tree_def = tree_flatten(marked_pytree)
    if not all(isinstance(point, JoinPoint) for point in points):
        raise AssertionError(explain(
            "tanx.example_libraries.optimizers.pack_optimizer_state",
            "every leaf must be a JoinPoint.",
            f"leaves: {', '.join(sorted({type(point).__name__ for point in points}))}"))
    return _packed([point.subtree for point in points], tree_def)


# -- methods ---------------------------------------------------------------------------------------


def _first(state):
    return state[0]


def _with_zeros(count: int) -> Callable:
    """A function from an array to its first state: itself, and ``count`` arrays of zeros."""
    return lambda x0: (x0, *(jnp.zeros_like(x0) for _ in range(count)))


@optimizer
def sgd(step_size):
    """Gradient descent.

    >>> from tanx.example_libraries import optimizers
    >>> init_fn, update_fn, params_fn = optimizers.sgd(0.5)
    >>> params_fn(update_fn(0, jnp.array([2.0]), init_fn(jnp.array([1.0]))))
    Array([0.], dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, x):
        return x - step_size(i) * g
    return lambda x0: x0, update, lambda x: x


@optimizer
def momentum(step_size, mass):
    """Gradient descent along a decaying sum of gradients.

    Args:
      step_size: A number or a schedule.
      mass: How much of the sum remains in each step.

    >>> from tanx.example_libraries import optimizers
    >>> init_fn, update_fn, params_fn = optimizers.momentum(0.5, 0.9)
    >>> params_fn(update_fn(0, jnp.array([2.0]), init_fn(jnp.array([1.0]))))
    Array([0.], dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * velocity, velocity
    return _with_zeros(1), update, _first


@optimizer
def nesterov(step_size, mass):
    """Gradient descent with Nesterov's momentum, which looks a step ahead.

    Args:
      step_size: A number or a schedule.
      mass: How much of the sum of gradients remains in each step.

    >>> from tanx.example_libraries import optimizers
    >>> init_fn, update_fn, params_fn = optimizers.nesterov(0.5, 0.5)
    >>> params_fn(update_fn(0, jnp.array([2.0]), init_fn(jnp.array([1.0]))))
    Array([-0.5], dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * (mass * velocity + g), velocity
    return _with_zeros(1), update, _first


def _inverse_root(x):
    """``1 / sqrt(x)``, and 0 where ``x`` is 0."""
    return jnp.where(x > 0, 1.0 / jnp.sqrt(x), 0.0)


@optimizer
def adagrad(step_size, momentum=0.9):
    """Adagrad (Duchi and others, 2011): steps shrink with the sum of squared gradients.

    Args:
      step_size: A number or a schedule.
      momentum: How much of the mean direction remains in each step.

    >>> from tanx.example_libraries import optimizers
    >>> init_fn, update_fn, params_fn = optimizers.adagrad(0.5)
    >>> params_fn(update_fn(0, jnp.array([2.0]), init_fn(jnp.array([1.0]))))
    Array([0.95], dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, squares, m = state
        squares = squares + jnp.square(g)
        m = (1.0 - momentum) * (g * _inverse_root(squares)) + momentum * m
        return x - step_size(i) * m, squares, m
    return _with_zeros(2), update, _first


@optimizer
def rmsprop(step_size, gamma=0.9, eps=1e-8):
    """RMSProp: gradients divided by the root of a decaying mean of their squares.

    Args:
      step_size: A number or a schedule.
      gamma: How much of the mean remains in each step.
      eps: Added to the mean under the root.

    >>> from tanx.example_libraries import optimizers
    >>> init_fn, update_fn, params_fn = optimizers.rmsprop(0.1)
    >>> params_fn(update_fn(0, jnp.array([2.0]), init_fn(jnp.array([1.0])))).round(4)
    Array([0.6838], dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, mean = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        return x - step_size(i) * g / jnp.sqrt(mean + eps), mean
    return _with_zeros(1), update, _first


@optimizer
def rmsprop_momentum(step_size, gamma=0.9, eps=1e-8, momentum=0.9):
    """:func:`rmsprop` with momentum.

    Args:
      step_size: A number or a schedule.
      gamma: How much of the mean of squares remains in each step.
      eps: Added to the mean under the root.
      momentum: How much of the last change remains in each step.

    >>> from tanx.example_libraries import optimizers
    >>> init_fn, update_fn, params_fn = optimizers.rmsprop_momentum(0.1)
    >>> params_fn(update_fn(0, jnp.array([2.0]), init_fn(jnp.array([1.0])))).round(4)
    Array([0.6838], dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, mean, change = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        change = momentum * change + step_size(i) * g / jnp.sqrt(mean + eps)
        return x - change, mean, change
    return _with_zeros(2), update, _first


@optimizer
def adam(step_size, b1=0.9, b2=0.999, eps=1e-8):
    """Adam (Kingma and Ba, 2015).

    Args:
      step_size: A number or a schedule.
      b1: How much of the mean gradient remains in each step.
      b2: How much of the mean of squared gradients remains in each step.
      eps: Added to the root of that mean.

    >>> from tanx.example_libraries import optimizers
    >>> init_fn, update_fn, params_fn = optimizers.adam(0.1)
    >>> params_fn(update_fn(0, jnp.array([2.0]), init_fn(jnp.array([1.0])))).round(4)
    Array([0.9], dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        unbiased_m = m / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        unbiased_v = v / (1 - jnp.asarray(b2, m.dtype) ** (i + 1))
        return x - step_size(i) * unbiased_m / (jnp.sqrt(unbiased_v) + eps), m, v
    return _with_zeros(2), update, _first


@optimizer
def adamax(step_size, b1=0.9, b2=0.999, eps=1e-8):
    """Adam with the decaying maximum of gradients instead of their mean square.

    Args:
      step_size: A number or a schedule.
      b1: How much of the mean gradient remains in each step.
      b2: How much of the maximum remains in each step.
      eps: Added to the maximum.

    >>> from tanx.example_libraries import optimizers
    >>> init_fn, update_fn, params_fn = optimizers.adamax(0.1)
    >>> params_fn(update_fn(0, jnp.array([2.0]), init_fn(jnp.array([1.0])))).round(4)
    Array([0.9], dtype=float32)
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, m, u = state
        m = (1 - b1) * g + b1 * m
        u = jnp.maximum(b2 * u, jnp.abs(g))
        return x - (step_size(i) / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))) * m / (u + eps), m, u
    return _with_zeros(2), update, _first


@optimizer
def sm3(step_size, momentum=0.9):
    """SM3 (Anil and others, 2019): squared gradients are kept for rows and columns only.

    Args:
      step_size: A number or a schedule.
      momentum: How much of the mean direction remains in each step.

    >>> from tanx.example_libraries import optimizers
    >>> init_fn, update_fn, params_fn = optimizers.sm3(0.5)
    >>> params_fn(update_fn(0, jnp.ones((1, 2)), init_fn(jnp.ones((1, 2)))))
    Array([[0.95, 0.95]], dtype=float32)
    """
    step_size = make_schedule(step_size)

    def init(x0):
        x0 = jnp.asarray(x0)
        return x0, jnp.zeros_like(x0), [jnp.zeros(n, x0.dtype) for n in x0.shape or (1,)]

    def update(i, g, state):
        x, m, sums = state
        g = jnp.asarray(g)
        axes = tuple(range(len(sums)))
        spread = [jnp.expand_dims(s, [b for b in axes if b != a]) for a, s in zip(axes, sums)]
        total = reduce(jnp.minimum, spread) + jnp.square(jnp.reshape(g, g.shape or (1,)))
        m = (1.0 - momentum) * (g * jnp.reshape(_inverse_root(total), g.shape)) + momentum * m
        sums = [total.max(tuple(b for b in axes if b != a)) for a in axes]
        return x - step_size(i) * m, m, sums
    return init, update, _first


# -- schedules -------------------------------------------------------------------------------------


def constant(step_size) -> Schedule:
    """The schedule that always gives ``step_size``.

    >>> tanx.example_libraries.optimizers.constant(0.1)(7)
    0.1
    """
    def schedule(i):
        return step_size
    return schedule


def exponential_decay(step_size, decay_steps, decay_rate):
    """The schedule ``step_size * decay_rate ** (i / decay_steps)``.

    >>> tanx.example_libraries.optimizers.exponential_decay(0.1, 10, 0.5)(20)
    0.025
    """
    def schedule(i):
        return step_size * decay_rate ** (i / decay_steps)
    return schedule


def inverse_time_decay(step_size, decay_steps, decay_rate, staircase=False):
    """The schedule ``step_size / (1 + decay_rate * i / decay_steps)``.

    With ``staircase`` the quotient is rounded down, so that steps change every ``decay_steps``.

    >>> tanx.example_libraries.optimizers.inverse_time_decay(0.1, 10, 1.0)(10)
    0.05
    """
    def schedule(i):
        if staircase:
            return step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
        return step_size / (1 + decay_rate * i / decay_steps)
    return schedule


def polynomial_decay(step_size, decay_steps, final_step_size, power=1.0):
    """The schedule from ``step_size`` to ``final_step_size`` in ``decay_steps``, along a power.

    >>> tanx.example_libraries.optimizers.polynomial_decay(1.0, 10, 0.0)(5)
    Array(0.5, dtype=float32, weak_type=True)
    """
    def schedule(step_num):
        step_num = jnp.minimum(step_num, decay_steps)
        part = (1 - step_num / decay_steps) ** power
        return part * (step_size - final_step_size) + final_step_size
    return schedule


def piecewise_constant(boundaries: Any, values: Any):
    """The schedule of steps: ``values[n]`` once ``i`` is above ``n`` of the ``boundaries``.

    >>> schedule = tanx.example_libraries.optimizers.piecewise_constant([10, 20], [0.1, 0.05, 0.01])
    >>> schedule(15)
    Array(0.05, dtype=float32)
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if not boundaries.ndim == values.ndim == 1 or len(boundaries) != len(values) - 1:
        raise ValueError(explain(
            "tanx.example_libraries.optimizers.piecewise_constant",
            "both must be sequences, with one value more than boundaries.",
            f"boundaries: {boundaries.shape}", f"values:     {values.shape}"))

    def schedule(i):
        return values[jnp.sum(i > boundaries)]
    return schedule


def make_schedule(scalar_or_schedule: float | Schedule) -> Schedule:
    """A schedule unchanged, and a number as a constant schedule.

    >>> tanx.example_libraries.optimizers.make_schedule(0.1)(3)
    0.1
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if jnp.ndim(scalar_or_schedule) != 0:
        raise TypeError(explain(
            "tanx.example_libraries.optimizers.make_schedule",
            "a step size is a number or a function of the number of the step.",
            f"given: {type(scalar_or_schedule).__name__}"))
    return constant(scalar_or_schedule)


# -- gradients -------------------------------------------------------------------------------------


def l2_norm(tree):
    """The root of the sum of the squares of all elements of a pytree.

    >>> tanx.example_libraries.optimizers.l2_norm({"a": jnp.array([3.0]), "b": jnp.array(4.0)})
    Array(5., dtype=float32)
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


def clip_grads(grad_tree, max_norm):
    """Gradients scaled down so that their :func:`l2_norm` is at most ``max_norm``.

    >>> tanx.example_libraries.optimizers.clip_grads([jnp.array([3.0, 4.0])], 1.0)
    [Array([0.6, 0.8], dtype=float32)]
    """
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


publish(__name__, shown)
