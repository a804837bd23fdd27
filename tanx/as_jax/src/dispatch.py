"""``jax._src.dispatch``: equinox waits here for effects that are under way."""

from ... import effects_barrier as wait_for_tokens

__all__ = ["wait_for_tokens"]
