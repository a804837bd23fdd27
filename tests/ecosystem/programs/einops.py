"""Rearrangements, reductions and products by axis names."""

import einops
import jax
import jax.numpy as jnp

x = jnp.arange(24.0).reshape(2, 3, 4)
RESULT = {"rearrange": jax.jit(lambda x: einops.rearrange(x, "a (b c) d -> c (a d) b", c=3))(x),
          "reduce": einops.reduce(x, "a b c -> a c", "max"),
          "repeat": einops.repeat(x, "a b c -> (a 2) b c"),
          "einsum": einops.einsum(x, x, "a b c, a d c -> b d"),
          "pack": einops.pack([x, x[..., 0]], "a *")[0]}
