"""Keys: making, splitting and converting them.

Every function of this room takes a *typed* key, an array of a dtype such as ``key<fry>``, or a
*raw* one, its words of uint32; functions that make new keys return the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NewType

import numpy as np

from .. import dtypes, lax
from .._api.meshes import by_out_sharding
from .._base import config
from .._ops.rng import (
    GENERATORS,
    Generator,
    key_type,
    random_bits,
    random_clone,
    random_fold_in,
    random_seed,
    random_split,
    random_unwrap,
    random_wrap,
)
from ..errors import explain, warn_user
from ..numpy._promotion import canonical_shape, is_arraylike, typeof
from ._sampler import sampler

__all__ = ["Key", "PRNGKey", "bits", "clone", "fold_in", "key", "key_data", "key_dtype",
           "key_impl", "single", "split", "wrap_key_data"]

Key = NewType("Key", object)  # the type of keys, for annotations

_WORDS = np.dtype(np.uint32)


def _generator(function: str, impl=None, dtype=None) -> Generator:
    """The generator given by its name, by itself, or by the dtype of its keys."""
    if impl is not None and dtype is not None:
        raise ValueError(explain(f"tanx.random.{function}", "takes impl or dtype, not both.",
                                 f"impl:  {impl}", f"dtype: {dtype}"))
    wanted = dtype if dtype is not None else impl
    if isinstance(wanted, dtypes.KeyType):
        wanted = wanted.impl
    if isinstance(wanted, Generator):
        return wanted
    name = config.default_prng_impl.value if wanted is None else wanted
    if name not in GENERATORS:
        raise ValueError(explain(
            f"tanx.random.{function}", "there is no such generator.", f"impl: {name!r}",
            f"known: {', '.join(GENERATORS)}"))
    return GENERATORS[name]


def is_typed(keys) -> bool:
    """Whether an array holds typed keys, not their words."""
    return isinstance(getattr(keys, "dtype", None), dtypes.KeyType)


def typed(function: str, keys) -> tuple[Any, bool]:
    """Keys as typed keys, and whether they were given as words."""
    if is_typed(keys):
        return keys, False
    if not is_arraylike(keys) or not hasattr(keys, "shape"):
        raise TypeError(explain(
            f"tanx.random.{function}", "needs a key.", f"key: {keys!r:.100}",
            hint="make one with tanx.random.key(seed)."))
    mode = config.legacy_prng_key.value
    if mode != "allow":
        message = explain(
            f"tanx.random.{function}", "got a raw key of words.", f"key: {typeof(keys)}",
            hint="tanx.random.key makes typed keys, wrap_key_data converts raw ones.")
        if mode == "error":
            raise ValueError(message)
        warn_user(message)
    return random_wrap(keys, _generator(function)), True


def single(function: str, keys) -> Any:
    """A single typed key; raises for an array of keys."""
    return _single(function, keys)[0]


def _single(function: str, keys) -> tuple[Any, bool]:
    wrapped, raw = typed(function, keys)
    if wrapped.shape:
        raise ValueError(explain(
            f"tanx.random.{function}", "takes a single key.", f"key: {typeof(keys)}",
            hint="tanx.vmap runs it for each key of an array."))
    return wrapped, raw


# -- making keys -----------------------------------------------------------------------------------


def _seeded(function: str, seed, generator: Generator):
    if is_typed(seed):
        raise TypeError(explain(f"tanx.random.{function}", "a seed is an integer, not a key.",
                                f"seed: {typeof(seed)}"))
    if isinstance(seed, int) and not isinstance(seed, bool):
        seed += config.random_seed_offset.value
        if not -1 << 63 <= seed < 1 << 63:
            raise OverflowError(explain(f"tanx.random.{function}", "a seed has at most 64 bits.",
                                        f"seed: {seed}"))
        # Without x64 the low bits are used.
        bits = 64 if config.enable_x64.value else 32
        seed = np.asarray(seed % (1 << bits), f"u{bits // 8}").view(f"i{bits // 8}")[()]
    aval = typeof(seed)
    if aval.shape:
        raise TypeError(explain(
            f"tanx.random.{function}", "takes a single seed.", f"seed: {aval}",
            hint="tanx.vmap runs it for each seed of an array."))
    if aval.dtype.kind == "b":
        seed = lax.convert_element_type(seed, dtypes.default_int())
    return random_seed(seed, generator)


def key(seed, *, impl=None, dtype=None):
    """A key from a seed.

    Args:
      seed: An integer; without ``enable_x64`` its low 32 bits count.
      impl: The generator: ``"threefry2x32"``, ``"rbg"`` or ``"unsafe_rbg"``; by default the one
        that ``default_prng_impl`` names.
      dtype: The same by the dtype of its keys, see :func:`key_dtype`.

    >>> tanx.random.key(7)
    Array((), dtype=key<fry>) overlaying:
    [0 7]
    """
    return _seeded("key", seed, _generator("key", impl, dtype))


def PRNGKey(seed, *, impl=None):
    """A raw key from a seed: the words of the one that :func:`key` makes.

    >>> tanx.random.PRNGKey(7)
    Array([0, 7], dtype=uint32)
    """
    made = _seeded("PRNGKey", seed, _generator("PRNGKey", impl))
    return made if config.enable_custom_prng.value else random_unwrap(made)


def key_data(keys):
    """The words of keys, in a new last dimension; raw keys unchanged.

    >>> tanx.random.key_data(tanx.random.key(7))
    Array([0, 7], dtype=uint32)
    """
    return random_unwrap(typed("key_data", keys)[0])


def wrap_key_data(key_bits_array, *, impl=None, dtype=None):
    """Typed keys from their words of uint32, which are in the last dimension.

    >>> tanx.random.wrap_key_data(jnp.array([0, 7], jnp.uint32))
    Array((), dtype=key<fry>) overlaying:
    [0 7]
    """
    return random_wrap(key_bits_array, _generator("wrap_key_data", impl, dtype))


def key_impl(keys) -> str | Generator:
    """The name of the generator of keys, or the generator itself if it has no name.

    >>> tanx.random.key_impl(tanx.random.key(0))
    'threefry2x32'
    """
    generator: Generator = typed("key_impl", keys)[0].dtype.impl
    return generator.name if generator.name in GENERATORS else generator


def key_dtype(impl_spec=None) -> dtypes.KeyType:
    """The dtype of the keys of a generator, given by name.

    >>> tanx.random.key_dtype("rbg")
    key<rbg>
    """
    return key_type(_generator("key_dtype", impl_spec))


def clone(key):
    """The same keys, marked for a second use.

    >>> tanx.random.clone(tanx.random.key(7))
    Array((), dtype=key<fry>) overlaying:
    [0 7]
    """
    wrapped, raw = typed("clone", key)
    return _as_given(random_clone(wrapped), raw)


def _as_given(keys, raw: bool):
    return random_unwrap(keys) if raw else keys


# -- using keys ------------------------------------------------------------------------------------


def split(key, num: int | Sequence[int] = 2):
    """New keys from one, which should not be used again.

    Args:
      key: A key.
      num: How many; or their shape.

    >>> first, second = tanx.random.split(tanx.random.key(0))
    >>> tanx.random.split(first, (2, 3)).shape
    (2, 3)
    """
    wrapped, raw = _single("split", key)
    return _as_given(_split(wrapped, shape=canonical_shape(num, "tanx.random.split")), raw)


@sampler(inline=True)
def _split(key, *, shape):
    return random_split(key, shape)


def fold_in(key, data):
    """A key derived from a key and a number, such as that of a step or a layer.

    Args:
      key: A key.
      data: An integer of 32 bits.

    >>> tanx.random.fold_in(tanx.random.key(0), 1)
    Array((), dtype=key<fry>) overlaying:
    [ 928981903 3453687069]
    """
    wrapped, raw = _single("fold_in", key)
    if isinstance(data, int) and not 0 <= data < 1 << 32:
        raise OverflowError(explain("tanx.random.fold_in", "data must fit into uint32.",
                                    f"data: {data}"))
    aval = typeof(data)
    if aval.shape:
        raise TypeError(explain(
            "tanx.random.fold_in", "takes a single number.", f"data: {aval}",
            hint="tanx.vmap runs it for each number of an array."))
    return _as_given(_fold_in(wrapped, lax.convert_element_type(data, _WORDS), shape=()), raw)


@sampler(inline=True)
def _fold_in(key, data, *, shape):
    return random_fold_in(key, data)


@by_out_sharding
def bits(key, shape: Sequence[int] = (), dtype=None, *, out_sharding=None):
    """Uniformly distributed random unsigned integers.

    Args:
      key: A key.
      shape: Of the result.
      dtype: Of unsigned integers; by default ``uint32``, or ``uint64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.bits(tanx.random.key(0), (2,))
    Array([4070199207, 4202968722], dtype=uint32)
    """
    dtype = dtypes.requested_dtype(dtypes.default_uint() if dtype is None else dtype,
                                   "tanx.random.bits")
    if not dtypes.issubdtype(dtype, np.unsignedinteger):
        raise ValueError(explain("tanx.random.bits", "bits are unsigned integers.",
                                 f"dtype: {dtype}"))
    wrapped = single("bits", key)
    return _bits(wrapped, shape=canonical_shape(shape, "tanx.random.bits"),
                 width=dtypes.itemsize_bits(dtype))


@sampler(inline=True)
def _bits(key, *, shape, width):
    return random_bits(key, width, shape)
