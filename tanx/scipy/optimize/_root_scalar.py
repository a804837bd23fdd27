"""Roots of functions of one number: by bracketing, or by tangents and secants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.autodiff import jvp
from ..._base.tuples import NamedTuple
from ...numpy._promotion import typeof
from ._common import check_args, check_options, error, precision

__all__ = ["RootResults", "root_scalar"]


class RootResults(NamedTuple):
    """The result of :func:`root_scalar`; a tree of arrays.

    Attributes:
        root: the root, or the last number tried; NaN if a bracket had ends of one sign.
        iterations: the number of steps.
        function_calls: how often the function was evaluated; derivatives count as calls.
        converged: whether it is a root, to the tolerance.
    """

    root: Any
    iterations: Any
    function_calls: Any
    converged: Any


def root_scalar(f: Callable, args: tuple = (), method: str | None = None, bracket=None,
                fprime=None, fprime2=None, x0=None, x1=None, xtol: float | None = None,
                rtol: float | None = None, maxiter: int | None = None,
                options: Mapping[str, Any] | None = None) -> RootResults:
    """A root of ``f(x, *args)``, a function of one number.

    ``"bisect"`` and ``"brentq"`` take a ``bracket``, two numbers at which ``f`` has different
    signs, and cannot fail. ``"newton"`` starts from ``x0``, ``"secant"`` from ``x0`` and ``x1``,
    and ``"halley"``, which uses second derivatives, from ``x0``. Without ``method``, the arguments
    decide: a bracket means ``"brentq"``. Derivatives are automatic; ``fprime`` and ``fprime2`` may
    be functions for them, or True if ``f`` returns them after its value.

    A root is found if it is known to ``xtol + rtol * abs(root)``. The root has derivatives with
    respect to ``args`` and values that ``f`` closes over.

    >>> found = tanx.scipy.optimize.root_scalar(lambda x, a: x * x - a, (9.0,), bracket=(0.0, 8.0))
    >>> found.root.round(4), found.converged
    (Array(3., dtype=float32), Array(True, dtype=bool))
    >>> def root_of(a):
    ...     return tanx.scipy.optimize.root_scalar(lambda x: x * x - a, x0=1.0).root
    >>> tanx.grad(root_of)(9.0).round(4)
    Array(0.1667, dtype=float32, weak_type=True)
    """
    check_args("root_scalar", args)
    given = check_options("root_scalar", options, {"xtol": xtol, "rtol": rtol, "maxiter": maxiter})
    name = (method or _method(bracket, x0, x1, fprime2)).lower()
    if name not in _METHODS:
        raise error("root_scalar", "there is no such method.", f"method: {method!r}",
                    f"known: {', '.join(map(repr, _METHODS))}")
    solver, takes_bracket, tolerance, most = _METHODS[name]
    start = _start(name, takes_bracket, bracket, x0, x1)
    functions = _functions(f, args, fprime, fprime2, start[0].dtype)
    absolute = tolerance if given["xtol"] is None else given["xtol"]
    relative = given["rtol"]
    relative = 4 * precision(start[0]) if relative is None else relative
    steps = most if given["maxiter"] is None else given["maxiter"]

    def known_to(x):
        return absolute + relative * jnp.abs(x)
    root, (iterations, calls, converged) = lax.custom_root(
        functions[0], start[0], lambda _, x: solver(functions, (x, *start[1:]), known_to, steps),
        lambda g, y: y / g(jnp.ones_like(y)), has_aux=True)
    return RootResults(root, iterations, calls, converged)


def _method(bracket, x0, x1, fprime2) -> str:
    """The default method for the given arguments."""
    if bracket is not None:
        return "brentq"
    if x0 is None:
        raise error("root_scalar", "needs a bracket, or a number x0 to start from.")
    return "secant" if x1 is not None else "halley" if fprime2 else "newton"


def _start(method: str, takes_bracket: bool, bracket, x0, x1) -> tuple:
    """The numbers that a method starts from, of one dtype."""
    given = bracket if takes_bracket else (x0,) if method != "secant" else (
        x0, x0 if x1 is None else x1)
    if given is None or any(x is None for x in given) or (takes_bracket and len(given) != 2):
        raise error("root_scalar", f"{method!r} needs "
                    + ("two numbers as a bracket." if takes_bracket else "a number x0."),
                    f"bracket: {bracket}", f"x0: {x0}")
    numbers = [jnp.asarray(x) for x in given]
    dtype = jnp.result_type(*numbers, np.float32) if not any(
        dtypes.issubdtype(x.dtype, np.floating) for x in numbers) else jnp.result_type(*numbers)
    if any(x.ndim for x in numbers) or not dtypes.issubdtype(dtype, np.floating):
        raise error("root_scalar", "starts from single real numbers.",
                    *(f"number: {typeof(x)}" for x in numbers), kind=TypeError,
                    hint="tanx.vmap finds many roots.")
    numbers = [lax.stop_gradient(x.astype(dtype)) for x in numbers]
    if method == "secant" and x1 is None:
        numbers[1] = numbers[0] * (1 + 1e-4) + jnp.where(numbers[0] >= 0, 1e-4, -1e-4).astype(dtype)
    return tuple(numbers)


def _functions(f: Callable, args: tuple, fprime, fprime2, dtype) -> tuple[Callable, ...]:
    """The function, with its first derivative, and with both."""
    def number(value):
        return jnp.asarray(value).astype(dtype)

    def outputs(x) -> tuple:
        out = f(x, *args)
        return out if fprime is True or fprime2 is True else (out,)

    def value(x):
        return number(outputs(x)[0])

    def slope(x):
        if fprime is True:
            return number(outputs(x)[1])
        if fprime is None or fprime is False:
            return jvp(value, (x,), (jnp.ones_like(x),))[1]
        return number(fprime(x, *args))

    def bend(x):
        if fprime2 is True:
            return number(outputs(x)[2])
        if fprime2 is None or fprime2 is False:
            return jvp(slope, (x,), (jnp.ones_like(x),))[1]
        return number(fprime2(x, *args))
    return value, slope, bend


# -- brackets --------------------------------------------------------------------------------------


def _bisect(functions, bracket, known_to, most):
    """Bisection."""
    value = functions[0]
    a, b = bracket
    fa, fb = value(a), value(b)
    ends = jnp.where(fa == 0, a, jnp.where(fb == 0, b, jnp.nan))
    is_open = jnp.sign(fa) * jnp.sign(fb) < 0

    def goes_on(state):
        a, b, _, step = state
        return (jnp.abs(b - a) > known_to(b)) & (step < most)

    def advance(state):
        a, b, fa, step = state
        middle = a + (b - a) / 2
        now = value(middle)
        left = jnp.sign(now) == jnp.sign(fa)
        a, b = jnp.where(left, middle, a), jnp.where(left, b, middle)
        a = jnp.where(now == 0, middle, a)
        return a, jnp.where(now == 0, middle, b), jnp.where(left, now, fa), step + 1
    a, b, _, step = lax.while_loop(goes_on, advance, (
        jnp.where(is_open, a, ends), jnp.where(is_open, b, ends), fa, 0))
    return a + (b - a) / 2, (step, step + 2, jnp.abs(b - a) <= known_to(b))


class _Brent(NamedTuple):
    """``b`` is the best number, ``a`` the one before, and a root lies between ``b`` and ``c``."""

    a: Any
    b: Any
    c: Any
    fa: Any
    fb: Any
    fc: Any
    last: Any
    before: Any
    step: Any


def _brentq(functions, bracket, known_to, most):
    """Brent (1973): inverse quadratic steps where they converge fast, else bisection."""
    value = functions[0]
    a, b = bracket
    fa, fb = value(a), value(b)
    is_open = jnp.sign(fa) * jnp.sign(fb) <= 0

    def ordered(s: _Brent) -> _Brent:
        """Take the end with the smaller value as the best."""
        swap = jnp.abs(s.fc) < jnp.abs(s.fb)

        def pick(x, y):
            return jnp.where(swap, x, y)
        return s._replace(a=pick(s.b, s.a), b=pick(s.c, s.b), c=pick(s.b, s.c),
                          fa=pick(s.fb, s.fa), fb=pick(s.fc, s.fb), fc=pick(s.fb, s.fc))

    def goes_on(s: _Brent):
        s = ordered(s)
        return (s.fb != 0) & (jnp.abs(s.c - s.b) > known_to(s.b)) & (s.step < most) & is_open

    def advance(s: _Brent) -> _Brent:
        s = ordered(s)
        least, middle = known_to(s.b) / 2, (s.c - s.b) / 2
        step, before = _interpolated(s, middle, least)
        step_taken = jnp.where(jnp.abs(step) > least, step, jnp.copysign(least, middle))
        b = s.b + step_taken.astype(s.b.dtype)
        fb = value(b)
        same = (fb > 0) == (s.fc > 0)  # then the root lies between the last two
        return _Brent(s.b, b, jnp.where(same, s.b, s.c), s.fb, fb, jnp.where(same, s.fb, s.fc),
                      jnp.where(same, b - s.b, step), jnp.where(same, b - s.b, before), s.step + 1)

    end = ordered(lax.while_loop(goes_on, advance, _Brent(
        a, b, a, fa, fb, fa, b - a, b - a, 0)))
    done = is_open & ((end.fb == 0) | (jnp.abs(end.c - end.b) <= known_to(end.b)))
    return jnp.where(is_open, end.b, jnp.nan), (end.step, end.step + 2, done)


def _interpolated(s: _Brent, middle, least):
    """The step of interpolation, or to the middle; and the step to compare the next one with."""
    def safe(x):
        return jnp.where(x == 0, 1, x)
    ratio = s.fb / safe(s.fa)
    q, r = s.fa / safe(s.fc), s.fb / safe(s.fc)
    is_secant = s.a == s.c
    p = jnp.where(is_secant, 2 * middle * ratio,
                  ratio * (2 * middle * q * (q - r) - (s.b - s.a) * (r - 1)))
    q = jnp.where(is_secant, 1 - ratio, (q - 1) * (r - 1) * (ratio - 1))
    p, q = jnp.abs(p), jnp.where(p > 0, -q, q)
    is_small = (2 * p < 3 * middle * q - jnp.abs(least * q)) & (p < jnp.abs(s.before * q / 2))
    use = is_small & (jnp.abs(s.before) >= least) & (jnp.abs(s.fa) > jnp.abs(s.fb))
    return jnp.where(use, p / safe(q), middle), jnp.where(use, s.last, middle)


# -- tangents and secants --------------------------------------------------------------------------


def _iterated(first, step: Callable, known_to, most, calls: int):
    """Steps from a number until they are small or not finite."""
    def goes_on(state):
        x, _, size, count = state
        return (size > known_to(x)) & (count < most)

    def advance(state):
        x, memory, _, count = state
        move, memory = step(x, memory)
        is_finite = jnp.isfinite(move)
        return (jnp.where(is_finite, x + move, x), memory,
                jnp.where(is_finite, jnp.abs(move), jnp.nan), count + 1)
    x, memory = first
    x, _, size, count = lax.while_loop(
        goes_on, advance, (x, memory, jnp.full_like(x, jnp.inf), 0))
    return x, (count, calls * count, size <= known_to(x))


def _newton(functions, start, known_to, most):
    value, slope, _ = functions
    return _iterated((start[0], ()), lambda x, _: (-value(x) / slope(x), ()), known_to, most, 2)


def _halley(functions, start, known_to, most):
    value, slope, bend = functions

    def step(x, memory):
        newton = value(x) / slope(x)
        share = 1 - newton * bend(x) / (2 * slope(x))
        # Far from a root the correction could reverse the step.
        return -newton / jnp.where(share > 0.5, share, 1), memory
    return _iterated((start[0], ()), step, known_to, most, 3)


def _secant(functions, start, known_to, most):
    value = functions[0]
    first, second = start

    def step(x, memory):
        before, there = memory
        now = value(x)
        # On an exact root the slope does not matter.
        move = jnp.where(now == 0, 0, -now * (x - before) / (now - there))
        return move, (x, now)
    return _iterated((second, (first, value(first))), step, known_to, most, 1)


# For each: whether it takes a bracket, and the defaults of xtol and maxiter.
_METHODS: dict[str, tuple] = {
    "bisect": (_bisect, True, 2e-12, 100), "brentq": (_brentq, True, 2e-12, 100),
    "newton": (_newton, False, 1.48e-8, 50), "secant": (_secant, False, 1.48e-8, 50),
    "halley": (_halley, False, 1.48e-8, 50)}
