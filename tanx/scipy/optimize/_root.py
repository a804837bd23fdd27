"""Roots of systems of equations: Powell's hybrid method, Levenberg-Marquardt, Newton-Krylov."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.autodiff import linearize
from ..._api.jacobian import jacfwd
from ..._api.ravel import ravel_pytree
from ..._base.tuples import NamedTuple
from ..sparse.linalg import gmres
from ._common import check_args, check_options, error, precision
from ._least_squares import levenberg_marquardt

__all__ = ["RootSolution", "root"]


class RootSolution(NamedTuple):
    """The result of :func:`root`; a tree of arrays.

    Attributes:
        x: the root, or the last point tried; like ``x0``.
        success: whether it is a root, to the tolerance.
        status: 1 for success, 0 if the limit of steps was reached, 4 if steps make no progress.
        fun: the function there.
        nfev: how often the function was evaluated, without its derivatives.
        nit: the number of steps.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    nfev: Any
    nit: Any


def root(fun: Callable, x0, args: tuple = (), method: str = "hybr", jac=None,
         tol: float | None = None, options: Mapping[str, Any] | None = None) -> RootSolution:
    """A root of ``fun(x, *args)``, which returns as many numbers as ``x`` has; ``x`` may be a tree.
    ``method`` is ``"hybr"`` (Powell 1970: Newton's step within a trust region), ``"lm"``
    (Levenberg and Marquardt, also for singular Jacobians), or ``"krylov"`` (Newton's step by
    :func:`tanx.scipy.sparse.linalg.gmres`, with products only: for large systems). The Jacobian is
    computed automatically; for vectors, ``jac(x, *args)`` may return it as a matrix.

    A point is a root if steps are shorter than ``tol``, relative to it. The option ``maxiter``
    limits the steps. Roots have derivatives with respect to ``args`` and values that ``fun`` closes
    over.

    >>> def circle_and_line(x, radius):
    ...     return jnp.array([x[0] ** 2 + x[1] ** 2 - radius ** 2, x[0] - x[1]])
    >>> found = tanx.scipy.optimize.root(circle_and_line, jnp.array([1.0, 0.5]), (jnp.sqrt(2.0),))
    >>> found.x.round(4)
    Array([1., 1.], dtype=float32)
    """
    check_args("root", args)
    if method not in _METHODS:
        raise error("root", "there is no such method.", f"method: {method!r}",
                    f"known: {', '.join(map(repr, _METHODS))}")
    x0 = lax.stop_gradient(x0)
    flat, unravel = ravel_pytree(x0)
    if not dtypes.issubdtype(flat.dtype, np.floating):
        raise error("root", "x0 must hold real floats.", f"x0: {flat.dtype}", kind=TypeError)
    given = check_options("root", options, {"maxiter": 50 * (flat.size + 1)})
    tolerance = max(1.49e-8 if tol is None else tol, 4 * precision(flat))

    def value(x):
        out = ravel_pytree(fun(unravel(x), *args))[0].astype(x.dtype)
        if out.shape != x.shape:
            raise error("root", "fun must return as many numbers as x has.",
                        f"numbers of x: {x.size}", f"numbers of fun(x): {out.size}",
                        hint="tanx.scipy.optimize.least_squares takes more equations.")
        return out

    def jacobian(x):
        return jacfwd(value)(x) if jac is None else jnp.asarray(jac(unravel(x), *args))

    def solve(_, x):
        return _METHODS[method](value, jacobian, x, tolerance, given["maxiter"])
    if not flat.size:
        return RootSolution(x0, jnp.array(True), jnp.array(1), fun(x0, *args), jnp.array(1),
                            jnp.array(0))
    x, (status, calls, steps) = lax.custom_root(
        value, flat, solve, _by_products if method == "krylov" else _by_matrix, has_aux=True)
    return RootSolution(unravel(x), (status == 1).astype(bool), status, fun(unravel(x), *args),
                        calls, steps)


def _by_matrix(linear: Callable, y):
    """Solve a linear system given as a function, by its matrix."""
    return jnp.linalg.solve(jacfwd(linear)(jnp.zeros_like(y)), y)


def _by_products(linear: Callable, y):
    return gmres(linear, y, tol=4 * precision(y), restart=min(y.size, 50), maxiter=20)[0]


# -- Powell's hybrid method ------------------------------------------------------------------------


class _Trust(NamedTuple):
    """A point, the function and its derivative there, and the radius of the trust region."""

    x: Any
    value: Any
    matrix: Any
    radius: Any
    status: Any
    calls: Any
    steps: Any


def _hybrid(value: Callable, jacobian: Callable, x0, tol, most):
    def goes_on(state: _Trust):
        return (state.status < 0) & (state.steps < most)

    def advance(state: _Trust) -> _Trust:
        step, predicted = _dogleg(state.value, state.matrix, state.radius)
        x = state.x + step
        now = value(x)
        before, after = (_length(v) for v in (state.value, now))
        gain = (before - after) / jnp.where(before - predicted > 0, before - predicted, 1)
        length = _length(step)
        better = after < before
        radius = jnp.where(gain < 0.1, length / 2, jnp.where(
            gain > 0.7, jnp.maximum(state.radius, 2 * length), state.radius))
        x_now = jnp.where(better, x, state.x)
        scale = jnp.maximum(_length(x_now), 1)
        is_root = (after == 0) | (better & (length <= tol * scale) & (predicted <= before / 2))
        is_stuck = (radius <= precision(x) * scale) | ~jnp.isfinite(length)
        status = jnp.where(is_root, 1, jnp.where(is_stuck, _stuck(before, state, tol), -1))
        matrix = lax.cond(better & (status < 0), jacobian, lambda _: state.matrix, x_now)
        return _Trust(x_now, jnp.where(better, now, state.value), matrix, radius, status,
                      state.calls + 1, state.steps + 1)
    first = value(x0)
    start = jnp.where((first == 0).all(), 1, -1)
    end = lax.while_loop(goes_on, advance, _Trust(
        x0, first, jacobian(x0), 100 * jnp.maximum(_length(x0), 1), start, 1, 0))
    return end.x, (jnp.where(end.status < 0, 0, end.status), end.calls, end.steps)


def _stuck(before, state: _Trust, tol):
    """Stop without progress; the point is a root if Newton's step is below rounding."""
    newton = jnp.linalg.solve(state.matrix, state.value)
    return jnp.where(_length(newton) <= tol * jnp.maximum(_length(state.x), 1), 1, 4)


def _length(x):
    return jnp.sqrt(jnp.vdot(x, x, precision="highest"))


def _dogleg(value, matrix, radius):
    """The dogleg step within a radius, and the length of the function that it predicts."""
    newton = -jnp.linalg.solve(matrix, value)
    gradient = jnp.matmul(value, matrix, precision="highest")
    image = jnp.matmul(matrix, gradient, precision="highest")
    square = jnp.vdot(image, image, precision="highest")
    steepest = -gradient * jnp.vdot(gradient, gradient, precision="highest") / jnp.where(
        square > 0, square, 1)
    newton = jnp.where(jnp.isfinite(newton).all(), newton, steepest)
    size = _length(steepest)
    short = steepest * jnp.minimum(1, radius / jnp.where(size > 0, size, 1))
    along = newton - short
    a, b = (jnp.vdot(along, v, precision="highest") for v in (along, short))
    c = jnp.maximum(radius * radius - jnp.vdot(short, short, precision="highest"), 0)
    root = jnp.sqrt(b * b + a * c)
    share = jnp.where(b > 0, c / jnp.where(root + b > 0, root + b, 1),
                      (root - b) / jnp.where(a > 0, a, 1))
    between = short + jnp.clip(share, 0, 1) * along
    step = jnp.where(_length(newton) <= radius, newton, between)
    return step, _length(value + jnp.matmul(matrix, step, precision="highest"))


# -- the others ------------------------------------------------------------------------------------


def _marquardt(value: Callable, jacobian: Callable, x0, tol, most):
    found = levenberg_marquardt(lambda x: (value(x), jacobian(x)), x0, tol, most, ftol=0.0,
                                gtol=0.0)
    newton = jnp.linalg.lstsq(found.matrix, found.residuals)[0]
    is_root = _length(newton) <= jnp.sqrt(tol) * jnp.maximum(_length(found.x), 1)
    is_small = _length(found.residuals) <= jnp.sqrt(tol) * jnp.maximum(_length(value(x0)), 1e-30)
    status = jnp.where((found.status > 0) & is_root & is_small, 1, jnp.where(
        found.status > 0, 4, 0))
    return found.x, (status, found.calls, found.calls - 1)


def _newton_krylov(value: Callable, jacobian: Callable, x0, tol, most):
    """Newton's step by products with the Jacobian, halved until the function gets smaller."""
    def goes_on(state):
        return (state[2] < 0) & (state[4] < most)

    def advance(state):
        x, now, _, calls, steps = state
        _, product = linearize(value, x)
        step = -gmres(product, now, tol=1e-3, restart=min(x.size, 30), maxiter=10)[0]
        size = _length(now)

        def too_long(trial):
            _, there, share, _ = trial
            return ~(_length(there) < (1 - 1e-4 * share) * size) & (share > 1e-6)

        def halve(trial):
            _, _, share, calls = trial
            nearer = x + share / 2 * step
            return nearer, value(nearer), share / 2, calls + 1
        full = x + step
        there = full, value(full), jnp.ones_like(size), calls + 1
        x_now, found, share, calls = lax.while_loop(too_long, halve, there)
        is_lower = _length(found) < size
        scale = jnp.maximum(_length(x), 1)
        is_root = (is_lower & (share * _length(step) <= tol * scale)) | (_length(found) == 0)
        status = jnp.where(is_root, 1, jnp.where(is_lower, -1, jnp.where(
            _length(step) <= jnp.sqrt(tol) * scale, 1, 4)))
        return (jnp.where(is_lower, x_now, x), jnp.where(is_lower, found, now), status, calls,
                steps + 1)
    first = value(x0)
    start = jnp.where((first == 0).all(), 1, -1)
    x, _, status, calls, steps = lax.while_loop(goes_on, advance, (x0, first, start, 1, 0))
    return x, (jnp.where(status < 0, 0, status), calls, steps)


_METHODS = {"hybr": _hybrid, "lm": _marquardt, "krylov": _newton_krylov}
