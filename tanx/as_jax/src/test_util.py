"""``jax._src.test_util``: checks of derivatives; JAX's page on checkpoints imports it."""

from ...test_util import *
from ...test_util import __all__ as __all__
