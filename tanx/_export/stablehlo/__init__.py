"""Programs as text of StableHLO, the portable form that XLA and other compilers read.

:func:`module_text` is a pure function from a jaxpr to the text of a module. Rules are in files by
the kind of primitive; ``rules.py`` says how one is chosen. What is written is StableHLO alone:
special functions are spelled out in elementary ones (``special.py``), and matrices are factored
by LAPACK's functions under the names by which XLA calls them (``lapack_calls.py``).
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
