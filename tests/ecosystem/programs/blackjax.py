"""Window adaptation and NUTS."""

import blackjax
import jax
import jax.numpy as jnp

logdensity = lambda x: -0.5 * jnp.sum((x - 1.0) ** 2 / jnp.array([1.0, 4.0]))
warmup = blackjax.window_adaptation(blackjax.nuts, logdensity)
(state, parameters), _ = warmup.run(jax.random.key(0), jnp.zeros(2), num_steps=100)
kernel = jax.jit(blackjax.nuts(logdensity, **parameters).step)
positions = []
for key in jax.random.split(jax.random.key(1), 50):
    state, info = kernel(key, state)
    positions.append(state.position)
RESULT = {"mean": jnp.stack(positions).mean(0), "step": parameters["step_size"]}
TOLERANCE = {"mean": 1.0, "step": 0.3}
