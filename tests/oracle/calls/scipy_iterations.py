"""scipy.sparse.linalg and scipy.optimize: ``while`` loops."""

from tests.oracle.calls.call import each, lines

POSITIVE = "(f32_3x3 @ f32_3x3.T + jnp.eye(3))"
MINIMIZE = "jax.scipy.optimize.minimize"


def _lines(text: str):
    """Calls written with short names: ``spl`` and ``minimize``."""
    for short, full in (("spl.", "jax.scipy.sparse.linalg."), ("minimize(", MINIMIZE + "("),
                        ("POSITIVE", POSITIVE)):
        text = text.replace(short, full)
    return lines(text)


CALLS = [
    *_lines("""
    spl.cg(POSITIVE, f32_3)  ## eager jit vmap jvp vjp
    spl.cg(lambda x: 2 * x, f32_3)
    spl.cg(lambda x: (2 * x[0], 3 * x[1]), (f32_3, f32_2x3))
    spl.cg(f32_2x3, f32_3)
    spl.cg(jnp.eye(3), f32_3, x0=f32_2)
    spl.cg(jnp.eye(3), f32_3, x0=(f32_3,))
    spl.cg(jnp.eye(3), i32_3)
    spl.cg('x', f32_3)
    spl.cg(2.0, f32_3)
    spl.cg(jnp.eye(3)[None], f32_3)
    spl.cg(np.eye(3), np.ones(3))
    spl.cg([[1.]], jnp.ones(1))
    spl.cg(lambda x: x[:2], f32_3)
    spl.cg(POSITIVE, f32_3, maxiter=1)
    spl.cg(POSITIVE, f32_3, maxiter=2, x0=f32_3b)
    spl.cg(POSITIVE, f32_3, maxiter=1, M=jnp.diag(f32_pos3))
    spl.cg(jnp.zeros((0, 0)), jnp.zeros(0))
    spl.bicgstab(f32_3x3 + 4 * jnp.eye(3), f32_3)  ## eager jit vmap jvp vjp
    spl.bicgstab(f32_3x3, f32_3, maxiter=1)
    spl.bicgstab(f32_3x3, f32_3, maxiter=2)
    spl.bicgstab(f32_3x3, f32_3, maxiter=1, M=jnp.diag(f32_pos3))
    spl.bicgstab(f32_3x3, jnp.zeros(3))
    spl.gmres(f32_3x3, f32_3)  ## eager jit vmap jvp vjp
    spl.gmres(f32_3x3, f32_3, solve_method='incremental')  ## eager vjp
    spl.gmres(f32_3x3, f32_3, solve_method='x')
    spl.gmres(f32_3x3, f32_3, restart=2, maxiter=1)
    spl.gmres(f32_3x3, f32_3, restart=2, maxiter=1, solve_method='incremental')
    spl.gmres(f32_3x3, f32_3, restart=2, maxiter=2)
    spl.gmres(f32_3x3, f32_3, restart=2, maxiter=1, M=jnp.diag(f32_pos3))
    spl.gmres(f32_3x3, f32_3, x0=f32_3b, restart=2, maxiter=1)
    spl.gmres(f32_3x3, jnp.zeros(3))
    spl.gmres(c64_3x3, c64_3)
    spl.gmres(f32_3x3, c64_3)
    spl.gmres(lambda x: {'a': x['a'] * 2, 'b': x['b'] * 3}, dict(a=f32_3, b=f32_2))
    spl.gmres(f32_3x3, f32_3, restart=0)
    """),
    *each(MINIMIZE + "(lambda x: ((x - 1) ** 2).sum(), f32_3, method='{m}'){f}", m="BFGS bfgs",
          f=[".x", ".success", ".status", ".nfev", ".njev", ".nit", ".hess_inv"]),
    *_lines("""
    minimize(lambda x, a: ((x - a) ** 2).sum(), f32_3, (2.,), method='BFGS').x
    minimize(lambda x: ((x - f32_3) ** 2).sum(), jnp.zeros(3), method='BFGS').x  ## jit vmap
    minimize(lambda x, a: x.sum(), f32_3, 2., method='BFGS')
    minimize(lambda x: (x ** 2).sum(), f32_2x3, method='BFGS')
    minimize(lambda x: (x ** 2).sum(), i32_3, method='BFGS')
    minimize(lambda x: x ** 2, f32_3, method='BFGS')
    minimize(lambda x: (x ** 2).sum(), f32_3, method='Nelder-Mead')
    minimize(lambda x: (x ** 2).sum(), f32_3)
    minimize(lambda x: (x ** 2).sum(), f32_3, method='BFGS', options=dict(foo=2))
    minimize(lambda x: (x ** 2).sum() * 0, f32_3, method='BFGS')
    """),
]
