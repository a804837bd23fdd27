"""Operations on the bits of integers, and the helpers that read bits of any dtype in NumPy."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from .._core.linear import never
from .families import Elementwise, keeping_dtype
from .operands import BOOL_INT, INT

__all__ = ["and_p", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "clz", "clz_p",
           "mulhi", "mulhi_p", "not_p", "or_p", "population_count", "population_count_p",
           "shift_left", "shift_left_p", "shift_right_arithmetic", "shift_right_arithmetic_p",
           "shift_right_logical", "shift_right_logical_p", "xor_p"]


# -- bits of NumPy arrays --------------------------------------------------------------------------


def unsigned_bits(x):
    """The bits of integers or floats as unsigned integers; narrow ones, such as int4, in a byte."""
    bits = dtypes.itemsize_bits(x.dtype)
    plain = x.view(f"u{x.dtype.itemsize}")
    return plain if bits == 8 * x.dtype.itemsize else plain & plain.dtype.type((1 << bits) - 1)


def sign_extended(bits, width: int):
    """Unsigned integers as signed ones; bit ``width - 1`` is the sign."""
    spare = 8 * bits.dtype.itemsize - width
    signed = np.asarray(bits << bits.dtype.type(spare)).view(f"i{bits.dtype.itemsize}")
    return signed >> signed.dtype.type(spare)


def from_bits(bits, dtype: np.dtype):
    """Integers of a dtype from their bits; the inverse of :func:`unsigned_bits`."""
    width = dtypes.itemsize_bits(dtype)
    if width == 8 * dtype.itemsize:
        return np.asarray(bits).view(dtype)
    return np.asarray(sign_extended(bits, width)).astype(dtype)


# -- bit by bit ------------------------------------------------------------------------------------


class Bitwise(Elementwise):
    """Combines bits, or booleans."""

    accepts = BOOL_INT
    jvp = never("bits have no derivative")

    @property
    def function(self):
        return f"bitwise_{self.name}"


class And(Bitwise):
    """The bits set in both operands."""

    name = "and"
    eval = keeping_dtype(np.bitwise_and)


class Or(Bitwise):
    """The bits set in either operand."""

    name = "or"
    eval = keeping_dtype(np.bitwise_or)


class Xor(Bitwise):
    """The bits set in one operand but not the other."""

    name = "xor"
    eval = keeping_dtype(np.bitwise_xor)


class Not(Bitwise):
    """The bits flipped."""

    name = "not"
    eval = keeping_dtype(np.bitwise_not)


class Shift(Elementwise):
    """Moves bits by the second operand, which is read as unsigned."""

    accepts = INT
    jvp = never("bits have no derivative")


class ShiftLeft(Shift):
    """Moves bits up, filled with zeros."""

    name = "shift_left"

    def eval(self, x, y):
        return _shifted(np.left_shift, x, y)


class ShiftRightLogical(Shift):
    """Moves bits down, filled with zeros."""

    name = "shift_right_logical"

    def eval(self, x, y):
        return _shifted(np.right_shift, x, y)


class ShiftRightArithmetic(Shift):
    """Moves bits down, filled with copies of the uppermost bit."""

    name = "shift_right_arithmetic"

    def eval(self, x, y):
        width = dtypes.itemsize_bits(x.dtype)
        signed = sign_extended(unsigned_bits(x), width)
        places = np.minimum(unsigned_bits(y), width - 1).astype(signed.dtype)
        return from_bits(np.right_shift(signed, places), x.dtype)


def _shifted(ufunc, x, y):
    """The shifted bits; zero for shifts by the width or more."""
    bits, places, width = unsigned_bits(x), unsigned_bits(y), dtypes.itemsize_bits(x.dtype)
    moved = ufunc(bits, np.minimum(places, width - 1))
    return from_bits(np.where(places < width, moved, bits.dtype.type(0)), x.dtype)


# -- counts, and wide products ---------------------------------------------------------------------


class PopulationCount(Elementwise):
    """The number of bits that are set."""

    name = "population_count"
    accepts = INT
    jvp = never("it takes and returns integers")

    def eval(self, x):
        return np.bitwise_count(unsigned_bits(x)).astype(x.dtype)


class Clz(Elementwise):
    """The number of leading bits that are not set."""

    name = "clz"
    accepts = INT
    jvp = never("it takes and returns integers")

    def eval(self, x):
        rest, count = unsigned_bits(x), np.zeros(x.shape, np.int64)
        for step in (32, 16, 8, 4, 2, 1):  # halve the interval that holds the leading bit
            if step < 8 * rest.dtype.itemsize:
                high = rest >> rest.dtype.type(step)
                count += np.where(high != 0, step, 0)
                rest = np.where(high != 0, high, rest)
        length = count + (rest != 0)
        return np.asarray(dtypes.itemsize_bits(x.dtype) - length).astype(x.dtype)


class MulHi(Elementwise):
    """The upper half of the product of integers in twice their width."""

    name = "mulhi"
    accepts = INT
    jvp = never("it takes and returns integers")

    def eval(self, x, y):
        bits = dtypes.itemsize_bits(x.dtype)
        signed = dtypes.issubdtype(x.dtype, np.signedinteger)
        if bits <= 32:
            wide = np.int64 if signed else np.uint64
            product = x.astype(wide) * y.astype(wide)
            return (product >> wide(bits)).astype(x.dtype)
        high = _mulhi_u64(x.view(np.uint64), y.view(np.uint64))
        if not signed:
            return high
        # Read as unsigned, a negative number is 2**64 larger, which adds the other factor to the
        # high word.
        return high.view(np.int64) - np.where(x < 0, y, 0) - np.where(y < 0, x, 0)


def _mulhi_u64(x, y):
    """The upper 64 bits of products of 64-bit numbers, from products of their halves."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    x_low, x_high, y_low, y_high = x & mask, x >> half, y & mask, y >> half
    middle = x_high * y_low + (x_low * y_low >> half)
    return x_high * y_high + (middle >> half) + ((middle & mask) + x_low * y_high >> half)


and_p, or_p, xor_p, not_p = And(), Or(), Xor(), Not()
shift_left_p, shift_right_logical_p = ShiftLeft(), ShiftRightLogical()
shift_right_arithmetic_p = ShiftRightArithmetic()
population_count_p, clz_p, mulhi_p = PopulationCount(), Clz(), MulHi()


# -- functions of tanx.lax -------------------------------------------------------------------------


def bitwise_and(x, y):
    """The bits set in both operands; for booleans, whether both hold.

    >>> lax.bitwise_and(jnp.array([6, 7]), jnp.array([3, 8]))
    Array([2, 0], dtype=int32)
    """
    return and_p.bind(x, y)


def bitwise_or(x, y):
    """The bits set in either operand; for booleans, whether at least one holds.

    >>> lax.bitwise_or(jnp.array([6, 7]), jnp.array([3, 8]))
    Array([ 7, 15], dtype=int32)
    """
    return or_p.bind(x, y)


def bitwise_xor(x, y):
    """The bits set in exactly one operand; for booleans, whether exactly one holds.

    >>> lax.bitwise_xor(jnp.array([6, 7]), jnp.array([3, 8]))
    Array([ 5, 15], dtype=int32)
    """
    return xor_p.bind(x, y)


def bitwise_not(x):
    """The bits flipped; for booleans, the negation.

    >>> lax.bitwise_not(jnp.array([0, 5]))
    Array([-1, -6], dtype=int32)
    """
    return not_p.bind(x)


def shift_left(x, y):
    """``x`` shifted left by ``y`` bits; 0 if ``y`` is the width or more.

    >>> lax.shift_left(1, 5)
    Array(32, dtype=int32, weak_type=True)
    """
    return shift_left_p.bind(x, y)


def shift_right_logical(x, y):
    """``x`` shifted right by ``y`` bits, filled with zeros; 0 if ``y`` is the width or more.

    >>> lax.shift_right_logical(jnp.array([16, -1]), jnp.array([2, 28]))
    Array([ 4, 15], dtype=int32)
    """
    return shift_right_logical_p.bind(x, y)


def shift_right_arithmetic(x, y):
    """``x`` shifted right by ``y`` bits, filled with copies of the sign.

    >>> lax.shift_right_arithmetic(-5, 1), lax.shift_right_logical(-5, 1)
    (Array(-3, dtype=int32, weak_type=True), Array(2147483645, dtype=int32, weak_type=True))
    """
    return shift_right_arithmetic_p.bind(x, y)


def mulhi(x, y, /):
    """The upper half of the product of integers, taken in twice their width.

    >>> lax.mulhi(jnp.int8(100), jnp.int8(16))  # 1600 is 6 * 256 + 64
    Array(6, dtype=int8)
    """
    return mulhi_p.bind(x, y)


def population_count(x):
    """The number of bits set in each integer.

    >>> lax.population_count(7)
    Array(3, dtype=int32, weak_type=True)
    """
    return population_count_p.bind(x)


def clz(x):
    """The number of leading zero bits of each integer.

    >>> lax.clz(1)
    Array(31, dtype=int32, weak_type=True)
    """
    return clz_p.bind(x)
