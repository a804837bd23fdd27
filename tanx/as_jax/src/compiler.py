"""``jax._src.compiler``: chex replaces its function to forbid compilation for some platforms.

tanx has no function in its place, so that chex restricts nothing.
"""
