"""Solvers, differentiated by the implicit function theorem."""

import jax
import jax.numpy as jnp
import jaxopt

x = jax.random.normal(jax.random.key(0), (20, 3))
y = x @ jnp.array([1.0, -2.0, 0.5])
ridge = lambda w, reg: jnp.mean((x @ w - y) ** 2) + reg * jnp.sum(w ** 2)
solve = lambda reg: jaxopt.LBFGS(ridge, maxiter=50).run(jnp.zeros(3), reg).params
RESULT = {"lbfgs": solve(0.1), "grad": jax.jacobian(solve)(0.1),
          "lasso": jaxopt.ProximalGradient(
              lambda w: jnp.mean((x @ w - y) ** 2), jaxopt.prox.prox_lasso, maxiter=200).run(
                  jnp.zeros(3), 0.1).params,
          "simplex": jaxopt.projection.projection_simplex(jnp.array([0.3, 1.2, -0.5]))}
TOLERANCE = {"lbfgs": 1e-3, "grad": 1e-2, "lasso": 1e-3}
