"""Six well-known kinds of programs, as people write them for JAX, with its libraries."""
