"""Samples of the gamma distribution, and how they move with its parameter.

The sampler of Marsaglia and Tsang (2000) rejects what does not fit, so each element loops for as
long as it takes, with a key of its own. It is written once, for NumPy's arrays (``eval``) and for
expressions (``lower``); :func:`_while` is the loop of both.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod, sqrt
from typing import Any

import numpy as np

from .. import dtypes
from .._core.linear import Zero, is_zero, never
from .._core.primitive import Kind, Primitive
from .._core.types import typeof
from .._loops import build
from ..errors import explain
from .arith import div, mul
from .batching import batch_size, materialize
from .families import FLOAT, Elementwise, letter
from .generators import Generator, Words, as_dtype, as_words, joined, place_of
from .rng import generator_of
from .special import digamma_p, erf_inv_p, lgamma_p
from .transcendental import exp

__all__ = ["random_gamma_grad", "random_gamma_grad_p"]

State = tuple[Any, ...]


# -- arithmetic on NumPy's arrays and on expressions -----------------------------------------------


def _while(init: State, condition: Callable[[State], Any], step: Callable[[State], State]) -> State:
    """Each element's state, taken on for as long as the condition holds of it."""
    if isinstance(init[0], build.Expr):
        return build.while_loop(init, condition, step)
    state = [np.array(x) for x in np.broadcast_arrays(*init)]
    active = np.flatnonzero(condition(tuple(state)))
    while active.size:
        moved = step(tuple(x[active] for x in state))
        for x, new in zip(state, moved, strict=True):
            x[active] = new
        active = active[condition(tuple(x[active] for x in state))]
    return tuple(state)


_FUNCTIONS: dict[str, Callable] = {
    "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "abs": np.abs, "pow": np.power,
    "erf_inv": erf_inv_p.eval, "lgamma": lgamma_p.eval, "digamma": digamma_p.eval}


def _apply(name: str, *args):
    """A function of one of the instructions."""
    return (build.op(name, *args) if any(isinstance(x, build.Expr) for x in args)
            else _FUNCTIONS[name](*args))


def _where(condition, a, b):
    if isinstance(condition, build.Expr):
        return build.select(condition, a, b)
    like = a if hasattr(a, "dtype") else b
    return np.where(condition, a, b).astype(like.dtype)


def _constant(value: float, like):
    """A number of the dtype, and for arrays of the shape, of another."""
    return (build.const(value, like.dtype) if isinstance(like, build.Expr)
            else np.full_like(like, value))


# -- one random number of a key --------------------------------------------------------------------


def _numbered(impl: Generator, key: Words, count: int) -> list[Words]:
    """The first new keys of a key."""
    zero = key[0] ^ key[0]
    return [impl.split(key, zero, zero + n) for n in range(count)]


def _uniform(impl: Generator, key: Words, dtype: np.dtype):
    """A number from 0 up to, not including, 1: what ``uniform`` of no dimensions makes."""
    info = dtypes.finfo(dtype)
    width = 8 if info.nmant < 8 else info.bits
    words = np.dtype(f"uint{info.bits}")
    zero = key[0] ^ key[0]
    block = impl.words(key, zero, zero)
    if width == 64:
        bits = joined(*block) if impl.block == 2 else joined(block[1], block[0])
    else:
        first = block[0] ^ block[1] if impl.block == 2 else block[0]
        bits = as_dtype(as_dtype(first, np.dtype(f"uint{width}")), words)
    one = int(np.ones((), dtype).view(words))
    bits = bits >> width - info.nmant | one
    number = (build.op("bitcast", bits, dtype=dtype) if isinstance(bits, build.Expr)
              else np.asarray(bits).view(dtype))
    return number - dtype.type(1)


def _normal(impl: Generator, key: Words, dtype: np.dtype):
    """A normal number: what ``normal`` of no dimensions makes."""
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    spread = _uniform(impl, key, dtype) * (dtype.type(1) - low) + low
    return _apply("erf_inv", spread) * dtype.type(sqrt(2))


# -- the sampler -----------------------------------------------------------------------------------


def _sample(impl: Generator, key: Words, alpha, log_space: bool):
    """One sample of each element: of parameters below 1, that of one more, moved back."""
    dtype = alpha.dtype
    words = len(key)
    large = alpha >= dtype.type(1)
    boosted = _where(large, alpha, alpha + dtype.type(1))
    d = boosted - dtype.type(1 / 3)
    c = dtype.type(1 / 3) / _apply("sqrt", d)
    key, boost_key = _numbered(impl, key, 2)

    def proposed(state: State):
        """Whether a proposal is rejected; the first one, which is none, always is."""
        d, x, v, u = (state[i] for i in (0, 2, 3, 4))
        quick = u >= dtype.type(1) - x * x * dtype.type(0.0331)
        bound = x * dtype.type(0.5) + d * (dtype.type(1) - v + _apply("log", v))
        return quick & (_apply("log", u) >= bound)

    def propose(state: State) -> State:
        d, c, key = state[0], state[1], state[5:]
        key, x_key, u_key = _numbered(impl, key, 3)
        _, x, v, *_ = _while((c, _constant(0, c), _constant(-1, c), *x_key),
                             lambda s: s[2] <= dtype.type(0), draw)
        return d, c, x * x, v * v * v, _uniform(impl, u_key, dtype), *key

    def draw(state: State) -> State:
        c, key = state[0], state[3:]
        key, normal_key = _numbered(impl, key, 2)
        x = _normal(impl, normal_key, dtype)
        return c, x, x * c + dtype.type(1), *key

    start = (d, c, _constant(0, d), _constant(1, d), _constant(2, d), *key)
    v = _while(start, proposed, propose)[3]
    assert len(boost_key) == words
    u = _uniform(impl, boost_key, dtype)
    if not log_space:
        power = _apply("pow", dtype.type(1) - u, dtype.type(1) / alpha)
        return d * v * _where(large, _constant(1, power), power)
    logarithm = _apply("log1p", -u)
    moved = logarithm * (dtype.type(1) / alpha)
    none = large | _equal(logarithm, dtype.type(0))
    return _apply("log", d) + _apply("log", v) + _where(none, _constant(0, moved), moved)


def _equal(a, b):
    return build.eq(a, b) if isinstance(a, build.Expr) else a == b


class RandomGamma(Primitive):
    """A sample for each element of the parameter, or its logarithm.

    Dimensions of the keys are the first ones of the parameter's; the others are those of one key.
    """

    name = "random_gamma"
    kind = Kind.ELEMENTWISE
    transpose = never("it is not linear")

    def infer(self, keys, alpha, *, log_space, impl):
        if letter(alpha.dtype) not in FLOAT or alpha.shape[:keys.ndim] != keys.shape:
            raise TypeError(explain(
                "tanx.random.gamma", "needs a floating-point parameter for each key.",
                f"keys: {keys}", f"a:    {alpha}"))
        return alpha.strip_weak_type()

    def eval(self, keys, alpha, *, log_space, impl):
        shape = alpha.shape[keys.ndim:]
        places = np.arange(prod(shape), dtype=np.uint64)
        key = [word.reshape(-1, 1) for word in as_words(keys)]
        each = [np.broadcast_to(w, (keys.size, prod(shape))).ravel()
                for w in impl.split(key, *place_of(places, prod(shape)))]
        return _sample(impl, tuple(each), alpha.reshape(-1), log_space).reshape(alpha.shape)

    def jvp(self, primals, tangents, *, log_space, impl):
        """The implicit derivative: the sample moves so that its place in the distribution stays."""
        (keys, alpha), dalpha = primals, tangents[1]
        out = self.bind(keys, alpha, log_space=log_space, impl=impl)
        if is_zero(dalpha):
            return out, Zero.tangent_of(out)
        if not log_space:
            return out, mul(dalpha, random_gamma_grad(alpha, out))
        sample = exp(out)
        tiny = dtypes.finfo(typeof(out).dtype).tiny
        from .compare import eq, select
        from .create import full_like
        sample = select(eq(sample, full_like(sample, 0)), full_like(sample, tiny), sample)
        return out, mul(dalpha, div(random_gamma_grad(alpha, sample), sample))

    def batch(self, args, dims, **params):
        size = batch_size(args, dims)
        keys, alpha = (materialize(x, d, size) for x, d in zip(args, dims))
        return self.bind(keys, alpha, **params), 0

    def lower(self, at, keys, alpha, *, log_space, impl):
        shape = alpha.shape[keys.ndim:]
        number = place_of(build.flatten_index(at[keys.ndim:], shape), prod(shape))
        key = impl.split(as_words(keys[at[:keys.ndim]]), *number)
        return _sample(impl, key, alpha[at], log_space)

    def show_params(self, params):
        return {"log_space": params["log_space"]}


# -- how samples move with the parameter -----------------------------------------------------------


def _movement(a, x):
    """-(dP/da) / (dP/dx) of the regularised lower incomplete gamma function P(a, x).

    Left of the mode by the power series of P and its derivative, right of it by the continued
    fraction of 1 - P and its derivative (as in Cephes).
    """
    dtype = x.dtype
    right = (x > dtype.type(1)) & (x > a)
    log_x = _apply("log", x)
    # Each branch runs on numbers that suit it, whichever is chosen.
    safe_a, safe_x = _where(right, _constant(1, a), a), _where(right, _constant(1, x), x)
    total, moved = _series(safe_a, safe_x, dtype)
    left_value = -(moved + total * (log_x - _apply("digamma", a + dtype.type(1)))) * x / a
    safe_a, safe_x = _where(right, a, _constant(1, a)), _where(right, x, _constant(2, x))
    total, moved = _fraction(safe_a, safe_x, dtype)
    right_value = (moved + total * (log_x - _apply("digamma", a))) * x
    value = _where(right, right_value, left_value)
    value = _where(_equal(x, dtype.type(0)), _constant(0, value), value)
    bad = (x < dtype.type(0)) | (a <= dtype.type(0))
    return _where(bad, _constant(np.nan, value), value)


def _series(a, x, dtype: np.dtype) -> State:
    """The sum of x**n / (a + 1) ... (a + n), and its derivative by a."""
    eps = dtypes.finfo(dtype).eps

    def goes_on(s: State):
        return _apply("abs", s[4]) > eps * _apply("abs", s[5])

    def step(s: State) -> State:
        n, x, term, total, slope, slopes = s
        n = n + dtype.type(1)
        slope = slope * (x / n) - term * x / (n * n)
        term = term * (x / n)
        return n, x, term, total + term, slope, slopes + slope

    zero, one = _constant(0, x), _constant(1, x)
    first = step((a, x, one, one, zero, zero))
    *_, total, _, slopes = _while(first, goes_on, step)
    return total, slopes


def _fraction(a, x, dtype: np.dtype) -> State:
    """The continued fraction of the upper function, and its derivative by a."""
    eps = float(dtypes.finfo(dtype).eps)
    zero, one = _constant(0, x), _constant(1, x)
    y = one - a
    z = x + y + one
    p2, q2, p1, q1 = one, x, x + one, z * x
    value = p1 / q1
    dq1 = -x
    slope = (zero - value * dq1) / q1
    # n, y, z, the two last numerators and denominators, their derivatives, the value, its slope
    start = (zero, y, z, p2, q2, p1, q1, zero, zero, zero, dq1, value, slope, one)

    def goes_on(s: State):
        return (s[13] > dtype.type(eps)) & (s[0] < dtype.type(2000))

    def step(s: State) -> State:
        n, y, z, p2, q2, p1, q1, dp2, dq2, dp1, dq1, value, slope, _ = s
        n, y, z = n + dtype.type(1), y + dtype.type(1), z + dtype.type(2)
        yn = y * n
        p, q = p1 * z - p2 * yn, q1 * z - q2 * yn
        dp = dp1 * z - p1 - dp2 * yn + p2 * n
        dq = dq1 * z - q1 - dq2 * yn + q2 * n
        value = p / q
        new = (dp - value * dq) / q
        change = _apply("abs", new - slope)
        shrink = _where(_apply("abs", p) > dtype.type(1 / eps), _constant(eps, p), _constant(1, p))
        return (n, y, z, p1 * shrink, q1 * shrink, p * shrink, q * shrink, dp1 * shrink,
                dq1 * shrink, dp * shrink, dq * shrink, value, new, change)

    end = _while(start, goes_on, step)
    return end[11], end[12]


class RandomGammaGrad(Elementwise):
    """How a sample of the gamma distribution moves with the parameter, its quantile kept."""

    name = "random_gamma_grad"
    accepts = FLOAT
    jvp = never("it is a derivative itself, and has none in closed form")

    def eval(self, a, x):
        a, x = np.broadcast_arrays(a, x)
        wide = np.dtype(np.float32) if x.dtype.itemsize < 4 else x.dtype
        out = _movement(a.astype(wide).ravel(), x.astype(wide).ravel())
        return out.reshape(x.shape).astype(x.dtype)

    def lower(self, at, a, x):
        a, x = self.elements(at, a, x)
        wide = np.dtype(np.float32) if x.dtype.itemsize < 4 else x.dtype
        out = _movement(build.convert(a, wide), build.convert(x, wide))
        return build.convert(out, x.dtype)


random_gamma_p, random_gamma_grad_p = RandomGamma(), RandomGammaGrad()


def random_gamma(keys, alpha, log_space: bool):
    """A sample of the gamma distribution for each element of ``alpha``, or its logarithm."""
    return random_gamma_p.bind(keys, alpha, log_space=log_space,
                               impl=generator_of(typeof(keys), "tanx.random.gamma"))


def random_gamma_grad(*args):
    """Of ``(a, x)``: how samples ``x`` of the gamma distribution move with its parameter ``a``.

    >>> lax.random_gamma_grad(1.0, 2.0)
    Array(1.6316915, dtype=float32, weak_type=True)
    """
    return random_gamma_grad_p.bind(*args)
