"""What the comparisons with JAX share."""

import pytest

from tests.oracle.sweep import Oracle


@pytest.fixture(scope="session")
def oracle(pytestconfig):
    """JAX and tanx side by side; what JAX answered is kept for the next run."""
    oracle = Oracle(pytestconfig.cache.mkdir("oracle"))
    yield oracle
    oracle.save()
