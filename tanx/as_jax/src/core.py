"""``jax._src.core``: traces, tracers, types and jaxprs.

quax subclasses ``Trace`` and ``Tracer``, and its tests read ``trace_ctx``, the running trace of a
thread; numpyro asks ``trace_state_clean``; jax-md and flax take primitives and types from here.
"""

from ..._core.trace import EvalTrace, Tracer
from ..._core.trace import context as trace_ctx
from ...core import *
from ...extend.core import *

__all__ = ["full_lower", "trace_ctx", "trace_state_clean"]


def full_lower(x):
    """A value with no more tracers around it than there must be."""
    return x.full_lower() if isinstance(x, Tracer) else x


def trace_state_clean() -> bool:
    """Whether nothing is being traced in this thread."""
    return isinstance(trace_ctx.trace, EvalTrace)
