"""Loops under ``checkpoint`` with a policy: storing what the policy allows in each step.

A policy is called for equations, and those of a loop are in its body. So a scan with an unknown
part is split in three: the first runs now, and stacks the values that may be stored; the second
recomputes from them the other values that the third, the unknown part, needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._base.tuples import NamedTuple
from .._core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal, Var, eval_jaxpr
from .._core.rewrite import silent, substitute
from .._core.source import attributed_to
from .._core.stage import stage
from .loop_bodies import Parts, parts_of
from .scan import scan_p
from .sequences import kept, parted, split

__all__ = ["Exposed", "expose_loops"]


class Exposed(NamedTuple):
    """A jaxpr with split loops."""

    closed: ClosedJaxpr
    saved: list[Any]  # variables: stacks of values that may be stored
    again: dict[Any, Atom]  # for each result of a loop that runs now, the recomputed one


class _Known(NamedTuple):
    """The known part of a scan, with the values of its body that may be stored."""

    eqn: JaxprEqn
    parts: Parts
    values: list[Var]


def expose_loops(closed: ClosedJaxpr, unknown: Sequence[bool], policy: Callable) -> Exposed:
    """Split the scans of a jaxpr whose arguments are partly unknown."""
    jaxpr = closed.jaxpr
    if not any(eqn.primitive is scan_p for eqn in jaxpr.eqns):
        return Exposed(closed, [], {})
    saved: list[Any] = []
    first: list[Any] = []
    again: list[Any] = []

    def fun(*args):
        values: dict[Atom, Any] = dict(zip(jaxpr.constvars, closed.consts))
        values.update(zip(jaxpr.invars, args))
        late: set[Atom] = set(kept(jaxpr.invars, unknown))

        def read(atom: Atom):
            if type(atom) is Literal:
                return atom.again()
            return values[atom]

        for eqn in jaxpr.eqns:
            with attributed_to(eqn.source_info):
                which = [a in late for a in eqn.invars]
                operands = [read(a) for a in eqn.invars]
                known = _known_part(eqn, which, policy)
                if known is None:
                    out = eqn.primitive.bind(*operands, **eqn.params)
                    outs = out if eqn.primitive.multiple_results else [out]
                    flags = [any(which)] * len(outs)
                else:
                    outs, flags = _run(known, operands, which, saved, first, again)
            values.update(zip(eqn.outvars, outs, strict=True))
            late.update(kept(eqn.outvars, flags))
        return [*map(read, jaxpr.outvars), *saved, *first, *again]

    new, consts = stage(fun, closed.in_avals, jaxpr.debug_info)
    outs, stacks, now, later = split(new.outvars, len(jaxpr.outvars), len(saved), len(first))
    return Exposed(ClosedJaxpr(new.replace(outvars=outs), consts), stacks, dict(zip(now, later)))


def _known_part(eqn: JaxprEqn, unknown: Sequence[bool], policy: Callable) -> _Known | None:
    """The known part of a scan, if the policy allows to store any of it."""
    if eqn.primitive is not scan_p or not any(unknown):
        return None
    parts = parts_of(eqn.params["jaxpr"], eqn.params["num_consts"], eqn.params["num_carry"],
                     tuple(unknown))
    values = [v for e in parts.now.eqns for v in e.outvars
              if policy(e.primitive, *(a.aval for a in e.invars), **e.params)]
    return _Known(eqn, parts, values) if values else None


def _run(known: _Known, operands: Sequence[Any], unknown: Sequence[bool], saved: list,
         first: list, again: list) -> tuple[list[Any], list[bool]]:
    """Apply the three scans; returns the results of the original scan, and which are unknown."""
    eqn, parts, values = known
    params, now = eqn.params, parts.now
    rest = {name: params[name] for name in ("length", "reverse", "unroll")}
    count, num_carry = params["num_consts"], params["num_carry"]
    consts, late_consts = parted(operands[:count], unknown[:count])
    carry, late_carry = parted(operands[count:count + num_carry], parts.carry)
    xs, late_xs = parted(operands[count + num_carry:], unknown[count + num_carry:])
    fixed = [*consts, *eval_jaxpr(parts.before.jaxpr, parts.before.consts, *consts)]
    given = kept([*fixed, *carry, *xs], parts.used)
    rest_now = dict(rest, num_consts=sum(parts.used[:len(fixed)]), num_carry=len(carry))
    ends = [*[False] * len(carry), *parts.ys].count(False)

    storing, computing, left = _bodies(now, values, ends)
    results, stored = split(scan_p.bind(*given, jaxpr=storing, **rest_now), ends)
    repeated, made = split(scan_p.bind(*given, *stored, jaxpr=computing, **rest_now), ends)
    stacks = dict(zip(left, made)) | dict(zip(values, stored))
    read = [*xs, *repeated[len(carry):], *(stacks[v] for v in now.jaxpr.outvars[ends:])]
    late_consts = [*(fixed[i] for i in parts.fixed), *late_consts]
    later = iter(scan_p.bind(
        *late_consts, *late_carry, *late_xs, *(read[i] for i in parts.read), jaxpr=parts.later,
        num_consts=len(late_consts), num_carry=len(late_carry), **rest))
    saved += stored
    first += results
    again += repeated
    flags = [*parts.carry, *parts.ys]
    known_results = iter(results)
    return [next(later) if u else next(known_results) for u in flags], flags


def _bodies(now: ClosedJaxpr, values: Sequence[Var], ends: int,
            ) -> tuple[ClosedJaxpr, ClosedJaxpr, list[Atom]]:
    """The body that stacks ``values``, the one that reads them, and what the latter stacks."""
    jaxpr = now.jaxpr
    results, residuals = split(jaxpr.outvars, ends)
    left = [v for v in residuals if v not in values]
    storing = jaxpr.replace(outvars=[*results, *values])
    names: dict[Var, Atom] = {v: Var(v.aval) for v in values}
    missing = [e for e in jaxpr.eqns if not (e.outvars and names.keys() >= set(e.outvars))]
    computing = substitute(jaxpr.replace(outvars=[*results, *left], eqns=missing), names)
    again = computing.replace(invars=[*jaxpr.invars, *names.values()])
    return ClosedJaxpr(storing, now.consts), silent(ClosedJaxpr(again, now.consts)), left
