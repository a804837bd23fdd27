"""``jax._src.core``: traces, tracers, types and jaxprs.

quax subclasses ``Trace`` and ``Tracer``; numpyro asks ``trace_state_clean``; jax-md and flax take
primitives and types from here.
"""

from ..._core.trace import EvalTrace, context
from ...core import *
from ...extend.core import *

__all__ = ["trace_state_clean"]


def trace_state_clean() -> bool:
    """Whether nothing is being traced in this thread."""
    return isinstance(context.trace, EvalTrace)
