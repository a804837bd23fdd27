"""A traversal that replaces types and parameters in a jaxpr and all jaxprs inside of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from .jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

__all__ = ["Retyping"]


class Retyping:
    """Rewrites jaxprs by its methods ``part``, ``params`` and ``known``.

    A jaxpr that occurs several times is rewritten once; unchanged objects are shared.
    """

    def __init__(self) -> None:
        self._done: dict[int, Jaxpr] = {}

    # For subclasses.

    def part(self, value: Any) -> Any:
        """The new form of a type, or of a parameter without parts."""
        return value

    def params(self, eqn: JaxprEqn) -> dict[str, Any]:
        """The new parameters of an equation."""
        return {name: self.value(value) for name, value in eqn.params.items()}

    def known(self, eqn: JaxprEqn) -> Literal | None:
        """The number that replaces the result of a dropped equation; None to keep it."""
        return None

    # The traversal.

    def closed(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        """A closed jaxpr, rewritten."""
        jaxpr = self.jaxpr(closed.jaxpr)
        return closed if jaxpr is closed.jaxpr else ClosedJaxpr(jaxpr, closed.consts)

    def jaxpr(self, jaxpr: Jaxpr) -> Jaxpr:
        """A jaxpr, rewritten."""
        found = self._done.get(id(jaxpr))
        if found is None:
            found = self._done[id(jaxpr)] = self._rewritten(jaxpr)
        return found

    def value(self, value: Any) -> Any:
        """A type or a parameter, and all that it contains, rewritten."""
        kind = type(value)
        if kind is ClosedJaxpr:
            return self.closed(value)
        if kind is Jaxpr:
            return self.jaxpr(value)
        if isinstance(value, tuple | list):
            items = [self.value(item) for item in value]
            if all(a is b for a, b in zip(items, value)):
                return value
            return kind(*items) if hasattr(kind, "_fields") else kind(items)
        if kind is dict:
            made = {key: self.value(item) for key, item in value.items()}
            return value if all(made[key] is item for key, item in value.items()) else made
        if is_dataclass(kind) and kind.__module__.startswith("tanx."):
            changes = {f.name: new for f in fields(value)
                       if (new := self.value(old := getattr(value, f.name))) is not old}
            return replace(value, **changes) if changes else value
        return self.part(value)

    def _rewritten(self, jaxpr: Jaxpr) -> Jaxpr:
        names: dict[Atom, Atom] = {}

        def bind(variables: Iterable[Var]) -> list:
            for v in variables:
                aval = self.value(v.aval)
                if aval is not v.aval:
                    names[v] = type(v)(aval)
            return read(variables)

        def read(atoms: Iterable[Atom]) -> list:
            return [x if type(x) is Literal else names.get(x, x) for x in atoms]

        constvars, invars = bind(jaxpr.constvars), bind(jaxpr.invars)
        eqns = []
        for eqn in jaxpr.eqns:
            number = self.known(eqn)
            if number is not None:
                names[eqn.outvars[0]] = number
                continue
            params, operands, results = self.params(eqn), read(eqn.invars), bind(eqn.outvars)
            same = all(a is b for a, b in zip(
                (*params.values(), *operands, *results),
                (*eqn.params.values(), *eqn.invars, *eqn.outvars), strict=True))
            eqns.append(eqn if same else eqn.replace(
                invars=operands, outvars=results, params=params))
        if not names and all(a is b for a, b in zip(eqns, jaxpr.eqns, strict=True)):
            return jaxpr
        return Jaxpr(constvars, invars, read(jaxpr.outvars), eqns, jaxpr.effects, jaxpr.debug_info)
