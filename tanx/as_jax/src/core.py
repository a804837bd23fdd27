"""``jax._src.core``: traces, tracers, types and jaxprs.

quax subclasses ``Trace`` and ``Tracer``, and its tests read ``trace_ctx``, the running trace of a
thread; numpyro asks ``trace_state_clean``; jax-md and flax take primitives and types from here;
flax defines a dtype and asks for ``physical_aval``.
"""

from ..._core.trace import EvalTrace, Tracer
from ..._core.trace import context as trace_ctx
from ...core import *
from ...core import ShapedArray
from ...dtypes import KeyType, is_extended
from ...extend.core import *

__all__ = ["full_lower", "physical_aval", "physical_element_aval", "trace_ctx",
           "trace_state_clean"]


def full_lower(x):
    """A value with no more tracers around it than there must be."""
    return x.full_lower() if isinstance(x, Tracer) else x


def physical_element_aval(edtype) -> ShapedArray:
    """The type of the numbers that one element of an extended dtype consists of."""
    if isinstance(edtype, KeyType):
        return ShapedArray(edtype.impl.key_shape, "uint32")
    return edtype._rules.physical_element_aval(edtype)


def physical_aval(aval):
    """The type of arrays as numbers, if the dtype is an extended one."""
    if not isinstance(aval, ShapedArray) or not is_extended(aval.dtype):
        return aval
    element = physical_element_aval(aval.dtype)
    return ShapedArray((*aval.shape, *element.shape), element.dtype)


def trace_state_clean() -> bool:
    """Whether nothing is being traced in this thread."""
    return isinstance(trace_ctx.trace, EvalTrace)
