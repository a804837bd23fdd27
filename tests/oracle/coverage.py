"""Which functions the table of calls must mention, and which it need not."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

__all__ = ["SKIPPED", "public_functions"]

MODULES = {"jnp": "numpy", "lax": "lax", "jax": "", "jax.tree": "tree", "tree_util": "tree_util"}


def public_functions(tanx) -> Iterator[tuple[str, Any]]:
    """Names as calls write them, and values, of all functions that tanx shows in these modules."""
    for prefix, name in MODULES.items():
        module = getattr(tanx, name) if name else tanx
        for attribute in module.__all__:
            value = getattr(module, attribute)
            if callable(value) and not inspect.isclass(value) and not attribute.endswith("_p"):
                yield f"{prefix}.{attribute}", value


SKIPPED: dict[str, str] = {}
