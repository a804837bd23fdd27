"""``jax._src.api``: functions of the package itself under their old path."""

from ... import *
