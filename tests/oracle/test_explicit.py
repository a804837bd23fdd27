"""The table of types that are divided over Explicit axes agrees with JAX."""

import pytest

from tests.sharding.programs import TABLE, operands, outcome


@pytest.mark.oracle
def test_the_table_matches_jax():
    jax = pytest.importorskip("jax")
    mesh = jax.make_mesh((1, 1), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh):
        names = operands(jax, jax.numpy)
        # Traced only, because eager code of JAX compiles every operation.
        wrong = [(expression, expected, found) for expression, expected in TABLE
                 if (found := outcome(jax, expression, names, staged=True)) != expected]
    assert not wrong
