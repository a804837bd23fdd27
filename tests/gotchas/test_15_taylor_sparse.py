"""Promise 15: Taylor mode through every operation, and sparse arrays with sparsify."""

import numpy as np
import pytest

import tanx as jax
import tanx.numpy as jnp
from tanx import lax
from tanx.experimental import sparse
from tanx.experimental.jet import jet
from tests.gotchas import pages


def test_the_page():
    pages.run("15_taylor_sparse")


@pytest.mark.parametrize("f", [
    jnp.tan, jnp.cbrt, jax.scipy.special.gammaln, jax.nn.gelu,
    lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * x, x),
    lambda x: lax.while_loop(lambda c: c < 3, lambda c: c * (1 + x), x),
    lambda x: lax.cond(x > 0, jnp.exp, jnp.cos, x),
    lambda x: jnp.linalg.solve(jnp.eye(2) + x * jnp.ones((2, 2)), jnp.ones(2)).sum(),
    lambda x: jnp.sort(jnp.stack([x, x ** 2])).cumsum()[1],
], ids=["tan", "cbrt", "gammaln", "gelu", "fori", "while", "cond", "solve", "sort"])
def test_series_are_higher_derivatives(f):
    with jax.enable_x64(True):
        series = jax.jit(lambda x: jet(f, (x,), ((1.0, 0.0),)))
        expected = [f(0.7), jax.jacfwd(f)(0.7), jax.jacfwd(jax.jacfwd(f))(0.7)]
        for _ in range(4):
            value, rest = series(0.7)
            np.testing.assert_allclose([value, *rest], expected, rtol=1e-8, atol=1e-10)


DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]], np.float32)


@pytest.mark.parametrize("kind", [sparse.BCOO, sparse.BCSR])
def test_products_of_sparse_arrays(kind):
    matrix = kind.fromdense(jnp.asarray(DENSE))
    product = jax.jit(sparse.sparsify(lambda m, x: m @ x))
    for _ in range(4):
        out = product(matrix, jnp.arange(3.0))
        assert (out.dtype, out.tolist()) == (jnp.float32, [4.0, 6.0])


@pytest.mark.parametrize("f", [
    lambda m, x: (2 * m) @ x, lambda m, x: (m * m).sum(0), lambda m, x: m.T.sum(1) + x,
    lambda m, x: lax.scan(lambda c, _: (m.T @ (m @ c), None), x, None, length=3)[0],
    lambda m, x: jnp.sin(m) @ x,
])
def test_sparsify_matches_dense_arrays(f):
    matrix, x = sparse.BCOO.fromdense(jnp.asarray(DENSE)), jnp.arange(3.0)
    compiled = jax.jit(sparse.sparsify(f))
    for _ in range(4):
        np.testing.assert_allclose(sparse.todense(compiled(matrix, x)), f(jnp.asarray(DENSE), x),
                                   rtol=1e-6)


def test_sparsify_refuses_functions_with_dense_results():
    with pytest.raises(NotImplementedError, match="sparsify: exp"):
        sparse.sparsify(jnp.exp)(sparse.BCOO.fromdense(jnp.asarray(DENSE)))
