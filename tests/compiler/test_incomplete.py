"""The incomplete gamma and beta functions as compiled: against exact sums, and against SciPy."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.special

import tanx
from tanx import lax

COUNT = 2000
GAMMA = ((lax.igamma, scipy.special.gammainc), (lax.igammac, scipy.special.gammaincc))


def compiled(fun, *args):
    with tanx.enable_x64(True):
        return np.asarray(tanx.jit(fun)(*args))


def relative(got, want, least=1e-290):
    """The greatest relative error; values near zero must be near zero."""
    there = want > least
    assert (got[~there] <= 2 * least).all()
    return (np.abs(got - want)[there] / want[there]).max(initial=0)


def spread(low, high, seed=0):
    """Numbers from an interval, distributed evenly over orders of magnitude."""
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), COUNT))


def test_gamma_of_whole_parameters_is_a_sum():
    """Q(a, x) is e^-x times the sum of x^k / k! for k below a."""
    rng = np.random.default_rng(0)
    a = np.concatenate([np.arange(1, 40), rng.integers(40, 900, 40)])
    x = a * np.exp(rng.normal(size=len(a)) * 0.4)
    lower, upper = compiled(lax.igamma, a * 1.0, x), compiled(lax.igammac, a * 1.0, x)
    with localcontext() as context:
        context.prec = 60
        for below, above, count, at in zip(lower, upper, a, x):
            term = total = Decimal(1)
            for k in range(1, int(count)):
                term = term * Decimal(at) / k
                total += term
            want = total * (-Decimal(at)).exp()
            for got, value in ((above, want), (below, 1 - want)):
                if value > Decimal("1e-40"):
                    assert abs(Decimal(got) / value - 1) < Decimal("1e-13")


@pytest.mark.parametrize(("a", "x", "bound"), [
    (spread(0.1, 8), spread(0.01, 30, 1), 4e-13),
    (spread(1e-3, 30), spread(1e-30, 0.1, 1), 1e-12),
    (spread(8, 200), spread(1, 400, 1), 1e-12),
    (spread(100, 2e4), spread(100, 2e4) * (0.5 + spread(0.1, 1, 1)), 3e-11),  # SciPy is not exact
    (spread(1e-20, 0.1), spread(0.01, 30, 1), 1e-13)], ids=range(5))
def test_incomplete_gamma_matches_scipy(a, x, bound):
    for fun, other in GAMMA:
        assert relative(compiled(fun, a, x), other(a, x)) < bound
        narrow = a.astype(np.float32), x.astype(np.float32)
        want = other(*(v.astype(float) for v in narrow))
        assert relative(compiled(fun, *narrow), want, 1e-37) < 1.3e-7


def test_gamma_next_to_a_great_parameter():
    """It tends to the normal distribution; the difference is known to the first order."""
    a = np.array([1e8, 1e10, 1e12, 1e15])
    for off in (-5.5, -3, -0.5, 0, 1, 4, 5):
        x = a + off * np.sqrt(a)
        y = (x - a) / np.sqrt(a)
        density = np.exp(-y * y / 2) / np.sqrt(2 * np.pi)
        skew = (y * y - 1) * density / (3 * np.sqrt(a))
        for fun, want in ((lax.igamma, scipy.special.ndtr(y) - skew),
                          (lax.igammac, scipy.special.ndtr(-y) + skew)):
            np.testing.assert_allclose(compiled(fun, a, x), want, rtol=2e-5)


def test_beta_of_whole_parameters_is_a_sum():
    """I_x(a, b) is the chance of a successes or more in a + b - 1 trials."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(1, 60, (2, 60))
    x = rng.uniform(0.02, 0.98, 60)
    got = compiled(lax.betainc, a * 1.0, b * 1.0, x)
    for value, p, q, at in zip(got, a, b, x):
        trials, chance = int(p + q - 1), Fraction(float(at))
        term = chance ** trials
        want = Fraction(0)
        for k in range(trials, int(p) - 1, -1):
            want += term
            term = term * k / (trials - k + 1) * (1 - chance) / chance
        assert abs(Fraction(float(value)) / want - 1) < 1e-13


@pytest.mark.parametrize(("a", "b", "x"), [
    (spread(0.01, 8), spread(0.01, 8, 1), spread(1e-3, 0.999, 2)),
    (spread(0.1, 8), spread(8, 2000, 1), spread(1e-6, 1, 2)),
    (spread(8, 2000), spread(0.1, 8, 1), 1 - spread(1e-6, 0.999, 2)),
    (spread(8, 5000), spread(8, 5000, 1), spread(1e-3, 0.999, 2)),
    (spread(0.1, 50), spread(0.1, 50, 1), spread(1e-30, 1e-3, 2))], ids=range(5))
def test_incomplete_beta_matches_scipy(a, b, x):
    assert relative(compiled(lax.betainc, a, b, x), scipy.special.betainc(a, b, x)) < 1e-12
    narrow = tuple(v.astype(np.float32) for v in (a, b, x))
    want = scipy.special.betainc(*(v.astype(float) for v in narrow))
    assert relative(compiled(lax.betainc, *narrow), want, 1e-37) < 1.3e-7


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_at_limits(dtype):
    known = np.finfo(dtype)
    values = np.array([0, known.tiny, 0.5, 1, 2, 150, known.max, np.inf, -1, np.nan], dtype)
    a, x = (v.ravel() for v in np.meshgrid(values, values))
    for fun, other in GAMMA:
        np.testing.assert_allclose(compiled(fun, a, x), other(a, x), rtol=1e-6)
    a, b, x = (v.ravel() for v in np.meshgrid(values, values, values[[0, 1, 2, 3, 4, 8, 9]]))
    want = scipy.special.betainc(*(v.astype(float) for v in (a, b, x)))
    np.testing.assert_allclose(compiled(lax.betainc, a, b, x), want, rtol=1e-6,
                               atol=float(known.tiny))
