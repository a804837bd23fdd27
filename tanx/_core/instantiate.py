"""Substitution of known sizes for symbolic ones in jaxprs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._base.symbolic import DimExpr, Hook, evaluate, variables_of
from .jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, jaxprs_in_params
from .retype import Retyping
from .types import ShapedArray

__all__ = ["instantiate", "variables_in"]


def instantiate(closed: ClosedJaxpr, values: Mapping[str, Any]) -> ClosedJaxpr:
    """A closed jaxpr with numbers, or other sizes, in place of the variables in its sizes.

    >>> a, = tanx.export.symbolic_shape("a")
    >>> closed = tanx.make_jaxpr(lambda x: x * x.shape[0])(tanx.ShapeDtypeStruct((a,), np.float32))
    >>> instantiate(closed, {"a": 3})
    { lambda ; a:f32[3]. let
        b:f32[] = convert_element_type[new_dtype=float32 weak_type=False] 3:i32[]
        c:f32[3] = mul a b
      in (c,) }
    """
    return _Instance(values).closed(closed)


def variables_in(jaxpr: Jaxpr) -> set[str]:
    """The names of the variables in the sizes that a jaxpr computes with.

    >>> a, = tanx.export.symbolic_shape("a")
    >>> closed = tanx.make_jaxpr(lambda: jnp.zeros(a))()
    >>> variables_in(closed.jaxpr)
    {'a'}
    """
    found: set[str] = set()
    for eqn in jaxpr.eqns:
        for v in eqn.outvars:
            if type(v.aval) is ShapedArray:
                found.update(*map(variables_of, v.aval.shape))
        if eqn.primitive is Hook.primitive:
            found |= variables_of(eqn.params["dim"])
        found.update(*map(variables_in, jaxprs_in_params(eqn.params)))
    return found


class _Instance(Retyping):
    def __init__(self, values: Mapping[str, Any]):
        super().__init__()
        self.values = values

    def part(self, value: Any) -> Any:
        kind = type(value)
        if kind is DimExpr:
            return evaluate(value, self.values)
        if kind is ShapedArray:
            shape = tuple([evaluate(d, self.values) for d in value.shape])
            return value if shape == value.shape else value.update(shape=shape)
        return value

    def known(self, eqn: JaxprEqn) -> Literal | None:
        if eqn.primitive is not Hook.primitive:
            return None
        size = evaluate(eqn.params["dim"], self.values)
        aval = eqn.outvars[0].aval
        return Literal(np.asarray(size, aval.dtype), aval) if type(size) is int else None
