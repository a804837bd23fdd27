"""Reverse mode: run a linear jaxpr backwards, from cotangents of results to those of arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._core.explicit import Explicit, is_divided
from .._core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .._core.linear import Linear, Zero, instantiate
from .._core.refs import AbstractRef, Reference
from .._core.source import attributed_to
from .._core.stage import stage
from .._core.types import typeof
from .._ops.annotations import reshard_to
from .._ops.convert import convert
from .._ops.derive import sum_cotangents
from .._ops.refs import addupdate

__all__ = ["backward", "transpose_jaxpr"]


def backward(jaxpr: Jaxpr, residuals: Sequence[Any], args: Sequence[Any],
             cotangents: Sequence[Any], sums: Mapping[Var, Any] | None = None,
             as_given: bool = False, wanted: Sequence[bool] | None = None,
             refs: Sequence[Reference | None] = ()) -> list:
    """Cotangents of the arguments of a linear jaxpr, given those of its results.

    ``args`` holds :class:`Linear` for each argument to differentiate, and the values of known
    arguments; the result has None for the latter. Equations that do not depend on linear arguments
    are evaluated first. Zeros stay symbolic. ``sums`` holds cotangents to which those of some
    arguments are added.

    Users' rules may return cotangents of another dtype than that of the value. These are converted,
    but with ``as_given`` not if they are the whole cotangent of an argument. Such a rule runs even
    if other rules have returned no cotangent for its results: fp8 in flax reads scales from rules
    of functions whose results have none.

    Equations that lead only to arguments not ``wanted`` are skipped; the results for these
    arguments are meaningless.

    ``refs`` may have references for arguments: their cotangents are added to these, where possible
    only to the parts that equations depend on, and the results for these arguments are zero.
    """
    values: dict[Var, Any] = dict(zip(jaxpr.constvars, residuals, strict=True))
    values.update((v, x) for v, x in zip(jaxpr.invars, args, strict=True) if type(x) is not Linear)
    linear_vars = {v for v, x in zip(jaxpr.invars, args) if type(x) is Linear}
    targets = {v: ref for v, ref in zip(jaxpr.invars, refs) if ref is not None}
    # What is added between a read and a write of the whole content would be lost.
    in_the_end = bool(targets) and any(eqn.primitive.moves_contents for eqn in jaxpr.eqns)
    places = {} if in_the_end else targets
    arguments = linear_vars - targets.keys() if as_given else frozenset()
    needed = linear_vars if wanted is None else {
        v for v, want in zip(jaxpr.invars, wanted, strict=True) if want and v in linear_vars}
    linear_eqns = []
    for eqn in jaxpr.eqns:
        if any(type(a) is not Literal and a in linear_vars for a in eqn.invars):
            linear_vars.update(eqn.outvars)
            if eqn.effects or any(type(a) is not Literal and a in needed for a in eqn.invars):
                needed.update(eqn.outvars)
                linear_eqns.append(eqn)
        else:
            _evaluate(eqn, values)

    totals: dict[Var, Any] = dict(sums or {})
    for atom, ct in zip(jaxpr.outvars, cotangents, strict=True):
        _accumulate(totals, atom, ct, places)
    users = _users_rules(linear_eqns, totals)
    for eqn in reversed(linear_eqns):
        cts = [totals.pop(v, None) for v in eqn.outvars]
        if all(ct is None for ct in cts) and eqn not in users:
            continue
        cts = [Zero(v.aval.to_tangent()) if ct is None else ct for v, ct in zip(eqn.outvars, cts)]
        operands = [Linear(a.aval) if type(a) is not Literal and a in linear_vars
                    else _read(values, a) for a in eqn.invars]
        primitive = eqn.primitive
        with attributed_to(eqn.source_info):
            given = cts if primitive.multiple_results else cts[0]
            answers = _added(eqn, given, operands, places) if places else None
            if answers is None:
                answers = primitive.transpose(given, *operands, **eqn.params)
        for atom, operand, ct in zip(eqn.invars, operands, answers, strict=True):
            if type(operand) is Linear and ct is not None:
                if primitive.is_users and not (as_given and atom in arguments or atom.aval.is_high):
                    ct = _of_dtype(ct, atom.aval.dtype)
                if Explicit.seen and type(ct) is not Zero and not atom.aval.is_high:
                    ct = reshard_to(ct, atom.aval)
                _accumulate(totals, atom, ct, places)
    for v, ref in targets.items():
        if v in totals:
            addupdate(ref, None, totals.pop(v))
    return [totals.get(v, Zero(v.aval.to_tangent())) if v in linear_vars else None
            for v in jaxpr.invars]


def _users_rules(eqns: Sequence[JaxprEqn], results: Mapping[Var, Any]) -> set[JaxprEqn]:
    """Equations with a user's rule on which ``results`` depend."""
    if not any(eqn.primitive.is_users for eqn in eqns):
        return set()
    reached, found = set(results), set()
    for eqn in reversed(eqns):
        if not reached.isdisjoint(eqn.outvars):
            reached.update(a for a in eqn.invars if type(a) is not Literal)
            if eqn.primitive.is_users and not eqn.primitive.moves_contents:
                found.add(eqn)
    return found


def _read(values, atom):
    if type(atom) is Literal:
        return atom.again()
    return values[atom]


def _evaluate(eqn, values) -> None:
    out = eqn.primitive.bind(*(_read(values, a) for a in eqn.invars), **eqn.params)
    values.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=True))


def _added(eqn: JaxprEqn, cts, operands: Sequence[Any],
           places: Mapping[Any, Reference]) -> list | None:
    """Cotangents of operands, of which some are added to references; None if it is not possible.

    Over Explicit axes, only whole cotangents are moved to the sharding of their operand.
    """
    rule = eqn.primitive.transpose_into
    if rule is None or Explicit.seen and any(
            is_divided(a.aval) for a in (*eqn.invars, *eqn.outvars)):
        return None
    refs = [None if type(a) is Literal else places.get(a) for a in eqn.invars]
    return None if all(ref is None for ref in refs) else rule(refs, cts, *operands, **eqn.params)


def _accumulate(totals: dict, atom, ct, places: Mapping[Any, Reference]) -> None:
    if type(ct) is Zero or type(atom) is Literal:
        return
    if places and atom in places:
        addupdate(places[atom], None, ct)
        return
    if atom in totals:
        total = totals[atom]
        # They differ if one of them came from a user's rule.
        if not (atom.aval.is_high or typeof(total).matches(typeof(ct))):
            total, ct = (_of_dtype(x, atom.aval.dtype) for x in (total, ct))
        ct = sum_cotangents(total, ct)
    totals[atom] = ct


def _of_dtype(ct, dtype):
    return ct if type(ct) is Zero or typeof(ct).dtype == dtype else convert(ct, dtype)


def transpose_jaxpr(closed: ClosedJaxpr, linear: Sequence[bool], nonzero_cts: Sequence[bool],
                    places: Sequence[int | None] = (), ref_avals: Sequence[AbstractRef] = (),
                    instantiate_outs: Sequence[bool] | None = None,
                    ) -> tuple[ClosedJaxpr, list[bool]]:
    """The transpose of a closed jaxpr, as a closed jaxpr.

    It takes the known arguments, then the nonzero cotangents, and returns the nonzero cotangents of
    the ``linear`` arguments; the second result says which those are. With ``instantiate_outs`` zero
    cotangents are returned, too.

    With ``ref_avals``, references of these types come after the known arguments; ``places`` says
    to which of them the cotangent of each argument is added, and is not returned then.
    """
    jaxpr = closed.jaxpr
    known_avals = [v.aval for v, is_linear in zip(jaxpr.invars, linear) if not is_linear]
    ct_avals = [v.aval.to_tangent() for v in jaxpr.outvars]
    nonzero_out: list[bool] = []
    places, count = places or [None] * len(linear), len(known_avals)

    def fun(*args):
        known, refs = iter(args[:count]), args[count:count + len(ref_avals)]
        given = iter(args[count + len(ref_avals):])
        operands = [Linear(v.aval) if is_linear else next(known)
                    for v, is_linear in zip(jaxpr.invars, linear)]
        cts = [next(given) if nz else Zero(a) for a, nz in zip(ct_avals, nonzero_cts)]
        answers = backward(jaxpr, closed.consts, operands, cts,
                           refs=[None if at is None else refs[at] for at in places])
        wanted = [ct for ct, is_linear, at in zip(answers, linear, places)
                  if is_linear and at is None]
        asked = instantiate_outs or [False] * len(wanted)
        nonzero_out[:] = [w or type(ct) is not Zero for ct, w in zip(wanted, asked, strict=True)]
        return [instantiate(ct) for ct, nz in zip(wanted, nonzero_out) if nz]

    transposed, consts = stage(
        fun, [*known_avals, *ref_avals, *(a for a, nz in zip(ct_avals, nonzero_cts) if nz)])
    return ClosedJaxpr(transposed, consts), nonzero_out
