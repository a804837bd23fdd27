"""``jax._src.earray``: flax defines results of dtypes of its own (fp8 scales) by this class."""

from ..._core.array import Array as EArray

__all__ = ["EArray"]
