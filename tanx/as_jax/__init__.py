"""tanx.as_jax: lets ``import jax`` mean tanx, so that JAX programs and libraries run unchanged.

    python -m tanx.as_jax script.py ...       runs a script
    python -m tanx.as_jax -m module ...       runs a module, such as pytest
    python -m tanx.as_jax --enable            prepares a virtual environment for TANX_AS_JAX=1

From code, :func:`install` does the same for all imports that follow.
"""

from ._finder import install, is_installed, uninstall

__all__ = ["install", "is_installed", "uninstall"]
