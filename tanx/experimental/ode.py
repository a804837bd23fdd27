"""tanx.experimental.ode: solutions of ordinary differential equations.

:func:`odeint` steps by the pair of Dormand and Prince (1980), of orders 5 and 4, with steps that
grow and shrink by the estimated error, and a polynomial of fourth order through each step for the
requested times. Its derivatives in reverse mode are those of the equation, not of the steps: the
adjoint equation is solved backwards in time, so that memory does not grow with the number of steps.
The parts of the method are public, as they are in JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from .. import lax
from .. import numpy as jnp
from .._api.autodiff import vjp
from .._api.batching import vmap
from .._api.jit import jit
from .._base.traceback import shown
from .._base.window import publish
from .._control.custom_vjp import closure_convert, custom_vjp
from ..errors import explain
from ..flatten_util import ravel_pytree
from ..numpy._promotion import is_arraylike, typeof
from ..tree_util import tree_flatten, tree_leaves, tree_map, tree_unflatten

__all__ = ["abs2", "fit_4th_order_polynomial", "initial_step_size", "interp_fit_dopri",
           "mean_error_ratio", "odeint", "optimal_step_size", "ravel_first_arg",
           "runge_kutta_step"]

# For each stage: the time, as a share of the step, and the weights of the slopes before it.
_STAGES = (
    (1 / 5, (1 / 5,)),
    (3 / 10, (3 / 40, 9 / 40)),
    (4 / 5, (44 / 45, -56 / 15, 32 / 9)),
    (8 / 9, (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729)),
    (1, (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656)),
    (1, (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)),
)
# The solution of order 5 is that of the last stage; an embedded solution estimates its error.
_ERROR = (35 / 384 - 1951 / 21600, 0, 500 / 1113 - 22642 / 50085, 125 / 192 - 451 / 720,
          -2187 / 6784 + 12231 / 42400, 11 / 84 - 649 / 6300, -1 / 60)
# In the middle of a step (Shampine 1986).
_MIDDLE = tuple(weight / 2 for weight in (
    6025192743 / 30085553152, 0, 51252292925 / 65400821598, -2691868925 / 45128329728,
    187940372067 / 1594534317056, -1776094331 / 19743644256, 11237099 / 235043384))


# -- one step --------------------------------------------------------------------------------------


def _weighted(weights, slopes):
    """The weighted sum of slopes, without those of weight zero."""
    return sum(w * k for w, k in zip(weights, slopes) if w)


def runge_kutta_step(func: Callable, y0, f0, t0, dt):
    """One step of length ``dt``: the solution, its slope, the estimated error, and all slopes.

    >>> from tanx.experimental import ode
    >>> y, _, error, k = ode.runge_kutta_step(lambda y, t: -y, jnp.ones(1), -jnp.ones(1), 0.0, 0.1)
    >>> y, k.shape
    (Array([0.9048374], dtype=float32), (7, 1))
    """
    slopes = [f0]
    for share, weights in _STAGES:
        y1 = y0 + (dt * _weighted(weights, slopes)).astype(y0.dtype)
        slopes.append(func(y1, t0 + share * dt))
    error = (dt * _weighted(_ERROR, slopes)).astype(y0.dtype)
    return y1, slopes[-1], error, jnp.stack(slopes)


def fit_4th_order_polynomial(y0, y1, y_mid, dy0, dy1, dt):
    """The coefficients of the polynomial through a step, highest first, in shares of the step.

    It has the values ``y0``, ``y_mid`` and ``y1`` at 0, 1/2 and 1, and the slopes ``dy0`` and
    ``dy1``, by time, at 0 and 1.

    >>> tanx.experimental.ode.fit_4th_order_polynomial(0., 1., 0.25, 0., 1., 2.)
    (0.0, 0.0, 1.0, 0.0, 0.0)
    """
    v0, v1 = dt * dy0, dt * dy1
    return (2 * (v1 - v0) - 8 * (y0 + y1) + 16 * y_mid,
            5 * v0 - 3 * v1 + 18 * y0 + 14 * y1 - 32 * y_mid,
            v1 - 4 * v0 - 11 * y0 - 5 * y1 + 16 * y_mid, v0, y0)


def interp_fit_dopri(y0, y1, k, dt):
    """The polynomial through a step from ``y0`` to ``y1`` with the slopes ``k``.

    >>> from tanx.experimental import ode
    >>> polynomial = ode.interp_fit_dopri(jnp.zeros(1), jnp.ones(1), jnp.ones((7, 1)), 1.0)
    >>> jnp.polyval(polynomial, 0.25)  # a straight line
    Array([0.25], dtype=float32)
    """
    y_mid = y0 + (dt * _weighted(_MIDDLE, k)).astype(y0.dtype)
    return jnp.stack([c.astype(y0.dtype) for c in fit_4th_order_polynomial(
        y0, y1, y_mid, k[0], k[-1], dt)])


# -- the length of steps ---------------------------------------------------------------------------


def abs2(x):
    """The square of the absolute value.

    >>> tanx.experimental.ode.abs2(jnp.array([3 + 4j, -2]))
    Array([25.,  4.], dtype=float32)
    """
    return x.real ** 2 + x.imag ** 2 if jnp.iscomplexobj(x) else x ** 2


def _norm(x):
    return jnp.sqrt(abs2(x).sum())


def initial_step_size(fun: Callable, t0, y0, order, rtol, atol, f0):
    """A first step that is not too long, from two slopes (Hairer, Nørsett and Wanner, II.4).

    ``f0`` is the slope at ``y0``; ``order`` is that of the estimate of errors.

    >>> from tanx.experimental import ode
    >>> ode.initial_step_size(lambda y, t: -y, 0.0, jnp.ones(2), 4, 1e-6, 1e-6, -jnp.ones(2))
    Array(0.02692173, dtype=float32)
    """
    scale = atol + abs(y0) * rtol
    d0, d1 = _norm(y0 / scale), _norm(f0 / scale)
    tiny = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = jnp.where(tiny, 1e-6, 0.01 * d0 / jnp.where(tiny, 1, d1))
    f1 = fun(y0 + (h0 * f0).astype(y0.dtype), t0 + h0)
    steepest = jnp.maximum(d1, _norm((f1 - f0) / scale) / h0)
    flat = steepest <= 1e-15
    h1 = jnp.where(flat, jnp.maximum(1e-6, h0 * 1e-3),
                   (0.01 / jnp.where(flat, 1, steepest)) ** (1 / (order + 1)))
    return jnp.minimum(100 * h0, h1)


def mean_error_ratio(error_estimate, rtol, atol, y0, y1):
    """The error of a step relative to the tolerance: the root of the mean of squares.

    >>> from tanx.experimental import ode
    >>> ode.mean_error_ratio(jnp.array([3e-5]), 1e-5, 1e-5, jnp.ones(1), -2 * jnp.ones(1))
    Array(1., dtype=float32)
    """
    allowed = atol + rtol * jnp.maximum(abs(y0), abs(y1))
    return jnp.sqrt(jnp.mean(abs2(error_estimate / allowed)))


def optimal_step_size(last_step, mean_error_ratio, safety=0.9, ifactor=10.0, dfactor=0.2,
                      order=5.0):
    """The next step: as long as the error allows, with a factor ``safety``.

    It is at most ``ifactor`` times the last one, at least ``dfactor`` times it, and not shorter
    than an accepted step.

    >>> from tanx.experimental import ode
    >>> ode.optimal_step_size(0.1, jnp.array([0.0, 0.95, 1.0, 1e9]))
    Array([1.  , 0.1 , 0.09, 0.02], dtype=float32)
    """
    exact = mean_error_ratio == 0
    factor = safety * jnp.where(exact, 1, mean_error_ratio) ** (-1 / order)
    factor = jnp.where(exact, ifactor, jnp.minimum(factor, ifactor))
    return last_step * jnp.maximum(factor, jnp.where(mean_error_ratio < 1, 1, dfactor))


# -- all steps -------------------------------------------------------------------------------------


def ravel_first_arg(f: Callable, unravel: Callable) -> Callable:
    """A function of a vector with a vector as its result, from a function of a pytree.

    >>> from tanx.experimental import ode
    >>> vector, unravel = tanx.flatten_util.ravel_pytree({"v": jnp.ones(1), "x": jnp.ones(1)})
    >>> slope = ode.ravel_first_arg(lambda y, t: {"v": -y["x"], "x": 2 * y["v"]}, unravel)
    >>> slope(vector, 0.0)
    Array([-1.,  2.], dtype=float32)
    """
    def raveled(y, *args):
        return ravel_pytree(f(unravel(y), *args))[0]
    return raveled


def odeint(func: Callable, y0, t, *args, rtol=1.4e-8, atol=1.4e-8, mxstep=np.inf, hmax=np.inf):
    """The solution of ``dy/dt = func(y, t, *args)`` with the value ``y0`` at ``t[0]``.

    ``y0`` is an array or a pytree of arrays, like the result of ``func``. ``t`` has times in
    increasing order, or in decreasing order; the result has the solution at each of them along a
    new first dimension. Steps are as long as an error of ``atol + rtol * abs(y)`` allows, at most
    ``hmax``; after ``mxstep`` of them between two times, the solution there is extrapolated.
    Reverse-mode derivatives by ``y0``, ``t``, ``args`` and values that ``func`` closes over come
    from the adjoint equation. There is no forward mode, as in JAX.

    >>> from tanx.experimental.ode import odeint
    >>> odeint(lambda y, t, rate: -rate * y, 1.0, jnp.array([0.0, 1.0, 2.0]), 0.5).round(5)
    Array([1.     , 0.60653, 0.36788], dtype=float32)
    """
    name = "tanx.experimental.ode.odeint"
    for leaf in tree_leaves((y0, args)):
        if not is_arraylike(leaf):
            raise TypeError(explain(name, "y0 and args must be arrays, numbers, or trees of these.",
                                    f"found: {leaf!r:.60}"))
    t = jnp.asarray(t)
    y0 = tree_map(jnp.asarray, y0)
    if t.dtype.kind not in "fV" or any(leaf.dtype.kind in "iub" for leaf in tree_leaves(y0)):
        raise TypeError(explain(
            name, "t must be an array of floats, y0 of floats or complex numbers.",
            f"t:  {typeof(t)}", f"y0: {tree_map(lambda leaf: str(typeof(leaf)), y0)}"))
    if t.ndim != 1 or not t.shape[0]:
        raise IndexError(explain(name, "t must be a vector of at least one time.",
                                 f"t: {typeof(t)}"))
    # Decreasing times are increasing negative times.
    sign = jnp.where(t[-1] < t[0], -1, 1)

    def signed(y, t, sign, *args):
        return tree_map(lambda slope: sign * slope, func(y, sign * t, *args))
    return _solution(signed, y0, sign * t, (sign, *args), rtol, atol, mxstep, hmax)


def _solution(func: Callable, y0, ts, args: tuple, *options: float):
    """The solution at times in increasing order, of an equation for pytrees."""
    converted, closed = closure_convert(func, y0, ts[0], *args)
    vector, unravel = ravel_pytree(y0)
    flat = _checked(ravel_first_arg(converted, unravel), vector)
    return vmap(unravel)(_solve(flat, *map(float, options), vector, ts, *args, *closed))


def _checked(func: Callable, y0) -> Callable:
    """``func``, with a check that its results are like ``y0``."""
    def checked(y, t, *args):
        slope = func(y, t, *args)
        if slope.shape != y0.shape or (slope.dtype.kind == "c" and y0.dtype.kind != "c"):
            raise TypeError(explain(
                "tanx.experimental.ode.odeint", "func must return a slope for each element of y0.",
                f"y0, as a vector:    {typeof(y0)}", f"slope, as a vector: {typeof(slope)}"))
        return slope.astype(y.dtype)
    return checked


@partial(custom_vjp, nondiff_argnums=(0, 1, 2, 3, 4))
def _solve(func, rtol, atol, mxstep, hmax, y0, ts, *args):
    """The solution at times in increasing order, of an equation for vectors."""
    return jit(partial(_steps, func, rtol, atol, mxstep, hmax))(y0, ts, *args)


def _steps(func, rtol, atol, mxstep, hmax, y0, ts, *args):
    def slope(y, t):
        return func(y, t, *args)

    def step(state):
        count, y, f, t, dt, last, polynomial = state
        y1, f1, error, k = runge_kutta_step(slope, y, f, t, dt)
        ratio = mean_error_ratio(error, rtol, atol, y, y1)
        good = ratio <= 1
        fit = interp_fit_dopri(y, y1, k, dt)
        after = [jnp.where(good, new, old) for new, old in (
            (y1, y), (f1, f), (t + dt, t), (t, last), (fit, polynomial))]
        dt = jnp.clip(optimal_step_size(dt, ratio), 0, hmax).astype(ts.dtype)
        y, f, t, last, polynomial = after
        return count + 1, y, f, t, dt, last, polynomial

    most = np.int32(min(mxstep, np.iinfo(np.int32).max))

    def solution_at(carry, time):
        def unfinished(state):
            count, _, _, t, dt, _, _ = state
            return (t < time) & (count < most) & (dt > 0)

        _, *carry = lax.while_loop(unfinished, step, (np.int32(0), *carry))
        _, _, t, _, last, polynomial = carry
        still = time == last
        share = jnp.where(still, 0, (time - last) / jnp.where(still, 1, t - last))
        return tuple(carry), jnp.polyval(polynomial, share.astype(y0.real.dtype))

    f0 = slope(y0, ts[0])
    dt = initial_step_size(slope, ts[0], y0, 4, rtol, atol, f0)
    start = (y0, f0, ts[0], jnp.clip(dt, 0, hmax).astype(ts.dtype), ts[0], jnp.stack([y0] * 5))
    _, rest = lax.scan(solution_at, start, ts[1:])
    return jnp.concatenate([y0[None], rest])


# -- the adjoint equation --------------------------------------------------------------------------


def _solve_forward(func, rtol, atol, mxstep, hmax, y0, ts, *args):
    ys = _solve(func, rtol, atol, mxstep, hmax, y0, ts, *args)
    return ys, (ys, ts, args)


def _solve_backward(func, rtol, atol, mxstep, hmax, residuals, cotangent):
    """From each time back to the one before: the solution, and its cotangent.

    The cotangent of the solution follows the transpose of the derivative of ``func``; the
    cotangents of the first time and of the arguments are integrals along the solution.
    """
    ys, ts, args = residuals
    leaves, tree = tree_flatten(args)
    smooth = [jnp.issubdtype(jnp.result_type(leaf), jnp.inexact) for leaf in leaves]
    given = tuple(leaf for leaf, s in zip(leaves, smooth) if s)

    def slope(y, t, *given):
        rest = iter(given)
        return func(y, t, *tree_unflatten(
            tree, [next(rest) if s else leaf for leaf, s in zip(leaves, smooth)]))

    def backwards(state, t, *given):
        y, y_bar, _, _ = state
        y_dot, pull = vjp(slope, y, -t, *given)
        y_bar, t_bar, *given_bar = pull(y_bar)
        return -y_dot, y_bar, t_bar, given_bar

    def interval(carry, at):
        y_bar, start_bar, given_bar = carry
        y, time, before, bar, bar_before = at
        time_bar = jnp.real(jnp.sum(slope(y, time, *given) * bar)).astype(ts.dtype)
        state = y, y_bar, start_bar - time_bar, given_bar
        end = _solution(backwards, state, jnp.stack([-time, -before]), given, rtol, atol, mxstep,
                        hmax)
        _, y_bar, start_bar, given_bar = tree_map(lambda leaf: leaf[1], end)
        return (y_bar + bar_before, start_bar, given_bar), time_bar

    start = cotangent[-1], jnp.zeros((), ts.dtype), [jnp.zeros_like(leaf) for leaf in given]
    (y_bar, start_bar, given_bar), times_bar = lax.scan(
        interval, start, (ys[1:], ts[1:], ts[:-1], cotangent[1:], cotangent[:-1]), reverse=True)
    found = iter(given_bar)
    args_bar = tree_unflatten(tree, [next(found) if s else None for s in smooth])
    return y_bar, jnp.concatenate([start_bar[None], times_bar]), *args_bar


_solve.defvjp(_solve_forward, _solve_backward)

publish(__name__, shown)
