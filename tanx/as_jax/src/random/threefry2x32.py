"""``jax._src.random.threefry2x32``: quax builds keys of its own on these functions of raw words."""

from .... import numpy as jnp
from .... import random

__all__ = ["threefry_fold_in", "threefry_random_bits", "threefry_seed", "threefry_split"]

_NAME = "threefry2x32"


def threefry_seed(seed):
    """The two words of key that a seed gives."""
    return random.key_data(random.key(seed, impl=_NAME))


def threefry_split(key, shape):
    """The words of new keys, an array of keys of a shape."""
    return random.key_data(random.split(random.wrap_key_data(key, impl=_NAME), shape))


def threefry_fold_in(key, data):
    """The words of a key with an integer mixed in."""
    return random.key_data(random.fold_in(random.wrap_key_data(key, impl=_NAME), data))


def threefry_random_bits(key, bit_width, shape):
    """Random bits as unsigned integers of a width."""
    return random.bits(random.wrap_key_data(key, impl=_NAME), shape,
                       jnp.dtype(f"uint{bit_width}"))
