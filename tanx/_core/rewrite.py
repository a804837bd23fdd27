"""Rewrite jaxprs: substitute, inline, drop dead code, move constants.

Pure functions: they build new jaxprs and share unchanged parts with the old ones. Each is one
sweep, O(equations). Inner jaxprs do not see the variables around them, so rewrites of variables
do not enter them; dead code elimination does, by the method ``dce`` of primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from .jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var, cached_by_jaxpr

__all__ = ["constvars_to_invars", "dce", "dce_closed", "fresh", "inline_calls",
           "prune_constants", "silent", "substitute", "with_their_needs"]


def _renamed(atoms: Iterable[Atom], names: Mapping[Var, Atom]) -> list[Atom]:
    return [names.get(atom, atom) if isinstance(atom, Var) else atom for atom in atoms]


def substitute(jaxpr: Jaxpr, names: Mapping[Var, Atom]) -> Jaxpr:
    """Replace reads of variables by others or by literals; bindings are unchanged."""
    eqns = [eqn.replace(invars=_renamed(eqn.invars, names))
            if any(atom in names for atom in eqn.invars) else eqn for eqn in jaxpr.eqns]
    return jaxpr.replace(eqns=eqns, outvars=_renamed(jaxpr.outvars, names), effects=jaxpr.effects)


def fresh(jaxpr: Jaxpr) -> Jaxpr:
    """The same jaxpr with new variables."""
    names: dict[Var, Var] = {}

    def bind(variables: Iterable[Var]) -> list[Var]:
        new = [(var, type(var)(var.aval)) for var in variables]
        names.update(new)
        return [copy for _, copy in new]

    constvars, invars = bind(jaxpr.constvars), bind(jaxpr.invars)
    eqns = [eqn.replace(invars=_renamed(eqn.invars, names), outvars=bind(eqn.outvars))
            for eqn in jaxpr.eqns]
    return Jaxpr(constvars, invars, _renamed(jaxpr.outvars, names), eqns, jaxpr.effects,
                 jaxpr.debug_info)


def constvars_to_invars(jaxpr: Jaxpr) -> Jaxpr:
    """Take the constants as leading arguments."""
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])


def with_their_needs(wanted: Iterable[JaxprEqn],
                     makers: Mapping[Atom, JaxprEqn]) -> dict[JaxprEqn, None]:
    """Equations and the ``makers`` of variables that they need (an ordered set)."""
    found = dict.fromkeys(wanted)
    stack = list(found)
    while stack:
        for atom in stack.pop().invars:
            maker = makers.get(atom)
            if maker is not None and maker not in found:
                found[maker] = None
                stack.append(maker)
    return found


def prune_constants(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Drop the constants that nothing reads."""
    jaxpr = closed.jaxpr
    used = {atom for eqn in jaxpr.eqns for atom in eqn.invars}.union(jaxpr.outvars)
    kept = [(var, value) for var, value in zip(jaxpr.constvars, closed.consts) if var in used]
    if len(kept) == len(closed.consts):
        return closed
    return ClosedJaxpr(jaxpr.replace(constvars=[var for var, _ in kept]),
                       [value for _, value in kept])


def dce(jaxpr: Jaxpr, used_outputs: Sequence[bool]) -> tuple[Jaxpr, list[bool]]:
    """Keep the used outputs and the equations that they, or effects, need; which inputs are used.

    The returned jaxpr still binds all its inputs and constants; it is the same object if nothing
    could be dropped. A primitive may have a method ``dce(used_outs, eqn)`` that returns which
    operands it still needs, and an equation of those operands and the used results only.
    """
    outvars = [atom for atom, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    live: set[Atom] = set(outvars)
    eqns: list[JaxprEqn] = []
    changed = len(outvars) < len(jaxpr.outvars)
    for eqn in reversed(jaxpr.eqns):
        used = [var in live for var in eqn.outvars]
        if not any(used) and not any(effect.observable for effect in eqn.effects):
            changed = True
            continue
        smaller = eqn
        prune = getattr(eqn.primitive, "dce", None)
        if prune is not None:
            _, smaller = prune(used, eqn)
            changed = changed or smaller is not eqn
            if smaller is None:  # a library's rule found that it is not needed
                continue
        eqns.append(smaller)
        live.update(smaller.invars)
    if changed:
        jaxpr = jaxpr.replace(outvars=outvars, eqns=eqns[::-1])
    return jaxpr, [var in live for var in jaxpr.invars]


def dce_closed(closed: ClosedJaxpr, used_outputs: Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
    """The body of a call without dead code, and which of its inputs it still takes.

    Unlike :func:`dce` it binds only the inputs and constants that are used. Results are cached by
    body, so that calls of the same body still share one afterwards.
    """
    smaller, used_inputs = _dce_body(closed, tuple(used_outputs))
    return closed if smaller is None else smaller, list(used_inputs)


@cached_by_jaxpr
def _dce_body(closed: ClosedJaxpr, used_outputs: tuple[bool, ...],
              ) -> tuple[ClosedJaxpr | None, list[bool]]:
    """As :func:`dce_closed`, with None for no change: a cached value must not hold its key."""
    jaxpr, used = dce(closed.jaxpr, used_outputs)
    if jaxpr is closed.jaxpr and all(used):
        return None, used
    jaxpr = jaxpr.replace(invars=[var for var, is_used in zip(jaxpr.invars, used) if is_used])
    return prune_constants(ClosedJaxpr(jaxpr, closed.consts)), used


def inline_calls(closed: ClosedJaxpr, body: Callable[[JaxprEqn], ClosedJaxpr | None],
                 ) -> ClosedJaxpr:
    """Inline called jaxprs, including nested ones.

    ``body`` returns, for an equation, the jaxpr it calls on its operands, or None to keep it. Each
    copy gets new variables; constants of the bodies become constants of the result, one for each
    object.
    """
    constvars, consts = list(closed.jaxpr.constvars), list(closed.consts)
    constants = {id(value): var for var, value in zip(constvars, consts)}
    eqns: list[JaxprEqn] = []

    def constant(var: Var, value) -> Var:
        if id(value) not in constants:
            constants[id(value)] = Var(var.aval)
            constvars.append(constants[id(value)])
            consts.append(value)
        return constants[id(value)]

    def sweep(jaxpr: Jaxpr, names: dict[Var, Atom], copied: bool) -> list[Atom]:
        """Append the equations, reading ``names``; the results."""
        for eqn in jaxpr.eqns:
            invars = _renamed(eqn.invars, names)
            inner = body(eqn)
            if inner is not None:
                given: dict[Var, Atom] = dict(zip(inner.jaxpr.invars, invars, strict=True))
                given.update((var, constant(var, value))
                             for var, value in zip(inner.jaxpr.constvars, inner.consts))
                names.update(zip(eqn.outvars, sweep(inner.jaxpr, given, True), strict=True))
                continue
            outvars = [type(v)(v.aval) for v in eqn.outvars] if copied else eqn.outvars
            names.update(zip(eqn.outvars, outvars))
            eqns.append(eqn.replace(invars=invars, outvars=outvars))
        return _renamed(jaxpr.outvars, names)

    outvars = sweep(closed.jaxpr, {}, False)
    return ClosedJaxpr(closed.jaxpr.replace(constvars=constvars, outvars=outvars, eqns=eqns),
                       consts)


def silent(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same function for running it again: without equations that have only effects.

    Those of inner jaxprs are dropped as well. Effects of equations with results stay.
    """
    if not any(effect.observable for effect in closed.effects):
        return closed
    return _silenced(closed)


@cached_by_jaxpr
def _silenced(closed: ClosedJaxpr) -> ClosedJaxpr:
    eqns = []
    for eqn in closed.eqns:
        if any(effect.observable for effect in eqn.effects):
            if not eqn.outvars:
                continue
            params = {name: _silent_parameter(value) for name, value in eqn.params.items()}
            effects = eqn.primitive.effects(*(atom.aval for atom in eqn.invars), **params)
            eqn = eqn.replace(params=params, effects=effects)
        eqns.append(eqn)
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


def _silent_parameter(value):
    if isinstance(value, tuple):
        return getattr(value, "_make", tuple)(map(_silent_parameter, value))
    return silent(value) if isinstance(value, ClosedJaxpr) else value
