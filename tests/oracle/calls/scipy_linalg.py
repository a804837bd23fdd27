"""scipy.linalg; for factors that are not unique, only invariants are compared."""

from tests.oracle.calls.call import each, lines

POSITIVE = "(f32_3x3b @ f32_3x3b.T + jnp.eye(3))"
NAME = "jax.scipy.linalg."


def _lines(text: str):
    """Calls written with the short name ``sl``."""
    return lines(text.replace("sl.", NAME).replace("POSITIVE", POSITIVE))


CALLS = [
    # -- patterns ----------------------------------------------------------------------------------
    *each(NAME + "{f}({x})", f="circulant toeplitz hankel fiedler companion fiedler_companion",
          x="f32 f32_3 f32_2x3 i32_3 b1_3 c64_3 bf16_3 jnp.zeros(0) [1.0,2.0] f32_1 f32_4 w_f32"),
    *each(NAME + "{f}({x})", modes="jit vmap jvp vjp",
          f="circulant toeplitz hankel fiedler companion fiedler_companion", x="f32_4 f32_2x3"),
    *each(NAME + "{f}({c}, {r})", f="toeplitz hankel",
          c="f32_3 i32_3 f32_2x3 jnp.zeros(0) f32", r="f32_2 c64_2 f32_4 f32_3x2 jnp.zeros(0) f32"),
    *each(NAME + "leslie({f}, {s})", f="f32_3 f32_2x3 i32_3 f32 f32_1",
          s="f32_2 f32_2x2 i32_2 f32_3 f32"),
    *each(NAME + "convolution_matrix({a}, {n}, {mode!r})", a="f32_3 i32_2 f32_2x3 c64_3",
          n=["1", "2", "3", "6"], mode="full same valid"),
    *each(NAME + "{f}({n})", n=["0", "1", "2", "3", "4", "8"],
          f="hilbert invhilbert pascal invpascal hadamard helmert dft"),
    *each(NAME + "{f}({n}, {kind!r})", f="pascal invpascal", n=["3", "6"],
          kind="lower upper symmetric x"),
    *_lines("""
    sl.convolution_matrix(f32_3, 0)
    sl.convolution_matrix(f32_3, -1)
    sl.convolution_matrix(f32_3, 2.0)
    sl.convolution_matrix(f32_3, 2, 'x')
    sl.convolution_matrix(jnp.zeros(0), 2)
    sl.convolution_matrix(f32, 2)
    sl.convolution_matrix(f32_3, 4, 'same')  ## jit vmap jvp vjp
    sl.dft(4, 'n')
    sl.dft(4, scale='sqrtn')
    sl.dft(4, 'x')
    sl.dft(4, dtype=jnp.float32)
    sl.dft(4, dtype=jnp.complex128)
    sl.hadamard(-2)
    sl.hadamard(2, dtype=float)
    sl.hadamard(2, jnp.bfloat16)
    sl.helmert(3, full=True)
    sl.helmert(1, full=True)
    sl.leslie(f32_3, f32_2)  ## jit vmap jvp vjp
    sl.block_diag()
    sl.block_diag(f32_2x3, i32_2, 3.0)  ## eager jit vmap jvp vjp
    sl.block_diag(f32_2x2x3)
    sl.block_diag(i32_2x2, b1_3)
    sl.block_diag(jnp.zeros((0, 2)), f32_2)
    sl.block_diag(2, 3)
    sl.block_diag([1, 2], [3])
    sl.block_diag(c64_2, bf16_3)
    """),
    # -- factors -----------------------------------------------------------------------------------
    *each(NAME + "{f}({x})", f="cholesky cho_factor lu lu_factor inv det eigh qr schur "
          "hessenberg expm sqrtm", x="f32_2x3 f32_3 f32 jnp.eye(2).astype(jnp.bfloat16) [[1.0]]"),
    *each(NAME + "{f}({x})", f="inv det lu lu_factor", modes="eager jit vmap jvp vjp",
          x="f32_3x3 f32_2x3x3"),
    *each(NAME + "{f}({x})", f="inv det lu lu_factor cholesky expm",
          x="i32_2x2 c64_3x3 jnp.zeros((0,0)) jnp.zeros((2,0,0)) f32_1x1 jnp.eye(3)"),
    *_lines("""
    sl.cholesky(POSITIVE)  ## eager jit vmap jvp vjp
    sl.cholesky(POSITIVE, lower=True)  ## eager jit vmap jvp vjp
    sl.cholesky(jnp.array([[4., 1.], [3., 5.]]))
    sl.cholesky(jnp.array([[4., 1.], [3., 5.]]), lower=True)
    sl.cholesky(f32_3x3)
    sl.cho_factor(POSITIVE)  ## eager jvp
    sl.cho_factor(POSITIVE, True)  ## eager jvp
    sl.cho_solve(sl.cho_factor(POSITIVE), f32_3)  ## eager jit vmap jvp vjp
    sl.cho_solve(sl.cho_factor(POSITIVE, True), f32_3x2)  ## eager jit vmap jvp vjp
    sl.cho_solve((jnp.eye(3), True), f32_2x3)
    sl.cho_solve((jnp.eye(3), True), i32_3)
    sl.cho_solve((jnp.eye(3), False), c64_3)
    sl.cho_solve((jnp.eye(3) * jnp.ones((2, 1, 1)), False), f32_3)
    sl.cho_solve((jnp.eye(3) * jnp.ones((2, 1, 1)), False), f32_3x2)
    sl.cho_solve((jnp.eye(3) * jnp.ones((2, 1, 1)), False), f32_2x3)
    sl.cho_solve((jnp.eye(3), False), f32_2x3x2)
    sl.cho_solve((f32_3x2, False), f32_3)
    sl.cho_solve((jnp.eye(3), False), f32)
    sl.lu(f32_3x2)
    sl.lu(f32_2x3, permute_l=True)  ## eager jit vmap jvp vjp
    sl.lu(f32_2x2x3, permute_l=True)
    sl.lu(f32_2x2x3)
    sl.lu(jnp.zeros((0, 2)))
    sl.lu(jnp.zeros((2, 0)))
    sl.lu(jnp.zeros((2, 0)), permute_l=True)
    sl.lu_factor(jnp.zeros((2, 2)))
    sl.lu_solve(sl.lu_factor(f32_3x3), f32_3)  ## eager jit vmap jvp vjp
    sl.lu_solve(sl.lu_factor(f32_3x3), f32_3x2, trans=1)  ## eager jit vmap jvp vjp
    sl.lu_solve(sl.lu_factor(c64_3x3), f32_3, trans=2)
    sl.lu_solve(sl.lu_factor(f32_3x3), f32_3, trans='T')
    sl.lu_solve(sl.lu_factor(f32_3x3), f32_3, trans=3)
    sl.lu_solve(sl.lu_factor(f32_3x3), i32_3)
    sl.lu_solve(sl.lu_factor(f32_3x3), c64_3)
    sl.lu_solve(sl.lu_factor(f32_3x3), f32_2)
    sl.lu_solve(sl.lu_factor(f32_3x3), f32)
    sl.lu_solve(sl.lu_factor(f32_3x2), f32_3)
    sl.lu_solve(sl.lu_factor(f32_2x3x3), f32_3)
    sl.lu_solve(sl.lu_factor(f32_2x3x3), f32_2x3)
    sl.lu_solve(sl.lu_factor(f32_2x3x3), f32_3x2)
    sl.lu_solve(sl.lu_factor(f32_3x3), f32_2x3x2)
    sl.qr(f32_3x2)[1]  ## eager jit vmap jvp vjp
    sl.qr(f32_3x2, mode='economic')  ## eager jit vmap jvp vjp
    sl.qr(f32_3x2, mode='r')  ## eager jvp
    sl.qr(f32_3x2, mode='raw')
    sl.qr(f32_3x2, mode='reduced')
    sl.qr(f32_3x2, pivoting=True)
    sl.qr(f32_3x2, mode='r', pivoting=True)
    sl.qr(f32_3x2, mode='economic', pivoting=True)
    sl.qr(i32_3x2)
    sl.qr_multiply(f32_3x2, f32_3)  ## eager jit vmap jvp
    sl.qr_multiply(f32_3x2, f32_2x3)
    sl.qr_multiply(f32_3x2, f32_2, 'left')
    sl.qr_multiply(f32_3x2, f32_2x3, 'left')
    sl.qr_multiply(f32_3x2, f32_2x2, mode='left', pivoting=True)
    sl.qr_multiply(f32_3x2, f32_3x2, mode='left')
    sl.qr_multiply(f32_2x3, f32_2)
    sl.qr_multiply(c64_3x2, c64_3, conjugate=True)
    sl.qr_multiply(c64_3x2, c64_2, mode='left', conjugate=True)
    sl.qr_multiply(f32_2x3x2, f32_4x3)
    sl.qr_multiply(f32_2x3x2, f32_3)
    sl.qr_multiply(f32_3x2, f32_2)
    sl.qr_multiply(f32_3x2, f32_3, 'x')
    sl.qr_multiply(i32_3x2, f32_3)
    sl.qr_multiply(f32_3x2, c64_3)
    sl.qr_multiply(f32_3x2, f32)
    sl.qr_multiply(f32_3, f32_3)
    sl.svd(f32_3)
    sl.svd([[1.0]])
    sl.svd(f32_3x2, compute_uv=False)  ## eager jit vmap jvp vjp
    sl.svd(f32_3x2, full_matrices=False)[1]
    sl.svd(i32_2x2)[1]
    sl.svd(f32_3x2, lapack_driver='x', compute_uv=False)
    sl.eigh(f32_3x3)[0]  ## eager jit vmap jvp vjp
    sl.eigh(f32_3x3, eigvals_only=True, lower=False)  ## eager vjp
    sl.eigh(i32_2x2, eigvals_only=True)
    sl.eigh(c64_3x3, eigvals_only=True)
    sl.eigh(f32_3x3, eigvals=(0, 1))
    sl.eigh(f32_3x3, POSITIVE, eigvals_only=True)  ## eager jit vmap jvp vjp
    sl.eigh(f32_3x3, POSITIVE, type=2, eigvals_only=True)  ## eager jvp vjp
    sl.eigh(f32_3x3, POSITIVE, type=3, eigvals_only=True)
    jnp.abs(sl.eigh(f32_3x3, POSITIVE)[1])
    jnp.abs(sl.eigh(f32_3x3, POSITIVE, type=2)[1])
    jnp.abs(sl.eigh(f32_3x3, POSITIVE, type=3)[1])
    sl.eigh(f32_3x3, POSITIVE, type=4)
    sl.eigh(f32_3x3, type=4)
    sl.eigh(f32_3x3, type=2, eigvals_only=True)
    sl.eigh(f32_3x3, jnp.eye(2))
    sl.eigh(jnp.stack([f32_3x3, f32_3x3]), jnp.eye(3), eigvals_only=True)
    sl.eigh(f32_3x3, c64_3x3 * 0 + jnp.eye(3), eigvals_only=True)
    sl.eigh(f32_3x3, -jnp.eye(3), eigvals_only=True)
    sl.eigh_tridiagonal(f32_3, f32_2, eigvals_only=True)  ## eager jit vmap jvp vjp
    jnp.abs(sl.eigh_tridiagonal(f32_3, f32_2)[1])  ## eager jit vmap
    jnp.abs(sl.eigh_tridiagonal(c64_3, c64_2)[1])
    sl.eigh_tridiagonal(c64_3, c64_2, eigvals_only=True)
    sl.eigh_tridiagonal(f32_3, f32_2, select='i', select_range=(1, 2))[0]
    sl.eigh_tridiagonal(f32_3, f32_2, eigvals_only=True, select='i', select_range=(1, 1))
    sl.eigh_tridiagonal(f32_3, f32_2, eigvals_only=True, select='i', select_range=(1, 4))
    sl.eigh_tridiagonal(f32_3, f32_2, eigvals_only=True, select='i', select_range=(2, 1))
    sl.eigh_tridiagonal(f32_3, f32_2, eigvals_only=True, select='i')
    sl.eigh_tridiagonal(f32_3, f32_2, eigvals_only=True, select='v', select_range=(0., 1.))
    sl.eigh_tridiagonal(f32_3, f32_2, eigvals_only=True, select='x')
    sl.eigh_tridiagonal(f32_3, f32_3, eigvals_only=True)
    sl.eigh_tridiagonal(i32_3, i32_2, eigvals_only=True)
    sl.eigh_tridiagonal(f16_3, f16_2, eigvals_only=True)
    sl.eigh_tridiagonal(c64_3, f32_2, eigvals_only=True)
    sl.eigh_tridiagonal(f32_2x3, f32_2x2, eigvals_only=True)
    sl.eigh_tridiagonal(f32_1, jnp.zeros(0))
    sl.eigh_tridiagonal(jnp.zeros(0), jnp.zeros(0), eigvals_only=True)
    sl.eigh_tridiagonal(f32_3, f32_2, eigvals_only=True, key=jax.random.key(0))
    sl.polar(f32_3x3)  ## eager jit vmap jvp vjp
    sl.polar(f32_3x2)  ## eager jvp
    sl.polar(f32_2x3)
    sl.polar(f32_2x3, side='left')  ## eager jvp
    sl.polar(f32_3x2, side='left', method='svd')
    sl.polar(f32_2x3, method='svd')
    sl.polar(f32_3x3, method='svd')  ## eager jvp vjp
    sl.polar(f32_2x3, side='x')
    sl.polar(f32_2x3, method='x')
    sl.polar(f32_2x3x2)
    sl.polar(i32_2x2)
    sl.polar(c64_3x2)
    sl.polar(f32_3)
    sl.polar(f32_3x3, eps=1e-3)
    sl.polar(jnp.zeros((2, 2)), method='svd')
    sl.polar(jnp.zeros((0, 0)))
    sl.schur(f32_3x3)
    sl.schur(f32_3x3, 'x')
    sl.schur(i32_2x2)
    jnp.diagonal(sl.schur(f32_3x3, 'complex')[0])  ## eager jit vmap
    jnp.diagonal(sl.schur(c64_3x3)[0])
    sl.schur(f32_3x3)[0]  ## jvp vjp
    sl.rsf2csf(*sl.schur(f32_3x3))  ## eager jit vmap
    sl.rsf2csf(*sl.schur(f32_2x3x3))
    sl.rsf2csf(f32_3x3, f32_2x2)
    sl.rsf2csf(f32_2x3, f32_2x3)
    sl.rsf2csf(f32_3, f32_3)
    sl.rsf2csf(*sl.schur(c64_3x3))
    sl.rsf2csf(jnp.eye(3), jnp.eye(3) * jnp.ones((2, 1, 1)))
    sl.hessenberg(f32_3x3, calc_q=True)  ## eager jit vmap
    sl.hessenberg(f32_3x3)  ## eager jvp
    sl.hessenberg(c64_3x3, calc_q=True)
    sl.hessenberg(i32_2x2)
    sl.hessenberg(f32_1x1, calc_q=True)
    sl.hessenberg(jnp.zeros((0, 0)), calc_q=True)
    """),
    # -- systems -----------------------------------------------------------------------------------
    *_lines("""
    sl.solve(f32_3x3, f32_3)  ## eager jit vmap jvp vjp
    sl.solve(f32_3x3, f32_3x2)  ## eager jit vmap jvp vjp
    sl.solve(POSITIVE, f32_3, assume_a='pos')  ## eager jit vmap jvp vjp
    sl.solve(POSITIVE, f32_3x2, assume_a='pos', lower=True)  ## eager jit vmap jvp vjp
    sl.solve(jnp.array([[4., 1.], [3., 5.]]), f32_2, assume_a='pos')
    sl.solve(jnp.array([[4., 1.], [3., 5.]]), f32_2, assume_a='pos', lower=True)
    sl.solve(f32_3x3, f32_3, assume_a='pos')
    sl.solve(f32_3x3, f32_3, assume_a='sym')
    sl.solve(c64_3x3, f32_3, assume_a='her', lower=True)
    sl.solve(f32_3x3, f32_3, assume_a='x')
    sl.solve(f32_3x3, f32_2)
    sl.solve(i32_2x2, i32_2)
    sl.solve(f32_2x3x3, f32_3)
    sl.solve(f32_2x3x3, f32_2x3)
    sl.solve(f32_2x3x3, f32_3x2)
    sl.solve(f32_3x3, f32_2x3x2)
    sl.solve(f32_2x2x2, f32_2x2)
    sl.solve(jnp.eye(3) * jnp.ones((2, 1, 1)), f32_2x3, assume_a='pos')
    sl.solve(jnp.eye(3) * jnp.ones((2, 1, 1)), f32_3, assume_a='pos')
    sl.solve(jnp.zeros((2, 2)), f32_2)
    sl.solve(jnp.zeros((0, 0)), jnp.zeros(0))
    sl.solve(jnp.zeros((2, 2)), jnp.zeros((2, 0)))
    sl.solve(f32_2x3, f32_3)
    sl.solve(f32_3x3, f32)
    sl.solve_triangular(f32_3x3, f32_3)  ## eager jit vmap jvp vjp
    sl.solve_triangular(f32_3x3, f32_3x2, trans=1)  ## eager jit vmap jvp vjp
    sl.solve_triangular(f32_3x3, f32_3, 'T', lower=True)
    sl.solve_triangular(c64_3x3, f32_3, 'C', unit_diagonal=True)  ## eager jvp
    sl.solve_triangular(f32_3x3, f32_3, 3)
    sl.solve_triangular(f32_3x3, f32_3, trans='x')
    sl.solve_triangular(i32_2x2, i32_2)
    sl.solve_triangular(f32_2x3x3, f32_3)
    sl.solve_triangular(f32_2x3x3, f32_2x3)
    sl.solve_triangular(f32_2x3x3, f32_3x2)
    sl.solve_triangular(f32_3x3, f32_2x3x2)
    sl.solve_triangular(f32_2x3, f32_3)
    sl.solve_triangular(f32_3x3, f32_2)
    sl.solve_triangular(f32_3x3, f32)
    sl.solve_triangular(f32_3, f32_3)
    sl.solve_triangular(jnp.zeros((2, 2)), f32_2)
    sl.solve_sylvester(f32_3x3, f32_2x2, f32_3x2)  ## eager jit vmap jvp
    sl.solve_sylvester(f32_3x3, f32_2x2, f32_3x2, method='eigen')  ## eager jit vmap jvp
    sl.solve_sylvester(f32_3x3, f32_2x2, f32_3x2, method='x')
    sl.solve_sylvester(c64_3x3, f32_2x2, f32_3x2)
    sl.solve_sylvester(f32_3x3, -f32_3x3, f32_3x3b)
    sl.solve_sylvester(f32_3x3, f32_2x2, f32_3x2, tol=100.)
    sl.solve_sylvester(f32_3x3, f32_2x2, f32_2x3)
    sl.solve_sylvester(f32_3x3, f32_2x3, f32_3x2)
    sl.solve_sylvester(i32_2x2, i32_2x2b, i32_2x2)
    sl.solve_sylvester(f32_2x3x3, f32_2x2, f32_3x2)
    sl.solve_sylvester(f32_3x3, f32_2x2, f32_3)
    """),
    # -- functions ---------------------------------------------------------------------------------
    *_lines("""
    sl.expm(f32_3x3)  ## eager jit vmap jvp vjp
    sl.expm(f32_2x3x3)  ## eager jit vmap jvp vjp
    sl.expm(f32_3x3 / 100)  ## eager jit vmap jvp vjp
    sl.expm(f32_3x3 * 9)  ## eager jvp
    sl.expm(b1_2x2)
    sl.expm(1e6 * jnp.eye(2))
    sl.expm(-1e2 * jnp.eye(2))
    sl.expm(jnp.nan * jnp.eye(2))
    sl.expm(jnp.triu(f32_3x3), upper_triangular=True)  ## eager jit jvp vjp
    sl.expm(3 * f32_3x3, max_squarings=1)
    sl.expm_frechet(f32_3x3, f32_3x3b)  ## eager jit vmap jvp
    sl.expm_frechet(f32_3x3, f32_3x3b, compute_expm=False)
    sl.expm_frechet(f32_3x3, f32_2x2)
    sl.expm_frechet(f32_3x3, f32_2x3x3)
    sl.expm_frechet(f32_2x3x3, f32_2x3x3b)
    sl.expm_frechet(f32_3x3, c64_3x3)
    sl.expm_frechet(f32_3, f32_3)
    sl.expm_frechet(f32_3x3, f32_3x3b, method='x')
    sl.sqrtm(POSITIVE)  ## eager jit vmap jvp
    sl.sqrtm(f32_2x3x3)
    sl.sqrtm(POSITIVE, blocksize=2)
    sl.sqrtm(jnp.array([[2, 1], [1, 2]]))
    sl.sqrtm(c64_3x3)
    sl.sqrtm(jnp.zeros((2, 2)))
    sl.sqrtm(jnp.zeros((0, 0)))
    sl.funm(f32_3x3, jnp.exp)  ## eager jit vmap jvp
    sl.funm(f32_3x3, lambda x: x**2, disp=False)
    sl.funm(f32_2x3x3, jnp.exp)
    sl.funm(f32_2x3, jnp.exp)
    sl.funm(i32_2x2, jnp.exp)
    sl.funm(f32, jnp.exp)
    """),
]
