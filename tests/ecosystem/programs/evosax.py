"""An evolution strategy on a test function."""

import jax
import jax.numpy as jnp
from evosax.algorithms import Open_ES

strategy = Open_ES(population_size=16, solution=jnp.zeros(3))
params = strategy.default_params
key = jax.random.key(0)
state = strategy.init(key, jnp.ones(3), params)


@jax.jit
def generation(state, key):
    a, b = jax.random.split(key)
    population, state = strategy.ask(a, state, params)
    fitness = jnp.sum((population - 0.5) ** 2, axis=1)
    state, _ = strategy.tell(b, population, fitness, state, params)
    return state, fitness.min()


best = []
for step_key in jax.random.split(key, 20):
    state, fitness = generation(state, step_key)
    best.append(fitness)
RESULT = {"best": jnp.stack(best[:5])}
TOLERANCE = {"best": 1e-2}
