"""Least squares: the method of Levenberg and Marquardt, with bounds and robust losses.

With bounds, variables that a step would push beyond their bound are held there, and steps are cut
off at the other bounds (Kanzow, Yamashita and Fukushima 2004). Losses enter as weights of the
residuals and of the Jacobian (Triggs et al. 2000).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.autodiff import grad
from ..._api.jacobian import jacfwd, jacrev
from ..._base.tuples import NamedTuple
from ...numpy._promotion import typeof
from ._common import check_args, error, precision, real_vector

__all__ = ["LeastSquaresResult", "least_squares"]


class LeastSquaresResult(NamedTuple):
    """The result of :func:`least_squares`; a tree of arrays.

    Attributes:
        x: the solution.
        cost: half the sum of squares there, or of their losses.
        fun: the residuals there.
        jac: their Jacobian there.
        grad: the gradient of the cost there.
        optimality: the largest element of the gradient, without variables held by a bound.
        active_mask: -1 and 1 for variables at their lower and upper bound, else 0.
        nfev: how often the residuals were evaluated.
        njev: how often their Jacobian was evaluated.
        status: 1 the gradient is small, 2 the cost no longer changes, 3 the steps are small, 4 both
            of these, 0 the limit of evaluations was reached.
        success: whether the status is positive.
    """

    x: Any
    cost: Any
    fun: Any
    jac: Any
    grad: Any
    optimality: Any
    active_mask: Any
    nfev: Any
    njev: Any
    status: Any
    success: Any


# -- losses: the loss of a squared residual ``z``, and its first and second derivative -------------


def _linear(z):
    return z, jnp.ones_like(z), jnp.zeros_like(z)


def _soft_l1(z):
    root = jnp.sqrt(1 + z)
    return 2 * (z / (root + 1)), 1 / root, -0.5 / root ** 3


def _huber(z):
    root = jnp.sqrt(jnp.where(z <= 1, 1, z))
    return (jnp.where(z <= 1, z, 2 * root - 1), 1 / root,
            jnp.where(z <= 1, 0, -0.5 / root ** 3))


def _cauchy(z):
    return jnp.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2


def _arctan(z):
    square = 1 + z * z
    return jnp.arctan(z), 1 / square, -2 * z / square ** 2


_LOSSES = {"linear": _linear, "soft_l1": _soft_l1, "huber": _huber, "cauchy": _cauchy,
           "arctan": _arctan}


def least_squares(fun: Callable, x0, jac="2-point", bounds=(-np.inf, np.inf), method: str = "trf",
                  ftol: float | None = 1e-8, xtol: float | None = 1e-8,
                  gtol: float | None = 1e-8, x_scale=1.0, loss: str | Callable = "linear",
                  f_scale=1.0, max_nfev: int | None = None, args: tuple = (),
                  kwargs: Mapping[str, Any] | None = None) -> LeastSquaresResult:
    """``x`` near ``x0`` that minimises the sum of squares of ``fun(x, *args, **kwargs)``.
    ``bounds`` are the least and the greatest ``x``, numbers or vectors. ``loss`` reduces the
    influence of large residuals, in units of ``f_scale``: ``"linear"``, ``"soft_l1"``, ``"huber"``,
    ``"cauchy"``, ``"arctan"``, or a function that returns three rows: the loss of squares and its
    two derivatives. ``x_scale`` is the size of a step in each variable, or ``"jac"``.

    The Jacobian is computed by automatic differentiation, in the cheaper mode; ``jac`` may be a
    function that returns it, and names of finite differences have no effect. ``"trf"`` and
    ``"dogbox"`` are one method here; ``"lm"`` is the same and refuses bounds, as in SciPy.
    Tolerances below the precision of the dtype are raised to it.

    The solution has the derivatives of the exact solution, with respect to ``args``, to active
    bounds, and to values that ``fun`` closes over.

    >>> t = jnp.arange(4.0)
    >>> found = tanx.scipy.optimize.least_squares(lambda x, y: x[0] * jnp.exp(x[1] * t) - y,
    ...                                           jnp.array([1.0, 0.1]), args=(2 * jnp.exp(-t),))
    >>> found.x.round(3)
    Array([ 2., -1.], dtype=float32)
    """
    check_args("least_squares", args)
    x0 = lax.stop_gradient(real_vector("least_squares", x0))
    lower, upper = _bounds(bounds, x0, method)
    rho = _loss(loss)

    def residuals(x):
        out = jnp.asarray(fun(x, *args, **(kwargs or {}))).astype(x.dtype)
        if out.ndim > 1:
            raise error("least_squares", "fun must return a vector or a number.",
                        f"fun(x): {typeof(out)}")
        return out.reshape(-1)
    jacobian = _jacobian(residuals, jac, x0, args, kwargs)
    f_scale = jnp.asarray(f_scale, x0.dtype)

    def cost(x):
        return 0.5 * jnp.square(f_scale) * rho(jnp.square(residuals(x) / f_scale))[0].sum()

    def natural_residual(x):
        """0 at a solution: along variables held by a bound, the distance from it."""
        return x - jnp.clip(x - grad(cost)(x), lower, upper)

    def weighted(x):
        """Residuals and Jacobian, weighted so that their squares give the loss to second order."""
        f, j = residuals(x), jacobian(x)
        if loss == "linear":
            return f, j
        _, first, second = rho(jnp.square(f / f_scale))
        scale = jnp.sqrt(jnp.maximum(first + 2 * second * jnp.square(f / f_scale), precision(x)))
        return f * first / scale, j * scale[:, None]

    def solve(_, x):
        found = levenberg_marquardt(
            weighted, jnp.clip(x, lower, upper), xtol, max_nfev or 100 * x.size, cost=cost,
            lower=lower, upper=upper, ftol=ftol, gtol=gtol, scale=_scale(x_scale, x))
        return found.x, (found.status, found.calls, found.steps)
    x, (status, calls, steps) = lax.custom_root(natural_residual, x0, solve, _by_hessian,
                                                has_aux=True)
    return _result(x, cost, residuals, jacobian, rho, f_scale, lower, upper, status, calls, steps)


def _by_hessian(linear: Callable, y):
    """The step for a change of the gradient, by the Hessian."""
    return jnp.linalg.solve(jacfwd(linear)(jnp.zeros_like(y)), y)


def _result(x, cost, residuals, jacobian, rho, f_scale, lower, upper, status, calls, steps):
    f, j = residuals(x), jacobian(x)
    slope = jnp.matmul(f * rho(jnp.square(f / f_scale))[1], j, precision="highest")
    mask = jnp.where(x <= lower, -1, jnp.where(x >= upper, 1, 0)).astype(np.int32)
    free = jnp.where(_is_free(x, slope, lower, upper), slope, 0)
    return LeastSquaresResult(x, cost(x), f, j, slope, jnp.abs(free).max(initial=0), mask, calls,
                              steps, status, (status > 0).astype(bool))


def _bounds(bounds, x0, method: str):
    if method not in ("trf", "dogbox", "lm"):
        raise error("least_squares", "there is no such method.", f"method: {method!r}",
                    "known: 'trf', 'dogbox', 'lm'")
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise error("least_squares", "bounds must be two: the least and the greatest x.",
                    f"bounds: {bounds!r:.100}") from None
    if method == "lm" and not all(
            isinstance(b, float) and np.isinf(b) for b in (lower, upper)):
        raise error("least_squares", "'lm' takes no bounds.", hint="method='trf'.")
    lower, upper = (jnp.asarray(b, x0.dtype) for b in (lower, upper))
    if any(b.shape not in ((), x0.shape) for b in (lower, upper)):
        raise error("least_squares", "bounds must be numbers, or vectors like x0.",
                    f"x0: {typeof(x0)}", f"bounds: {typeof(lower)}, {typeof(upper)}")
    return tuple(jnp.broadcast_to(b, x0.shape) for b in (lower, upper))


def _loss(loss) -> Callable:
    if callable(loss):
        return lambda z: tuple(loss(z))
    if loss not in _LOSSES:
        raise error("least_squares", "there is no such loss.", f"loss: {loss!r}",
                    f"known: {', '.join(map(repr, _LOSSES))}, or a function")
    return _LOSSES[loss]


def _jacobian(residuals: Callable, jac, x0, args, kwargs) -> Callable:
    if callable(jac):
        return lambda x: jnp.asarray(jac(x, *args, **(kwargs or {}))).reshape(-1, x.size)
    if jac not in (None, "2-point", "3-point", "cs"):
        raise error("least_squares", "there is no such Jacobian.", f"jac: {jac!r}",
                    "known: a function, None, '2-point', '3-point', 'cs'")

    def either(x):
        # A product for each variable, or for each residual.
        return (jacfwd if residuals(x).size >= x.size else jacrev)(residuals)(x)
    return either


def _scale(x_scale, x):
    """Sizes of steps; None to use the Jacobian's columns."""
    if isinstance(x_scale, str):
        if x_scale != "jac":
            raise error("least_squares", "there is no such x_scale.", f"x_scale: {x_scale!r}",
                        "known: numbers, or 'jac'")
        return None
    return jnp.broadcast_to(jnp.asarray(x_scale, x.dtype), x.shape)


# -- the method ------------------------------------------------------------------------------------


class Marquardt(NamedTuple):
    """A point with residuals and Jacobian, the damping of steps, and the status: -1 to go on."""

    x: Any
    residuals: Any
    matrix: Any
    cost: Any
    damping: Any
    growth: Any
    scale: Any
    status: Any
    calls: Any
    steps: Any


def levenberg_marquardt(both: Callable, x0, xtol, most, *, cost: Callable | None = None,
                        lower=-np.inf, upper=np.inf, ftol=1e-8, gtol=1e-8, scale=None) -> Marquardt:
    """Iterate until the gradient, the change of the cost or the steps are small.

    ``both`` returns residuals and Jacobian. Damping shrinks if the cost of a step was predicted
    well, and else grows faster and faster (Nielsen 1999).
    """
    tiny = precision(x0)
    xtol, ftol, gtol = (max(0.0 if t is None else t, tiny) for t in (xtol, ftol, gtol))
    cost = cost or (lambda x: 0.5 * _square(both(x)[0]))

    def goes_on(state: Marquardt):
        return (state.status < 0) & (state.calls < most)

    def advance(state: Marquardt) -> Marquardt:
        slope = jnp.matmul(state.residuals, state.matrix, precision="highest")
        free = _is_free(state.x, slope, lower, upper)
        step = _damped(state, slope, free)
        x = jnp.clip(state.x + step, lower, upper)
        step = x - state.x
        now = cost(x)
        predicted = -jnp.vdot(slope, step, precision="highest") - 0.5 * _square(
            jnp.matmul(state.matrix, step, precision="highest"))
        fall = state.cost - now
        gain = fall / jnp.where(predicted > 0, predicted, 1)
        better = fall > 0
        damping = jnp.where(better, state.damping * jnp.maximum(1 / 3, 1 - (2 * gain - 1) ** 3),
                            state.damping * state.growth)
        x_now = jnp.where(better, x, state.x)
        f, j = lax.cond(better, both, lambda _: (state.residuals, state.matrix), x_now)
        size = jnp.sqrt(_square(step))
        flat_cost = better & (fall < ftol * state.cost) & (gain > 0.25)
        short = size < xtol * (xtol + jnp.sqrt(_square(state.x)))
        status = jnp.where(flat_cost & short, 4, jnp.where(flat_cost, 2, jnp.where(short, 3, -1)))
        status = jnp.where(_optimality(x_now, f, j, lower, upper) < gtol, 1, status)
        widths = jnp.maximum(state.scale, _widths(j)) if scale is None else state.scale
        return Marquardt(
            x_now, f, j, jnp.where(better, now, state.cost), damping,
            jnp.where(better, 2, 2 * state.growth).astype(damping.dtype), widths, status,
            state.calls + 1, state.steps + better)

    f, j = both(x0)
    widths = _widths(j) if scale is None else 1 / scale
    first = jnp.where(_optimality(x0, f, j, lower, upper) < gtol, 1, -1)
    damping = 1e-3 * jnp.square(_widths(j) / widths).max(initial=0)
    end = lax.while_loop(goes_on, advance, Marquardt(
        x0, f, j, cost(x0), damping, jnp.full_like(damping, 2), widths, first, 1, 1))
    return end._replace(status=jnp.where(end.status < 0, 0, end.status))


def _square(x):
    return jnp.vdot(x, x, precision="highest")


def _widths(j):
    """The lengths of the columns of a Jacobian; 1 for zero columns."""
    lengths = jnp.sqrt(jnp.square(j).sum(0))
    return jnp.where(lengths > 0, lengths, 1)


def _is_free(x, slope, lower, upper):
    """Whether a variable is free to move: the gradient does not push it beyond its bound."""
    return ~(((x <= lower) & (slope > 0)) | ((x >= upper) & (slope < 0)))


def _optimality(x, f, j, lower, upper):
    slope = jnp.matmul(f, j, precision="highest")
    return jnp.abs(jnp.where(_is_free(x, slope, lower, upper), slope, 0)).max(initial=0)


def _damped(state: Marquardt, slope, free):
    """The damped step in the free variables, by a factorisation that does not square the Jacobian.

    The factor alone is enough: ``r.T @ r @ step = -slope``.
    """
    matrix = state.matrix * free
    below = jnp.sqrt(jnp.maximum(state.damping, precision(state.x) ** 2)) * state.scale
    stacked = jnp.concatenate([matrix, jnp.diag(below)])
    r = jnp.linalg.qr(stacked, mode="r")
    y = lax.linalg.triangular_solve(r, -(slope * free)[:, None], left_side=True, transpose_a=True)
    return lax.linalg.triangular_solve(r, y, left_side=True)[:, 0]
