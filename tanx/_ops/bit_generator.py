"""XLA's generators of random bits, which take a state and return the next one."""

from __future__ import annotations

import enum
from math import prod

import numpy as np

from .. import dtypes
from .._core.linear import never
from .._core.primitive import Kind, Primitive, parameter
from .._core.types import ShapedArray, canonical_shape
from .._loops import build
from ..errors import explain
from .base import to_front
from .generators import Words, as_dtype, as_words, chosen, halves, joined, rbg, threefry2x32

__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_bit_generator_p"]

_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)


@parameter
class RandomAlgorithm(enum.IntEnum):
    """Algorithms of :func:`tanx.lax.rng_bit_generator`; the default one is Philox."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


class RngBitGenerator(Primitive):
    """The state after some random integers, and those integers. States may be batched."""

    name = "rng_bit_generator"
    kind = Kind.STATEMENT
    multiple_results = True
    jvp = never("bits have no derivative")
    transpose = never("bits are not linear")

    def infer(self, key, *, shape, dtype, algorithm, out_sharding=None):
        state = (key.dtype, key.shape[-1:])
        if state not in ((_U32, (4,)), (_U64, (2,))) or dtype.kind != "u":
            raise TypeError(explain(
                "tanx.lax.rng_bit_generator", "needs a state of type uint32[4] or uint64[2], and "
                "an unsigned dtype.", f"key:   {key}", f"dtype: {dtype}"))
        return [key, ShapedArray((*key.shape[:-1], *shape), dtype)]

    def eval(self, key, *, shape, dtype, algorithm, out_sharding=None):
        states = np.ascontiguousarray(key).view(_U32).reshape(-1, 4)
        place = list(np.indices(shape or (1,), np.uint64))
        bits = [_element(tuple(state), place, shape, dtype, algorithm)
                for state in states[..., None]]
        counter = joined(states[:, 3], states[:, 2]) + np.uint64(_blocks(shape, dtype, algorithm))
        after = np.stack([states[:, 0], states[:, 1], *halves(counter)[::-1]], -1)
        return [after.view(key.dtype).reshape(key.shape),
                np.array(bits, dtype).reshape((*key.shape[:-1], *shape))]

    def batch(self, args, dims, **params):
        (key,), (dim,) = args, dims
        return self.bind(to_front(key, dim), **params), [0, 0]

    def lower(self, into, key, *, shape, dtype, algorithm, out_sharding=None):
        after, out = into
        lead = key.ndim - 1

        def state(row) -> Words:
            if key.dtype == _U32:
                return tuple(key[[*row, build.const(i)]] for i in range(4))
            return tuple(w for i in range(2) for w in as_words(key[[*row, build.const(i)]]))

        def make(at):
            place = list(at[lead:]) or [build.const(0)]
            value = _element(state(at[:lead]), place, shape, dtype, algorithm)
            return [build.store(out, at, value)]

        def advance(at):
            k0, k1, x0, x1 = state(at[:-1])
            counter = joined(x1, x0) + _blocks(shape, dtype, algorithm)
            values = ([joined(k1, k0), counter] if key.dtype == _U64
                      else [k0, k1, *halves(counter)[::-1]])
            return [build.store(after, at, chosen(at[-1], values))]

        return [build.nest(out.shape, make), build.nest(after.shape, advance)]


def _paired_axis(shape, dtype: np.dtype, algorithm) -> int | None:
    """The dimension along which neighbours are the two words of a threefry block, or None."""
    if algorithm != RandomAlgorithm.RNG_THREE_FRY or dtype == _U64 or not shape:
        return None
    even = [d for d, n in enumerate(shape) if n % 2 == 0]
    return even[0] if even else shape.index(max(shape))


def _halved(shape, axis: int) -> list[int]:
    return [(n + 1) // 2 if d == axis else n for d, n in enumerate(shape)]


def _per_block(dtype: np.dtype, algorithm) -> int:
    """The number of integers made from one block."""
    words = 2 if algorithm == RandomAlgorithm.RNG_THREE_FRY else 4
    return words // 2 if dtype == _U64 else words


def _blocks(shape, dtype: np.dtype, algorithm) -> int:
    """How many blocks an array takes."""
    axis = _paired_axis(shape, dtype, algorithm)
    if axis is not None:
        return prod(_halved(shape, axis))
    return -(-prod(shape) // _per_block(dtype, algorithm))


def _element(state: Words, place: list, shape, dtype: np.dtype, algorithm):
    """The random integers of a state at a place of an array; places are NumPy's or expressions."""
    axis = _paired_axis(shape, dtype, algorithm)
    if axis is not None:
        number = _flat([p // 2 if d == axis else p for d, p in enumerate(place)],
                       _halved(shape, axis))
        which = place[axis] % 2
    else:
        flat, count = _flat(place, shape), _per_block(dtype, algorithm)
        number, which = flat // count, flat % count
    words = _block(state, as_dtype(number, _U64), algorithm)
    if dtype == _U64:
        return chosen(which, [joined(b, a) for a, b in zip(words[::2], words[1::2])])
    return as_dtype(chosen(which, list(words)), dtype)


def _block(state: Words, number, algorithm) -> Words:
    """The random words of a state, by the number of their block."""
    if algorithm != RandomAlgorithm.RNG_THREE_FRY:
        return rbg.words(state, *halves(number))
    k0, k1, x0, x1 = state
    return threefry2x32(k0, k1, *halves(joined(x1, x0) + number)[::-1])


def _flat(place: list, shape):
    """The place in row-major order."""
    flat = place[0]
    for p, n in zip(place[1:], shape[1:]):
        flat = flat * n + p
    return flat


rng_bit_generator_p = RngBitGenerator()


def rng_bit_generator(key, shape, dtype=np.uint32,
                      algorithm=RandomAlgorithm.RNG_DEFAULT, *, out_sharding=None):
    """Random bits by a generator with a state.

    Args:
      key: The state, ``uint32[4]`` or ``uint64[2]``.
      shape, dtype: Of the result; ``dtype`` is an unsigned integer type.
      algorithm: A :class:`RandomAlgorithm`, or its name in lower case.

    Returns:
      The next state, and the bits.

    >>> state, bits = lax.rng_bit_generator(jnp.zeros(4, jnp.uint32), (2,))
    >>> bits
    Array([1713891541, 3781805453], dtype=uint32)
    """
    if isinstance(algorithm, str):
        algorithm = RandomAlgorithm[f"RNG_{algorithm.upper().removeprefix('RNG_')}"]
    return rng_bit_generator_p.bind(
        key, shape=canonical_shape(shape, "tanx.lax.rng_bit_generator"),
        dtype=dtypes.requested_dtype(dtype, "tanx.lax.rng_bit_generator"),
        algorithm=RandomAlgorithm(algorithm), out_sharding=out_sharding)
