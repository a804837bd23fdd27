"""Tables of tests that run without JAX say what JAX gives."""

import pytest

from tests.numpy.test_limits import ROWS, check_eager

pytest.importorskip("jax")
pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("subject", ROWS)
def test_limits(oracle, subject):
    check_eager(oracle.jax.jax, subject)
