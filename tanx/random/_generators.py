"""Generators: keys of a given generator, and bits without keys."""

from __future__ import annotations

import numpy as np

from .. import lax
from .. import numpy as jnp
from .._api.batching import vmap
from .._ops.rng import GENERATORS, ArrayGenerator, Generator, random_seed, threefry2x32_p
from ..errors import explain
from ..numpy._promotion import canonical_shape, typeof
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
    """Random words from two words of key and an array of counters, by threefry.

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
                     tag: str = "?") -> Generator:
    """A generator from functions on arrays, for ``impl`` of :func:`tanx.random.key`.

    The functions take one key: its words of uint32, an array of ``key_shape``, which has at least
    one dimension.

    Args:
      key_shape: The shape of the words of a key.
      seed: ``seed(integer)`` returns a key.
      split: ``split(key, shape)`` returns new keys, of that shape.
      random_bits: ``random_bits(key, bit_width, shape)`` returns unsigned integers.
      fold_in: ``fold_in(key, integer)`` returns the key that belongs to both.
      name: What messages call the generator.
      tag: What types of its keys show: ``key<tag>``.

    >>> def split(key, shape):
    ...     return key + 1 + jnp.arange(np.prod(shape), dtype=jnp.uint32).reshape(*shape, 1)
    >>> def bits(key, bit_width, shape):
    ...     place = jnp.arange(np.prod(shape), dtype=jnp.uint32)
    ...     return ((key[0] + place) * 2654435761).astype(f"uint{bit_width}").reshape(shape)
    >>> simple = tanx.extend.random.define_prng_impl(
    ...     key_shape=(1,), seed=lambda s: s.astype(jnp.uint32)[None], split=split,
    ...     random_bits=bits, fold_in=lambda key, data: key ^ data, name="simple", tag="simple")
    >>> key = tanx.random.key(5, impl=simple)
    >>> tanx.random.bits(key, (2,))
    Array([ 387276917, 3041712678], dtype=uint32)
    >>> tanx.random.split(key).dtype
    key<simple>
    """
    shape = canonical_shape(key_shape, "tanx.extend.random.define_prng_impl")
    if not shape:
        raise TypeError(explain(
            "tanx.extend.random.define_prng_impl", "the words of a key need a dimension.",
            f"key_shape: {shape}", hint="key_shape=(1,) is a key of one word."))

    def each(function, *arrays, words: int = len(shape)):
        """The function mapped over an array of keys or seeds."""
        for _ in range(arrays[0].ndim - words):
            function = vmap(function)
        return function(*arrays)

    return ArrayGenerator(name, tag, shape, {
        "random_seed": lambda seeds: each(seed, seeds, words=0),
        "random_split": lambda keys, shape: each(lambda key: split(key, shape), keys),
        "random_fold_in": lambda keys, numbers: each(fold_in, keys, numbers),
        "random_bits": lambda keys, bit_width, shape: each(
            lambda key: random_bits(key, bit_width, shape), keys)})
