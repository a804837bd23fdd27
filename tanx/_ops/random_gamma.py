"""Samples of the gamma distribution.

The sampler of Marsaglia and Tsang (2000) rejects some proposals, so each element has its own loop
and its own key. It is written once, for NumPy's arrays (``eval``) and for expressions (``lower``):
see ``shared_formulas.py``.
"""

from __future__ import annotations

from math import prod, sqrt

import numpy as np

from .. import dtypes
from .._core.linear import Zero, is_zero, never
from .._core.primitive import Kind, Primitive
from .._core.types import typeof
from .._loops import build
from ..errors import explain
from .arith import div, mul
from .base import batch_size, materialize
from .compare import eq, select
from .create import full_like
from .generators import Generator, Words, as_dtype, as_words
from .incomplete import random_gamma_grad
from .operands import FLOAT, letter
from .rng import generator_in_scheme
from .shared_formulas import State, apply, constant, equal, where, while_loop
from .transcendental import exp

__all__ = ["RandomGamma", "random_gamma", "random_gamma_p"]


# -- one random number of a key --------------------------------------------------------------------


def _numbered(impl: Generator, key: Words, count: int) -> list[Words]:
    """All of ``count`` new keys of a key."""
    zero = _zero(key)
    return [impl.new_key(key, zero + n, count) for n in range(count)]


def _zero(key: Words):
    """The first place, in the form of the key: an array or an expression."""
    if isinstance(key[0], build.Expr):
        return build.const(0, np.dtype(np.uint64))
    return np.zeros(np.shape(key[0]), np.uint64)


def _uniform(impl: Generator, key: Words, dtype: np.dtype):
    """A number from 0 up to, but not including, 1, as a scalar ``uniform`` makes it."""
    info = dtypes.finfo(dtype)
    width = 8 if info.nmant < 8 else info.bits
    words = np.dtype(f"uint{info.bits}")
    bits = as_dtype(impl.integer(key, _zero(key), 1, width), words)
    one = int(np.ones((), dtype).view(words))
    bits = bits >> width - info.nmant | one
    number = (build.op("bitcast", bits, dtype=dtype) if isinstance(bits, build.Expr)
              else np.asarray(bits).view(dtype))
    return number - dtype.type(1)


def _normal(impl: Generator, key: Words, dtype: np.dtype):
    """A normal number, as a scalar ``normal`` makes it."""
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    spread = _uniform(impl, key, dtype) * (dtype.type(1) - low) + low
    return apply("erf_inv", spread) * dtype.type(sqrt(2))


# -- the sampler -----------------------------------------------------------------------------------


def _sample(impl: Generator, key: Words, alpha, log_space: bool):
    """One sample for each element; for parameters below 1, transformed from ``alpha + 1``."""
    dtype = alpha.dtype
    words = len(key)
    large = alpha >= dtype.type(1)
    boosted = where(large, alpha, alpha + dtype.type(1))
    d = boosted - dtype.type(1 / 3)
    c = dtype.type(1 / 3) / apply("sqrt", d)
    key, boost_key = _numbered(impl, key, 2)

    def proposed(state: State):
        """Whether a proposal is rejected; the start value, which is not a proposal, always is."""
        d, x, v, u = (state[i] for i in (0, 2, 3, 4))
        quick = u >= dtype.type(1) - x * x * dtype.type(0.0331)
        bound = x * dtype.type(0.5) + d * (dtype.type(1) - v + apply("log", v))
        return quick & (apply("log", u) >= bound)

    def propose(state: State) -> State:
        d, c, key = state[0], state[1], state[5:]
        key, x_key, u_key = _numbered(impl, key, 3)
        _, x, v, *_ = while_loop((c, constant(0, c), constant(-1, c), *x_key),
                             lambda s: s[2] <= dtype.type(0), draw)
        return d, c, x * x, v * v * v, _uniform(impl, u_key, dtype), *key

    def draw(state: State) -> State:
        c, key = state[0], state[3:]
        key, normal_key = _numbered(impl, key, 2)
        x = _normal(impl, normal_key, dtype)
        return c, x, x * c + dtype.type(1), *key

    start = (d, c, constant(0, d), constant(1, d), constant(2, d), *key)
    v = while_loop(start, proposed, propose)[3]
    assert len(boost_key) == words
    u = _uniform(impl, boost_key, dtype)
    if not log_space:
        power = apply("pow", dtype.type(1) - u, dtype.type(1) / alpha)
        return d * v * where(large, constant(1, power), power)
    logarithm = apply("log1p", -u)
    moved = logarithm * (dtype.type(1) / alpha)
    none = large | equal(logarithm, dtype.type(0))
    return apply("log", d) + apply("log", v) + where(none, constant(0, moved), moved)


class RandomGamma(Primitive):
    """A sample for each element of the parameter, or its logarithm.

    The keys have the leading dimensions of the parameter; the others belong to one key.
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
                for w in impl.new_key(key, places, prod(shape))]
        return _sample(impl, tuple(each), alpha.reshape(-1), log_space).reshape(alpha.shape)

    def jvp(self, primals, tangents, *, log_space, impl):
        """The implicit derivative: that of the sample at a fixed quantile."""
        (keys, alpha), dalpha = primals, tangents[1]
        out = self.bind(keys, alpha, log_space=log_space, impl=impl)
        if is_zero(dalpha):
            return out, Zero.tangent_of(out)
        if not log_space:
            return out, mul(dalpha, random_gamma_grad(alpha, out))
        sample = exp(out)
        tiny = dtypes.finfo(typeof(out).dtype).tiny
        sample = select(eq(sample, full_like(sample, 0)), full_like(sample, tiny), sample)
        return out, mul(dalpha, div(random_gamma_grad(alpha, sample), sample))

    def batch(self, args, dims, **params):
        size = batch_size(args, dims)
        keys, alpha = (materialize(x, d, size) for x, d in zip(args, dims))
        return self.bind(keys, alpha, **params), 0

    def lower(self, at, keys, alpha, *, log_space, impl):
        shape = alpha.shape[keys.ndim:]
        number = build.flatten_index(at[keys.ndim:], shape)
        key = impl.new_key(as_words(keys[at[:keys.ndim]]), number, prod(shape))
        return _sample(impl, key, alpha[at], log_space)

    def show_params(self, params):
        return {"log_space": params["log_space"]}


random_gamma_p = RandomGamma()


def random_gamma(keys, alpha, log_space: bool):
    """A sample of the gamma distribution for each element of ``alpha``, or its logarithm."""
    return random_gamma_p.bind(keys, alpha, log_space=log_space,
                               impl=generator_in_scheme(keys, "tanx.random.gamma"))
