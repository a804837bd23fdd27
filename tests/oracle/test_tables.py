"""Recorded results of JAX in tables of other tests are correct."""

import numpy as np
import pytest

from tests.numpy.test_limits import ROWS, check_eager
from tests.transforms.points import POINTS, check

pytest.importorskip("jax")
pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("subject", ROWS)
def test_limits(oracle, subject):
    check_eager(oracle.jax.jax, subject)


@pytest.mark.parametrize("subject", POINTS)
def test_points(oracle, subject):
    for point in POINTS[subject]:
        check(point, point.derivatives(oracle.jax.jax)(np.asarray(point.at, np.float32)))
