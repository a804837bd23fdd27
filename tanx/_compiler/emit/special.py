"""Special functions of float32 and float64: the error function, the gamma function and related
ones.

The error function and its inverse are polynomials, in the style of ``math.py``; digamma and zeta
are series, computed in float64, and so is ``lgamma``. Rare cases of others call SciPy's C functions
lane by lane, which the loader finds under the names ``scipy.…``; ``lgamma`` of negative float64
calls that of the C library. Long functions are not inlined.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan, pi

import numpy as np

from .math import exp, log, odd_ratio, pow, sin, tan
from .storage import cast
from .values import (
    F32,
    F64,
    Value,
    absolute,
    call_lanewise,
    constant,
    convert,
    copysign,
    floor,
    fma,
    maximum,
    minimum,
    outlined,
    polynomial,
    repeat,
    rint,
    select,
    sqrt,
    when_any,
)

__all__ = ["digamma", "erf", "erf_inv", "erfc", "from_scipy", "in_float64", "lgamma",
           "log_gamma", "ndtr", "polygamma", "zeta"]


# Polynomials have the highest power first. (erf(x) / x - 1, of x², up to 1)
_ERF = {
    32: (7.853860734030604e-05, -0.0008010193705558777, 0.005188327748328447,
         -0.026853812858462334, 0.1128358542919159, -0.3761262595653534, 0.12837916612625122),
    64: (-7.779458245886857e-10, 1.3710975093595291e-08, -1.6206312584843353e-07,
         1.64471314267048e-06, -1.4924712291205996e-05, 0.00012055293576403055,
         -0.0008548325929300999, 0.005223977606118293, -0.026866170643111465, 0.11283791670944185,
         -0.3761263890318352, 0.12837916709551256)}
# e^(x²) erfc(x) (1 + 2x) F, of (x - K) / (x + K); F makes the constant round well.
_ERFC_MIDDLE = {32: 2.0, 64: 4.0}
_ERFC_FACTOR = {32: 0.77, 64: 1.0}
_ERFC = {
    32: (-0.000303155422443524, -0.0009390382911078632, 0.001009930856525898,
         0.0066409120336174965, -0.0062065511010587215, -0.04173649102449417, 0.1263226419687271,
         -0.12784412503242493, -0.07142824679613113, 0.9832733273506165),
    64: (-1.6273380498525253e-08, 7.309100981303446e-08, 8.160289800108099e-08,
         -7.825522375597963e-07, 2.807920050387594e-07, 5.682349004408751e-06,
         -1.1212413265374552e-05, -2.438864654995247e-05, 0.00015061783401311275,
         -0.0001992592483934317, -0.0007577723897395372, 0.005031970363939871,
         -0.016197734181693436, 0.03716751550230069, -0.06633036580261938, 0.09373283500012752,
         -0.10103906603667605, 0.06809705425465094, 0.015379652102625256, -0.13962111684056222,
         1.2329951186255526)}
_ERF_RATIO = (4.1, (2.1083210413053166e-06, 0.00028567295521497726, 0.003673796309158206,
                    0.052479296922683716, 0.18789440393447876, 1.1283791065216064),
              (3.873224704875611e-05, 0.0011454705381765962, 0.014784622937440872,
               0.11312762647867203, 0.49984997510910034, 1.0))
"""Where the ratio, of x², is certainly above 1, which the function is not; and the ratio."""


def _erf_near_zero(x: Value) -> Value:
    """The error function up to 1."""
    return fma(polynomial(x * x, _ERF[x.type.bits]), x, x)


def _erfc_of_size(size: Value, share: float = 1.0) -> Value:
    """``share erfc(√share size)``; ``share`` is 1 or ½. In float64 from ``√share size`` = 0.95."""
    bits, unit = size.type.bits, share ** -0.5
    size = minimum(size, (11.0 if bits == 32 else 28.0) * unit)
    middle, factor = _ERFC_MIDDLE[bits] * unit, _ERFC_FACTOR[bits] / share
    scaled = polynomial((size - middle) / (size + middle), _ERFC[bits]) / fma(
        size, 2 * factor / unit, factor)
    square = size * size
    lost = fma(size, size, -square)
    result = exp(square * -share) * scaled
    return fma(lost * -share, result, result)


def erf(x: Value) -> Value:
    """The error function."""
    if x.type.bits == 32:
        return odd_ratio(x, *_ERF_RATIO)
    size = absolute(x)
    return select(size <= 1.0, _erf_near_zero(x), copysign(1.0 - _erfc_of_size(size), x))


def erfc(x: Value) -> Value:
    """``1 - erf(x)``"""
    size = absolute(x)
    tail = _erfc_of_size(size)
    result = select(x < 0, 2.0 - tail, tail)
    return result if x.type.bits == 32 else select(size < 0.95, 1.0 - _erf_near_zero(x), result)


def ndtr(x: Value) -> Value:
    """``erfc(-x/√2) / 2``; rounding the quotient would cost many digits of the tail."""
    size = absolute(x)
    tail = _erfc_of_size(size, 0.5)
    result = select(x < 0, tail, 1.0 - tail)
    return result if x.type.bits == 32 else select(
        size < 1.34, fma(_erf_near_zero(x * 0.7071067811865476), 0.5, 0.5), result)


# erf_inv(x) / x: of w - 2.5 or 3.125 where w = -log(1 - x²) is small, else of √w less a middle.
_ERF_INV: dict[int, list[tuple[float, float, tuple[float, ...]]]] = {
    32: [(5.0, 2.5, (-8.79095285455378e-09, 2.3232670898210017e-08, 4.661691832552606e-07,
                     -3.462705080892192e-06, -4.963340870745014e-06, 0.00021834444487467408,
                     -0.0012527419021353126, -0.004177386872470379, 0.24664027988910675,
                     1.5014094114303589)),
         (inf, 3.0, (0.00012592185521498322, -0.0003170193522237241, -7.202655251603574e-05,
                     0.0014939301181584597, -0.003589381230995059, 0.0056838165037333965,
                     -0.007638935931026936, 0.009445621632039547, 1.001675009727478,
                     2.832976818084717))],
    64: [(6.25, 3.125, (
        -4.3234455182673556e-21, -1.692650630618895e-19, 1.3222186953175474e-18,
        1.1197128817753698e-17, -1.3415761947942547e-16, 2.0103052543436492e-17,
        6.648601184193002e-15, -4.053487784271462e-14, -8.160802190256068e-14,
        2.6334273222035537e-12, -1.2974673183166262e-11, -5.415372693589521e-11,
        1.051210743442184e-09, -4.112635164705002e-09, -2.907036679396617e-08,
        4.234787804217749e-07, -1.365469203888903e-06, -1.3882523364917294e-05,
        0.00018673420803639468, -0.000740702534165295, -0.006033670871430705,
        0.24015818242558948, 1.653654562683103)),
         (16.0, 3.25, (
             3.2285772929696906e-09, 9.087516941286005e-08, -2.777472351894457e-07,
             1.79522313202066e-08, 1.5054580094114868e-06, -4.0135808392112725e-06,
             2.921897754394083e-06, 1.2475152770208295e-05, -4.7317715912251506e-05,
             6.828489717327309e-05, 2.4031010490773995e-05, -0.0003550375281747694,
             0.0009532893906541086, -0.0016882755553158386, 0.002491442095510892,
             -0.0037512085075979964, 0.005370914553602607, 1.0052589676941597,
             3.0838856104922203)),
         (inf, 5.0, (
             -2.022045489741771e-11, 4.316703619730956e-11, 6.900021072235836e-11,
             -4.3867124774478065e-10, 1.3166805752039852e-09, -3.4696845374046103e-09,
             7.821127508079323e-09, -1.5256313326744096e-08, 2.901859364962527e-08,
             -6.755568050353221e-08, 2.2905292480706715e-07, -9.930295025016906e-07,
             4.526052486603106e-06, -1.9681770685847507e-05, 7.599527810261683e-05,
             -0.0002150301198286959, -0.00013871931838044653, 1.0103004648645453,
             4.849906401408584))]}


def erf_inv(x: Value) -> Value:
    """The inverse of the error function."""
    w = -log((1.0 - x) * (x + 1.0))
    (limit, middle, series), *others = _ERF_INV[x.type.bits]
    ratio, root = polynomial(w - middle, series), sqrt(w)
    for further, middle, series in others:
        ratio = select(w < limit, ratio, polynomial(root - middle, series))
        limit = further
    return select(absolute(x).eq(1), copysign(constant(x, inf), x), x * ratio)


# -- in float64, whatever the operands -------------------------------------------------------------


def in_float64(name: str, compute: Callable[..., Value]) -> Callable[..., Value]:
    """A function of float64 that is not inlined, also for float32."""
    def call(*args: Value) -> Value:
        result = outlined(name, compute, *(convert(x, "fpext", F64) for x in args))
        return convert(result, "fptrunc", F32) if args[0].type.bits == 32 else result
    return call


_STIRLING = (0.00641025641025641, -0.0019175269175269176, 0.0008417508417508417,
             -0.0005952380952380953, 0.0007936507936507937, -0.002777777777777778,
             0.08333333333333333)
"""B(2k) / (2k (2k - 1)) from k = 7 down to 1."""


def log_gamma(x: Value) -> Value:
    """The logarithm of the gamma function's absolute value, in float64, with an error of about
    1e-15 of the largest term.

    That is less than a rounding of float32, also next to the zeros at 1 and 2.
    """
    left = x < 0.5
    y = select(left, 1.0 - x, x)
    low = y < 8.0
    start = select(low, y, 1.0)
    t = start * (start + 7.0)
    product = select(low, (t * (t + 6.0)) * ((t + 10.0) * (t + 12.0)), 1.0)
    z = select(low, y + 8.0, y)
    inverse = 1.0 / z
    series = fma(polynomial(inverse * inverse, _STIRLING), inverse, 0.9189385332046727)
    whole = fma(z - 0.5, log(z), series - z)
    # On the left, reflection: the product with the value on the right is π / sin(πx).
    product = when_any(left, product, lambda: product * pi / absolute(sin((x - rint(x)) * pi)))
    steps = log(product)
    result = select(left, steps - whole, whole - steps)
    result = select(x.eq(1) | x.eq(2), 0.0, result)
    return select(absolute(x).eq(inf), inf, result)


_STIRLING_LONG = (0.17964437236883057, -0.029550653594771242, *_STIRLING)
"""The same from k = 9 on: from 8 on, the rest is less than a rounding of float64."""

_AROUND_TWO = (
    5.731367241678862e-10, -1.1921401405860912e-09, 2.4836745438024785e-09, -5.183475041970047e-09,
    1.0838659214896955e-08, -2.2711094608943164e-08, 4.7698101693639804e-08,
    -1.0043224823968099e-07, 2.1207184805554665e-07, -4.492469198764566e-07, 9.55141213040742e-07,
    -2.039215753801366e-06, 4.374866789907488e-06, -9.439488275268397e-06, 2.050721277567069e-05,
    -4.492623673813314e-05, 9.945751278180853e-05, -0.00022315475845357939, 0.0005096695247430425,
    -0.001192753911703261, 0.0028905103307415234, -0.007385551028673986, 0.020580808427784546,
    -0.0673523010531981, 0.3224670334241132, 0.42278433509846713)
"""(-1)^k (zeta(k) - 1) / k from k = 26 down to 2, and 1 less Euler's constant: the Taylor series
of ``lgamma(2 + t) / t``, for t up to 1/2."""


def _log_gamma_of_positive(x: Value) -> Value:
    """``lgamma`` in float64, with an error of few units in the last place, for x > 0.

    Up to 8, the recurrence leads to 2 + t with t between -1/2 and 1/2; above it follows Stirling's
    series. Near the zeros at 1 and 2, t is exact.
    """
    high = x >= 8.0
    z = select(high, x, 8.0)
    low = select(high, 2.0, x)
    # From 2.5 on, factors x - 1, x - 2, and so on; below 1.5 the factors x and x + 1 divide.
    rest, product = low, constant(x, 1.0)
    for _ in range(6):
        over = rest >= 2.5
        rest = select(over, rest - 1.0, rest)
        product = select(over, product * rest, product)
    below, least = low < 1.5, low < 0.5
    t = select(least, low, select(below, low - 1.0, rest - 2.0))
    product = select(least, low * (low + 1.0), select(below, low, product))
    logarithm = log(select(high, z, product))
    small = fma(t, polynomial(t, _AROUND_TWO), select(below, -logarithm, logarithm))
    inverse = 1.0 / z
    series = fma(polynomial(inverse * inverse, _STIRLING_LONG), inverse, 0.9189385332046727)
    result = select(high, fma(z - 0.5, logarithm, series - z), small)
    return select(x.eq(inf), inf, result)


def _log_gamma64(x: Value) -> Value:
    positive = x > 0.0
    result = _log_gamma_of_positive(x)
    return when_any(~positive, result, lambda: select(
        positive, result, call_lanewise("lgamma", select(positive, 1.0, x))))


def lgamma(x: Value) -> Value:
    """The logarithm of the absolute value of the gamma function."""
    if x.type.bits == 64:
        return outlined("log_gamma_long", _log_gamma64, x)
    return in_float64("log_gamma", log_gamma)(x)


_DIGAMMA = (-0.4432598039215686, 0.08333333333333333, -0.021092796092796094, 0.007575757575757576,
            -0.004166666666666667, 0.003968253968253968, -0.008333333333333333,
            0.08333333333333333)
"""Bernoulli numbers: B(2k) / 2k from k = 8 down to 1."""


def _rising_ten(x: Value) -> tuple[Value, Value]:
    """x (x + 1) … (x + 9), and its derivative; factors k and 9 - k together are t + k (9 - k)."""
    t = x * (x + 9.0)
    a, b, c, d, e = (t + float(k * (9 - k)) for k in range(5))
    ab, cd = a * b, c * d
    four, slope = ab * cd, fma(a + b, cd, (c + d) * ab)
    return four * e, fma(slope, e, four) * fma(x, 2.0, 9.0)


def _digamma(x: Value) -> Value:
    left = x < 0.5
    y = select(left, 1.0 - x, x)
    # Up to 10, ten steps of the recurrence as one fraction: the derivative of a product over it.
    low = y < 10.0
    start = select(low, y, 1.0)
    product, slope = _rising_ten(start)
    z = select(low, y + 10.0, y)
    inverse = 1.0 / z
    square = inverse * inverse
    result = log(z) - fma(polynomial(square, _DIGAMMA), square, inverse * 0.5)
    result = select(low, result - slope / product, result)
    result = when_any(left, result, lambda: result - pi / tan((x - rint(x)) * pi))
    pole = select(x.eq(0), constant(x, -inf), nan)
    return select(floor(x).eq(x) & (x <= 0), pole, select(x.eq(inf), inf, result))


def digamma(x: Value) -> Value:
    """The derivative of :func:`lgamma`."""
    return in_float64("digamma", _digamma)(x)


_ZETA = (12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9,
         7.47242496e10, -2.950130727918164224e12, 1.1646782814350067249e14,
         -4.5979787224074726105e15, 1.8152105401943546773e17, -7.1661652561756670113e18)
"""(2k)! / B(2k) for k from 1: the terms of the Euler-Maclaurin formula."""


def _zeta(x: Value, q: Value) -> Value:
    # Terms one by one until q + k is above 10, then the rest by the formula. Far below zero, where
    # that would take long, the result is NaN.
    far = q < -65536.0
    count = maximum(10.0 - floor(select(far | q.ne(q), constant(q, 1.0), q)), 10.0)
    (direct,) = repeat(_greatest(count), [constant(x, 0.0)],
                       lambda k, s: [_zeta_sum(x, q, count, k, s[0])])
    end = q + count
    power = pow(end, -x)
    total = direct + power * end / (x - 1.0) + power * 0.5
    factor, ratio = x, power / end
    square = end * end
    for k, c in enumerate(_ZETA):
        total = total + factor * ratio / c
        factor = factor * (x + float(2 * k + 1)) * (x + float(2 * k + 2))
        ratio = ratio / square
    total = select(q.eq(inf), 0.0, select(x.eq(inf), direct, total))
    total = select(x.eq(x) & q.eq(q) & ~far, total, nan)
    total = select((q <= 0) & floor(x).ne(x), nan, total)
    total = select((q <= 0) & floor(q).eq(q), inf, total)
    return select(x.eq(1), inf, select(x < 1.0, nan, total))


def _greatest(count: Value) -> Value:
    """The greatest integer in all lanes, as an int64."""
    most = count if count.type.lanes == 1 else count.writer.call(
        f"llvm.vector.reduce.fmax.{count.type.suffix}", F64, [count])
    return cast(most, np.dtype(np.float64), np.dtype(np.int64))


def _zeta_sum(x: Value, q: Value, count: Value, k: Value, total: Value) -> Value:
    """The sum with term k, in lanes that have it."""
    k = convert(k, "sitofp", F64)
    return total + select(count > k, pow(q + k, -x), 0.0)


def _zeta_roughly(x: Value, q: Value) -> Value:
    """The zeta function to float32 accuracy: fewer terms, and powers by exp and log."""
    usual = (x > 1.0) & (x <= 60.0) & (q > 0.0) & (q < 1e30)
    x, q, given = select(usual, x, 2.0), select(usual, q, 10.0), (x, q)
    # The rest is a series for large q + k; if x is large as well, the rest must be small.
    least = select(x > 16.0, q + 10.0, fma(x, 0.45, 3.0))
    count = maximum(floor(least - q + 1.0), 0.0)
    (direct,) = repeat(_greatest(count), [constant(x, 0.0)],
                       lambda k, s: [_rough_sum(x, q, count, k, s[0])])
    end = q + count
    power = exp(-x * log(end))
    inverse = 1.0 / end
    total = direct + power * (end / (x - 1.0) + 0.5)
    factor, ratio = x, power * inverse
    for k, c in enumerate(_ZETA[:8]):
        total = fma(factor * ratio, constant(x, 1 / c), total)
        factor = factor * (x + float(2 * k + 1)) * (x + float(2 * k + 2))
        ratio = ratio * inverse * inverse
    return when_any(~usual, total, lambda: outlined("zeta", _zeta, *given))


def _rough_sum(x: Value, q: Value, count: Value, k: Value, total: Value) -> Value:
    k = convert(k, "sitofp", F64)
    return total + select(count > k, exp(-x * log(q + k)), 0.0)


def zeta(x: Value, q: Value) -> Value:
    """The Hurwitz zeta function."""
    rough = x.type.bits == 32
    return in_float64("zeta_roughly" if rough else "zeta", _zeta_roughly if rough else _zeta)(x, q)


def _derivative(m: Value, x: Value, zeta_name: str, zeta: Callable[..., Value]) -> Value:
    order = m + 1.0
    size = when_any(m > 0.0, constant(x, 0.0), lambda: exp(log_gamma(order)) * outlined(
        zeta_name, zeta, order, x))
    half = m * 0.5
    higher = select(floor(half).eq(half), -size, size)
    result = when_any(m.eq(0), higher, lambda: digamma(x))
    return select(floor(m).eq(m) & (m >= 0), result, nan)


def polygamma(m: Value, x: Value) -> Value:
    """The derivative of order m of :func:`digamma`."""
    rough = x.type.bits == 32
    way = ("zeta_roughly", _zeta_roughly) if rough else ("zeta", _zeta)
    return in_float64("polygamma_roughly" if rough else "polygamma",
                       lambda m, x: _derivative(m, x, *way))(m, x)


def from_scipy(name: str, doc: str) -> Callable[..., Value]:
    """A SciPy function, called lane by lane in float64."""
    def compute(*args: Value) -> Value:
        return call_lanewise(f"scipy.{name}", *args, extra="i32 0")

    def call(*args: Value) -> Value:
        return in_float64(f"each.{name}", compute)(*args)
    call.__doc__ = doc
    return call

