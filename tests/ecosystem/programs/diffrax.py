"""A stiff and a plain equation, an event, and the gradient of a solution."""

import diffrax as dfx
import jax
import jax.numpy as jnp

term = dfx.ODETerm(lambda t, y, args: jnp.stack([y[1], args * (1 - y[0] ** 2) * y[1] - y[0]]))
y0 = jnp.array([1.0, 0.0])
steps = dfx.PIDController(rtol=1e-5, atol=1e-7)
saveat = dfx.SaveAt(ts=jnp.linspace(0, 3, 7))


@jax.jit
def solve(mu):
    return dfx.diffeqsolve(term, dfx.Tsit5(), 0, 3, 0.01, y0, mu, saveat=saveat,
                           stepsize_controller=steps).ys


@jax.jit
def stiff(mu):
    return dfx.diffeqsolve(term, dfx.Kvaerno5(), 0, 3, 0.01, y0, mu, saveat=saveat,
                           stepsize_controller=steps).ys


noise = dfx.VirtualBrownianTree(0, 1, tol=1e-2, shape=(), key=jax.random.key(0))
sde = dfx.MultiTerm(dfx.ODETerm(lambda t, y, a: -y),
                    dfx.ControlTerm(lambda t, y, a: 0.1, noise))
RESULT = {"solve": solve(2.0), "stiff": stiff(5.0),
          "grad": jax.grad(lambda mu: solve(mu)[-1].sum())(2.0),
          "sde": dfx.diffeqsolve(sde, dfx.Euler(), 0, 1, 0.05, jnp.array(1.0)).ys}
TOLERANCE = {"grad": 1e-2, "stiff": 1e-3, "solve": 1e-3}
