"""A neural differential equation of diffrax learns the motion of a damped pendulum."""

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax


class Motion(eqx.Module):
    """The solution of an equation whose right-hand side is a network."""

    field: eqx.nn.MLP

    def __call__(self, ts, start):
        solution = dfx.diffeqsolve(
            dfx.ODETerm(lambda t, y, _: self.field(y)), dfx.Tsit5(), ts[0], ts[-1], ts[1] - ts[0],
            start, stepsize_controller=dfx.PIDController(rtol=1e-3, atol=1e-6),
            saveat=dfx.SaveAt(ts=ts))
        return solution.ys


def pendulum(ts, start):
    """The motion of a pendulum from an initial state."""
    field = dfx.ODETerm(lambda t, y, _: jnp.stack([y[1], -jnp.sin(y[0]) - 0.2 * y[1]]))
    return dfx.diffeqsolve(field, dfx.Tsit5(), ts[0], ts[-1], 0.01, start,
                           stepsize_controller=dfx.PIDController(rtol=1e-5, atol=1e-7),
                           saveat=dfx.SaveAt(ts=ts)).ys


ts = jnp.linspace(0, 4, 41)
starts = jr.uniform(jr.key(0), (128, 2), minval=-1, maxval=1)
paths = jax.jit(jax.vmap(pendulum, (None, 0)))(ts, starts)
model = Motion(eqx.nn.MLP(2, 2, 32, 2, activation=jax.nn.softplus, key=jr.key(1)))
optimizer = optax.adabelief(3e-3)
state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))


@eqx.filter_jit
def step(model, state, paths):
    """One step of the optimizer: the new model, its state and the loss."""
    @eqx.filter_value_and_grad
    def loss(model):
        return jnp.mean((jax.vmap(model, (None, 0))(ts, paths[:, 0]) - paths) ** 2)
    value, grads = loss(model)
    updates, state = optimizer.update(grads, state, model)
    return eqx.apply_updates(model, updates), state, value


losses = []
for i in range(120):
    model, state, value = step(model, state, paths[i % 4 * 32:][:32])
    losses.append(value)
RESULT = {"paths": paths, "losses": jnp.stack(losses)}
TOLERANCE = {"paths": 1e-3, "losses": 2e-2}
