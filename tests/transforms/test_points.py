"""Functions at singular points: value, first and second derivative, in every mode."""

import numpy as np
import pytest

import tanx
from tests.transforms.points import POINTS, check


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("subject", POINTS)
def test_eager(subject, dtype):
    with tanx.enable_x64(dtype == "float64"):
        for point in POINTS[subject]:
            check(point, point.derivatives(tanx)(np.asarray(point.at, dtype)))


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
@pytest.mark.parametrize("subject", POINTS)
def test_compiled(subject, dtype):
    points = POINTS[subject]
    functions = [point.derivatives(tanx) for point in points]
    with tanx.enable_x64(dtype == "float64"):
        every = tanx.jit(lambda *xs: [function(x) for function, x in zip(functions, xs)])
        results = every(*(np.asarray(point.at, dtype) for point in points))
    for point, result in zip(points, results, strict=True):
        check(point, result)
