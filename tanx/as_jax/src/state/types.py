"""``jax._src.state.types``: flax nnx asks whether a type is that of a reference."""

from ...._core.refs import AbstractRef

__all__ = ["AbstractRef"]
