"""Linear systems by several solvers, and least squares."""

import jax
import jax.numpy as jnp
import lineax as lx

a = jax.random.normal(jax.random.key(0), (4, 4)) + 4 * jnp.eye(4)
b = jnp.arange(4.0)
tall = jax.random.normal(jax.random.key(1), (6, 4))
positive = lx.MatrixLinearOperator(a @ a.T, lx.positive_semidefinite_tag)
RESULT = {
    "lu": lx.linear_solve(lx.MatrixLinearOperator(a), b).value,
    "cholesky": lx.linear_solve(positive, b, lx.Cholesky()).value,
    "cg": lx.linear_solve(positive, b, lx.CG(rtol=1e-6, atol=1e-6)).value,
    "gmres": lx.linear_solve(lx.MatrixLinearOperator(a), b, lx.GMRES(rtol=1e-6, atol=1e-6)).value,
    "qr": lx.linear_solve(lx.MatrixLinearOperator(tall), jnp.arange(6.0), lx.QR()).value,
    "svd": lx.linear_solve(lx.MatrixLinearOperator(tall), jnp.arange(6.0), lx.SVD()).value,
    "grad": jax.jit(jax.grad(lambda b: lx.linear_solve(
        lx.MatrixLinearOperator(a), b, lx.AutoLinearSolver(well_posed=None)).value.sum()))(b)}
