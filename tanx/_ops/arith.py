"""Arithmetic: sums, products, powers and roots, rounding, and the parts of complex numbers."""

from __future__ import annotations

import enum
from operator import index

import numpy as np

from .. import dtypes
from .._core.linear import Zero, is_linear, never
from .._core.primitive import parameter
from .._core.trace import context
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from .derive import linear, partials
from .extremes import maximum, minimum
from .families import (
    ANY,
    COMPLEX,
    FLOAT,
    INEXACT,
    INT,
    NUMBER,
    REAL,
    Accurate,
    Elementwise,
    by_own_loop,
    grow,
    keeping_dtype,
    letter,
    like,
    unbroadcast,
    widened,
)
from .series import bilinear, power, quotient, raised

__all__ = ["RoundingMethod", "abs", "abs_p", "add", "add_p", "cbrt", "cbrt_p", "ceil", "ceil_p",
           "clz", "clz_p", "complex", "complex_p", "conj", "conj_p", "div", "div_p", "floor",
           "floor_p", "imag", "imag_p", "integer_pow", "integer_pow_p", "is_finite", "is_finite_p",
           "max", "max_p", "min", "min_p", "mul", "mul_p", "mulhi", "mulhi_p", "neg", "neg_p",
           "nextafter", "nextafter_p", "one_minus_square", "one_minus_square_p",
           "population_count", "population_count_p", "pow", "pow_p", "real", "real_p",
           "reciprocal", "rem", "rem_p", "round", "round_p", "rsqrt", "rsqrt_p", "sign", "sign_p",
           "sqrt", "sqrt_p", "square", "square_p", "sub", "sub_p"]


_COMPLEX_OF: dict[np.dtype, np.dtype] = {
    np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}
_REAL_OF = {wide: narrow for narrow, wide in _COMPLEX_OF.items()}


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts of complex numbers; other dtypes as they are."""
    return _REAL_OF.get(dtype, dtype)


def complex_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of complex numbers with parts of a dtype; other dtypes as they are."""
    return _COMPLEX_OF.get(dtype, dtype)


def replace_zero(x):
    """``x`` with ones in place of zeros: a safe divisor, or a safe argument of the logarithm."""
    from .compare import eq, select
    from .create import full_like
    return select(eq(x, like(x, 0)), full_like(x, 1), x)


# -- sums and products -----------------------------------------------------------------------------


class Add(Elementwise):
    """The sum of two operands."""

    name = "add"
    accepts = NUMBER
    eval = staticmethod(np.add)

    def jvp(self, primals, tangents):
        out = add(*primals)
        dx, dy = tangents
        if type(dx) is not Zero and type(dy) is not Zero:
            return out, add(dx, dy)
        return out, grow(dy if type(dx) is Zero else dx, out)

    def transpose(self, ct, x, y):
        return [unbroadcast(ct, x) if is_linear(x) else None,
                unbroadcast(ct, y) if is_linear(y) else None]


class Sub(Elementwise):
    """The difference of two operands."""

    name = "sub"
    accepts = NUMBER
    eval = staticmethod(np.subtract)

    def jvp(self, primals, tangents):
        out = sub(*primals)
        dx, dy = tangents
        if type(dx) is not Zero and type(dy) is not Zero:
            return out, sub(dx, dy)
        return out, grow(neg(dy) if type(dx) is Zero else dx, out)

    def transpose(self, ct, x, y):
        return [unbroadcast(ct, x) if is_linear(x) else None,
                unbroadcast(neg(ct), y) if is_linear(y) else None]


class Mul(Elementwise):
    """The product of two operands, in another dtype where ``out_dtype`` asks for it."""

    name = "mul"
    accepts = NUMBER
    ufunc_alone = np.multiply

    def infer(self, x, y, *, out_dtype=None):
        if out_dtype is None:
            return super().infer(x, y)
        wide = self._wide(x, y, out_dtype)
        return super().infer(x.update(dtype=wide), y.update(dtype=wide)).update(dtype=out_dtype)

    def eval(self, x, y, *, out_dtype=None):
        if out_dtype is None:
            return np.multiply(x, y)
        wide = self._wide(x, y, out_dtype)
        return np.asarray(np.multiply(x.astype(wide), y.astype(wide))).astype(out_dtype)

    @staticmethod
    def _wide(x, y, out_dtype):
        return dtypes.result_type(x.dtype, y.dtype, out_dtype)

    jvp = partials(lambda t, out, x, y, out_dtype=None: mul(t, y, out_dtype=out_dtype),
                   lambda t, out, x, y, out_dtype=None: mul(x, t, out_dtype=out_dtype))
    taylor = bilinear

    def transpose(self, ct, x, y, *, out_dtype=None):
        def product(a, b, operand):
            return unbroadcast(mul(a, b, out_dtype=out_dtype and operand.dtype), operand)
        return [product(ct, y, x) if is_linear(x) else None,
                product(x, ct, y) if is_linear(y) else None]

    def lower(self, at, x, y, *, out_dtype=None):
        if out_dtype is None:
            return super().lower(at, x, y)
        wide = self._wide(x, y, out_dtype)
        a, b = (build.convert(element, wide) for element in self.elements(at, x, y))
        return build.convert(a * b, out_dtype)


class Div(Elementwise):
    """The quotient of two operands; of integers, towards zero."""

    name = "div"
    accepts = NUMBER
    ufunc_alone = np.true_divide  # of floats; of integers, it gives floats

    def eval(self, x, y):
        if x.dtype.kind in "fcV" and dtypes.issubdtype(x.dtype, np.inexact):
            return np.true_divide(x, y)
        return _divide_integers(x, y)

    jvp = partials(lambda t, out, x, y: div(t, y),
                   lambda t, out, x, y: mul(mul(neg(t), x), integer_pow(y, -2)))
    taylor = quotient

    def transpose(self, ct, x, y):
        return [unbroadcast(div(ct, y), x), None]


def _divide_integers(x, y):
    """Towards zero; by zero gives all bits set, and what overflows wraps, as XLA has it."""
    dtype = x.dtype
    if dtypes.itemsize_bits(dtype) < 8:
        x, y = x.astype(np.int8), y.astype(np.int8)
    quotient = np.floor_divide(x, y)
    if x.dtype.kind == "i":  # rounded down so far
        quotient += ((x < 0) != (y < 0)) & (quotient * y != x)
    return np.where(y == 0, ~x.dtype.type(0), quotient).astype(dtype)


class Rem(Elementwise):
    """The remainder of a division, with the sign of the dividend."""

    name = "rem"
    accepts = REAL

    def eval(self, x, y):
        out = np.fmod(x, y)
        if dtypes.issubdtype(x.dtype, np.floating):
            return out
        return np.where(y == 0, x, out.astype(x.dtype))

    jvp = partials(
        lambda t, out, x, y: grow(t, out),
        lambda t, out, x, y: mul(neg(t), mul(sign(div(x, y)), floor(abs(div(x, y))))))


class MulHi(Elementwise):
    """The upper half of the product of integers in twice their width."""

    name = "mulhi"
    accepts = INT
    jvp = never("it takes and gives integers")

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
        # A negative number reads as 2**64 more, so the product has that much more of the other.
        return high.view(np.int64) - np.where(x < 0, y, 0) - np.where(y < 0, x, 0)


def _mulhi_u64(x, y):
    """The upper 64 bits of products of 64-bit numbers, from products of their halves."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    x_low, x_high, y_low, y_high = x & mask, x >> half, y & mask, y >> half
    middle = x_high * y_low + (x_low * y_low >> half)
    return x_high * y_high + (middle >> half) + ((middle & mask) + x_low * y_high >> half)


class Neg(Elementwise):
    """The negative."""

    name = "neg"
    accepts = NUMBER
    eval = keeping_dtype(np.negative)
    jvp = linear

    def transpose(self, ct, x):
        return [neg(ct)]


# -- sign, size, order -----------------------------------------------------------------------------


class Sign(Elementwise):
    """-1, 0 or 1; of complex numbers, the unit number in the same direction."""

    name = "sign"
    accepts = NUMBER

    def eval(self, x):
        out = np.sign(x)
        if dtypes.issubdtype(x.dtype, np.floating):
            return np.where(x == 0, x, out)  # NumPy forgets the sign of -0.0
        return out if out.dtype == x.dtype else out.astype(x.dtype)

    def jvp(self, primals, tangents):
        (x,), (dx,) = primals, tangents
        out = sign(x)
        if not dtypes.issubdtype(typeof(x).dtype, np.complexfloating):
            return out, Zero.tangent_of(out)
        from .create import full_like
        turn = div(imag(mul(conj(out), dx)), replace_zero(abs(x)))
        return out, mul(out, complex(full_like(turn, 0), turn))


class Abs(Elementwise):
    """The distance from zero; real also of complex numbers."""

    name = "abs"
    accepts = INEXACT | frozenset("i")
    result = staticmethod(real_dtype)
    ufunc_alone = np.absolute

    def eval(self, x):
        out, dtype = np.absolute(x), real_dtype(x.dtype)
        return out if out.dtype == dtype else out.astype(dtype)

    def jvp(self, primals, tangents):
        """The slope at zero is 1, as it is above; of complex numbers it is 0."""
        from .compare import ge, select
        from .convert import convert
        (x,), (dx,) = primals, tangents
        out, dtype = abs(x), typeof(x).dtype
        if dtype in _REAL_OF:
            return out, real(mul(dx, div(conj(x), replace_zero(convert(out, dtype)))))
        return out, select(ge(x, like(x, 0)), dx, neg(dx))


def _share(x, y, out):
    """1 where ``x`` exceeds ``y``, 0 where it falls short, and one half where they tie."""
    from .compare import eq, gt, select
    from .create import full
    greater, same = gt(x, y), eq(x, y)
    one, none, half = (full(out.shape, value, out.dtype) for value in (1, 0, 0.5))
    return select(greater, one, select(same, half, none))


class Max(Elementwise):
    """The greater of two operands; NaN wins. Tied operands share the tangent equally."""

    name = "max"
    accepts = ANY
    own_loop = True
    eval = keeping_dtype(maximum)
    jvp = partials(lambda t, out, x, y: mul(t, _share(x, y, out)),
                   lambda t, out, x, y: mul(t, _share(y, x, out)))


class Min(Elementwise):
    """The lesser of two operands; NaN wins. Tied operands share the tangent equally."""

    name = "min"
    accepts = ANY
    own_loop = True
    eval = keeping_dtype(minimum)
    jvp = partials(lambda t, out, x, y: mul(t, _share(y, x, out)),
                   lambda t, out, x, y: mul(t, _share(x, y, out)))


class Nextafter(Elementwise):
    """The next floating-point number from the first operand towards the second."""

    name = "nextafter"
    accepts = FLOAT
    eval = staticmethod(np.nextafter)
    jvp = partials(lambda t, out, x, y: grow(t, out), None)


class IsFinite(Elementwise):
    """Whether numbers are neither infinite nor NaN."""

    name = "is_finite"
    accepts = FLOAT
    eval = staticmethod(np.isfinite)
    result = staticmethod(lambda dtype: np.dtype(bool))
    jvp = never("it gives booleans")


# -- powers and roots ------------------------------------------------------------------------------


class Square(Elementwise):
    """The product of the operand with itself."""

    name = "square"
    accepts = NUMBER
    eval = keeping_dtype(np.square)
    jvp = partials(lambda t, out, x: mul(t, mul(like(x, 2), x)))


class OneMinusSquare(Elementwise):
    """1 - x², without the cancellation near ±1."""

    name = "one_minus_square"
    accepts = NUMBER
    jvp = partials(lambda t, out, x: mul(t, mul(like(x, -2), x)))

    def eval(self, x):
        wide = widened(x)
        return np.asarray((1 - wide) * (1 + wide)).astype(x.dtype, copy=False)


class IntegerPow(Elementwise):
    """The operand raised to a fixed integer power."""

    name = "integer_pow"
    accepts = NUMBER

    def infer(self, x, *, y):
        if y < 0 and dtypes.issubdtype(x.dtype, np.integer):
            raise TypeError(explain(
                "tanx.lax.integer_pow", "integers cannot be raised to negative powers.",
                f"operand: {x}", f"power:   {y}", hint="convert the operand to floating point."))
        return super().infer(x)

    def eval(self, x, *, y):
        power, base, count = None, widened(x), -y if y < 0 else y
        while count:
            if count & 1:
                power = base if power is None else power * base
            count >>= 1
            if count:
                base = base * base
        if power is None:
            return np.ones_like(x)
        if y < 0:
            power = np.asarray(1, power.dtype) / power
        return np.asarray(power).astype(x.dtype, copy=False)

    def jvp(self, primals, tangents, *, y):
        (x,), (dx,) = primals, tangents
        out = integer_pow(x, y)
        if y == 0:
            return out, Zero.tangent_of(out)
        if y == 1:
            return out, dx
        lower = x if y == 2 else integer_pow(x, y - 1)
        return out, mul(dx, mul(like(x, y), lower))

    def lower(self, at, x, *, y):
        return build.op("integer_pow", x[at], y=y)


class Pow(Elementwise):
    """The first operand raised to the second, which may be of integers."""

    name = "pow"
    accepts = INEXACT

    def infer(self, x, y):
        integer = letter(y.dtype) in INT
        out = super().infer(x, ShapedArray(y.shape, x.dtype, y.weak_type) if integer else y)
        return x if out == x else out

    own_loop = True

    def eval(self, x, y):
        y = y if x.dtype == y.dtype else y.astype(x.dtype)
        out = by_own_loop("pow", x, y)
        if out is not None:
            return out
        if y.ndim == 0 and x.dtype.kind == "f" and y == 0.5:
            # NumPy takes the square root, which is another one at -0.0 and at -inf.
            x = np.where(x == -np.inf, np.inf, x) + x.dtype.type(0)
        return np.power(x, y)

    jvp = partials(lambda t, out, x, y: mul(t, _slope_by_base(out, x, y)),
                   lambda t, out, x, y: _strong(mul(t, _slope_by_exponent(out, x))))
    taylor = raised


def _strong(x):
    """``x`` without its weak type: derivatives of powers have none, as JAX has it."""
    from .convert import convert
    return convert(x, typeof(x).dtype)


def _slope_by_base(out, x, y):
    from .compare import eq, select
    from .convert import convert
    from .create import full, full_like
    if letter(typeof(y).dtype) in INEXACT:
        x, y = _strong(x), _strong(y)
        return mul(y, pow(x, sub(y, full_like(y, 1))))
    # An integer power of 0 is 1 everywhere: no slope, where the formula would give 0 * inf.
    y = convert(y, typeof(x).dtype)
    zero_power = grow(eq(y, like(y, 0)), out) if typeof(y).shape else eq(y, like(y, 0))
    none = full(out.shape, 0, out.dtype)
    slope = mul(replace_zero(y), pow(x, sub(y, full_like(y, 1))))
    return select(zero_power, none, slope)


def _slope_by_exponent(out, x):
    from .transcendental import log
    return mul(log(replace_zero(x)), out)


class Sqrt(Accurate):
    """The square root."""

    name = "sqrt"
    own_loop = False  # roots are rounded in one way only
    ufunc = np.sqrt
    jvp = partials(lambda t, out, x, accuracy=None: mul(t, div(like(x, 0.5), out)))
    taylor = power(1 / 2)


class Rsqrt(Accurate):
    """The reciprocal of the square root."""

    name = "rsqrt"
    own_loop = False
    jvp = partials(
        lambda t, out, x, accuracy=None: mul(t, mul(like(x, -0.5), div(out, x))))
    taylor = power(-1 / 2)

    def ufunc(self, x):
        root = np.sqrt(widened(x))
        return np.asarray(root.dtype.type(1) / root).astype(x.dtype, copy=False)


class Cbrt(Accurate):
    """The cube root."""

    name = "cbrt"
    accepts = FLOAT
    jvp = partials(lambda t, out, x, accuracy=None:
                   mul(t, mul(like(x, 1 / 3), integer_pow(out, -2))))
    taylor = power(1 / 3)

    def ufunc(self, x):
        """NumPy's root of 27 is 3 on some processors only; in twice the precision it always is."""
        if x.dtype.itemsize == 8:
            return np.cbrt(x)
        return np.cbrt(x.astype(np.float64)).astype(x.dtype)


# -- rounding and bits -----------------------------------------------------------------------------


@parameter
class RoundingMethod(enum.IntEnum):
    """What :func:`round` does with numbers halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class Floor(Elementwise):
    """The greatest integer that is not above the operand."""

    name = "floor"
    accepts = FLOAT
    eval = staticmethod(np.floor)
    jvp = partials(None)


class Ceil(Elementwise):
    """The least integer that is not below the operand."""

    name = "ceil"
    accepts = FLOAT
    eval = staticmethod(np.ceil)
    jvp = partials(None)


class Round(Elementwise):
    """The nearest integer; halves as ``rounding_method`` says."""

    name = "round"
    accepts = FLOAT
    jvp = partials(None)

    def eval(self, x, *, rounding_method):
        if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
            return np.rint(x)
        wide = widened(x)
        whole = np.trunc(wide)
        up = np.copysign(np.abs(wide - whole) >= 0.5, wide).astype(wide.dtype)
        return np.asarray(np.copysign(whole + up, wide)).astype(x.dtype, copy=False)

    def lower(self, at, x, *, rounding_method):
        even = rounding_method == RoundingMethod.TO_NEAREST_EVEN
        return build.op("round_even" if even else "round_away", x[at])

    def show_params(self, params):
        return {"rounding_method": int(params["rounding_method"])}


def unsigned_bits(x):
    """The bits of integers or floats as unsigned integers; those of int4 and kin in a byte."""
    bits = dtypes.itemsize_bits(x.dtype)
    plain = x.view(f"u{x.dtype.itemsize}")
    return plain if bits == 8 * x.dtype.itemsize else plain & plain.dtype.type((1 << bits) - 1)


def sign_extended(bits, width: int):
    """Unsigned integers as signed ones, bit ``width - 1`` being the sign."""
    spare = 8 * bits.dtype.itemsize - width
    signed = np.asarray(bits << bits.dtype.type(spare)).view(f"i{bits.dtype.itemsize}")
    return signed >> signed.dtype.type(spare)


def from_bits(bits, dtype: np.dtype):
    """Integers of a dtype from their bits; the inverse of :func:`unsigned_bits`."""
    width = dtypes.itemsize_bits(dtype)
    if width == 8 * dtype.itemsize:
        return np.asarray(bits).view(dtype)
    return np.asarray(sign_extended(bits, width)).astype(dtype)


class PopulationCount(Elementwise):
    """The number of bits that are set."""

    name = "population_count"
    accepts = INT
    jvp = never("it takes and gives integers")

    def eval(self, x):
        return np.bitwise_count(unsigned_bits(x)).astype(x.dtype)


class Clz(Elementwise):
    """The number of leading bits that are not set."""

    name = "clz"
    accepts = INT
    jvp = never("it takes and gives integers")

    def eval(self, x):
        rest, count = unsigned_bits(x), np.zeros(x.shape, np.int64)
        for step in (32, 16, 8, 4, 2, 1):  # halve the interval that holds the leading bit
            if step < 8 * rest.dtype.itemsize:
                high = rest >> rest.dtype.type(step)
                count += np.where(high != 0, step, 0)
                rest = np.where(high != 0, high, rest)
        length = count + (rest != 0)
        return np.asarray(dtypes.itemsize_bits(x.dtype) - length).astype(x.dtype)


# -- complex numbers -------------------------------------------------------------------------------


def _strong_zero(x):
    """A zero of the dtype of ``x`` that is not weak: gradients through parts are not, as in JAX."""
    dtype = typeof(x).dtype
    return context.trace.literal(np.zeros((), dtype), ShapedArray((), dtype))


class Real(Elementwise):
    """The real part."""

    name = "real"
    accepts = COMPLEX
    eval = staticmethod(np.real)
    result = staticmethod(real_dtype)
    jvp = linear

    def transpose(self, ct, x):
        return [complex(ct, _strong_zero(ct))]


class Imag(Elementwise):
    """The imaginary part."""

    name = "imag"
    accepts = COMPLEX
    eval = staticmethod(np.imag)
    result = staticmethod(real_dtype)
    jvp = linear

    def transpose(self, ct, x):
        return [complex(_strong_zero(ct), neg(ct))]


class Complex(Elementwise):
    """Complex numbers from their real and imaginary parts."""

    name = "complex"
    accepts = FLOAT
    result = staticmethod(complex_dtype)

    def infer(self, x, y):
        if x.dtype not in _COMPLEX_OF:
            raise TypeError(explain(
                "tanx.lax.complex", "parts of complex numbers are float32 or float64.",
                f"operand 0: {x}", f"operand 1: {y}"))
        return super().infer(x, y)

    def eval(self, x, y):
        out = np.empty(np.broadcast_shapes(x.shape, y.shape), _COMPLEX_OF[x.dtype])
        out.real, out.imag = x, y
        return out

    jvp = linear

    def transpose(self, ct, x, y):
        return [unbroadcast(real(ct), x) if is_linear(x) else None,
                unbroadcast(imag(neg(ct)), y) if is_linear(y) else None]


class Conj(Elementwise):
    """The complex conjugate; complex also of real numbers."""

    name = "conj"
    accepts = INEXACT
    result = staticmethod(complex_dtype)
    jvp = linear

    def infer(self, x, *, input_dtype):
        if x.dtype not in _COMPLEX_OF and x.dtype not in _REAL_OF:
            raise self.refused(x)
        return super().infer(x)

    def eval(self, x, *, input_dtype):
        return np.conjugate(x) if x.dtype.kind == "c" else x.astype(_COMPLEX_OF[x.dtype])

    def transpose(self, ct, x, *, input_dtype):
        return [conj(ct) if input_dtype in _REAL_OF else real(ct)]

    def lower(self, at, x, *, input_dtype):
        if input_dtype in _REAL_OF:
            return build.op("conj", x[at])
        return build.op("complex", x[at], build.const(0, input_dtype))


add_p, sub_p, mul_p, div_p, rem_p = Add(), Sub(), Mul(), Div(), Rem()
mulhi_p, neg_p, sign_p, abs_p, max_p, min_p = MulHi(), Neg(), Sign(), Abs(), Max(), Min()
nextafter_p, is_finite_p, square_p = Nextafter(), IsFinite(), Square()
one_minus_square_p, integer_pow_p, pow_p = OneMinusSquare(), IntegerPow(), Pow()
sqrt_p, rsqrt_p, cbrt_p = Sqrt(), Rsqrt(), Cbrt()
floor_p, ceil_p, round_p = Floor(), Ceil(), Round()
population_count_p, clz_p = PopulationCount(), Clz()
real_p, imag_p, complex_p, conj_p = Real(), Imag(), Complex(), Conj()


# -- functions of tanx.lax -------------------------------------------------------------------------


def add(x, y):
    """The sum ``x + y``. As for all operations here on several operands, these have one dtype and
    one shape, or are scalars.

    >>> lax.add(jnp.array([1, 2]), jnp.array([10, 20]))
    Array([11, 22], dtype=int32)
    """
    return add_p.bind(x, y)


def sub(x, y):
    """The difference ``x - y``.

    >>> lax.sub(jnp.array([10, 20]), jnp.array([1, 2]))
    Array([ 9, 18], dtype=int32)
    """
    return sub_p.bind(x, y)


def mul(x, y, *, out_dtype=None):
    """The product ``x * y``; with ``out_dtype``, computed and given in that dtype.

    >>> lax.mul(jnp.int8(100), jnp.int8(100), out_dtype=jnp.int32)
    Array(10000, dtype=int32)
    """
    if out_dtype is None:
        return mul_p.bind(x, y)
    return mul_p.bind(x, y, out_dtype=dtypes.requested_dtype(out_dtype, "tanx.lax.mul"))


def div(x, y):
    """The quotient ``x / y``; of integers, rounded towards zero.

    >>> lax.div(-7, 2)
    Array(-3, dtype=int32, weak_type=True)
    """
    return div_p.bind(x, y)


def rem(x, y):
    """The remainder of ``x / y``, with the sign of ``x``.

    >>> lax.rem(-7, 2)
    Array(-1, dtype=int32, weak_type=True)
    """
    return rem_p.bind(x, y)


def mulhi(x, y, /):
    """The upper half of the product of integers, taken in twice their width.

    >>> lax.mulhi(jnp.int8(100), jnp.int8(16))  # 1600 is 6 * 256 + 64
    Array(6, dtype=int8)
    """
    return mulhi_p.bind(x, y)


def neg(x):
    """The negative ``-x``.

    >>> lax.neg(jnp.array([1, -2]))
    Array([-1,  2], dtype=int32)
    """
    return neg_p.bind(x)


def sign(x):
    """-1, 0 or 1 by the sign of ``x``; of complex numbers, ``x / abs(x)``.

    >>> lax.sign(jnp.array([-2.5, 0.0, 3.0]))
    Array([-1.,  0.,  1.], dtype=float32)
    """
    return sign_p.bind(x)


def abs(x):
    """The distance of ``x`` from zero. The slope at zero is 1, as above it.

    >>> lax.abs(jnp.array([-2, 3]))
    Array([2, 3], dtype=int32)
    """
    return abs_p.bind(x)


def max(x, y):
    """The greater of ``x`` and ``y``; NaN where either is. Ties share the gradient equally.

    >>> lax.max(jnp.array([1, 5]), jnp.array([4, 2]))
    Array([4, 5], dtype=int32)
    """
    return max_p.bind(x, y)


def min(x, y):
    """The lesser of ``x`` and ``y``; NaN where either is. Ties share the gradient equally.

    >>> lax.min(jnp.array([1, 5]), jnp.array([4, 2]))
    Array([1, 2], dtype=int32)
    """
    return min_p.bind(x, y)


def nextafter(x1, x2):
    """The next floating-point number after ``x1`` in the direction of ``x2``.

    >>> lax.nextafter(1.0, 2.0) - 1
    Array(1.1920929e-07, dtype=float32, weak_type=True)
    """
    return nextafter_p.bind(x1, x2)


def is_finite(x):
    """Whether each element is neither infinite nor NaN.

    >>> lax.is_finite(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([ True, False, False], dtype=bool)
    """
    return is_finite_p.bind(x)


def square(x):
    """The square ``x * x``.

    >>> lax.square(jnp.array([2, 3]))
    Array([4, 9], dtype=int32)
    """
    return square_p.bind(x)


def one_minus_square(x):
    """``1 - x * x``, exact to rounding also near ±1.

    >>> lax.one_minus_square(0.5)
    Array(0.75, dtype=float32, weak_type=True)
    """
    return one_minus_square_p.bind(x)


def integer_pow(x, y):
    """``x`` raised to the Python integer ``y``, by repeated multiplication.

    >>> lax.integer_pow(2.0, -3)
    Array(0.125, dtype=float32, weak_type=True)
    """
    return integer_pow_p.bind(x, y=index(y))


def reciprocal(x):
    """The reciprocal ``1 / x``.

    >>> lax.reciprocal(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return integer_pow(x, -1)


def pow(x, y):
    """``x`` raised to ``y``; the exponent has the dtype of ``x`` or an integer one.

    >>> lax.pow(jnp.array([2.0, 3.0]), 2.0)
    Array([4., 9.], dtype=float32)
    """
    return pow_p.bind(x, y)


def sqrt(x, *, accuracy=None):
    """The square root.

    >>> lax.sqrt(2.0)
    Array(1.4142135, dtype=float32, weak_type=True)
    """
    return sqrt_p.bind(x, accuracy=accuracy)


def rsqrt(x, *, accuracy=None):
    """The reciprocal of the square root, ``1 / sqrt(x)``.

    >>> lax.rsqrt(4.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return rsqrt_p.bind(x, accuracy=accuracy)


def cbrt(x, *, accuracy=None):
    """The cube root, also of negative numbers.

    >>> lax.cbrt(27.0)
    Array(3., dtype=float32, weak_type=True)
    """
    return cbrt_p.bind(x, accuracy=accuracy)


def floor(x):
    """The greatest integer not above ``x``, as a floating-point number.

    >>> lax.floor(jnp.array([-1.5, 1.5]))
    Array([-2.,  1.], dtype=float32)
    """
    return floor_p.bind(x)


def ceil(x):
    """The least integer not below ``x``, as a floating-point number.

    >>> lax.ceil(jnp.array([-1.5, 1.5]))
    Array([-1.,  2.], dtype=float32)
    """
    return ceil_p.bind(x)


def round(x, rounding_method=RoundingMethod.AWAY_FROM_ZERO):
    """The nearest integer, as a floating-point number; halves go away from zero unless told.

    >>> lax.round(2.5), lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN)
    (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


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


def real(x):
    """The real part of complex numbers.

    >>> lax.real(lax.complex(1.0, 2.0))
    Array(1., dtype=float32, weak_type=True)
    """
    return real_p.bind(x)


def imag(x):
    """The imaginary part of complex numbers.

    >>> lax.imag(lax.complex(1.0, 2.0))
    Array(2., dtype=float32, weak_type=True)
    """
    return imag_p.bind(x)


def complex(x, y):
    """Complex numbers ``x + 1j * y`` from real ``x`` and ``y``.

    >>> lax.complex(1.0, 2.0)
    Array(1.+2.j, dtype=complex64, weak_type=True)
    """
    return complex_p.bind(x, y)


def conj(x):
    """The complex conjugate; real numbers become complex.

    >>> lax.conj(lax.complex(1.0, 2.0))
    Array(1.-2.j, dtype=complex64, weak_type=True)
    """
    return conj_p.bind(x, input_dtype=typeof(x).dtype)
