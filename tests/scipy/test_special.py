"""Special functions against SciPy: values, edges, dtypes, derivatives, batches, compiled calls."""

import numpy as np
import pytest
import scipy.special

import tanx
from tanx.scipy import special

INF, NAN = np.inf, np.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, INF, -INF, NAN, 1e-30, 1e30]

# Intervals of the operands.
ONE = {
    "gamma": [(0.01, 30), (-20, 0)], "gammaln": [(0.01, 1e3), (-20, 0)], "gammasgn": [(-20, 5)],
    "digamma": [(0.01, 1e3), (-20, 0)], "factorial": [(-0.9, 30)], "entr": [(0, 5)],
    "erf": [(-5, 5)], "erfc": [(-5, 9)], "erfinv": [(-1, 1)], "expit": [(-40, 40)],
    "logit": [(0, 1)], "ndtr": [(-12, 8)], "ndtri": [(0, 1), (1e-30, 1e-20)],
    "log_ndtr": [(-1e3, 10)], "i0": [(-30, 30)], "i0e": [(-1e3, 1e3)], "i1": [(-30, 30)],
    "i1e": [(-1e3, 1e3)]}
TWO = {
    "xlogy": [(-3, 3), (0, 9)], "xlog1py": [(-3, 3), (-1, 9)], "rel_entr": [(0, 3), (0, 3)],
    "kl_div": [(0, 3), (0, 3)], "boxcox": [(0, 9), (-2, 3)], "boxcox1p": [(-1, 9), (-2, 3)],
    "beta": [(0.1, 9), (0.1, 9)], "betaln": [(0.1, 50), (0.1, 50)],
    "gammainc": [(0.1, 20), (0, 30)], "gammaincc": [(0.1, 20), (0, 30)]}


def numbers(low, high, dtype=np.float64, n=64, seed=0):
    return np.random.default_rng(seed).uniform(low, high, n).astype(dtype)


def operands_of(name, dtype):
    if name in ONE:
        return [(numbers(*interval, dtype),) for interval in ONE[name]]
    return [tuple(numbers(*interval, dtype, seed=k) for k, interval in enumerate(TWO[name]))]


def in_dtype(dtype):
    return tanx.enable_x64(np.dtype(dtype) == np.float64)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_values_are_scipys(name, dtype):
    with in_dtype(dtype):
        function = tanx.jit(getattr(special, name))
        for xs in operands_of(name, dtype):
            want = getattr(scipy.special, name)(*(x.astype(np.float64) for x in xs))
            for run in (getattr(special, name), *[function] * 4):
                got = run(*xs)
                assert got.dtype == dtype and got.shape == xs[0].shape and not got.weak_type
                np.testing.assert_allclose(got, want, rtol=2e-6 if dtype == "float32" else 1e-12,
                                           atol=1e-6 if dtype == "float32" else 1e-14)
