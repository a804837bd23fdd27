"""Roots, least squares, minima and fixed points."""

import jax
import jax.numpy as jnp
import optimistix as optx

data = jnp.linspace(0, 1, 20)
target = jnp.exp(-1.5 * data) * 2
start = jnp.array([1.0, 1.0])
residuals = lambda p, _: p[0] * jnp.exp(-p[1] * data) - target
RESULT = {
    "newton": optx.root_find(lambda y, a: y ** 3 - a, optx.Newton(1e-6, 1e-6), jnp.array(1.0),
                             jnp.array(3.0)).value,
    "levenberg": optx.least_squares(residuals, optx.LevenbergMarquardt(1e-6, 1e-6), start).value,
    "dogleg": optx.least_squares(residuals, optx.Dogleg(1e-6, 1e-6), start).value,
    "bfgs": optx.minimise(lambda y, _: jnp.sum((y - 2) ** 4) + jnp.sum(y ** 2),
                          optx.BFGS(1e-5, 1e-5), jnp.zeros(3)).value,
    "fixed": optx.fixed_point(lambda y, _: jnp.cos(y), optx.FixedPointIteration(1e-6, 1e-6),
                              jnp.array(0.5)).value,
    "grad": jax.jit(jax.grad(lambda a: optx.root_find(
        lambda y, a: y ** 3 - a, optx.Newton(1e-6, 1e-6), jnp.array(1.0), a).value))(3.0)}
TOLERANCE = dict.fromkeys(RESULT, 1e-3)
