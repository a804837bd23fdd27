"""``jax._src.state``: references."""
