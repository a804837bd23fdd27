"""``jax._src.dtypes``: dtypes; flax defines one of its own by what is here."""

from ...dtypes import *
from ...dtypes import DType as DType
from ...dtypes import ExtendedDType as ExtendedDType

__all__ = ["DType", "ExtendedDType", "supports_inf"]


def supports_inf(dtype) -> bool:
    """Whether a dtype of floats has infinities."""
    return "fn" not in str(dtype)  # in names of narrow floats: finite
