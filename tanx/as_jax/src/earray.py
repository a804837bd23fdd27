"""``jax._src.earray``: flax names the class of arrays of dtypes that libraries define."""

from ...experimental import EArray

__all__ = ["EArray"]
