"""Known zeros: operations on them alone are skipped.

Most coefficients of initial series are zero, as for ``x + v t``, and rules of Taylor mode multiply
and add them like any others. They run in a :class:`ZeroTrace`, which knows the results of products,
sums and linear functions of zeros; all other operations get an array of zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.linear import Zero, linear
from .._core.primitive import Primitive
from .._core.stage import StageTracer
from .._core.trace import Trace, Tracer, context, data_of, running
from .._core.types import AbstractValue, typeof
from .._ops.arith import add_p, bilinear, neg, sub_p
from .._ops.derive import add_any_p

__all__ = ["ZeroTrace", "ZeroTracer", "is_known_zero"]


def is_known_zero(x) -> bool:
    """Whether a value is zero whatever the arguments are.

    A tracer of derivatives or of lanes does not count, even if its value is zero.
    """
    if isinstance(x, Tracer) and not isinstance(x, StageTracer):
        return False
    data = data_of(x)
    return data is not None and not np.any(np.asarray(data))


class ZeroTracer(Tracer):
    """A zero of some type."""

    __slots__ = ("zero",)

    def __init__(self, trace: ZeroTrace, aval: AbstractValue):
        self._trace = trace
        self.zero = Zero(aval)

    @property
    def aval(self):
        return self.zero.aval


class ZeroTrace(Trace):
    """Finds results that are zero because their operands are."""

    __slots__ = ()

    def zeros(self, aval: AbstractValue) -> ZeroTracer:
        """A zero that this trace knows."""
        return ZeroTracer(self, aval)

    def array(self, x):
        """A zero of this trace as an array; other values unchanged."""
        if not self.knows(x):
            return x
        with running(self.underneath):
            return x.zero.instantiate()

    def knows(self, x) -> bool:
        """Whether a value is a zero of this trace."""
        return type(x) is ZeroTracer and x._trace is self

    def process(self, primitive, args, params):
        zero = [self.knows(x) for x in args]
        if any(zero) and not primitive.multiple_results:
            aval = primitive.infer(*map(typeof, args), **params)
            if _vanishes(primitive, zero):
                return self.zeros(aval)
            other = _other(primitive, args, zero)
            if other is not None and typeof(other) == aval:
                return neg(other) if primitive is sub_p and zero[0] else other
        args = [self.array(x) for x in args]
        context.trace = self.underneath
        try:
            return self.underneath.process(primitive, args, params)
        finally:
            context.trace = self


def _vanishes(primitive: Primitive, zero: Sequence[bool]) -> bool:
    """Whether a result is zero, given which operands are."""
    if primitive.taylor is not None and getattr(primitive.taylor, "__func__", None) is bilinear:
        return True
    return all(zero) and (primitive in _SUMS or getattr(
        primitive.jvp, "__func__", None) is linear)


def _other(primitive: Primitive, args: Sequence[Any], zero: Sequence[bool]):
    """The nonzero operand of a sum; None for other primitives."""
    return args[zero.index(False)] if primitive in _SUMS else None


_SUMS = (add_p, sub_p, add_any_p)
