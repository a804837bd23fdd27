"""``jax._src.lax``: operations by their old path; JAX's page on primitives imports them so."""
