"""``jax._src.ad_util``: lineax looks for ``stop_gradient`` in jaxprs."""

from ...extend.core.primitives import stop_gradient_p
from ...interpreters.ad import Zero, instantiate_zeros, zeros_like_aval

__all__ = ["Zero", "instantiate_zeros", "stop_gradient_p", "zeros_like_aval"]
