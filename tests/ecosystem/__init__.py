"""JAX's ecosystem on tanx and on JAX: programs of libraries, their own tests, JAX's tutorials."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]


def paths(as_jax: bool) -> str:
    """``PYTHONPATH`` for a process on tanx or on JAX: only the former includes this checkout."""
    if not as_jax:
        return ""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
