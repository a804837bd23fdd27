"""Generators of random bits: counters and keys in, words that look random out.

A generator is stateless: each number is a function of a key and of its place. That function is
written once, on *words* of uint32, and whatever adds, shifts and multiplies can be a word: NumPy
arrays (``eval``) and expressions of loop nests (``lower``). A word is made of its place alone, so
the compiler inlines generators into whatever uses the bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from .._loops import build

__all__ = ["GENERATORS", "Generator", "Words", "as_dtype", "as_keys", "as_words", "chosen",
           "halves", "joined", "philox4x32", "place_of", "rbg", "threefry", "threefry2x32",
           "unsafe_rbg"]

Words = tuple[Any, ...]
_U32, _U64, _F64 = np.dtype(np.uint32), np.dtype(np.uint64), np.dtype(np.float64)


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
# The same as operands of NumPy's shifts, left and right: making arrays of numbers takes a while.
_SHIFTS = tuple(tuple((np.array(r, _U32), np.array(32 - r, _U32)) for r in row)
                for row in _ROTATIONS)


def threefry2x32(k0, k1, x0, x1) -> Words:
    """Threefry-2x32 with 20 rounds (Salmon et al., SC 2011): two words of counter, two of key."""
    if isinstance(x1, np.ndarray | np.generic):
        return _threefry_in_place(k0, k1, x0, x1)
    keys = (k0, k1, k0 ^ k1 ^ 0x1BD11BDA)
    x0, x1 = x0 + k0, x1 + k1
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << distance | x1 >> 32 - distance) ^ x0
        x0 = x0 + keys[(group + 1) % 3]
        x1 = x1 + (keys[(group + 2) % 3] + (group + 1))
    return x0, x1


def _threefry_in_place(k0, k1, x0, x1) -> Words:
    """The same on NumPy's arrays, where what counts is how many there are to make."""
    keys = (k0, k1, k0 ^ k1 ^ _U32.type(0x1BD11BDA))
    shape = np.broadcast(k0, k1, x0, x1).shape
    a, b, other = (np.empty(shape, _U32) for _ in range(3))
    np.add(x0, k0, a)
    np.add(x1, k1, b)
    for group in range(5):
        for left, right in _SHIFTS[group % 2]:
            np.add(a, b, a)
            np.left_shift(b, left, other)
            np.right_shift(b, right, b)
            np.bitwise_or(b, other, b)
            np.bitwise_xor(b, a, b)
        np.add(a, keys[(group + 1) % 3], a)
        np.add(b, keys[(group + 2) % 3] + _U32.type(group + 1), b)
    return a, b


def philox4x32(k0, k1, x0, x1, x2, x3) -> Words:
    """Philox-4x32 with 10 rounds (same paper): four words of counter, two of key."""
    for _ in range(10):
        high0, low0 = _product(x0, 0xD2511F53)
        high1, low1 = _product(x2, 0xCD9E8D57)
        x0, x1, x2, x3 = high1 ^ x1 ^ k0, low1, high0 ^ x3 ^ k1, low0
        k0, k1 = k0 + 0x9E3779B9, k1 + 0xBB67AE85
    return x0, x1, x2, x3


def _product(x, factor: int) -> Words:
    """Both halves of a product of words."""
    if isinstance(x, build.Expr):
        return build.op("mulhi", x, factor), x * factor
    return halves(np.multiply(x, factor, dtype=_U64))


def as_dtype(x, dtype: np.dtype):
    """An integer in another dtype; high bits are dropped."""
    if x.dtype == dtype:
        return x
    return build.convert(x, dtype) if isinstance(x, build.Expr) else x.astype(dtype)


def halves(x) -> Words:
    """A number of 64 bits as words, the high one first."""
    return as_dtype(x >> 32, _U32), as_dtype(x, _U32)


def place_of(flat, size: int) -> Words:
    """The place of an element among so many, as words; the high one is known where size is small.

    The code for a counter of 32 bits runs in twice as many lanes as that for 64 bits.
    """
    if isinstance(flat, build.Expr) and size <= 1 << 32:
        return build.const(0, _U32), build.convert(flat, _U32)
    return halves(flat)


def joined(high, low):
    """Two words as an integer of 64 bits."""
    return as_dtype(high, _U64) << 32 | as_dtype(low, _U64)


def chosen(number, values: list):
    """The value of a number, of a list of them."""
    if not isinstance(number, build.Expr):
        return np.choose(number.astype(np.int64), values)
    out = values[0]
    for i, value in enumerate(values[1:], 1):
        out = build.select(build.eq(number, i), value, out)
    return out


# -- keys ------------------------------------------------------------------------------------------


def as_words(keys) -> Words:
    """The words of keys as they are stored: integers, or complex numbers where there are four."""
    if not isinstance(keys, build.Expr):
        words = np.asarray(keys, order="C").reshape(*keys.shape, 1).view(_U32)
        return tuple(words[..., i] for i in range(words.shape[-1]))
    if keys.dtype == _U32:
        return (keys,)
    if keys.dtype == _U64:
        return build.convert(keys, _U32), build.convert(keys >> 32, _U32)
    halves = (build.op("bitcast", build.op(part, keys), dtype=_U64) for part in ("real", "imag"))
    return tuple(word for half in halves for word in as_words(half))


def as_keys(words: Words):
    """Keys as they are stored, from their words."""
    if not isinstance(words[0], build.Expr):
        stacked = np.stack(np.broadcast_arrays(*words), -1)
        return stacked.view(dtypes.stored_as(4 * len(words)))[..., 0]
    if len(words) == 1:
        return words[0]
    if len(words) == 2:
        return joined(words[1], words[0])
    return build.op("complex", *(build.op("bitcast", as_keys(half), dtype=_F64)
                                 for half in (words[:2], words[2:])))


# -- generators ------------------------------------------------------------------------------------


class Generator:
    """How keys are made, split and used. ``tag`` names it in jaxprs, ``name`` in messages.

    Places and seeds are 64 bits wide and come as two words, the high one first.
    """

    name: str
    tag: str
    key_shape: tuple[int, ...]
    block: int  # words that are made at a time

    def seed(self, high, low) -> Words:
        """The key of a seed."""
        raise NotImplementedError

    def split(self, key: Words, high, low) -> Words:
        """One of the new keys of a key, by its number."""
        raise NotImplementedError

    def fold_in(self, key: Words, high, low) -> Words:
        """The key for a number that belongs to a key."""
        raise NotImplementedError

    def words(self, key: Words, high, low) -> Words:
        """A block of random words of a key, by the number of the block."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.tag


class Threefry(Generator):
    """Threefry: one block of two words for each element, whatever the element's width."""

    name, tag, key_shape, block = "threefry2x32", "fry", (2,), 2

    def __reduce__(self):
        return "threefry"

    def seed(self, high, low):
        return high, low

    def words(self, key, high, low):
        return threefry2x32(*key, high, low)

    split = fold_in = words


class Rbg(Generator):
    """Philox for bits, in blocks of four words; keys are split and folded as threefry does."""

    name, tag, key_shape, block = "rbg", "rbg", (4,), 4

    def __reduce__(self):
        return self.name

    def seed(self, high, low):
        return high, low, high, low

    def split(self, key, high, low):
        return *threefry2x32(*key[:2], high, low), *threefry2x32(*key[2:], high, low)

    fold_in = split

    def words(self, key, high, low):
        """The key is the upper half of the counter as well, which starts at the lower words."""
        k0, k1, x0, x1 = key
        start = joined(x1, x0)
        counter = start + joined(high, low)
        upper = joined(k1, k0) + as_dtype(counter < start, _U64)
        return philox4x32(k0, k1, *halves(counter)[::-1], *halves(upper)[::-1])


class UnsafeRbg(Rbg):
    """Philox for everything: cheaper keys, of which less is known."""

    name, tag = "unsafe_rbg", "urbg"
    __reduce__ = Rbg.__reduce__

    def split(self, key, high, low):
        return self.words(key, *halves(joined(high, low) * 10))

    def fold_in(self, key, high, low):
        mixed = self.words(self.seed(high, low), low ^ low, (low ^ low) + 9)
        return tuple(a ^ b for a, b in zip(key, mixed))


threefry, rbg, unsafe_rbg = Threefry(), Rbg(), UnsafeRbg()

#: The generators that can be asked for, by name.
GENERATORS: dict[str, Generator] = {g.name: g for g in (threefry, rbg, unsafe_rbg)}
