"""Helpers for ``jvp`` and ``transpose`` rules: partial derivatives, zeros, the sum of tangents.

``jvp = partials(rule, rule)`` gives one function for each operand. A linear primitive has
``jvp = linear`` or ``jvp = linear_in(0)``, see :mod:`tanx._core.linear`. Any other rule is a
method.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from .. import dtypes
from .._core.explicit import stated
from .._core.linear import Linear, Zero, linear
from .._core.primitive import Kind, Primitive
from .._core.trace import context
from .._core.types import ShapedArray, high_classes, typeof
from .._loops import build
from ..errors import explain
from .base import batch_together, broadcast_in_dim

__all__ = ["add_any", "add_any_p", "partials", "sum_cotangents", "zeros_of"]


def zeros_of(aval):
    """An array of zeros of a type, or the zero of a high one."""
    if aval.is_high:
        return aval.vspace_zero()
    zero = extended_zero(aval.dtype) if dtypes.is_extended(aval.dtype) else (
        context.trace.literal(np.zeros((), aval.dtype),
                              ShapedArray((), aval.dtype, aval.weak_type)))
    return broadcast_in_dim(zero, aval.shape, (), out_sharding=stated(aval))


Zero.instantiate = lambda zero: zeros_of(zero.aval)  # type: ignore[method-assign]


def sum_cotangents(a, b):
    """The sum of two tangents or cotangents, either of which may be a symbolic zero."""
    if type(a) is Zero:
        return b
    if type(b) is Zero:
        return a
    if high_classes and typeof(a).is_high:
        return typeof(a).vspace_add(a, b)
    return add_any(a, b)


def partials(*rules):
    """A ``jvp`` rule from one function per operand, ``rule(tangent, out, *primals, **params)``.

    ``None`` is for an operand without a derivative. The contributions are summed.
    """

    def jvp(self, primals, tangents, **params):
        out = self.bind(*primals, **params)
        terms = [rule(tangent, out, *primals, **params)
                 for rule, tangent in zip(rules, tangents, strict=True)
                 if rule is not None and type(tangent) is not Zero]
        return out, reduce(sum_cotangents, terms) if terms else Zero.tangent_of(out)
    return jvp


def extended_zero(dtype):
    """The zero tangent of an extended type, as its rules define it."""
    zero = getattr(dtype._rules, "zero", None)
    if zero is None:
        raise TypeError(explain(
            "tanx.grad", f"the rules of {dtype.name} define no zero, which tangents need."))
    return zero(dtype)


class AddAny(Primitive):
    """Adds two tangents or cotangents of one type; rules of extended types say how theirs add."""

    name = "add_any"
    kind = Kind.ELEMENTWISE

    def bind(self, x, y):
        dtype = typeof(x).dtype
        if not dtypes.is_extended(dtype):
            return super().bind(x, y)
        add = getattr(dtype._rules, "add", None)
        if add is None:
            raise TypeError(explain(
                "tanx.grad", f"the rules of {dtype.name} do not define how tangents add.",
                f"tangent 0: {typeof(x)}", f"tangent 1: {typeof(y)}"))
        return add(dtype, x, y)

    def infer(self, x, y):
        return y if x.weak_type else x

    def eval(self, x, y):
        return x if x.dtype == dtypes.float0 else np.add(x, y)

    jvp = linear

    def transpose(self, ct, x, y):
        return [ct if type(x) is Linear else None, ct if type(y) is Linear else None]

    def batch(self, args, dims):
        (x, y), d = batch_together(args, dims)
        return add_any(x, y), d

    def lower(self, at, x, y):
        return build.op("add", x[at], y[at])


add_any_p = AddAny()


def add_any(x, y):
    """Add two tangents of the same type."""
    return add_any_p.bind(x, y)
