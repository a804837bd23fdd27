"""Shapes in annotations, checked by beartype."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jaxtyping import Array, Float, Int, PyTree, jaxtyped


@jaxtyped(typechecker=beartype)
def outer(a: Float[Array, " m"], b: Float[Array, " n"]) -> Float[Array, "m n"]:
    return a[:, None] * b


@jaxtyped(typechecker=beartype)
def total(tree: PyTree[Float[Array, "..."]]) -> Float[Array, ""]:
    return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(tree))


refused = 0
for bad in (lambda: outer(jnp.ones((2, 2)), jnp.ones(2)), lambda: total({"a": jnp.arange(3)})):
    try:
        bad()
    except Exception:
        refused += 1
RESULT = {"outer": jax.jit(outer)(jnp.arange(3.0), jnp.arange(2.0)),
          "total": total({"a": jnp.ones(3), "b": jnp.ones((2, 2))}), "refused": refused,
          "is": [isinstance(jnp.ones(3), Float[Array, "3"]),
                 isinstance(jnp.ones(3), Int[Array, "3"])]}
