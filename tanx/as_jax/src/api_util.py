"""``jax._src.api_util``: e3nn-jax."""

from ...api_util import *
