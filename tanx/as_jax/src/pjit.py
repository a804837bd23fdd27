"""``jax._src.pjit``: quax looks for calls of jitted functions."""

from ...extend.core.primitives import jit_p

__all__ = ["jit_p", "pjit_p"]

pjit_p = jit_p
