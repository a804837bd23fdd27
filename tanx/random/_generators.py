"""Generators by themselves: for those who make keys of one, or bits without keys."""

from __future__ import annotations

import numpy as np

from .. import lax
from .. import numpy as jnp
from .._ops.rng import GENERATORS, Generator, random_seed, threefry2x32_p
from ..errors import explain
from ..numpy._promotion import typeof
from ._keys import key

__all__ = ["define_prng_impl", "random_seed", "rbg_prng_impl", "seed_with_impl", "threefry2x32_p",
           "threefry_2x32", "threefry_prng_impl", "unsafe_rbg_prng_impl"]

threefry_prng_impl = GENERATORS["threefry2x32"]
rbg_prng_impl = GENERATORS["rbg"]
unsafe_rbg_prng_impl = GENERATORS["unsafe_rbg"]


def seed_with_impl(impl: Generator, seed):
    """The key of a seed, of a generator.

    >>> tanx.extend.random.seed_with_impl(tanx.extend.random.threefry_prng_impl, 7)
    Array((), dtype=key<fry>) overlaying:
    [0 7]
    """
    return key(seed, impl=impl)


def threefry_2x32(keypair, count):
    """Random words of two words of key and an array of counters, by threefry.

    Counters are taken in pairs, one of the first half with one of the second.

    >>> key = jnp.array([1, 2], jnp.uint32)
    >>> tanx.extend.random.threefry_2x32(key, jnp.arange(2, dtype=jnp.uint32))
    Array([ 629003988, 1317161160], dtype=uint32)
    """
    first, second = keypair
    count = jnp.asarray(count)
    for word in (first, second, count):
        if typeof(word).dtype != np.uint32:
            raise TypeError(explain("tanx.extend.random.threefry_2x32", "needs words of uint32.",
                                    f"operand: {typeof(word)}"))
    flat = count.ravel()
    if flat.size % 2:
        flat = lax.concatenate([flat, np.zeros(1, np.uint32)], 0)
    low, high = jnp.split(flat, 2)
    words = threefry2x32_p.bind(jnp.asarray(first), jnp.asarray(second), low, high)
    return lax.concatenate(words, 0)[:count.size].reshape(count.shape)


def define_prng_impl(*, key_shape, seed, split, random_bits, fold_in, name: str = "<unnamed>",
                     tag: str = "?"):
    """A generator from functions that users write; not supported."""
    raise NotImplementedError(explain(
        "tanx.extend.random.define_prng_impl", "generators are written in terms of words, not of "
        "arrays.", f"name: {name}", hint=f"there are {', '.join(GENERATORS)}."))
