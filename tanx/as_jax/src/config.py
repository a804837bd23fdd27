"""``jax._src.config``: options as context managers; JAX's page on export uses one."""

from typing import Any

from ..._base import config as _options
from ..._base.config import config

__all__ = ["config"]


def __getattr__(name: str) -> Any:
    """An option by its name, with or without ``jax_`` in front."""
    return _options._find(name)
