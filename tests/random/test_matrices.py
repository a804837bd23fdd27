"""Random vectors and matrices that need linear algebra: JAX's values."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

COV = [[4., 1.], [1., 2.]]
TURNED = [[-0.89982, 0.23798, -0.36563], [0.28034, 0.95759, -0.06663]]

CALLS = [
    (lambda r, k: r.multivariate_normal(k, jnp.array([1., 2.]), jnp.array(COV)),
     [-1.89251, 3.31328]),
    (lambda r, k: r.multivariate_normal(k, jnp.zeros(2), jnp.array(COV), method="svd"),
     [2.06546, 2.95377]),
    (lambda r, k: r.multivariate_normal(k, jnp.zeros(2), jnp.array(COV), (2,), method="eigh"),
     [[-3.68501, 0.44492], [-3.64095, -2.0295]]),
    (lambda r, k: r.orthogonal(k, 2), [[-0.96676, 0.25569], [0.25569, 0.96676]]),
    (lambda r, k: r.orthogonal(k, 2, m=3), TURNED),
    (lambda r, k: r.orthogonal(k, 2, (), "complex64", 3),
     [[-0.75952 - 0.62056j, -0.15693 - 0.0152j, 0.06074 - 0.09741j],
      [0.11768 + 0.11591j, -0.43483 + 0.09152j, 0.70128 - 0.53242j]]),
    (lambda r, k: tanx.nn.initializers.orthogonal()(k, (2, 3)), TURNED),
    (lambda r, k: tanx.nn.initializers.delta_orthogonal()(k, (1, 2, 2)),
     [[[-0.96676, 0.25569], [0.25569, 0.96676]]]),
]


@pytest.mark.parametrize("function, want", CALLS)
def test_values_match_jax(function, want):
    key = tanx.random.key(3)
    for wrap in (lambda f: f, tanx.jit):
        got = wrap(lambda k: function(tanx.random, k))(key)
        np.testing.assert_allclose(np.asarray(got), want, atol=3e-5)
