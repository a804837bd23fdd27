"""Linear algebra; for factors that are not unique, only invariants are compared."""

from tests.oracle.calls.call import each, lines

POSITIVE = "(f32_3x3 @ f32_3x3.T + jnp.eye(3))"

CALLS = [
    *each("jnp.linalg.{f}(f32_3x3 + 3 * jnp.eye(3))", modes="eager jit vmap jvp vjp",
          f="inv det norm svdvals eigvalsh pinv cond matrix_norm vector_norm matrix_rank"),
    *each("jnp.linalg.{f}(i32_2x2)", f="inv det norm svdvals eigvalsh eigvals pinv trace diagonal"),
    *each("jnp.linalg.{f}({x})", f="inv det cholesky eigvalsh slogdet svdvals norm matrix_rank",
          x="f32 f32_3 f32_2x3 2.5 bf16_3"),
    *each("jnp.linalg.norm({x}, {p})", x="f32_3 f32_2x3 c64_3",
          p="None 0 1 2 -1 -2 3 jnp.inf -jnp.inf 'fro' 'nuc' 'x'"),
    *each("jnp.linalg.norm(f32_2x2x3, axis={a}, keepdims={k})", a=["0", "(0,1)", "(1,-1)", "(0,0)"],
          k="True False"),
    *each("jnp.linalg.{f}(f32_2x3, f32_2x3)", f="vecdot matmul tensordot outer cross"),
    *lines("jnp.linalg.cholesky(" + POSITIVE + ")  ## eager jit vmap jvp vjp"),
    *lines("lax.linalg.cholesky(" + POSITIVE + ")  ## eager jit vmap jvp vjp"),
    *lines("""
    lax.linalg.cholesky(f32_3x3)  ## jaxpr
    lax.linalg.lu(f32_3x3)  ## eager jit jaxpr vmap jvp
    lax.linalg.lu(f32_2x3)  ## eager jit jaxpr vmap jvp
    lax.linalg.lu(f32_3x2)  ## eager jit jaxpr vmap jvp
    lax.linalg.lu(c64_2x3)  ## eager jvp
    lax.linalg.lu_pivots_to_permutation(jnp.array([1, 2, 2]), 4)  ## eager jit jaxpr
    lax.linalg.triangular_solve(f32_3x3, f32_2x3)  ## eager jit jaxpr vmap jvp vjp
    lax.linalg.triangular_solve(f32_3x3, f32_3x2, left_side=True, lower=True)  ## eager jaxpr vjp
    lax.linalg.triangular_solve(f32_3x3, f32_3, left_side=True)
    lax.linalg.qr(f32_3x3b)  ## eager jit jaxpr vmap jvp
    lax.linalg.qr(f32_3x2, full_matrices=False)  ## eager jaxpr jvp
    lax.linalg.qr(f32_3x2, pivoting=True)  ## eager jaxpr
    lax.linalg.householder_product(f32_3x2, f32_2)  ## eager jaxpr
    lax.linalg.ormqr(f32_3x2, f32_2, f32_3x3)  ## eager jaxpr
    lax.linalg.eigh(f32_3x3)[1]  ## eager jit jaxpr vmap jvp vjp
    lax.linalg.svd(f32_2x3)[1]  ## eager jit jaxpr vmap vjp
    lax.linalg.svd(f32_2x3, compute_uv=False)  ## eager jit jaxpr vmap jvp vjp
    lax.linalg.eig(f32_3x3)  ## jaxpr
    lax.linalg.schur(f32_3x3)  ## eager jaxpr
    lax.linalg.hessenberg(f32_3x3)  ## eager jaxpr
    lax.linalg.tridiagonal(f32_3x3)  ## eager jaxpr
    lax.linalg.tridiagonal_solve(f32_3, f32_3 + 9, f32_3b, f32_3x2)  ## eager jaxpr vjp
    lax.linalg.symmetric_product(f32_3x2, f32_3x3)  ## eager jaxpr
    lax.linalg.cholesky_update(jnp.triu(f32_3x3) + 4 * jnp.eye(3), f32_3)
    jnp.linalg.solve(f32_3x3, f32_3)  ## eager jit vmap jvp vjp
    jnp.linalg.solve(f32_3x3, f32_3x2)  ## eager jit vmap jvp vjp
    jnp.linalg.solve(f32_3x3, f32_2)
    jnp.linalg.solve(i32_2x2, f32_2)
    jnp.linalg.slogdet(f32_3x3b)  ## eager jit vmap jvp vjp
    jnp.linalg.slogdet(f32_3x3, method='qr')
    jnp.linalg.slogdet(c64_2x3 @ c64_2x3.T)
    jnp.linalg.qr(f32_3x2).R
    jnp.linalg.qr(f32_3x2, mode='r')
    jnp.linalg.qr(f32_3x2, mode='x')
    jnp.linalg.svd(f32_2x3).S
    jnp.linalg.svd(f32_3x3 + f32_3x3.T, hermitian=True).S
    jnp.linalg.eigh(f32_3x3).eigenvalues
    jnp.linalg.lstsq(f32_3x2, f32_3)
    jnp.linalg.matrix_power(f32_3x3, 3)  ## eager jit vmap jvp vjp
    jnp.linalg.matrix_power(f32_3x3, 0)
    jnp.linalg.matrix_power(i32_2x2, 2)
    jnp.linalg.matrix_power(f32_3x3, -1)
    jnp.linalg.matrix_power(f32_3x3, 1.5)
    jnp.linalg.multi_dot([f32_2x3, f32_3x3, f32_3])  ## eager jit vjp
    jnp.linalg.cond(f32_3x3, 1)
    jnp.linalg.cond(f32_2x3, 'fro')
    jnp.linalg.tensorinv(jnp.eye(6).reshape(2, 3, 6) + 1, ind=2)
    jnp.linalg.tensorsolve(jnp.eye(6).reshape(2, 3, 6) + 1, f32_2x3)
    jnp.linalg.matrix_transpose(f32_2x3)
    jnp.linalg.trace(f32_3x3, offset=1)
    jnp.linalg.diagonal(f32_2x3, offset=1)
    lax.linalg.qr(f32_2x3)  ## eager jit jaxpr vmap jvp
    lax.linalg.qr(f32_3x2)[1]  ## eager jit vmap jvp vjp
    lax.linalg.qr(f32_2x3, full_matrices=False)[1]  ## jvp vjp
    lax.linalg.qr(f32_3x3, pivoting=True)[0]  ## jvp
    jnp.abs(lax.linalg.eig(f32_3x3, enable_eigvec_derivs=True)[2]).sum()  ## eager vjp
    jnp.abs(lax.linalg.eig(f32_3x3, enable_eigvec_derivs=True)[1]).sum()  ## eager vjp
    lax.linalg.eig(f32_3x3)[1]  ## vjp
    jnp.abs(jnp.linalg.eigvals(f32_3x3)).sum()  ## eager jit vmap jvp vjp
    jnp.linalg.svd(f32_3x2, full_matrices=False).S  ## eager jit vmap jvp vjp
    jnp.linalg.svd(f32_3x2).S  ## eager jit vmap
    jnp.abs(jnp.linalg.svd(f32_3x2, full_matrices=False).U)  ## eager jit vmap
    jnp.abs(jnp.linalg.eigh(f32_3x3).eigenvectors)  ## eager jit vmap
    jnp.linalg.pinv(f32_3x2)  ## eager jit vmap jvp vjp
    jnp.linalg.pinv(f32_3x3 + f32_3x3.T, hermitian=True)  ## eager jit vmap jvp vjp
    jnp.linalg.lstsq(f32_3x2, f32_3)[0]  ## eager jit vjp
    jnp.linalg.cond(f32_3x3)  ## eager jit vmap jvp vjp
    jnp.linalg.matrix_rank(f32_2x2x3)  ## eager jit vmap
    jnp.linalg.multi_dot([f32_2x3, f32_3x3, f32_3x2])  ## eager jit jvp vjp
    jnp.linalg.cholesky(jnp.zeros((0, 3, 3)))
    jnp.linalg.cholesky(jnp.zeros((2, 0, 0)))
    jnp.linalg.inv(jnp.zeros((0, 0)))
    jnp.linalg.det(jnp.zeros((2, 0, 0)))
    jnp.linalg.svd(jnp.zeros((2, 0, 3)), full_matrices=False).S
    jnp.linalg.qr(jnp.zeros((0, 3))).R
    jnp.linalg.eigh(jnp.zeros((0, 0))).eigenvalues
    """),
]
