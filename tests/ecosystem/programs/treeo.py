"""Classes that are trees."""

import jax
import jax.numpy as jnp
import treeo as to


class Average(to.Tree):
    total: jnp.ndarray = to.node()
    count: jnp.ndarray = to.node()
    name: str = to.static()

    def __init__(self, name):
        self.total, self.count, self.name = jnp.zeros(()), jnp.zeros(()), name


@jax.jit
def update(average, x):
    average.total += x.sum()
    average.count += x.size
    return average


average = Average("mean")
for n in range(4):
    average = update(average, jnp.arange(3.0) + n)
RESULT = {"mean": average.total / average.count, "leaves": jax.tree.leaves(average)}
