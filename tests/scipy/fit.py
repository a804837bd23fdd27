"""Computes ``tanx/scipy/special/_tables.py``: the polynomials of the special functions.

``python -m tests.scipy.fit`` writes the file; it needs mpmath and takes some minutes. A function is
interpolated at Chebyshev points with 60 digits, with the least degree that suffices for the dtype.
"""

from __future__ import annotations

import pathlib
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import mpmath as mp

mp.mp.dps = 60
PLACE = pathlib.Path(__file__).parents[2] / "tanx" / "scipy" / "special" / "_tables.py"
BITS = {32: 26, 64: 55}

HEADER = '''"""Polynomials behind the special functions; written by ``python -m tests.scipy.fit``.

Each has a degree for float32 and one for float64; the constant term is first. The variable ``t`` is
from -1 to 1; ``_piecewise.py`` maps numbers to it.
"""

'''


def chebyshev(f: Callable, n: int) -> list:
    """Coefficients of T_0 … T_n of the polynomial through f at n + 1 Chebyshev points."""
    points = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / (n + 1)) for k in range(n + 1)]
    values = [f(t) for t in points]
    return [mp.fsum(v * mp.cos(mp.pi * j * (k + mp.mpf(1) / 2) / (n + 1))
                    for k, v in enumerate(values)) * (1 if j == 0 else 2) / (n + 1)
            for j in range(n + 1)]


def monomials(series: list) -> list:
    """Powers of t instead of Chebyshev polynomials."""
    before, now = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    total = [mp.mpf(0)] * len(series)
    for c in series:
        for k, b in enumerate(before):
            total[k] += c * b
        following = [mp.mpf(0)] + [2 * b for b in now]
        for k, b in enumerate(before):
            following[k] -= b
        before, now = now, following
    return total


def fit(f: Callable, bits: int, most: int = 44) -> tuple[float, ...]:
    """The polynomial of least degree with a relative error of at most 2^-bits, over [-1, 1]."""
    f = cache(f)
    series = chebyshev(f, most)
    sizes = [abs(f(mp.cos(mp.pi * k / 40))) for k in range(41)]
    size = max(min(sizes), max(sizes) / 16)  # f may have a zero
    for degree in range(1, most):
        if mp.fsum(abs(c) for c in series[degree + 1:]) <= size * mp.mpf(2) ** -bits:
            break
    else:
        raise ValueError(f"no degree up to {most} will do: {[mp.nstr(c, 3) for c in series[-4:]]}")
    return tuple(float(c) for c in monomials(chebyshev(f, degree)))


def between(f: Callable, low, high) -> Callable:
    """``f`` over an interval as a function of t from -1 to 1."""
    low, high = mp.mpf(low), mp.mpf(high)
    return lambda t: f((low + high) / 2 + (high - low) / 2 * t)


def beyond(f: Callable, middle, low=0) -> Callable:
    """``f`` from ``low`` on, of t = (x - middle) / (x - 2 low + middle); ``f`` takes ``inf``."""
    middle, low = mp.mpf(middle), mp.mpf(low)

    def of_t(t):
        if t >= 1:
            return f(mp.inf)
        return f((middle + (middle - 2 * low) * t) / (1 - t))
    return of_t


# -- the functions ---------------------------------------------------------------------------------


def erfcx(x):
    """e^(x²) erfc(x) (1 + 2x), from 0 on."""
    return 2 / mp.sqrt(mp.pi) if x == mp.inf else mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


def quantile_near(square):
    """The normal quantile of 1/2 + y over y, of y²."""
    y = mp.sqrt(square)
    return mp.sqrt(2) * mp.erfinv(2 * y) / y if y else mp.sqrt(2 * mp.pi)


def quantile_far(r):
    """Minus the normal quantile of e^(-r² / 2), over r."""
    x = r
    for _ in range(100):
        tail = mp.erfc(x / mp.sqrt(2)) / 2
        step = (mp.log(tail) + r * r / 2) * tail * mp.sqrt(2 * mp.pi) * mp.exp(x * x / 2)
        x += step
        if abs(step) < mp.mpf(10) ** -45 * x:
            return x / r
    raise ValueError(f"no quantile for {r}")


def log_gamma(x):
    """The logarithm of the gamma function over (x - 1) (x - 2), its zeros."""
    if x == 1:
        return mp.euler
    if x == 2:
        return 1 - mp.euler
    return mp.loggamma(x) / ((x - 1) * (x - 2))


def stirling_log(square):
    """x times the error of Stirling's formula for the logarithm, of 1/x²."""
    if square < mp.mpf(10) ** -24:
        return mp.mpf(1) / 12 - square / 360
    x = 1 / mp.sqrt(square)
    return x * (mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def artanh(square):
    """The inverse hyperbolic tangent of x without its first term, over x³, of x²."""
    if square < mp.mpf(10) ** -24:
        return mp.mpf(1) / 3 + square / 5
    x = mp.sqrt(square)
    return (mp.atanh(x) / x - 1) / square


def sine_of_turns(square):
    """sin(πx) over x, of x²."""
    return mp.sinpi(mp.sqrt(square)) / mp.sqrt(square) if square else mp.pi


def dawson(x):
    """Dawson's integral."""
    return mp.exp(-x * x) * mp.erfi(x) * mp.sqrt(mp.pi) / 2


def dawson_near(square):
    """Dawson's integral over x, of x²."""
    return dawson(mp.sqrt(square)) / mp.sqrt(square) if square else mp.mpf(1)


def dawson_far(inverse):
    """x² (2x dawson(x) - 1), of 1/x²."""
    if inverse < mp.mpf(10) ** -12:
        return mp.mpf(1) / 2 + 3 * inverse / 4 + 15 * inverse ** 2 / 8
    x = 1 / mp.sqrt(inverse)
    return (2 * x * dawson(x) - 1) / inverse


def e1_near(x):
    """E1(x) + log(x)"""
    return mp.e1(x) + mp.log(x) if x else -mp.euler


def e1_far(x):
    """x e^x E1(x)"""
    return mp.mpf(1) if x == mp.inf else mp.exp(x) * mp.e1(x) * x


def ei_near(x):
    """Ei(x) - log(x / z) over x - z, where z is its zero."""
    if not x:
        return -(mp.euler + mp.log(EI_ZERO)) / EI_ZERO
    return (mp.ei(x) - mp.log(x / EI_ZERO)) / (x - EI_ZERO)


def ei_far(x):
    """x e^-x Ei(x)"""
    return mp.exp(-x) * mp.ei(x) * x


def ei_inverse(inverse):
    """x e^-x Ei(x), of 1/x."""
    return ei_far(1 / inverse) if inverse > mp.mpf(10) ** -10 else 1 + inverse


def si_near(square):
    """Si(x) over x, of x²."""
    return mp.si(mp.sqrt(square)) / mp.sqrt(square) if square else mp.mpf(1)


def ci_near(square):
    """Ci(x) - log(x / z) over x² - z², where z is its first zero, of x²."""
    if not square:
        return -(mp.euler + mp.log(CI_ZERO)) / CI_ZERO ** 2
    x = mp.sqrt(square)
    return (mp.ci(x) - mp.log(x / CI_ZERO)) / (square - CI_ZERO ** 2)


def sine_auxiliary(x):
    """x times the factor of cos(x) in π/2 - Si(x)."""
    if x == mp.inf:
        return mp.mpf(1)
    return x * (mp.ci(x) * mp.sin(x) + (mp.pi / 2 - mp.si(x)) * mp.cos(x))


def cosine_auxiliary(x):
    """x² times the factor of sin(x) in π/2 - Si(x)."""
    if x == mp.inf:
        return mp.mpf(1)
    return x * x * ((mp.pi / 2 - mp.si(x)) * mp.sin(x) - mp.ci(x) * mp.cos(x))


def fresnel_s_near(power):
    """S(x) over x³, of x⁴."""
    x = mp.root(power, 4)
    return mp.fresnels(x) / x ** 3 if x else mp.pi / 6


def fresnel_c_near(power):
    """C(x) over x, of x⁴."""
    x = mp.root(power, 4)
    return mp.fresnelc(x) / x if x else mp.mpf(1)


def fresnel_f(square):
    """x times the factor of cos(πx² / 2) in ½ - S(x), of x²."""
    if square == mp.inf:
        return 1 / mp.pi
    x, angle = mp.sqrt(square), mp.pi * square / 2
    return x * ((mp.fresnelc(x) - 0.5) * mp.sin(angle) - (mp.fresnels(x) - 0.5) * mp.cos(angle))


def fresnel_g(square):
    """x³ times the factor of sin(πx² / 2) in ½ - S(x), of x²."""
    if square == mp.inf:
        return 1 / mp.pi ** 2
    x, angle = mp.sqrt(square), mp.pi * square / 2
    return -x ** 3 * ((mp.fresnels(x) - 0.5) * mp.sin(angle)
                      + (mp.fresnelc(x) - 0.5) * mp.cos(angle))


def spence(u):
    """The integral of -log(t) / (1 - t) from e^-u to 1, over u."""
    return mp.polylog(2, -mp.expm1(-u)).real / u if abs(u) > mp.mpf(10) ** -50 else mp.mpf(1)


def modulus(order: int, part: int) -> Callable:
    """The factor of the cosine or the sine in J(x) √(πx/2), of 1/x²."""
    def of_inverse(inverse):
        if inverse < mp.mpf(10) ** -14:
            return mp.mpf(1) if part == 0 else (mp.mpf(4 * order * order) - 1) / 8
        x = 1 / mp.sqrt(inverse)
        angle, scale = x - (2 * order + 1) * mp.pi / 4, mp.sqrt(mp.pi * x / 2)
        first, second = scale * mp.besselj(order, x), scale * mp.bessely(order, x)
        if part == 0:
            return first * mp.cos(angle) + second * mp.sin(angle)
        return x * (second * mp.cos(angle) - first * mp.sin(angle))
    return of_inverse


EI_ZERO = mp.findroot(mp.ei, 0.3725)
CI_ZERO = mp.findroot(mp.ci, 0.6165)


def tables() -> Iterator[tuple[Any, ...]]:
    """Names; and functions of t, or for each dtype the pieces of a function: (f, low, high).

    A number of bits in between is for results in float64 that are rounded to float32 in the end.
    """
    yield "ERFCX", beyond(erfcx, 3)
    yield "LOG_GAMMA", [(log_gamma, 0.5, 1.5), (log_gamma, 1.5, 3)]
    yield "STIRLING_LOG", [(stirling_log, 0, 0.01)]
    yield "STIRLING_EARLY", 34, [(stirling_log, 0, mp.mpf(1) / 9)]
    yield "STIRLING_FROM_3", 50, [(stirling_log, 0, mp.mpf(1) / 9)]
    yield "ARTANH", 42, [(artanh, 0, mp.mpf(1) / 169)]
    yield "SINE_OF_TURNS", 55, [(sine_of_turns, 0, 0.25)]
    yield "DAWSON_NEAR", [(dawson_near, 0, 4)]
    yield "DAWSON", [(dawson, 2, 3.5), (dawson, 3.5, 5)]
    yield "DAWSON_FAR", [(dawson_far, 0, 0.04)]
    yield "E1_NEAR", [(e1_near, 0, 1)]
    yield "E1_FAR", beyond(e1_far, 5, 1)
    yield "EI_ZERO", parts(EI_ZERO)
    yield "EI_NEAR", [(ei_near, 0, 4)]
    yield "EI", [(ei_far, 4, 10), (ei_far, 10, 24)]
    yield "EI_FAR", [(ei_inverse, 0, mp.mpf(1) / 24)]
    yield "SI_NEAR", [(si_near, 0, 16)]
    yield "CI_ZERO", parts(CI_ZERO)
    yield "CI_NEAR", [(ci_near, 0, 16)]
    yield "SINE_AUXILIARY", beyond(sine_auxiliary, 14, 4)
    yield "COSINE_AUXILIARY", beyond(cosine_auxiliary, 14, 4)
    yield "FRESNEL_S_NEAR", [(fresnel_s_near, 0, 9)]
    yield "FRESNEL_C_NEAR", [(fresnel_c_near, 0, 9)]
    yield "FRESNEL_F", beyond(fresnel_f, 9, 3)
    yield "FRESNEL_G", beyond(fresnel_g, 9, 3)
    yield "SPENCE", [(spence, -0.7, 0.7)]
    for order in (0, 1):
        yield f"BESSEL_P{order}", [(modulus(order, 0), 0, 1 / mp.mpf(625))]
        yield f"BESSEL_Q{order}", [(modulus(order, 1), 0, 1 / mp.mpf(625))]
    yield "QUANTILE_NEAR", [(quantile_near, 0, 0.13)]
    yield "QUANTILE_FAR", {32: [(of_logarithm(quantile_far), 0.67, 2.675)],
                           64: [(of_logarithm(quantile_far), 0.67, 1.5),
                                (of_logarithm(quantile_far), 1.5, 3.66)]}


def parts(x) -> dict[int, tuple[float, float]]:
    """A number as the sum of one with few bits and a small rest, for each dtype."""
    found = {}
    for bits, kept in ((32, 12), (64, 26)):
        first = mp.floor(x * 2 ** kept) / 2 ** kept
        found[bits] = float(first), float(x - first)
    return found


def of_logarithm(f):
    """``f`` as a function of log(x)."""
    return lambda u: f(mp.exp(u))


def written(name: str, *given) -> Iterator[str]:
    """The lines of a table."""
    *goal, functions = given
    if isinstance(functions, dict) and isinstance(functions[32], tuple):
        yield f"{name} = {{"
        yield from (f"    {bits}: {pair}," for bits, pair in functions.items())
        yield "}"
        return
    yield f"{name} = {{"
    for bits, good in {64: goal[0]}.items() if goal else BITS.items():
        if callable(functions):
            yield f"    {bits}: ({numbers(fit(functions, good))}),"
            continue
        yield f"    {bits}: ("
        for f, low, high in functions[bits] if isinstance(functions, dict) else functions:
            yield f"        ({float(low)!r}, {float(high)!r}, ("
            yield f"            {numbers(fit(between(f, low, high), good))})),"
        yield "    ),"
    yield "}"


def numbers(values: tuple[float, ...]) -> str:
    """Numbers, several per line."""
    return "\n".join(textwrap.wrap(", ".join(map(repr, values)), 86,
                                   subsequent_indent=" " * 12, break_on_hyphens=False))


def main() -> None:
    """Write the file."""
    lines = [HEADER]
    for name, *given in tables():
        lines += [*written(name, *given), ""]
        print(name, flush=True)
    PLACE.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
