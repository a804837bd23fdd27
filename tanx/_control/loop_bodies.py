"""Transformations of loop bodies: derivatives, batches, partial evaluation, dead code.

A body takes consts, carry and one slice of each of the xs, and returns carry and ys; the body of a
``while_loop`` has neither xs nor ys. The carries that take part in a transformation are found by
repeating it until its carries agree before and after a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._base.tuples import NamedTuple
from .._core.high import MappingSpec
from .._core.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, Var, cached_by_jaxpr
from .._core.linear import Linear, Zero, instantiate
from .._core.refs import AbstractRef
from .._core.rewrite import dce, prune_constants, substitute
from .._core.stage import stage
from .._core.types import ShapedArray
from .._transforms.jvp import jvp_jaxpr
from .._transforms.linearize import partial_eval_jaxpr
from .._transforms.transpose import backward
from .._transforms.vmap import batch_jaxpr
from ..errors import explain
from .sequences import kept, paired, parted, reordered, split

__all__ = ["Parts", "backward_step", "batched_step", "check_mapping", "forward_step", "forwarding",
           "parts_of", "pruned"]


@cached_by_jaxpr
def forward_step(closed: ClosedJaxpr, num_consts: int, num_carry: int, nonzero: tuple[bool, ...],
                 ) -> tuple[ClosedJaxpr, list[bool]]:
    """The body of the derivative, and which results have a tangent."""
    consts, carry, xs = split(nonzero, num_consts, num_carry)
    while True:
        more = [*carry, *[False] * (len(closed.jaxpr.outvars) - num_carry)]
        body, found = jvp_jaxpr(closed, (*consts, *carry, *xs), more)
        if found[:num_carry] == carry:
            break
        carry = found[:num_carry]
    return reordered(body, paired([*consts, *carry, *xs], num_consts, num_carry),
                     paired(found, num_carry)), found


class Parts(NamedTuple):
    """A scan split in two: one over known values, run now, and one that a trace records for later.

    The residuals, values that the later scan needs, are constant or are read step by step.
    """

    before: ClosedJaxpr  # from known consts to residuals that are the same in each step
    now: ClosedJaxpr  # takes the used ones of: known consts, those residuals, carry, xs
    used: list[bool]
    later: ClosedJaxpr
    carry: list[bool]  # which carries are unknown
    ys: list[bool]
    fixed: list[int]  # constants of the later scan: positions among known consts and ``before``
    read: list[int]  # xs of the later scan: positions among known xs, ys and stacks


@cached_by_jaxpr
def parts_of(closed: ClosedJaxpr, num_consts: int, num_carry: int, unknown: tuple[bool, ...],
             ) -> Parts:
    """Split a body in two. The recorded part stays linear in the unknown values."""
    consts, carry, xs = split(unknown, num_consts, num_carry)
    num_ys = len(closed.jaxpr.outvars) - num_carry
    while True:
        known, later, which, forwarded = partial_eval_jaxpr(
            closed, (*consts, *carry, *xs), [*carry, *[False] * num_ys])
        if which[:num_carry] == carry:
            break
        carry = which[:num_carry]
    jaxpr = known.jaxpr
    counts = consts.count(False), carry.count(False)
    given_consts, given_carry, given_xs = split(jaxpr.invars, *counts)
    outs, computed = split(jaxpr.outvars, which.count(False))
    made = iter(computed)
    residuals = [next(made) if i is None else jaxpr.invars[i] for i in forwarded]
    invariant = _invariant(jaxpr, given_consts)
    same = [type(v) is Literal or v in invariant for v in residuals]
    hoisted = list(dict.fromkeys(
        v for v, s in zip(residuals, same) if s and v not in given_consts))
    # Some values that change from step to step are read or stacked in any case.
    fixed, read = [*given_consts, *hoisted], [*given_xs, *outs[counts[1]:]]
    stacked = list(dict.fromkeys(
        v for v, s in zip(residuals, same) if not s and v not in read))
    read += stacked
    order = sorted(range(len(residuals)), key=lambda i: not same[i])
    count = sum(same)
    rest = range(len(residuals), len(later.jaxpr.invars))
    unknown_first = [*order[:count], *rest, *order[count:]]
    names: dict[Any, Var] = {v: Var(v.aval) for v in hoisted}
    loop = substitute(jaxpr.replace(outvars=[*outs, *stacked]), names)
    loop, used = dce(loop.replace(invars=[*given_consts, *names.values(), *given_carry, *given_xs]),
                     [True] * len(loop.outvars))
    used[len(fixed):len(fixed) + len(given_carry)] = [True] * len(given_carry)
    pure = [e for e in jaxpr.eqns if not any(effect.observable for effect in e.effects)]
    before, _ = dce(jaxpr.replace(invars=given_consts, outvars=hoisted, eqns=pure),
                    [True] * len(hoisted))
    return Parts(
        prune_constants(ClosedJaxpr(before, known.consts)),
        prune_constants(ClosedJaxpr(loop.replace(invars=kept(loop.invars, used)), known.consts)),
        used, reordered(later, unknown_first, range(len(later.jaxpr.outvars))), carry,
        which[num_carry:], [fixed.index(residuals[i]) for i in order[:count]],
        [read.index(residuals[i]) for i in order[count:]])


def _invariant(jaxpr: Jaxpr, fixed: Sequence[Var]) -> set[Atom]:
    """The variables that are the same in each step, given the ones among the inputs."""
    found: set[Atom] = {*jaxpr.constvars, *fixed}
    for eqn in jaxpr.eqns:
        if not eqn.effects and all(type(a) is Literal or a in found for a in eqn.invars):
            found.update(eqn.outvars)
    return found


@cached_by_jaxpr
def backward_step(closed: ClosedJaxpr, num_consts: int, num_carry: int, linear: tuple[bool, ...],
                  nonzero: tuple[bool, ...], weak: tuple[bool, ...],
                  places: tuple[int | None, ...] = (), ref_avals: tuple[AbstractRef, ...] = (),
                  ) -> tuple[ClosedJaxpr, list[bool]]:
    """The transposed body, and which cotangents it returns: of linear consts, carry and xs.

    It takes the known consts; then, as its carry, the sums of cotangents of consts so far and
    cotangents of the carry; then cotangents of ys, and the known xs. Only nonzero cotangents are
    passed; ``weak`` says which of them have a weak type.

    With ``ref_avals``, references of these types come after the known consts; ``places`` says to
    which of them the cotangent of each const is added, and is not returned then.
    """
    consts, _, xs = split(linear, num_consts, num_carry)
    carry, ys = split(nonzero, num_carry)
    places = places or (None,) * num_consts
    sums = [at is None for at in kept(places, consts)]
    closed = _settled(closed, num_consts, num_carry)
    ct_avals = [a.to_tangent().update_weak_type(w) for a, w in zip(closed.out_avals, weak)]
    while True:
        body, found = _transposed(closed, consts, xs, sums, [*carry, *ys], ct_avals, places,
                                  ref_avals)
        more, grown, read = split(found, len(sums), num_carry)
        grown = [a or b for a, b in zip(carry, grown)]
        if (more, grown) == (sums, carry):
            return body, [*sums, *carry, *read]
        sums, carry = more, grown


def _settled(closed: ClosedJaxpr, num_consts: int, num_carry: int) -> ClosedJaxpr:
    """The body, with weak carries only where it returns weak ones."""
    jaxpr = closed.jaxpr
    carry = jaxpr.invars[num_consts:num_consts + num_carry]
    names: dict[Var, Atom] = {v: Var(v.aval.strip_weak_type()) for v, end in zip(
        carry, jaxpr.outvars) if v.aval.weak_type and not end.aval.weak_type}
    return ClosedJaxpr(substitute(jaxpr, names).replace(
        invars=[names.get(v, v) for v in jaxpr.invars]), closed.consts)


def _transposed(closed: ClosedJaxpr, consts: Sequence[bool], xs: Sequence[bool],
                sums: Sequence[bool], nonzero: Sequence[bool], ct_avals: Sequence[ShapedArray],
                places: Sequence[int | None], ref_avals: Sequence[AbstractRef],
                ) -> tuple[ClosedJaxpr, list[bool]]:
    """A transposed body, and which cotangents are nonzero.

    ``consts`` and ``xs`` say which are linear; ``sums``, which linear consts have sums of
    cotangents; ``nonzero``, which results have cotangents. For ``places`` and ``ref_avals`` see
    :func:`backward_step`.
    """
    jaxpr = closed.jaxpr
    num_carry = len(jaxpr.invars) - len(consts) - len(xs)
    const_vars, carry_vars, x_vars = split(jaxpr.invars, len(consts), num_carry)
    (known_consts, linear_consts), (known_xs, linear_xs) = (
        parted(const_vars, consts), parted(x_vars, xs))
    summed = kept(linear_consts, sums)
    given = kept(ct_avals, nonzero)
    found: list[bool] = []

    def fun(*args):
        fixed, refs, totals, cts, read = split(args, len(known_consts), len(ref_avals),
                                               len(summed), len(given))
        values = dict(zip([*known_consts, *known_xs], [*fixed, *read]))
        start, left = dict(zip(summed, totals)), iter(cts)
        answers = dict(zip(jaxpr.invars, backward(
            jaxpr, closed.consts, [values.get(v, Linear(v.aval)) for v in jaxpr.invars],
            [next(left) if nz else Zero(a) for a, nz in zip(ct_avals, nonzero)], start,
            refs=[None if at is None else refs[at] for at in places])))
        found[:] = [type(answers[v]) is not Zero and answers[v] is not start.get(v)
                    for v in (*linear_consts, *carry_vars, *linear_xs)]
        return [*(answers[v] for v in summed),
                *(instantiate(answers[v]) for v in kept(carry_vars, nonzero[:num_carry])),
                *(answers[v] for v in linear_xs if type(answers[v]) is not Zero)]

    transposed, constants = stage(fun, [
        *(v.aval for v in known_consts), *ref_avals, *(v.aval.to_tangent() for v in summed), *given,
        *(v.aval for v in known_xs)])
    return ClosedJaxpr(transposed, constants), found


@cached_by_jaxpr
def batched_step(closed: ClosedJaxpr, num_consts: int, num_carry: int, axis,
                 dims: tuple) -> tuple[ClosedJaxpr, list]:
    """The body over a batch, and where results have the batch axis.

    The axis is in front, or there is none; high types define how their values are mapped.
    """
    consts, carry, xs = split(dims, num_consts, num_carry)
    while True:
        more = [*(d is not None for d in carry),
                *[False] * (len(closed.jaxpr.outvars) - num_carry)]
        body, out = batch_jaxpr(closed, axis, [*consts, *carry, *xs], more)
        if out[:num_carry] == carry:
            return body, out
        check_mapping(dims[num_consts:num_consts + num_carry], out)
        carry = out[:num_carry]


def check_mapping(start: Sequence[Any], end: Sequence[Any]) -> None:
    """Check that a step does not change how carries of high types are mapped."""
    for before, after in zip(start, end):
        if isinstance(before, MappingSpec) and before != after:
            raise NotImplementedError(explain(
                "tanx.vmap", "a carry of a high type must be mapped the same way before and after "
                "a step of a loop.", f"before: {before}", f"after:  {after}"))


@cached_by_jaxpr
def pruned(closed: ClosedJaxpr, num_consts: int, num_carry: int, used: tuple[bool, ...],
           ) -> tuple[ClosedJaxpr | None, list[bool], list[bool]]:
    """The body without dead code (None if it has none), and the remaining operands and results."""
    carry, ys = split(used, num_carry)
    while True:
        jaxpr, found = dce(closed.jaxpr, [*carry, *ys])
        consts, needed, xs = split(found, num_consts, num_carry)
        grown = [a or b for a, b in zip(carry, needed)]
        if grown == carry:
            break
        carry = grown
    ins, outs = [*consts, *carry, *xs], [*carry, *ys]
    if jaxpr is closed.jaxpr and all(ins):
        return None, ins, outs
    jaxpr = jaxpr.replace(invars=kept(jaxpr.invars, ins))
    return prune_constants(ClosedJaxpr(jaxpr, closed.consts)), ins, outs


@cached_by_jaxpr
def forwarding(closed: ClosedJaxpr, num_consts: int, num_carry: int,
               ) -> tuple[ClosedJaxpr | None, list[bool], list[int | None]]:
    """The body without carries that never change and without ys that are xs.

    Such carries come first among its consts. Returns that body (None if it is the same), which
    carries they are, and for each of the ys which of the xs it is, if any.
    """
    jaxpr = closed.jaxpr
    consts, carry, xs = split(jaxpr.invars, num_consts, num_carry)
    ends, ys = split(jaxpr.outvars, num_carry)
    stays = [start is end for start, end in zip(carry, ends)]
    sources = [xs.index(y) if y in xs else None for y in ys]
    if not any(stays) and all(i is None for i in sources):
        return None, stays, sources
    moving, fixed = parted(carry, stays)
    outs = [*kept(ends, [not s for s in stays]), *(y for y, i in zip(ys, sources) if i is None)]
    return ClosedJaxpr(jaxpr.replace(invars=[*fixed, *consts, *moving, *xs], outvars=outs),
                       closed.consts), stays, sources
