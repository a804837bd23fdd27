"""Fixtures of the comparisons with JAX."""

import pytest

from tests.oracle.sweep import Oracle


@pytest.fixture(scope="session")
def oracle(pytestconfig):
    """JAX and tanx; JAX's outcomes are stored for the next run."""
    oracle = Oracle(pytestconfig.cache.mkdir("oracle"))
    yield oracle
    oracle.save()
