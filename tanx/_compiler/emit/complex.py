"""Complex numbers as pairs of floats, and functions of them built from real ones.

Products and quotients are computed as in NumPy, to the last bit. Inverse functions follow Kahan's
formulas, whose branch cuts respect the signs of zeros. Errors are small relative to the absolute
value of a result, though not always relative to each of its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, nan

from . import math
from .values import Value, absolute, constant, copysign, fma, maximum, minimum, select, sqrt

__all__ = ["FUNCTIONS", "Pair", "divide", "extreme", "larger", "phase", "power", "size"]


class Pair:
    """A complex number by its parts; Python's operators on it write instructions."""

    __slots__ = ("im", "re")

    def __init__(self, re: Value, im: Value):
        self.re, self.im = re, im

    def of(self, lanes: int) -> Pair:
        """The number in each of some lanes."""
        return Pair(self.re.of(lanes), self.im.of(lanes))

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Pair) -> Pair:
        return Pair(self.re - other.re, self.im - other.im)

    def __mul__(self, other: Pair) -> Pair:
        a, b, c, d = self.re, self.im, other.re, other.im
        return Pair(a * c - b * d, a * d + b * c)

    def __truediv__(self, other: Pair) -> Pair:
        return divide(self, other)

    def __neg__(self) -> Pair:
        return Pair(-self.re, -self.im)

    def plus(self, number: float) -> Pair:
        """The sum with a real number."""
        return Pair(self.re + number, self.im)

    def times(self, factor) -> Pair:
        """The product with a real number."""
        return Pair(self.re * factor, self.im * factor)

    def conjugate(self) -> Pair:
        """The number mirrored at the real axis."""
        return Pair(self.re, -self.im)

    def turned(self) -> Pair:
        """The product with i."""
        return Pair(-self.im, self.re)

    def turned_back(self) -> Pair:
        """The product with -i."""
        return Pair(self.im, -self.re)


def _choose(condition: Value, a: Pair, b: Pair) -> Pair:
    return Pair(select(condition, a.re, b.re), select(condition, a.im, b.im))


def divide(x: Pair, y: Pair) -> Pair:
    """The quotient by Smith's method, without overflow on the way."""
    a, b, c, d = x.re, x.im, y.re, y.im
    steep = absolute(c) < absolute(d)
    more, less = select(steep, d, c), select(steep, c, d)
    ratio = less / more
    scale = 1.0 / (more + less * ratio)
    first, second = select(steep, a * ratio, a), select(steep, b, b * ratio)
    third, fourth = select(steep, b * ratio, b), select(steep, a, a * ratio)
    by_zero = c.eq(0) & d.eq(0)
    zero = absolute(c)
    return _choose(by_zero, Pair(a / zero, b / zero),
                   Pair((first + second) * scale, (third - fourth) * scale))


def larger(x: Pair, y: Pair, how: str) -> Value:
    """Whether x is ``"gt"`` or ``"lt"`` y, by real part, then by imaginary part."""
    return x.re.compare(how, y.re) | (x.re.eq(y.re) & x.im.compare(how, y.im))


def extreme(x: Pair, y: Pair, how: str) -> Pair:
    """The greater (``"gt"``) or the lesser (``"lt"``) of two numbers."""
    return _choose(larger(x, y, how), x, y)


def size(x: Pair) -> Value:
    """The absolute value."""
    return math.hypot(x.re, x.im)


def phase(x: Pair) -> Value:
    """The angle."""
    return math.atan2(x.im, x.re)


def _square(x: Pair) -> Pair:
    return x * x


def _sign(x: Pair) -> Pair:
    length = size(x)
    return _choose(x.re.eq(0) & x.im.eq(0), x, Pair(x.re / length, x.im / length))


def _sqrt(x: Pair) -> Pair:
    """The root in the right half plane, on the side of the cut that the sign of zero selects."""
    # Sizes near the greatest number are halved twice, so that their sum does not overflow.
    great = maximum(absolute(x.re), absolute(x.im)) > 2.0 ** {32: 125, 64: 1021}[x.re.type.bits]
    small = x.times(select(great, constant(x.re, 0.25), 1.0))
    root = sqrt((absolute(small.re) + size(small)) * 0.5)
    root = select(great, root + root, root)
    other = absolute(x.im) / (root + root)
    right = x.re >= 0
    re, im = select(right, root, other), copysign(select(right, other, root), x.im)
    endless = absolute(x.im).eq(inf)
    zero = x.re.eq(0) & x.im.eq(0)
    re = select(endless, inf, select(zero, 0.0, re))
    return Pair(re, select(endless | zero, x.im, im))


_GREAT = {32: 88.0, 64: 709.0}  # e to these powers is not far from the greatest float


def _shortened(x: Value, size: Value) -> tuple[Value, Value]:
    """The real part minus half of the limit if it is large, and a factor to compensate.

    Parts of e^(x + iy) may be finite though e^x overflows, where the sine or cosine is small. The
    difference is exact; so far out, sinh and cosh are exponentials, too.
    """
    half = _GREAT[x.type.bits] / 2
    great = size > 2 * half
    near = select(great, x - copysign(constant(x, half), x), x)
    return near, select(great, constant(x, exp(half)), 1.0)


def _exp(x: Pair) -> Pair:
    near, factor = _shortened(x.re, x.re)
    length = math.exp(near)
    re, im = length * math.cos(x.im) * factor, length * math.sin(x.im) * factor
    real = x.im.eq(0)
    re, im = select(real, length * factor, re), select(real, x.im, im)
    nothing = length.eq(0)
    return Pair(select(nothing, 0.0, re), select(nothing, 0.0, im))


def _exp2(x: Pair) -> Pair:
    return _exp(x.times(0.6931471805599453))


def _expm1(x: Pair) -> Pair:
    half = math.sin(x.im * 0.5)
    near, factor = _shortened(x.re, x.re)
    re = math.expm1(near) * math.cos(x.im) * factor - half * half * 2.0
    im = math.exp(near) * math.sin(x.im) * factor
    return Pair(re, select(x.im.eq(0), x.im, im))


def _log(x: Pair) -> Pair:
    length = size(x)
    a, b = absolute(x.re), absolute(x.im)
    more, less = maximum(a, b), minimum(a, b)
    # Close to the unit circle, the logarithm of the absolute value would lose digits.
    near = fma(more - 1.0, more + 1.0, less * less)
    close = (length > 0.5) & (length < 1.75)
    return Pair(select(close, math.log1p(near) * 0.5, math.log(length)), phase(x))


def _log2(x: Pair) -> Pair:
    return _log(x).times(1.4426950408889634)


def _log1p(x: Pair) -> Pair:
    near = fma(x.re, x.re + 2.0, x.im * x.im)
    shifted = x.plus(1.0)
    small = maximum(absolute(x.re), absolute(x.im)) < 0.5
    return Pair(select(small, math.log1p(near) * 0.5, _log(shifted).re), phase(shifted))


def _sinh(x: Pair) -> Pair:
    near, factor = _shortened(x.re, absolute(x.re))
    s, c = math.sinh(near), math.cosh(near)
    re, im = s * math.cos(x.im) * factor, c * math.sin(x.im) * factor
    return Pair(select(x.im.eq(0), s * factor, re), select(x.im.eq(0), x.im, im))


def _cosh(x: Pair) -> Pair:
    near, factor = _shortened(x.re, absolute(x.re))
    s, c = math.sinh(near), math.cosh(near)
    re, im = c * math.cos(x.im) * factor, s * math.sin(x.im) * factor
    real = x.im.eq(0)
    return Pair(select(real, c * factor, re), select(real, copysign(x.im, x.re) * x.im, im))


def _tanh(x: Pair) -> Pair:
    t = math.tan(x.im)
    secant = fma(t, t, 1.0)
    s = math.sinh(x.re)
    below = fma(secant * s, s, 1.0)
    near = Pair(secant * sqrt(fma(s, s, 1.0)) * s / below, t / below)
    # Far out the sine overflows, and the remaining term is e^-2|x|.
    e = math.exp(absolute(x.re) * -1.0)
    wave = 4.0 * math.sin(x.im) * math.cos(x.im) * e * e
    far = Pair(copysign(constant(x.re, 1.0), x.re), wave)
    return _choose(absolute(x.re) > {32: 9.0, 64: 20.0}[x.re.type.bits], far, near)


def _asin(x: Pair) -> Pair:
    left, right = _sqrt((-x).plus(1.0)), _sqrt(x.plus(1.0))
    return Pair(math.atan2(x.re, (left * right).re),
                math.asinh((left.conjugate() * right).im))


def _acos(x: Pair) -> Pair:
    left, right = _sqrt((-x).plus(1.0)), _sqrt(x.plus(1.0))
    return Pair(math.atan2(left.re, right.re) * 2.0,
                math.asinh((right.conjugate() * left).im))


def _acosh(x: Pair) -> Pair:
    less, more = _sqrt(x.plus(-1.0)), _sqrt(x.plus(1.0))
    return Pair(math.asinh((less.conjugate() * more).re), math.atan2(less.im, more.re) * 2.0)


def _atanh(x: Pair) -> Pair:
    a, b = x.re, x.im
    gap = 1.0 - absolute(a)
    square = b * b
    re = math.log1p(absolute(a) * 4.0 / fma(gap, gap, square)) * 0.25
    im = math.atan2(b + b, gap * (absolute(a) + 1.0) - square) * 0.5
    # Where squares overflow, the inverse of x remains.
    great = maximum(absolute(a), absolute(b)) > 2.0 ** {32: 60, 64: 500}[a.type.bits]
    inverse = divide(Pair(constant(a, 1.0), constant(a, 0.0)), x)
    re = select(great, absolute(inverse.re), re)
    im = select(great, copysign(constant(b, 1.5707963267948966), b), im)
    return Pair(copysign(re, a), im)


def _logistic(x: Pair) -> Pair:
    return _inverse(_exp(-x).plus(1.0))


def _inverse(x: Pair) -> Pair:
    return divide(Pair(constant(x.re, 1.0), constant(x.re, 0.0)), x)


def power(x: Pair, y: Pair) -> Pair:
    """``x^y``; 0 to a power is 0, 1 or undefined."""
    general = _exp(_log(x) * y)
    zero = x.re.eq(0) & x.im.eq(0)
    of_zero = select(y.re > 0, constant(x.re, 0.0), nan)
    result = _choose(zero, Pair(of_zero, of_zero), general)
    to_zero = y.re.eq(0) & y.im.eq(0)
    return Pair(select(to_zero, 1.0, result.re), select(to_zero, 0.0, result.im))


def _atan2(y: Pair, x: Pair) -> Pair:
    return _log(divide(x + y.turned(), _sqrt(x * x + y * y))).turned_back()


FUNCTIONS: dict[str, Callable[..., Pair]] = {
    "add": Pair.__add__, "sub": Pair.__sub__, "mul": Pair.__mul__, "div": divide, "pow": power,
    "max": lambda x, y: extreme(x, y, "gt"), "min": lambda x, y: extreme(x, y, "lt"),
    "atan2": _atan2, "neg": Pair.__neg__, "square": _square, "sign": _sign,
    "conj": Pair.conjugate, "exp": _exp, "exp2": _exp2, "expm1": _expm1, "log": _log,
    "log2": _log2, "log1p": _log1p, "sqrt": _sqrt, "rsqrt": lambda x: _inverse(_sqrt(x)),
    "logistic": _logistic, "one_minus_square": lambda x: (-x).plus(1.0) * x.plus(1.0),
    "sinh": _sinh, "cosh": _cosh, "tanh": _tanh,
    "sin": lambda x: _sinh(x.turned()).turned_back(), "cos": lambda x: _cosh(x.turned()),
    "tan": lambda x: _tanh(x.turned()).turned_back(),
    "asin": _asin, "acos": _acos, "atan": lambda x: _atanh(x.turned()).turned_back(),
    "asinh": lambda x: _asin(x.turned()).turned_back(), "acosh": _acosh, "atanh": _atanh,
}
"""Instructions from complex numbers to complex numbers."""
