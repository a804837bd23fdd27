"""``jax._src.checkify``: flax nnx wraps ``checkify`` and names its classes."""

from ..._control.check import JaxException as JaxException
from ...experimental.checkify import *
