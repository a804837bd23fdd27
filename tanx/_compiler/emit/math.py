"""Elementary functions of float32 and float64, as instructions that vectorise.

Each takes values in any number of lanes. There are no tables and few branches: sine, cosine and
tangent of huge angles call the C library, lane by lane; on processors without mask registers,
logarithms of special and subnormal numbers are apart. Ranges are reduced with constants in two or
three parts and fused steps; polynomials were fitted by the exchange algorithm of Remez. NaN,
infinities, zeros of both signs and subnormal numbers give the results of C's math library.
``_loops/instructions.py`` states an error bound for each function, in units in the last place of
its result; the tests check it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan

import numpy as np

from ..._base.records import record
from .values import (
    Value,
    absolute,
    bits_of,
    bits_to_float,
    call_lanewise,
    constant,
    convert,
    copysign,
    floor,
    fma,
    integer,
    intrinsic,
    maximum,
    minimum,
    muladd,
    polynomial,
    select,
    shift_left,
    shift_right,
    sqrt,
    when_any,
)

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos",
           "cosh", "exp", "exp2", "expm1", "exponent_and_fraction", "hypot", "log", "log1p", "log2",
           "logistic", "logit", "odd_ratio", "pow", "sin", "sinh", "tan", "tanh"]


@record
class _Format:
    """A floating-point format and the constants of functions in it.

    Pairs hold a number in two parts, the second being the rounding error of the first. Polynomials
    have the highest power first.
    """

    mantissa: int
    bias: int
    ln2: tuple[float, float]          # the first part ends in zeros: its multiples are exact
    log2_e: float
    half_pi: tuple[float, float, float]
    exp: tuple[float, ...]            # (e^r - 1 - r) / r²
    sin: tuple[float, ...]            # (sin(r) / r - 1) / r², of r²
    cos: tuple[float, ...]            # (cos(r) - 1 + r²/2) / r⁴, of r²
    atan: tuple[float, ...]           # (atan(r) / r - 1) / r², of r²
    asin: tuple[float, ...]           # (asin(r) / r - 1) / r², of r²
    log: tuple[float, ...]
    logit: tuple[float, ...]          # (2 atanh(s) / s - 2) / s², of s², up to s = 1/5
    exp_range: tuple[float, float]    # beyond it, e^x is 0 without underflow, or infinite
    angle_limit: float                # up to it, angles are reduced here

    @property
    def magic(self) -> float:
        """A number so large that adding it rounds to an integer, which is then in the low bits."""
        return 1.5 * 2.0 ** self.mantissa

    @property
    def magic_bias(self) -> float:
        """The same with twice the bias, so that the low bits are those of two exponents."""
        return self.magic + 2 * self.bias


_FORMATS = {
    32: _Format(
        23, 127, (0.69140625, 0.0017409306019544601), 1.4426950216293335,
        (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
        exp=(0.0013847185764461756, 0.008369994349777699, 0.041668009012937546,
             0.16666509211063385, 0.4999999403953552),
        sin=(-0.00019518405315466225, 0.008332190103828907, -0.16666655242443085),
        cos=(2.443068296997808e-05, -0.00138873013202101, 0.04166664555668831),
        atan=(-0.06028656288981438, 0.10575209558010101, -0.14241164922714233,
              0.19998355209827423, -0.3333331346511841),
        logit=(0.30367180705070496, 0.3995751738548279, 0.666669487953186),
        asin=(0.0425434373319149, 0.023967411369085312, 0.04551117494702339, 0.07494991272687912,
              0.16666759550571442),
        log=(-0.07859762012958527, 0.1288164258003235, -0.13128691911697388, 0.14181190729141235,
             -0.16624560952186584, 0.2000228613615036, -0.25000810623168945, 0.33333316445350647),
        exp_range=(-176.0, 90.0), angle_limit=2.0 ** 16),
    64: _Format(
        52, 1023, (0.6931471803691238, 1.9082149292705877e-10), 1.4426950408889634,
        (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
        exp=(2.4998989666597086e-08, 2.7631686875045695e-07, 2.7557597196123883e-06,
             2.4801489353730838e-05, 0.0001984126948615369, 0.0013888888946918432,
             0.00833333333350766, 0.04166666666651916, 0.16666666666666385, 0.5000000000000012),
        sin=(1.5896505144027568e-10, -2.505075326798432e-08, 2.7557313662077965e-06,
             -0.0001984126982972525, 0.008333333333322316, -0.16666666666666632),
        cos=(-1.1359448972656025e-11, 2.0875719564688728e-09, -2.75573143260766e-07,
             2.480158728939509e-05, -0.001388888888887399, 0.0416666666666666),
        atan=(-0.017773478707839428, 0.03794454378061698, -0.05034670328830899,
              0.0584688230483286, -0.06662968873715396, 0.07692048632818303, -0.09090897125801732,
              0.11111110762227432, -0.14285714279788655, 0.1999999999994973,
              -0.33333333333333187),
        logit=(0.1536962608676741, 0.15250004210729046, 0.18186365277208372, 0.22222138276880848,
               0.28571429398039194, 0.3999999999614636, 0.6666666666667274),
        asin=(0.032535940449310914, -0.017126393688647414, 0.020097908126411344,
              0.006321887183858916, 0.012216345775513575, 0.013878143036454769,
              0.01736041309778402, 0.022371711806038072, 0.030381961030870222,
              0.044642856783383346, 0.07500000000390047, 0.16666666666665192),
        log=(0.1481154560807684, 0.15312569330772885, 0.18183619009614113, 0.22222197586949516,
             0.2857142875130632, 0.3999999999937797, 0.666666666666674),
        exp_range=(-1418.0, 712.0), angle_limit=2.0 ** 30),
}


def _format(x: Value) -> _Format:
    return _FORMATS[x.type.bits]


# -- exponentials ----------------------------------------------------------------------------------


def _clamped(x: Value, low: float, high: float) -> Value:
    return minimum(maximum(x, low), high)


def _reduced(x: Value, less: int = 0) -> tuple[Value, Value]:
    """``x`` as ``n ln 2 + r``: a number that :func:`_powers` takes, and r between ±ln(2)/2."""
    form = _format(x)
    rounded = fma(x, form.log2_e, form.magic_bias - less)
    n = rounded - (form.magic_bias - less)
    return rounded, fma(n, -form.ln2[1], fma(n, -form.ln2[0], x))


def _exp_minus_one(r: Value) -> Value:
    """``e^r - 1`` for r between ±ln(2)/2."""
    return muladd(polynomial(r, _format(r).exp), r * r, r)


def _powers(rounded: Value) -> tuple[Value, Value]:
    """The bits of two powers of 2 whose product is 2^n, given n + ``magic_bias``.

    They are normal numbers even if 2^n is subnormal or overflows. Both are 0 if n is minus twice
    the bias: the product is then 0 without underflow, which costs x86-64 processors a hundred
    cycles. So very small arguments are clipped to that, and not to where results become 0.
    """
    bits, mantissa = bits_of(rounded), _format(rounded).mantissa
    first = shift_left(shift_right(bits, 1), mantissa)
    return first, shift_left(bits, mantissa) - first


def _scaled(more: Value, rounded: Value) -> Value:
    """``(1 + more) 2^n``, given n + ``magic_bias``."""
    first, second = map(bits_to_float, _powers(rounded))
    return muladd(more, first, first) * second


def _exp(x: Value, less: int = 0) -> Value:
    """``e^x 2^-less``"""
    rounded, r = _reduced(_clamped(x, *_format(x).exp_range), less)
    return _scaled(_exp_minus_one(r), rounded)


def exp(x: Value) -> Value:
    """``e^x``"""
    return _exp(x)


def exp2(x: Value) -> Value:
    """``2^x``"""
    form = _format(x)
    x = _clamped(x, -2.0 * form.bias, form.bias + 1.0)
    rounded = x + form.magic_bias
    r = (x - (rounded - form.magic_bias)) * (1 / form.log2_e)
    return _scaled(_exp_minus_one(r), rounded)


def _expm1(x: Value, less: int = 0) -> Value:
    """``(e^x - 1) 2^-less``"""
    form = _format(x)
    lowest = -(form.mantissa + 4) * 0.7  # e^x - 1 is -1 below
    rounded, r = _reduced(_clamped(x, lowest, form.exp_range[1]), less)
    first, second = _powers(rounded)
    inverse = bits_to_float(constant(second, 2 * form.bias - less << form.mantissa) - second)
    first, second = bits_to_float(first), bits_to_float(second)
    result = fma(_exp_minus_one(r), first, first - inverse) * second
    return select(x.eq(0), x, result)


def expm1(x: Value) -> Value:
    """``e^x - 1``"""
    return _expm1(x)


def logistic(x: Value) -> Value:
    """``1 / (1 + e^-x)``"""
    return 1.0 / (exp(-x) + 1.0)


def sinh(x: Value) -> Value:
    """The hyperbolic sine."""
    half = _expm1(absolute(x), less=1)
    return copysign(select(half.eq(inf), half, half + half / (half + half + 1.0)), x)


def cosh(x: Value) -> Value:
    """The hyperbolic cosine."""
    half = _exp(absolute(x), less=1)
    return half + 0.25 / half


def tanh(x: Value) -> Value:
    """The hyperbolic tangent."""
    if x.type.bits == 32:
        return odd_ratio(x, *_TANH)
    power = _expm1(minimum(absolute(x), 22.0) * 2.0)
    return copysign(power / (power + 2.0), x)


_TANH = (9.7, (6.944743891068583e-09, 1.071717997547239e-05, 0.0018177789170295,
               0.06958404928445816, 0.5200201272964478),
         (4.043989179081109e-07, 0.00017086006118915975, 0.013456562533974648, 0.24292398989200592,
          0.5200201272964478))
"""Where the ratio, of x², is certainly above 1, which the tangent is not; and the ratio."""


def odd_ratio(x: Value, limit: float, above: Sequence[float], below: Sequence[float]) -> Value:
    """``x above(x²) / below(x²)``, which is ±1 beyond a limit."""
    x = _clamped(x, -limit, limit)
    z = x * x
    return _clamped(x * polynomial(z, above) / polynomial(z, below), -1.0, 1.0)


# -- logarithms ------------------------------------------------------------------------------------


def exponent_and_fraction(x: Value, normal: bool = False) -> tuple[Value, Value]:
    """A positive number as ``2^e (1 + f)`` with f between √½ - 1 and √2 - 1; both are floats.

    ``normal`` means that x is not subnormal.
    """
    form = _format(x)
    offset: Value | float = 2.0 ** form.mantissa + form.bias
    if not normal:
        tiny = x < 2.0 ** (1 - form.bias)
        x = select(tiny, x * 2.0 ** form.mantissa, x)
        offset = select(tiny, offset + form.mantissa, constant(x, offset))
    root = {32: 0x3f3504f3, 64: 0x3fe6a09e667f3bcd}[x.type.bits]
    bits = bits_of(x) + ((form.bias << form.mantissa) - root)
    # The exponent becomes a float as the low bits of a large one.
    whole = bits_to_float(shift_right(bits, form.mantissa)
                          | (form.bias + form.mantissa << form.mantissa))
    f = bits_to_float((bits & ((1 << form.mantissa) - 1)) + root) - 1.0
    return whole - offset, f


def _log_tail(f: Value) -> Value:
    """``log(1 + f) - f`` for f between √½ - 1 and √2 - 1."""
    square = f * f
    if f.type.bits == 32:
        return square * polynomial(f, (*_format(f).log, -0.5))
    s = f / (f + 2.0)
    z = s * s
    half = square * 0.5
    return fma(s, fma(z, polynomial(z, _format(f).log), half), -half)


def _log_specials(x: Value, result: Value) -> Value:
    """Infinity, zero and negative numbers, with the results of a logarithm."""
    result = select(x.eq(inf), inf, result)
    return select(x > 0, result, select(x.eq(0), constant(x, -inf), nan))


def _outside(x: Value, low: float, high: float) -> Value:
    """Whether a number is below ``low``, ``high`` or above, or NaN; ``low`` is positive.

    That is one comparison of integers: of the bits, shifted so that ``low`` becomes the least.
    """
    start, stop = (int(np.array(v, f"f{x.type.bits // 8}").view(f"i{x.type.bits // 8}"))
                   for v in (low, high))
    half = 1 << x.type.bits - 1
    return bits_of(x) + (half - start) >= stop - start - half


def _logarithm(x: Value, compute: Callable[[Value, Value], Value]) -> Value:
    """A logarithm of ``2^e (1 + f)``, given how it is computed from e and f.

    Without mask registers, choosing subnormal and special numbers takes as long as the polynomial
    (32k floats on one Emerald Rapids core, without AVX-512: 37 us, in a branch 17 to 22). With mask
    registers both take the same time.
    """
    def of_all() -> Value:
        return _log_specials(x, compute(*exponent_and_fraction(x)))
    if x.writer.has_masks:
        return of_all()
    usual = compute(*exponent_and_fraction(x, normal=True))
    least = 2.0 ** (1 - _format(x).bias)

    def of_unusual() -> Value:
        return when_any((x < least) & (x > 0), _log_specials(x, usual), of_all)
    return when_any(_outside(x, least, inf), usual, of_unusual)


def log(x: Value) -> Value:
    """The natural logarithm."""
    ln2 = _format(x).ln2
    return _logarithm(x, lambda e, f: fma(e, ln2[0], fma(e, ln2[1], _log_tail(f)) + f))


def log2(x: Value) -> Value:
    """The logarithm to base 2."""
    return _logarithm(x, lambda e, f: fma(_log_tail(f) + f, _format(x).log2_e, e))


def log1p(x: Value) -> Value:
    """``log(1 + x)``"""
    u = x + 1.0
    e, f = exponent_and_fraction(u, normal=True)
    # The rounding error of u over u. That is a small part of the result unless u is 1, so the
    # inverse needs few bits: it is exact if u is 1, and elsewhere within 2 %.
    inverse = _rough_inverse(u)
    lost = (x - (u - 1.0)) * inverse
    rest = muladd(lost, muladd(-u, inverse, 2.0), _log_tail(f))
    ln2 = _format(x).ln2
    result = fma(e, ln2[0], fma(e, ln2[1], rest) + f)
    return copysign(_log_specials(u, result), x)


def logit(x: Value) -> Value:
    """``log(x / (1 - x))``

    The odds are ``2^k (1 + s) / (1 - s)``, where s takes the only division: exact around ½, where
    they are close to 1.
    """
    form, rest = _format(x), 1.0 - x
    lost = (1.0 - rest) - x
    # The bits of a float are nearly a multiple of its logarithm.
    half = 1 << form.mantissa - 1
    k = shift_right(bits_of(x) - bits_of(rest) + half, form.mantissa, signed=True)
    power = bits_to_float(shift_left(k, form.mantissa) + (form.bias << form.mantissa))
    other = rest * power
    s = fma(-lost, power, x - other) / (x + other)
    z, e = s * s, convert(k, "sitofp", x.type)
    tail = fma(z * s, polynomial(z, form.logit), e * form.ln2[1])
    result = fma(e, form.ln2[0], tail + (s + s))
    return when_any(_outside(x, 2.0 ** (1 - form.bias), 1.0), result,
                    lambda: log(x) - log(1.0 - x))


def _rough_inverse(x: Value) -> Value:
    """``1/x`` of a positive number within 13 %, exact for powers of 2; 0 for the largest numbers.

    The bits of a float are nearly a multiple of its logarithm, so those of the inverse are those of
    1, twice, minus them.
    """
    form, bits = _format(x), bits_of(x)
    return bits_to_float(intrinsic(
        "usub.sat", constant(bits, 2 * form.bias << form.mantissa), bits))


def asinh(x: Value) -> Value:
    """The inverse hyperbolic sine."""
    size = absolute(x)
    square = size * size
    return copysign(_log_of_doubled(size, size + square / (sqrt(square + 1.0) + 1.0)), x)


def acosh(x: Value) -> Value:
    """The inverse hyperbolic cosine."""
    t = x - 1.0
    return select(x < 1.0, nan, _log_of_doubled(x, t + sqrt(fma(t, t, t + t))))


def _log_of_doubled(x: Value, y: Value) -> Value:
    """``log(1 + y)``, or ``log(2 x)`` if x is so large that y could overflow."""
    great = x > 2.0 ** (_format(x).mantissa // 2 + 2)
    return log1p(select(great, x - 1.0, y)) + select(great, constant(x, 0.6931471805599453), 0.0)


def atanh(x: Value) -> Value:
    """The inverse hyperbolic tangent."""
    size = absolute(x)
    return copysign(log1p((size + size) / (1.0 - size)) * 0.5, x)


# -- angles ----------------------------------------------------------------------------------------


def _two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """The sum of two numbers and its rounding error."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def _quadrant(x: Value) -> tuple[Value, Value]:
    """``x`` as ``n π/2 + r``: a number whose low bits are n, and r between ±π/4."""
    form = _format(x)
    rounded = fma(x, 2 / 3.141592653589793, form.magic)
    n = rounded - form.magic
    whole = fma(n, -form.half_pi[0], x)  # exact
    part = n * form.half_pi[1]
    near, lost = _two_sum(whole, -part)
    return rounded, near + (lost - fma(n, form.half_pi[2], fma(n, form.half_pi[1], -part)))


def _sin_and_cos(r: Value) -> tuple[Value, Value]:
    form, z = _format(r), r * r
    sine = muladd(z * r, polynomial(z, form.sin), r)
    cosine = muladd(z * z, polynomial(z, form.cos), muladd(z, -0.5, 1.0))
    return sine, cosine


def _of_angle(name: str, x: Value, compute: Callable[[Value, Value], Value]) -> Value:
    """A function of a positive angle by quadrant and remainder; the C library computes huge
    ones."""
    rounded, r = _quadrant(x)
    result = compute(bits_of(rounded), r)
    library = name + ("f" if x.type.bits == 32 else "")
    return when_any(x > _format(x).angle_limit, result, lambda: call_lanewise(library, x))


def _turned(quadrant: Value, sine: Value, cosine: Value) -> Value:
    """The sine of an angle in a quadrant, from sine and cosine of the remainder."""
    odd = (quadrant & 1).ne(0)
    sign = shift_left(quadrant & 2, sine.type.bits - 2)
    return bits_to_float(bits_of(select(odd, cosine, sine)) ^ sign)


def _with_sign_of(y: Value, x: Value) -> Value:
    """``y``, or ``-y`` where x is negative."""
    return bits_to_float(bits_of(y) ^ (bits_of(x) & -(1 << x.type.bits - 1)))


def sin(x: Value) -> Value:
    """The sine."""
    return _with_sign_of(_of_angle("sin", absolute(x), lambda quadrant, r: _turned(
        quadrant, *_sin_and_cos(r))), x)


def cos(x: Value) -> Value:
    """The cosine."""
    return _of_angle("cos", absolute(x), lambda quadrant, r: _turned(
        quadrant + 1, *_sin_and_cos(r)))


def tan(x: Value) -> Value:
    """The tangent."""
    def compute(quadrant: Value, r: Value) -> Value:
        sine, cosine = _sin_and_cos(r)
        odd = (quadrant & 1).ne(0)
        return select(odd, -cosine, sine) / select(odd, sine, cosine)
    return _with_sign_of(_of_angle("tan", absolute(x), compute), x)


def _right_angles_minus(count: int, x: Value) -> Value:
    """``count π/2 - x``"""
    high, low, _ = _format(x).half_pi
    return count * high - (x - count * low)


_ATAN_TO_ONE = (0.0029206909239292145, -0.016367923468351364, 0.043211858719587326,
                -0.07552213966846466, 0.10666004568338394, -0.14211055636405945,
                0.19993773102760315, -0.33333152532577515)
"""The series of float32 up to 1: three terms more than that up to √2 - 1."""


def _arc(rise: Value, run: Value) -> Value:
    """The angle of the point (run, rise), both positive, rise not above run."""
    form = _format(rise)
    steep = rise > run * 0.41421356237309503
    slope = select(steep, rise - run, rise) / select(steep, rise + run, run)
    z = slope * slope
    arc = fma(z * slope, polynomial(z, form.atan), slope)
    return select(steep, (arc + form.half_pi[1] / 2) + form.half_pi[0] / 2, arc)


def atan(x: Value) -> Value:
    """The inverse tangent, by reduction to the inverse; of float64 also to the distance from 1."""
    form, size = _format(x), absolute(x)
    high, low, _ = form.half_pi
    series: tuple[float, ...]
    if x.type.bits == 32:
        great, series = size > 1.0, _ATAN_TO_ONE
        slope = select(great, -1.0, size) / select(great, size, 1.0)
        corner = select(great, constant(x, high), 0.0)
    else:
        middle, great, series = size > 0.41421356237309503, size > 2.414213562373095, form.atan
        rise = select(great, -1.0, select(middle, size - 1.0, size))
        slope = rise / select(great, size, select(middle, size + 1.0, 1.0))
        corner = select(great, constant(x, high), select(middle, constant(x, high / 2), 0.0))
    z = slope * slope
    arc = fma(z * slope, polynomial(z, series), slope)
    return copysign(fma(corner, low / high, arc) + corner, x)


def atan2(y: Value, x: Value) -> Value:
    """The angle of the point (x, y)."""
    rise, run = absolute(y), absolute(x)
    less, more = minimum(rise, run), maximum(rise, run)
    # Two infinities count as two ones, and two zeros as a zero and a one.
    less, more = select(less.eq(inf), 1.0, less), select(less.eq(inf) | more.eq(0), 1.0, more)
    shrink = select(more > 2.0 ** (_format(x).bias - 2), constant(x, 0.25), 1.0)
    arc = _arc(less * shrink, more * shrink)
    arc = select(rise > run, _right_angles_minus(1, arc), arc)
    arc = select(bits_of(x) < 0, _right_angles_minus(2, arc), arc)
    return copysign(arc, y)


def _half_arc(size: Value) -> tuple[Value, Value]:
    """Whether an absolute value is above ½; then half its inverse cosine, otherwise its inverse
    sine."""
    great = size > 0.5
    z = select(great, (1.0 - size) * 0.5, size * size)
    s = select(great, sqrt(z), size)
    return great, fma(z * s, polynomial(z, _format(size).asin), s)


def asin(x: Value) -> Value:
    """The inverse sine."""
    great, arc = _half_arc(absolute(x))
    return copysign(select(great, _right_angles_minus(1, arc + arc), arc), x)


def acos(x: Value) -> Value:
    """The inverse cosine."""
    great, arc = _half_arc(absolute(x))
    twice = arc + arc
    far = select(x < 0, _right_angles_minus(2, twice), twice)
    return select(great, far, _right_angles_minus(1, copysign(arc, x)))


# -- powers and roots ------------------------------------------------------------------------------


def pow(x: Value, y: Value) -> Value:
    """``x^y``"""
    size = absolute(x)
    result = _positive_power(size, y)
    result = select(size.eq(0) | size.eq(inf), select(size.eq(0) ^ (y > 0), constant(x, inf), 0.0),
                    result)
    result = select(size.eq(1), 1.0, result)
    half = y * 0.5
    whole, odd = floor(y).eq(y), floor(half).ne(half)
    negative = bits_of(x) < 0
    result = select(negative & whole & odd, -result, result)
    result = select((x < 0) & x.ne(-inf) & ~whole, nan, result)
    result = select(x.eq(x) & y.eq(y), result, nan)
    return select(x.eq(1) | y.eq(0), 1.0, result)


_LOG2: dict[int, tuple[tuple[float, float], tuple[float, float], tuple[float, ...]]] = {
    32: ((0.3333333432674408, -9.934107481068821e-09), (2.885390043258667, 3.85192597818218e-08),
         (0.09560780227184296, 0.11102357506752014, 0.1428576558828354, 0.20000000298023224)),
    64: ((0.3333333333333333, 1.850371707708594e-17), (2.8853900817779268, 4.0710547481862066e-17),
         (0.06605777558821026, 0.06627609207325556, 0.07693412038088006, 0.09090891482204823,
          0.11111111267685633, 0.1428571428500832, 0.2000000000000121))}
"""⅓ and 2 / ln 2 in two parts, and the series of ``atanh(s) / s`` in s² from its third term on."""


def _positive_power(x: Value, y: Value) -> Value:
    """``x^y`` of a finite positive x."""
    high, low = _log2_in_two_parts(x)
    product = y * high
    lost = fma(y, low, fma(y, high, -product))
    small = absolute(product) < 1.1 * (_format(x).bias + _format(x).mantissa)
    return _exp2_of_sum(product, select(small, lost, 0.0))


def _exp2_of_sum(x: Value, rest: Value) -> Value:
    """2 to the power of a sum."""
    form = _format(x)
    x = _clamped(x, -2.0 * form.bias, form.bias + 3.0)
    rounded = x + form.magic_bias
    r = (x - (rounded - form.magic_bias) + rest) * 0.6931471805599453
    return _scaled(_exp_minus_one(r), rounded)


def _log2_in_two_parts(x: Value) -> tuple[Value, Value]:
    """The logarithm to base 2 with extra precision, as a sum."""
    (part, part_low), (scale, scale_low), series = _LOG2[x.type.bits]
    e, f = exponent_and_fraction(x)
    run = f + 2.0
    inverse = 1.0 / run
    s = f * inverse
    s_low = (fma(s, -run, f) - s * (f - (run - 2.0))) * inverse
    z = s * s
    z_low = fma(s, s, -z) + (s + s) * s_low
    # atanh(s) / s is 1 + third + tail
    tail = polynomial(z, series) * (z * z)
    third = z * part
    third_low = fma(z, part, -third) + (z * part_low + z_low * part)
    sum_high, sum_low = _two_sum(third, tail + third_low)
    more = s * sum_high
    more_low = fma(s, sum_high, -more) + (s * sum_low + s_low * sum_high)
    half, half_low = _two_sum(s, more)
    half_low = half_low + (more_low + s_low)
    # times 2 / ln 2, plus the exponent
    log = half * scale
    log_low = fma(half, scale, -log) + (half * scale_low + half_low * scale)
    high, low = _two_sum(e, log)
    return high, low + log_low


def cbrt(x: Value) -> Value:
    """The cube root."""
    form, size = _format(x), absolute(x)
    step = 24 if x.type.bits == 32 else 54  # a multiple of 3, more than the mantissa has bits
    tiny = size < 2.0 ** (-form.bias * 3 // 4)
    scaled = select(tiny, size * 2.0 ** step, size)
    root, quarter = _rough_cube_root(scaled), scaled * 0.25
    for _ in range(2 if x.type.bits == 32 else 3):
        cube = root * root * (root * 0.25)
        root = fma(root, (quarter - cube) / fma(cube, 2.0, quarter), root)
    root = select(tiny, root * 2.0 ** (-step // 3), root)
    return select(x.eq(0) | size.eq(inf) | x.ne(x), x, copysign(root, x))


def _rough_cube_root(x: Value) -> Value:
    """A cube root within 5 per cent, from a third of the bits."""
    if x.type.bits == 32:
        return bits_to_float(_third(bits_of(x)) + 709958130)
    upper = convert(shift_right(bits_of(x), 32), "trunc", integer(32))
    return bits_to_float(shift_left(convert(_third(upper) + 715094163, "zext", integer(64)), 32))


def _third(x: Value) -> Value:
    return x.writer.write(x.type, f"udiv {x!r}, {constant(x, 3).text}")


def hypot(x: Value, y: Value) -> Value:
    """``√(x² + y²)`` without overflow: the numbers are scaled by a power of 2."""
    form = _format(x)
    power = shift_right(bits_of(maximum(absolute(x), absolute(y))), form.mantissa)
    limit = 2 * form.bias - 46
    power = select(power > limit, limit, power)
    down, up = (bits_to_float(shift_left(p, form.mantissa)) for p in (2 * form.bias - power, power))
    # Below the least normal number the power would be 0: subnormal numbers use the same scale.
    low, least = power.eq(0), 2.0 ** (1 - form.bias)
    down, up = select(low, 1 / least, down), select(low, least, up)
    a, b = x * down, y * down
    result = sqrt(fma(a, a, b * b)) * up
    return select(absolute(x).eq(inf) | absolute(y).eq(inf), inf, result)
