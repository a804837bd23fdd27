"""``jax._src.lax.lax``: operations by their old path; JAX's page on primitives imports them so."""

from ....lax import *
