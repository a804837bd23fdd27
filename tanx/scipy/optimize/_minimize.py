"""Minima of functions of a vector: BFGS, and L-BFGS, which keeps only the last steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.autodiff import value_and_grad
from ..._base.tuples import NamedTuple
from ._common import check_args, check_options, error, real_vector
from ._line_search import Point, line_search

__all__ = ["OptimizeResults", "minimize"]


class OptimizeResults(NamedTuple):
    """The result of :func:`minimize`; a tree of arrays.

    Attributes:
        x: the last point.
        success: whether it is a minimum, to the tolerance.
        status: 0 converged, 1 limit of steps reached, 3 and 5 no step decreases the value. For
            L-BFGS also 2 and 3, limit of evaluations or gradients reached, and 4, values no longer
            change.
        fun: the value there.
        jac: the gradient there.
        hess_inv: the estimate of the inverse of the Hessian; None for L-BFGS.
        nfev: how often the function was evaluated.
        njev: how often its gradient was evaluated.
        nit: the number of steps.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


_LIMITED = "l-bfgs-experimental-do-not-rely-on-this"


def minimize(fun: Callable, x0, args: tuple = (), *, method: str, tol: float | None = None,
             options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """A minimum of ``fun(x, *args)``, a number, near ``x0``, a vector.

    ``method`` is ``"BFGS"``, with the options ``maxiter``, ``gtol`` (the norm of the gradient at
    which to stop), ``norm`` (which norm) and ``line_search_maxiter``; or
    ``"l-bfgs-experimental-do-not-rely-on-this"``, which keeps ``maxcor`` steps instead of a matrix,
    with the options ``maxiter``, ``gtol``, ``norm``, ``ftol``, ``maxfun``, ``maxgrad`` and
    ``maxls``. ``tol`` means ``gtol`` unless that is given.

    Complex numbers are pairs of real ones: ``jac`` then has the derivatives by real parts plus
    ``1j`` times those by imaginary parts, and ``hess_inv`` has all real parts before all imaginary
    parts.

    >>> found = tanx.scipy.optimize.minimize(lambda x: ((x - 1) ** 2).sum(), jnp.zeros(2),
    ...                                      method="BFGS")
    >>> found.x.round(4), found.success
    (Array([1., 1.], dtype=float32), Array(True, dtype=bool))
    """
    check_args("minimize", args)
    x0 = jnp.asarray(x0)
    if jnp.iscomplexobj(x0) and x0.ndim == 1:
        found = minimize(lambda parts, *args: fun(_joined(parts), *args),
                         jnp.concatenate([x0.real, x0.imag]), args, method=method, tol=tol,
                         options=options)
        return found._replace(x=_joined(found.x), jac=_joined(found.jac))
    x0 = real_vector("minimize", x0)
    name = method.lower()
    if name not in ("bfgs", _LIMITED):
        raise error("minimize", "there is no such method.", f"method: {method!r}",
                    f"known: 'BFGS', {_LIMITED!r}")
    own = {"gtol": 1e-5 if tol is None else tol, "norm": np.inf, "maxiter": None}
    both = value_and_grad(lambda x: jnp.asarray(fun(x, *args)).astype(x.dtype))
    if name == "bfgs":
        return _bfgs(both, x0, **check_options(
            "minimize", options, {**own, "line_search_maxiter": 10}))
    return _limited(both, x0, **check_options(
        "minimize", options, {**own, "maxcor": 10, "ftol": 2.220446049250313e-09, "maxfun": np.inf,
                              "maxgrad": np.inf, "maxls": 20}))


def _joined(parts):
    """Complex numbers from a vector of all real parts before all imaginary parts."""
    return lax.complex(*jnp.split(parts, 2))


class _State(NamedTuple):
    """The current point, the value before it, counters and status, and the memory of the method."""

    x: Any
    value: Any
    gradient: Any
    before: Any
    kept: Any
    status: Any
    evaluations: Any
    steps: Any


def _start(fun: Callable, x0, kept) -> _State:
    value, gradient = fun(x0)
    # As if the last step had had length 1 along the gradient's direction.
    before = value + jnp.sqrt(_dot(gradient, gradient)) / 2
    return _State(x0, value, gradient, before, kept, -1, 1, 0)


def _dot(x, y):
    return jnp.vdot(x, y, precision="highest")


def _searched(fun: Callable, state: _State, direction, most: int):
    """The state after a step along a direction, the step, and the change of the gradient."""
    slope = _dot(state.gradient, direction)
    # The step for which the predicted change of the value equals the last change.
    first = jnp.minimum(1, 2.02 * (state.value - state.before) / slope)
    first = jnp.where(first > 0, first, 1).astype(state.x.dtype)
    search = line_search(fun, state.x, direction, Point(
        jnp.zeros_like(first), state.value, slope, state.gradient), first, most)
    is_good = search.failed == 0
    low = search.low
    step = jnp.where(is_good, low.length, 0) * direction
    gradient = jnp.where(is_good, low.gradient, state.gradient)
    moved = state._replace(
        x=state.x + step, value=jnp.where(is_good, low.value, state.value), gradient=gradient,
        before=state.value, status=jnp.where(is_good, -1, search.failed),
        evaluations=state.evaluations + search.count, steps=state.steps + 1)
    return moved, step, gradient - state.gradient


def _results(state: _State, status, hess_inv) -> OptimizeResults:
    done = (status == 0).astype(bool)
    return OptimizeResults(state.x, done, status, state.value, state.gradient, hess_inv,
                           state.evaluations, state.evaluations, state.steps)


def _bfgs(fun: Callable, x0, *, maxiter, gtol, norm, line_search_maxiter) -> OptimizeResults:
    most = 200 * x0.size if maxiter is None else maxiter

    def is_flat(state: _State):
        return jnp.linalg.norm(state.gradient, norm) < gtol

    def goes_on(state: _State):
        return ~is_flat(state) & (state.status < 0) & (state.steps < most)

    def advance(state: _State) -> _State:
        inverse = state.kept
        direction = -jnp.matmul(inverse, state.gradient, precision="highest")
        moved, step, change = _searched(fun, state, direction, line_search_maxiter)
        return moved._replace(kept=_updated(inverse, step, change))

    state = lax.while_loop(goes_on, advance, _start(fun, x0, jnp.eye(x0.size, dtype=x0.dtype)))
    status = jnp.where(is_flat(state), 0, jnp.where(state.steps >= most, 1, state.status))
    status = jnp.where((state.status > 0) & ~is_flat(state), state.status, status)
    return _results(state, status, state.kept)


def _updated(inverse, step, change):
    """The updated inverse Hessian, consistent with the change of the gradient along a step."""
    product = _dot(step, change)
    is_convex = product > 0
    rho = 1 / jnp.where(is_convex, product, 1)
    image = jnp.matmul(inverse, change, precision="highest")
    both = jnp.outer(image, step)
    moved = (rho * (1 + rho * _dot(change, image))) * jnp.outer(step, step) - rho * (both + both.T)
    return inverse + jnp.where(is_convex, moved, 0)


class _History(NamedTuple):
    """The last steps and changes of the gradient, the newest at the end, and ``1 / (s @ y)``."""

    steps: Any
    changes: Any
    factors: Any


def _limited(fun: Callable, x0, *, maxiter, gtol, norm, maxcor, ftol, maxfun, maxgrad,
             maxls) -> OptimizeResults:
    most = np.inf if maxiter is None else maxiter
    empty = jnp.zeros((maxcor, x0.size), x0.dtype)

    def outcome(state: _State):
        """The status; -1 to go on."""
        size = jnp.maximum(jnp.maximum(jnp.abs(state.before), jnp.abs(state.value)), 1)
        is_level = (state.steps > 0) & (state.before - state.value <= ftol * size)
        calls = state.evaluations
        reasons = [(jnp.linalg.norm(state.gradient, norm) < gtol, 0), (state.status > 0, 5),
                   (is_level, 4), (calls >= maxgrad, 3), (calls >= maxfun, 2),
                   (state.steps >= most, 1)]
        status = jnp.array(-1)
        for reason, number in reversed(reasons):
            status = jnp.where(reason, number, status)
        return status

    def advance(state: _State) -> _State:
        direction = -_times_inverse(state.kept, state.gradient)
        moved, step, change = _searched(fun, state, direction, maxls)
        return moved._replace(kept=_remembered(state.kept, step, change))

    state = lax.while_loop(lambda state: outcome(state) < 0, advance, _start(
        fun, x0, _History(empty, empty, jnp.zeros(maxcor, x0.dtype))))
    status = outcome(state)
    return _results(state, status, None)._replace(success=(status == 0) | (status == 4))


def _remembered(history: _History, step, change) -> _History:
    """The history with one more step; unchanged if the function is not convex along it."""
    product = _dot(step, change)
    is_convex = product > 0
    new = step, change, 1 / jnp.where(is_convex, product, 1)
    return _History(*(jnp.where(is_convex, jnp.roll(old, -1, 0).at[-1].set(x), old)
                      for old, x in zip(history, new)))


def _times_inverse(history: _History, gradient):
    """The inverse Hessian times a vector: two loops over the steps (Nocedal 1980)."""
    def back(q, entry):
        step, change, factor = entry
        weight = factor * _dot(step, q)
        return q - weight * change, weight

    def forth(r, entry):
        (step, change, factor), weight = entry
        return r + (weight - factor * _dot(change, r)) * step, None

    q, weights = lax.scan(back, gradient, history, reverse=True)
    step, change, factor = (part[-1] for part in history)
    scale = jnp.where(factor > 0, 1 / jnp.where(factor > 0, factor * _dot(change, change), 1), 1)
    return lax.scan(forth, scale * q, (history, weights))[0]
