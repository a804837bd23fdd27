"""Jaxprs with symbolic sizes, and what they become when the sizes are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from .._base.symbolic import DimExpr, Socket, evaluate, variables_of
from .jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
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
        if eqn.primitive is Socket.primitive:
            found |= variables_of(eqn.params["dim"])
        found.update(*map(variables_in, jaxprs_in_params(eqn.params)))
    return found


class _Instance:
    def __init__(self, values: Mapping[str, Any]):
        self.values = values
        self.done: dict[int, Jaxpr] = {}

    def closed(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        return ClosedJaxpr(self.jaxpr(closed.jaxpr), closed.consts)

    def jaxpr(self, jaxpr: Jaxpr) -> Jaxpr:
        found = self.done.get(id(jaxpr))
        if found is None:
            found = self.done[id(jaxpr)] = self._made(jaxpr)
        return found

    def _made(self, jaxpr: Jaxpr) -> Jaxpr:
        atoms: dict[Atom, Atom] = {}

        def bind(variables) -> list:
            made = [Var(self.value(v.aval)) for v in variables]
            atoms.update(zip(variables, made))
            return made

        def read(given) -> list:
            return [x if type(x) is Literal else atoms[x] for x in given]

        constvars, invars = bind(jaxpr.constvars), bind(jaxpr.invars)
        eqns = []
        for eqn in jaxpr.eqns:
            size = evaluate(eqn.params["dim"], self.values) if (
                eqn.primitive is Socket.primitive) else None
            if type(size) is int:
                aval = eqn.outvars[0].aval
                atoms[eqn.outvars[0]] = Literal(np.asarray(size, aval.dtype), aval)
                continue
            params = {name: self.value(value) for name, value in eqn.params.items()}
            operands = read(eqn.invars)
            eqns.append(JaxprEqn(operands, bind(eqn.outvars), eqn.primitive, params, eqn.effects,
                                 eqn.source_info))
        return Jaxpr(constvars, invars, read(jaxpr.outvars), eqns, jaxpr.effects,
                     jaxpr.debug_info)

    def value(self, value: Any) -> Any:
        """A type or a parameter with its sizes evaluated; others stay as they are."""
        kind = type(value)
        if kind is DimExpr:
            return evaluate(value, self.values)
        if kind is ShapedArray:
            shape = tuple([evaluate(d, self.values) for d in value.shape])
            return value if shape == value.shape else value.update(shape=shape)
        if kind is ClosedJaxpr:
            return self.closed(value)
        if kind is Jaxpr:
            return self.jaxpr(value)
        if isinstance(value, tuple | list):
            items = [self.value(item) for item in value]
            return kind(*items) if hasattr(kind, "_fields") else kind(items)
        if kind is dict:
            return {key: self.value(item) for key, item in value.items()}
        if is_dataclass(kind) and kind.__module__.startswith("tanx."):
            return replace(value, **{f.name: self.value(getattr(value, f.name))
                                     for f in fields(value)})
        return value
