"""``jax._src.flatten_util``: blackjax takes ``ravel_pytree`` from here."""

from ...flatten_util import *
