"""Generators of random bits: functions from keys and counters to random words.

A generator is stateless: each number is a function of a key and of its place. That function is
written once, on *words* of uint32. A word is any type with addition, shifts and multiplication:
NumPy arrays (``eval``) and expressions of loop nests (``lower``). A word depends on its place only,
so the compiler inlines generators into the consumers of the bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import xor
from typing import Any

import numpy as np

from .. import dtypes
from .._core.primitive import parameter_constants
from .._loops import build
from ..errors import explain

__all__ = ["GENERATORS", "ArrayGenerator", "Generator", "Words", "as_dtype", "as_keys",
           "as_words", "chosen", "halves", "joined", "philox4x32", "place_of", "rbg", "threefry",
           "threefry2x32", "unsafe_rbg"]

Words = tuple[Any, ...]
_U32, _U64, _F64 = np.dtype(np.uint32), np.dtype(np.uint64), np.dtype(np.float64)

#: Integers that bits come as, by their width.
UNSIGNED: dict[int, np.dtype] = {n: np.dtype(f"uint{n}") for n in (8, 16, 32, 64)}


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
# The same as operands of NumPy's shifts, left and right: converting numbers to arrays is slow.
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
    """The same for NumPy arrays, with few temporaries."""
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


_ROTATIONS_OF_FOUR = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))


def threefry4x32(key: Words, x0, x1, x2, x3) -> Words:
    """Threefry-4x32 with 20 rounds (same paper): four words of counter, four of key."""
    k0, k1, k2, k3 = key
    keys = (k0, k1, k2, k3, k0 ^ k1 ^ k2 ^ k3 ^ 0x1BD11BDA)
    x0, x1, x2, x3 = x0 + k0, x1 + k1, x2 + k2, x3 + k3
    for step in range(20):
        first, second = _ROTATIONS_OF_FOUR[step % 8]
        x0, x2 = x0 + x1, x2 + x3
        x1, x3 = _rotated(x1, first) ^ x0, _rotated(x3, second) ^ x2
        x1, x3 = x3, x1  # the next round pairs them in the other order
        if step % 4 == 3:
            group = step // 4 + 1
            x0, x1, x2, x3 = (x + keys[(group + i) % 5] for i, x in enumerate((x0, x1, x2, x3)))
            x3 = x3 + group
    return x0, x1, x2, x3


def _rotated(x, distance: int):
    return x << distance | x >> 32 - distance


def philox2x32(k0, x0, x1) -> Words:
    """Philox-2x32 with 10 rounds (same paper): two words of counter, one of key."""
    for _ in range(10):
        high, low = _product(x0, 0xD256D193)
        x0, x1 = high ^ k0 ^ x1, low
        k0 = k0 + 0x9E3779B9
    return x0, x1


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
    """The place of an element as words; the high word is a constant if ``size`` is small.

    Code for a counter of 32 bits has twice as many lanes as code for 64 bits.
    """
    if isinstance(flat, build.Expr) and size <= 1 << 32:
        return build.const(0, _U32), build.convert(flat, _U32)
    return halves(flat)


def joined(high, low):
    """Two words as an integer of 64 bits."""
    return as_dtype(high, _U64) << 32 | as_dtype(low, _U64)


def chosen(number, values: list):
    """The value at a computed position of a list."""
    if not isinstance(number, build.Expr):
        return np.choose(number.astype(np.int64), values)
    out = values[0]
    for i, value in enumerate(values[1:], 1):
        out = build.select(build.eq(number, i), value, out)
    return out


# -- keys ------------------------------------------------------------------------------------------


def as_words(keys) -> Words:
    """The words of stored keys: integers, or complex numbers for four words.

    Keys of other lengths are stored with zeros at their end, which are returned as well.
    """
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
    stored = dtypes.stored_as(4 * len(words))
    missing = stored.itemsize // 4 - len(words)
    if words and not isinstance(words[0], build.Expr):
        zeros = (np.zeros((), _U32),) * missing
        return np.stack(np.broadcast_arrays(*words, *zeros), -1).view(stored)[..., 0]
    words = (*words, *(build.const(0, _U32),) * missing)
    if len(words) == 1:
        return words[0]
    if len(words) == 2:
        return joined(words[1], words[0])
    return build.op("complex", *(build.op("bitcast", as_keys(half), dtype=_F64)
                                 for half in (words[:2], words[2:])))


# -- generators ------------------------------------------------------------------------------------


class Generator:
    """Makes, splits and uses keys. ``tag`` is its name in jaxprs, ``name`` in messages.

    Places and seeds are 64 bits wide, as two words, the high one first.
    """

    name: str
    tag: str
    key_shape: tuple[int, ...]
    block: int  # words made at a time

    def seed(self, high, low) -> Words:
        """The key of a seed."""
        raise NotImplementedError

    def split(self, key: Words, high, low) -> Words:
        """One of the new keys of a key, by its number."""
        raise NotImplementedError

    def fold_in(self, key: Words, high, low) -> Words:
        """The key derived from a key and a number."""
        raise NotImplementedError

    def words(self, key: Words, high, low) -> Words:
        """A block of random words of a key, by the number of the block."""
        raise NotImplementedError

    def new_key(self, key: Words, number, count: int) -> Words:
        """The new key ``number`` of ``count`` keys derived from a key."""
        return self.split(key, *place_of(number, count))

    def integer(self, key: Words, place, count: int, bits: int):
        """The random integer at ``place`` of ``count``; by default each has a separate block."""
        words = self.words(key, *place_of(place, count))
        if bits == 64:
            return joined(*words[:2])
        return as_dtype(reduce(xor, words), UNSIGNED[bits])

    def scheme(self, partitionable: bool) -> Generator:
        """The generator with its words in the order of one of JAX's schemes.

        In the older scheme, which is not partitionable, words depend on the size of the array.
        """
        return self

    def __repr__(self) -> str:
        return self.tag


class ArrayGenerator(Generator):
    """A generator whose functions, given by users, are written on whole arrays of words.

    ``functions`` has one for each primitive on keys, by its name; words of keys are in the last
    dimension. Single words do not exist, so compiled code calls the functions on whole arrays.
    """

    def __init__(self, name: str, tag: str, key_shape: tuple[int, ...],
                 functions: dict[str, Callable]):
        self.name, self.tag, self.key_shape, self.functions = name, tag, key_shape, functions
        self.staged: dict[Any, Any] = {}  # the functions as jaxprs, by use

    def words(self, key, high, low):
        raise NotImplementedError(explain(
            "tanx.random", f"the generator {self.name} makes arrays of bits, not single words, "
            "which this function needs.", hint="gamma and distributions based on it need a "
            "generator such as threefry2x32."))

    seed = split = fold_in = words  # type: ignore[assignment]


class Threefry(Generator):
    """Threefry: one block of two words for each element, whatever the element's width."""

    name, tag, key_shape, block = "threefry2x32", "fry", (2,), 2

    def __reduce__(self):
        return "threefry"

    def seed(self, high, low):
        return high, low

    def words(self, key, high, low):
        first, second = key
        return threefry2x32(first, second, high, low)

    split = fold_in = words

    def scheme(self, partitionable):
        return self if partitionable else threefry_in_halves


class ThreefryInHalves(Threefry):
    """Threefry in JAX's older order: the words of a block are in two halves of all words."""

    def __reduce__(self):
        return "threefry_in_halves"

    def scheme(self, partitionable):
        return threefry if partitionable else self

    def new_key(self, key, number, count):
        return tuple(_word_in_halves(key, number * 2 + i, 2 * count) for i in range(2))

    def integer(self, key, place, count, bits):
        if bits == 64:
            return joined(*(_word_in_halves(key, place + i * count, 2 * count) for i in range(2)))
        each = 32 // bits
        word = _word_in_halves(key, place // each, -(-count // each))
        return as_dtype(word >> as_dtype(place % each * bits, _U32), UNSIGNED[bits])


def _word_in_halves(key: Words, place, count: int):
    """The word at ``place`` of ``count``: counters of the first and second half are paired."""
    if count >= (1 << 32) - 1:
        raise NotImplementedError(explain(
            "tanx.random", "without threefry_partitionable, arrays have fewer words than 2^32 - 1.",
            f"words: {count}"))
    half = (count + 1) // 2
    behind = place >= half
    first = chosen(as_dtype(behind, _U64), [place, place - half])
    second = first + half
    if count % 2:  # the last counter is paired with 0
        second = chosen(as_dtype(second < count, _U64), [second * 0, second])
    k0, k1 = key
    words = threefry2x32(k0, k1, as_dtype(first, _U32), as_dtype(second, _U32))
    return chosen(as_dtype(behind, _U64), list(words))


class Threefry4x32(Generator):
    """Threefry with four words of key, and four words per block."""

    name, tag, key_shape, block = "threefry4x32", "fry4", (4,), 4

    def __reduce__(self):
        return f"{self.name}_generator"

    def seed(self, high, low):
        zero = low ^ low
        return threefry4x32((high, low, zero, zero), zero, zero, zero, zero)

    def split(self, key, high, low):
        return threefry4x32(key, low ^ low, low ^ low, high, low)

    fold_in = split

    def words(self, key, high, low):
        return threefry4x32(key, high, low, low ^ low, low ^ low)

    def integer(self, key, place, count, bits):
        if bits != 64:
            return super().integer(key, place, count, bits)
        a, b, c, d = self.words(key, *place_of(place, count))
        return joined(a ^ c, b ^ d)


class Philox2x32(Generator):
    """Philox with one word of key."""

    name, tag, key_shape, block = "philox2x32", "phx2", (1,), 2

    def __reduce__(self):
        return f"{self.name}_generator"

    def seed(self, high, low):
        return philox2x32(low ^ low, high, low)[:1]

    def split(self, key, high, low):
        return self.words(key, high, low)[:1]

    fold_in = split

    def words(self, key, high, low):
        (word,) = key
        return philox2x32(word, high, low)


class Philox4x32(Generator):
    """Philox with two words of key."""

    name, tag, key_shape, block = "philox4x32", "phx4", (2,), 4

    def __reduce__(self):
        return f"{self.name}_generator"

    def seed(self, high, low):
        return self.words((low ^ low,) * 2, high, low)[:2]

    def split(self, key, high, low):
        first, second = key
        return philox4x32(first, second, low ^ low, low ^ low, high, low)[:2]

    fold_in = split

    def words(self, key, high, low):
        first, second = key
        return philox4x32(first, second, high, low, low ^ low, low ^ low)


class Rbg(Generator):
    """Philox for bits, in blocks of four words; keys are split and folded as threefry does."""

    name, tag, key_shape, block = "rbg", "rbg", (4,), 4

    def __reduce__(self):
        return self.name

    def seed(self, high, low):
        return high, low, high, low

    def split(self, key, high, low):
        a, b, c, d = key
        return *threefry2x32(a, b, high, low), *threefry2x32(c, d, high, low)

    fold_in = split

    def words(self, key, high, low):
        """The key is also the upper half of the counter; blocks count in the lower half."""
        k0, k1, x0, x1 = key
        start = joined(x1, x0)
        counter = start + joined(high, low)
        upper = joined(k1, k0) + as_dtype(counter < start, _U64)
        return philox4x32(k0, k1, *halves(counter)[::-1], *halves(upper)[::-1])

    def integer(self, key, place, count, bits):
        """Consecutive words; only the upper parts of narrow integers are unused."""
        each = 2 if bits == 64 else 1
        per_block = self.block // each
        words = self.words(key, *place_of(place // per_block, count))
        parts = [words[i:i + each] for i in range(0, self.block, each)]
        values = [joined(*reversed(part)) if each == 2 else as_dtype(part[0], UNSIGNED[bits])
                  for part in parts]
        return chosen(place % per_block, values)

    def scheme(self, partitionable):
        return self if partitionable else rbg_in_halves


class RbgInHalves(Rbg):
    """Rbg with keys split in JAX's older order."""

    def __reduce__(self):
        return "rbg_in_halves"

    def scheme(self, partitionable):
        return rbg if partitionable else self

    def new_key(self, key, number, count):
        return (*threefry_in_halves.new_key(key[:2], number, count),
                *threefry_in_halves.new_key(key[2:], number, count))


class UnsafeRbg(Rbg):
    """Philox for everything: cheaper keys, with weaker statistical guarantees."""

    name, tag = "unsafe_rbg", "urbg"
    __reduce__ = Rbg.__reduce__

    def split(self, key, high, low):
        return self.words(key, *halves(joined(high, low) * 10))

    def fold_in(self, key, high, low):
        mixed = self.words(self.seed(high, low), low ^ low, (low ^ low) + 9)
        return tuple(a ^ b for a, b in zip(key, mixed))

    def scheme(self, partitionable):
        return self


threefry, rbg, unsafe_rbg = Threefry(), Rbg(), UnsafeRbg()
threefry_in_halves, rbg_in_halves = ThreefryInHalves(), RbgInHalves()
threefry4x32_generator, philox2x32_generator = Threefry4x32(), Philox2x32()
philox4x32_generator = Philox4x32()

#: The available generators, by name.
GENERATORS: dict[str, Generator] = {g.name: g for g in (
    threefry, threefry4x32_generator, rbg, unsafe_rbg, philox2x32_generator, philox4x32_generator)}

for _known in (*GENERATORS.values(), threefry_in_halves, rbg_in_halves):
    parameter_constants[str(_known.__reduce__())] = _known
for _known in GENERATORS.values():
    parameter_constants[f"key<{_known.tag}>"] = dtypes.KeyType(_known)
