"""``jax._src.dtypes``: dtypes; flax defines one of its own by what is here."""

from ...dtypes import *
from ...dtypes import DType as DType
from ...dtypes import ExtendedDType as ExtendedDType
from ...dtypes import finfo

__all__ = ["DType", "ExtendedDType", "supports_inf"]


def supports_inf(dtype) -> bool:
    """Whether a dtype of floats has infinities."""
    return finfo(dtype).max != float("inf") and "fn" not in str(dtype)
