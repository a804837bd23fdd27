"""Programs as text of StableHLO, the portable form that XLA and other compilers read.

:func:`module_text` is a pure function from a jaxpr to the text of a module. Rules are in files by
the kind of primitive; ``rules.py`` describes how one is chosen. The text is pure StableHLO: special
functions are expanded into elementary ones (``special.py``), and matrices are factored by LAPACK's
functions under the names that XLA uses (``lapack_calls.py``).
"""

from __future__ import annotations

from . import (
    contractions,
    control,
    foreign_calls,
    fourier,
    indexing,
    lapack_calls,
    layout,
    reductions,
    refused,
    sorting,
)
from .module import module_text

__all__ = ["module_text"]
