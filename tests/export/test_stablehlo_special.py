"""Functions that StableHLO lacks: the expressions that replace them, against SciPy and NumPy."""

import numpy as np
import pytest
import scipy.special as special

from tanx._export.stablehlo.special import EXPANDED
from tanx._loops import interpret
from tanx._loops.build import element_program

RNG = np.random.default_rng(0)
EDGES = [0.0, -0.0, 1, 2, -1, -2, 0.5, -0.5, 1e-10, -1e-10, np.inf, -np.inf, np.nan]
REAL = np.concatenate([RNG.uniform(-8, 8, 30), RNG.uniform(-1, 1, 20), EDGES,
                       [30, 60, 100, 170, 1e5, 1e300]])
UNIT = np.concatenate([RNG.uniform(-1, 1, 30), [0, -0.0, 1, -1, 0.5, 1e-12, 1 - 1e-12, 2, np.nan]])
SHAPE, OTHER = (np.concatenate([RNG.uniform(0.05, 10, 30), RNG.uniform(10, 200, 10), edge])
                for edge in ([0, 1, 1, np.inf, 2, -1, np.nan, 2, 0],
                             [1, 0, np.inf, 1, -1, 2, 1, np.nan, 0]))
PLANE = np.concatenate([RNG.uniform(-3, 3, 40) + 1j * RNG.uniform(-3, 3, 40),
                        [0, 1e-9, 2, -2, 2j, -2j, 1e3 + 1e3j]])
ORDERS, FRACTIONS = RNG.integers(0, 6, len(SHAPE)).astype(float), RNG.uniform(0, 1, 40)
POSITIVE = np.abs(REAL) + 1

FUNCTIONS = [
    ("erf", special.erf, REAL), ("erfc", special.erfc, REAL),
    ("erf_inv", lambda x: np.copysign(special.erfinv(x), x), UNIT),
    ("lgamma", lambda x: np.where(np.isinf(x), np.inf, special.gammaln(x)), REAL),
    ("digamma", lambda x: np.where(x == 0, -np.inf, special.digamma(x)), REAL),
    ("ndtr", special.ndtr, REAL), ("logit", special.logit, UNIT), ("logit", special.logit, REAL),
    ("bessel_i0e", special.i0e, REAL), ("bessel_i1e", special.i1e, REAL),
    ("igamma", special.gammainc, SHAPE, OTHER), ("igammac", special.gammaincc, SHAPE, OTHER),
    ("zeta", special.zeta, SHAPE[:40] + 1, OTHER[:40]),
    ("zeta", special.zeta, np.array([1, 0.5, 2, 2.5, 3]), np.array([2, 2, -3, -2.5, -2.5])),
    ("polygamma", lambda m, x: np.where(m == 0, special.digamma(x), special.polygamma(
        m.astype(int), x)), ORDERS[:40], OTHER[:40]),
    ("betainc", special.betainc, SHAPE[:40], OTHER[:40], FRACTIONS),
    ("betainc", special.betainc, SHAPE[:4], OTHER[:4], np.array([0, 1, 0.5, np.nan])),
    ("nextafter", np.nextafter, REAL, np.roll(REAL, 7)), ("exp2", np.exp2, REAL),
    ("log2", np.log2, POSITIVE), ("acosh", np.arccosh, POSITIVE), ("asin", np.arcsin, UNIT),
    ("acos", np.arccos, UNIT), ("atanh", np.arctanh, UNIT),
    *((name, function, x) for x in (REAL, PLANE) for name, function in (
        ("sinh", np.sinh), ("cosh", np.cosh), ("asinh", np.arcsinh), ("atan", np.arctan))),
    *((name, function, PLANE) for name, function in (
        ("asin", np.arcsin), ("acos", np.arccos), ("acosh", np.arccosh), ("atanh", np.arctanh))),
]


@pytest.mark.parametrize("name, reference, args", [
    (name, reference, args) for name, reference, *args in FUNCTIONS])
def test_functions(name, reference, args):
    program = element_program(lambda at, *xs: EXPANDED[name](*(x[at] for x in xs)), args, args[0])
    (made,) = interpret.run(program, *args)
    with np.errstate(all="ignore"):
        expected = reference(*args)
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=0)
    if name not in ("digamma", "lgamma") and made.dtype.kind == "f":
        zeros = made == 0
        assert (np.signbit(made) == np.signbit(expected))[zeros].all()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", ["lgamma", "erf", "sinh", "asinh"])
def test_narrower_floats(name, dtype):
    x = RNG.uniform(0.1, 4, 20)
    program = element_program(lambda at, v: EXPANDED[name](v[at]), [x.astype(dtype)],
                              x.astype(dtype))
    (made,) = interpret.run(program, x.astype(dtype))
    reference = {"lgamma": special.gammaln, "erf": special.erf, "sinh": np.sinh,
                 "asinh": np.arcsinh}[name]
    assert made.dtype == dtype
    eps = 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(made, reference(x.astype(dtype).astype(float)), rtol=eps, atol=eps)
