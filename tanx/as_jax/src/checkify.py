"""``jax._src.checkify``: flax nnx wraps ``checkify`` and names its classes."""

from ...experimental.checkify import *
