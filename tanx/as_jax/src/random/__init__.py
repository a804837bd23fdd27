"""``jax._src.random``: quax takes the functions of one generator from a module of it."""
