"""Distributions: SciPy's numbers at edges of supports and in tails, derivatives, batches."""

import importlib

import ml_dtypes
import numpy as np
import pytest
from scipy import stats as reference

import tanx
import tanx.numpy as jnp
from tanx.scipy import stats
from tests.numpy.agreement import adjoint, agree

INF, NAN = np.inf, np.nan
REAL = np.array([-INF, -1e30, -300.0, -20.0, -3.0, -1.0, -0.25, -0.0, 0.0, 1e-8, 0.5, 1.0, 1.75,
                 4.0, 12.0, 40.0, 1000.0, 1e30, INF, NAN])
UNIT = np.array([-INF, -0.5, 0.0, 1e-20, 1e-5, 0.25, 0.5, 0.75, 0.999, 1.0, 1.5, INF, NAN])
WHOLE = np.array([-INF, -3, -1, 0, 1, 2, 3, 7, 30, 31, 200, INF, NAN])
ANGLES = np.array([-1.0, 0.0, 1e-4, 0.5, 3.0, 6.0, 2 * np.pi, 7.0, NAN])

# Values, parameters besides loc and scale, and whether it has these two.
TABLE = {
    "bernoulli": (WHOLE, [(0.3,), (0.0,), (1.0,)], "loc"),
    "beta": (UNIT, [(2.0, 3.0), (1.0, 1.0), (0.5, 0.5), (1.0, 4.0), (30.0, 0.1)], "both"),
    "betabinom": (WHOLE, [(30, 1.5, 2.0), (1, 0.5, 0.5)], "loc"),
    "binom": (WHOLE, [(30, 0.3), (30, 0.0), (30, 1.0), (1, 0.5)], "loc"),
    "cauchy": (REAL, [()], "both"),
    "chi2": (REAL, [(1.0,), (2.0,), (5.5,)], "both"),
    "expon": (REAL, [()], "both"),
    "gamma": (REAL, [(2.0,), (1.0,), (0.5,), (30.0,)], "both"),
    "gennorm": (REAL, [(1.0,), (2.0,), (0.7,)], ""),
    "geom": (WHOLE, [(0.3,), (1.0,)], "loc"),
    "gumbel_l": (REAL, [()], "both"),
    "gumbel_r": (REAL, [()], "both"),
    "laplace": (REAL, [()], "both"),
    "logistic": (REAL, [()], "both"),
    "nbinom": (WHOLE, [(3, 0.3), (2.5, 1.0), (0.5, 0.1)], "loc"),
    "norm": (REAL, [()], "both"),
    "pareto": (REAL, [(2.0,), (0.5,)], "both"),
    "poisson": (WHOLE, [(1.3,), (0.0,), (25.0,)], "loc"),
    "t": (REAL, [(3.0,), (1.0,), (100.0,), (1e6,), (INF,)], "both"),
    "truncnorm": (REAL, [(-1.0, 1.0), (-INF, INF), (0.5, 30.0), (-4.0, -1.0), (10.0, 12.0)],
                  "both"),
    "uniform": (REAL, [()], "both"),
    "vonmises": (ANGLES, [(1.0,), (0.0,), (100.0,)], ""),
    "wrapcauchy": (ANGLES, [(0.5,), (0.999,)], ""),
}
OF_PROBABILITY = ("ppf", "isf")
NO_LOCATION = {("bernoulli", "cdf"), ("bernoulli", "ppf")}
# Tolerances of functions with fewer digits.
LOOSE = {("wrapcauchy", "logpdf"): 1e-9, ("wrapcauchy", "pdf"): 1e-9}


def methods(name):
    return sorted(getattr(stats, name).__all__)


def rows():
    """Each function of each distribution."""
    return [(name, method) for name in TABLE for method in methods(name)]


each_function = pytest.mark.parametrize("name, method", rows())


def operands(name, method):
    """Values and sets of parameters, with and without loc and scale."""
    values, parameters, extra = TABLE[name]
    if method in OF_PROBABILITY:
        values = UNIT
    if method == "entropy":
        values, parameters = parameters[0][0], [()]
    for given in parameters:
        yield values, given
        if extra == "both":
            yield values * 2 + 0.5 if method not in OF_PROBABILITY else values, (*given, 0.5, 2.0)
        elif extra == "loc" and (name, method) not in NO_LOCATION:
            yield values if method == "entropy" else values + 2, (*given, 2)


def expected(name, method, values, parameters):
    """SciPy's numbers, except for intended differences."""
    with np.errstate(all="ignore"):
        want = getattr(getattr(reference, name), method)(values, *parameters)
    if (name, method) == ("bernoulli", "ppf"):
        # SciPy returns -1, which is before the support, and 1, the end of the support for any p.
        want = np.where((values == 0) | (values <= 1 - parameters[0]) & (values >= 0), 0, want)
    if (name, method) == ("beta", "sf"):
        # Some versions of SciPy return 1 where the density is infinite.
        below = reference.beta.cdf(values, *parameters)
        want = np.where(below < 0.5, 1 - below, want)
    if name == "t" and method in ("logpdf", "pdf") and parameters[0] == 1.0:
        # SciPy squares large values, which overflow.
        want = getattr(reference.cauchy, method)(values, *parameters[1:])
    if method in ("logpdf", "pdf", "logpmf", "pmf") and name != "vonmises":
        want = np.where(np.isinf(values), -INF if "log" in method else 0, want)  # SciPy: often NaN
    loc, scale = parameters[-2:] if TABLE[name][2] == "both" and len(parameters) > 1 else (0, 1)
    with np.errstate(all="ignore"):
        far = np.abs(y := (values - loc) / scale)
        if (name, method) == ("cauchy", "logpdf"):
            want = np.where(far > 1e9, -2 * np.log(far) - np.log(np.pi * scale), want)
        if (name, method) == ("laplace", "logpdf"):
            want = np.where(far > 700, -far - np.log(2 * scale), want)
        if (name, method) in (("gumbel_l", "logcdf"), ("gumbel_r", "logsf")):
            want = np.where(y * (1 if name == "gumbel_r" else -1) > 30, -far, want)
    return want


@pytest.mark.parametrize("dtype, units", [("float32", 4), ("float64", 8)])
def test_shares_of_cauchy_have_all_digits(dtype, units):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.standard_cauchy(2000), rng.normal(1, 1e-3, 500),
                        10.0 ** rng.uniform(-30, 30, 500), [0.0, 1.0, INF]])
    x = np.concatenate([x, -x]).astype(dtype)
    with tanx.enable_x64(dtype == "float64"):
        for method, sign in (("cdf", -1), ("sf", 1)):
            want = (np.arctan2(np.longdouble(1), sign * x.astype(np.longdouble))
                    / (4 * np.arctan(np.longdouble(1))))
            function = tanx.jit(getattr(stats.cauchy, method))
            for _ in range(4):
                got = np.asarray(function(x))
                assert (abs(got - want) <= units * np.spacing(want.astype(dtype))).all()


@each_function
def test_values(name, method):
    function = getattr(getattr(stats, name), method)
    near = LOOSE.get((name, method), 2e-12)
    for values, parameters in operands(name, method):
        want = expected(name, method, values, parameters)
        with tanx.enable_x64(True):
            got = function(values, *parameters)
            assert got.dtype == "float64"
        np.testing.assert_allclose(got, want, near, 1e-300, err_msg=f"{parameters}")


@each_function
def test_single_precision(name, method):
    """Batches of float32, in each of four compiled calls."""
    function = getattr(getattr(stats, name), method)
    values, parameters = next(iter(operands(name, method)))
    values = np.float32(values)
    if values.ndim:
        values = values[~(np.abs(values) > 1e20) | np.isinf(values)]
        values = values[values != np.float32(2 * np.pi)]  # it is above 2 pi
    want = expected(name, method, values.astype(float), parameters)
    with np.errstate(over="ignore"):
        want = np.float32(want).astype(float)
        small = np.abs(want) < 1e-30
        if method in ("logcdf", "logsf"):  # the probability is rounded to float32
            small |= (want < -85) & np.isfinite(want)
    several = [np.float32([p, p, p]) for p in parameters]
    compiled = tanx.jit(tanx.vmap(function))
    for _ in range(4):
        got = compiled(np.stack([values] * 3), *several)
        assert got.dtype == "float32" and got.shape == (3, *values.shape) and not got.weak_type
        for row in np.asarray(got):
            np.testing.assert_allclose(np.where(small, 0, row), np.where(small, 0, want), 2e-5,
                                       1e-30)


INSIDE = {
    "beta": np.array([0.1, 0.4, 0.9]), "uniform": np.array([0.1, 0.4, 0.9]),
    "pareto": np.array([1.2, 2.0, 9.0]), "truncnorm": np.array([-0.9, 0.1, 0.8]),
    "gamma": np.array([0.3, 1.0, 5.0]), "chi2": np.array([0.3, 1.0, 5.0]),
    "expon": np.array([0.3, 1.0, 5.0]), "wrapcauchy": np.array([0.3, 1.0, 5.0])}
WHOLE_NUMBERS = {name for name, (values, *_) in TABLE.items() if values is WHOLE}


# Functions computed from another one: a density from its logarithm, a tail from the other tail.
FOLLOWS = ("pdf", "pmf", "sf", "logsf", "isf")


@pytest.mark.parametrize("name, method", [
    pytest.param(*row, marks=[pytest.mark.slow] if row[1] in FOLLOWS else []) for row in rows()])
def test_derivatives(name, method):
    """With respect to values, unless these are integers, and to parameters; against differences."""
    function = getattr(getattr(stats, name), method)
    _, parameters, extra = TABLE[name]
    given = parameters[0] + ((0.1, 1.5) if extra == "both" else ())
    if method in OF_PROBABILITY:
        x = np.array([0.1, 0.5, 0.8])
    else:
        x = INSIDE.get(name, np.array([-1.2, 0.3, 2.0]))
    if method == "entropy":
        adjoint(function, np.array([0.3, 2.0, 9.0, 30.0, 60.0]))
    elif name not in WHOLE_NUMBERS:
        if name == "beta" and method != "logpdf" and method != "pdf":
            given = given[2:]  # betainc has no derivatives with respect to shapes
            adjoint(lambda x, loc, scale: function(x, 2.0, 3.0, loc, scale), x * 1.5 + 0.1, *given)
        else:
            at = x * 1.5 + 0.1 if extra == "both" and method not in OF_PROBABILITY else x
            adjoint(function, at, *given)
    elif name == "poisson" or method in ("logpmf", "pmf"):
        k = np.array([1.0, 1.0] if name == "bernoulli" else [1.0, 4.0])
        counts = given[:1] if name in ("binom", "betabinom") else ()
        adjoint(lambda *p: function(k, *counts, *p), *given[len(counts):])


DENSITIES = [(name, method) for name, method in rows() if method.startswith(("logp", "p"))
             and method not in OF_PROBABILITY]


@pytest.mark.parametrize("name, method", DENSITIES)
def test_derivatives_are_numbers_everywhere(name, method):
    """They are 0 outside the support, and never NaN where the density is not 0."""
    function = getattr(getattr(stats, name), method)
    values, parameters, extra = TABLE[name]
    values = np.float32(values[np.isfinite(values) & (np.abs(values) < 1e20)])
    for given in parameters:
        if extra == "both":
            given = (*given, 0.0, 1.0)
        given = tuple(np.float32(p) for p in given)
        if name in ("bernoulli", "binom", "geom", "nbinom") and given[-1] in (0.0, 1.0):
            continue  # log(p) at 0 has no derivative
        if name == "poisson" and given[0] == 0:
            continue
        if any(np.isinf(given)):
            continue
        numbers = range(name in WHOLE_NUMBERS, 1 + len(given))
        slopes = tanx.vmap(tanx.grad(function, numbers), (0, *[None] * len(given)))(values, *given)
        log = getattr(getattr(stats, name), "logpmf" if name in WHOLE_NUMBERS else "logpdf")
        around = np.stack([log(values + step, *given) for step in (-0.01, 0, 0.01)])
        inside, outside = np.isfinite(around[1]), (around == -INF).all(0)
        for slope in map(np.asarray, slopes):
            assert not np.isnan(slope[inside]).any(), (given, values[inside & np.isnan(slope)])
            if not name.startswith("gumbel"):  # logarithms overflow within the support
                assert not slope[outside].any(), (given, values[outside & (slope != 0)])


@pytest.mark.parametrize("name, method, at, parameters, want", [
    ("gamma", "logpdf", 0.0, (1.0,), -1.0), ("expon", "logpdf", 0.0, (), -1.0),
    ("beta", "logpdf", 0.0, (1.0, 3.0), -2.0), ("beta", "logpdf", 1.0, (3.0, 1.0), 2.0),
    ("chi2", "logpdf", 0.0, (2.0,), -0.5), ("pareto", "logpdf", 1.0, (2.0,), -3.0),
    ("laplace", "cdf", 0.0, (), 0.5), ("truncnorm", "logpdf", 1.0, (-1.0, 1.0), -1.0),
    ("norm", "logcdf", -1e4, (), 1e4), ("norm", "logsf", 1e4, (), -1e4),
    ("gumbel_l", "logcdf", -1e4, (), 1.0), ("t", "logpdf", 1e25, (3.0,), -4e-25)])
def test_slopes_at_borders_and_in_tails(name, method, at, parameters, want):
    slope = tanx.grad(getattr(getattr(stats, name), method))(at, *parameters)
    np.testing.assert_allclose(slope, want, 1e-5)


@pytest.mark.parametrize("name", ["norm", "gamma", "beta", "cauchy", "logistic", "poisson"])
@pytest.mark.parametrize("dtype, near", [(np.float16, 2e-2), (ml_dtypes.bfloat16, 8e-2)])
def test_narrow_floats(name, dtype, near):
    parameters = tuple(map(dtype, TABLE[name][1][0]))
    x = np.array([1, 2, 3]).astype(dtype) if name == "poisson" else np.array(
        [0.25, 0.5, 0.75]).astype(dtype)
    method = "logpmf" if name == "poisson" else "logpdf"
    got = getattr(getattr(stats, name), method)(x, *parameters)
    assert got.dtype == dtype
    agree(got, getattr(getattr(reference, name), method)(
        x.astype(float), *map(float, parameters)), near, near)


def test_types_and_shapes():
    logpdf = stats.norm.logpdf
    assert logpdf(1).weak_type and logpdf(1.0, 0, 2).weak_type
    assert stats.poisson.cdf(3, 2.0).weak_type
    assert stats.t.logpdf(1.0, 3.0).weak_type and stats.bernoulli.ppf(0.5, 0.3).weak_type
    assert logpdf(jnp.arange(3)).dtype == "float32" and not logpdf(jnp.arange(3)).weak_type
    assert logpdf(jnp.ones((3, 1)), jnp.ones(4)).shape == (3, 4)
    assert logpdf(jnp.ones((0, 2))).shape == (0, 2)
    assert logpdf(np.float64(1)).dtype == "float32"
    assert logpdf(scale=2.0, x=0.0, loc=1.0).shape == ()


def test_not_arrays():
    with pytest.raises(TypeError, match=r"^tanx\.scipy\.stats\.norm\.logpdf: "):
        stats.norm.logpdf([1.0])
    with pytest.raises(TypeError, match=r"^tanx\.scipy\.stats\.gamma\.cdf: "):
        stats.gamma.cdf(1.0, None)
    with pytest.raises(TypeError, match=r"^tanx\.scipy\.stats\.norm\.pdf: "):
        stats.norm.pdf(jnp.ones(3), jnp.ones(2))


@pytest.mark.parametrize("name, parameters", [
    ("wrapcauchy", (1.5,)), ("vonmises", (-1.0,)), ("betabinom", (3, 1.0, -1.0)),
    ("gennorm", (-1.0,)), ("t", (-2.0,)), ("norm", (0.0, -1.0)), ("beta", (-1.1, 2.0)),
    ("beta", (2.0, 1.0, 0.0, -1.0)), ("truncnorm", (2.0, -1.0))])
def test_parameters_that_make_no_sense(name, parameters):
    module = getattr(stats, name)
    assert np.isnan((module.logpmf if name == "betabinom" else module.logpdf)(1.0, *parameters))


def test_probabilities_of_a_trial_are_probabilities():
    assert np.isnan(stats.bernoulli.cdf(0.0, 1.5)) and np.isnan(stats.bernoulli.ppf(0.5, -0.1))


@pytest.mark.parametrize("mu", [0.0, 1e-3, 0.5, 3.0, 9.99, 10.01, 39.9, 40.1, 300.0, 1e6])
def test_entropy(mu):
    k = np.arange(int(mu + 40 * np.sqrt(mu) + 100)) if mu < 1e4 else None
    p = None if k is None else reference.poisson.pmf(k, mu)
    want = 0.5 * np.log(2 * np.pi * np.e * mu) - 1 / (12 * mu) if k is None else -np.sum(
        p * np.where(p > 0, reference.poisson.logpmf(k, mu), 0))
    np.testing.assert_allclose(stats.poisson.entropy(np.float32(mu)), want, 3e-6)
    with tanx.enable_x64(True):
        np.testing.assert_allclose(stats.poisson.entropy(mu), want, 1e-11)


def test_distributions_load_when_they_are_used():
    for name in stats.__all__:
        assert getattr(stats, name) is not None
    assert importlib.import_module("tanx.scipy.stats.norm") is stats.norm


def test_slope_of_logistic_quantiles_where_both_sides_are_as_likely():
    p = np.float32([0.5, 0.25, 0.75, 0.0])
    for run in [tanx.jit(tanx.vmap(tanx.grad(stats.logistic.ppf)))] * 4:
        np.testing.assert_allclose(run(p), [4, 16 / 3, 16 / 3, np.inf], rtol=1e-6)
