"""``jax._src``: private modules of JAX that libraries import, each where tanx has an equivalent."""
