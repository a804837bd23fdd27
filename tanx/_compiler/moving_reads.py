"""Loops that cannot fit in registers: they read a large carry at positions that depend on the step.

If a loop runs in lanes, each element of a carry is a separate state. A sum along a carry, or a
slice of it whose start the loop computes, needs elements of other lanes. Finding that out by
building the expressions takes as long as building them; this module reads it off the equations. The
backward pass of a loop in a loop, 2,900 equations, would spend a third of its compile time on that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from .._core.flow import Choice, ForLoop, WhileLoop
from .._core.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
from .._core.primitive import Kind
from .bodies import is_control

__all__ = ["reads_move"]


def reads_move(flow: ForLoop | WhileLoop, used: Sequence[bool], most: int, least: int) -> bool:
    """Whether a loop of at least ``least`` equations reads carries, along dimensions of more than
    ``most`` elements, at positions that depend on the step.

    ``used`` says which results are needed; equations that only others need are skipped.
    """
    body = flow.body.jaxpr
    if _count(body) < least:
        return False
    first = flow.constants if isinstance(flow, ForLoop) else flow.body_constants
    carries = body.invars[first:first + _carried(flow)]
    wanted = _wanted(flow, used, carries)
    outs = [v for n, v in enumerate(body.outvars) if n in wanted]
    moving = {v for n, v in enumerate(carries) if n in wanted}
    return _moves(body, outs, {v for v in moving if v.aval.shape}, moving, most)


def _carried(flow: ForLoop | WhileLoop) -> int:
    return flow.carries if isinstance(flow, ForLoop) else len(flow.body.jaxpr.outvars)


def _count(jaxpr: Jaxpr) -> int:
    """How many equations there are, including nested ones."""
    return sum(1 + sum(map(_count, jaxprs_in_params(eqn.params))) for eqn in jaxpr.eqns)


def _needed(jaxpr: Jaxpr, outs: Iterable[Atom]) -> set[Atom]:
    """The atoms that results of a jaxpr depend on."""
    needed = set(outs)
    for eqn in reversed(jaxpr.eqns):
        if not needed.isdisjoint(eqn.outvars):
            needed.update(eqn.invars)
    return needed


def _wanted(flow: ForLoop | WhileLoop, used: Sequence[bool], carries: Sequence[Var]) -> set[int]:
    """The results of the body that the needed results depend on."""
    body = flow.body.jaxpr
    wanted = {n for n, is_used in enumerate(used) if is_used}
    if isinstance(flow, WhileLoop):
        asked = flow.condition.jaxpr
        needed = _needed(asked, asked.outvars)
        wanted.update(n for n, v in enumerate(asked.invars[flow.condition_constants:])
                      if v in needed)
    before = -1
    while before < len(wanted):
        before = len(wanted)
        needed = _needed(body, [body.outvars[n] for n in wanted])
        wanted.update(n for n, v in enumerate(carries) if v in needed)
    return wanted


def _moves(jaxpr: Jaxpr, outs: Iterable[Atom], whole: Collection[Atom], moving: Collection[Atom],
           most: int) -> bool:
    """Whether equations behind some results read arrays of ``whole``, which are elementwise
    carries, at positions that depend on the step; ``moving`` are the atoms that change from step to
    step."""
    needed, whole, moving = _needed(jaxpr, outs), set(whole), set(moving)
    for eqn in jaxpr.eqns:
        if needed.isdisjoint(eqn.outvars):
            continue
        if is_control(eqn):
            if _moves_inside(eqn, needed, whole, moving, most):
                return True
        elif _reads_elsewhere(eqn, whole, moving, most):
            return True
        if not moving.isdisjoint(eqn.invars):
            moving.update(eqn.outvars)
        if eqn.primitive.kind is Kind.ELEMENTWISE:
            shapes = {a.aval.shape for a in eqn.invars if a in whole}
            whole.update(v for v in eqn.outvars if v.aval.shape in shapes)
    return False


def _moves_inside(eqn: JaxprEqn, needed: Collection[Atom], whole: Collection[Atom],
                  moving: Collection[Atom], most: int) -> bool:
    """Whether a loop or branch in a body does so, on its own carries or on arrays of the body."""
    flow = eqn.primitive.flow(eqn.params)
    used = [v in needed for v in eqn.outvars]
    if not isinstance(flow, Choice):
        return reads_move(flow, used, most, 0)
    for branch in flow.branches:
        pairs = list(zip(branch.jaxpr.invars, eqn.invars[1:]))
        outs = [v for v, is_used in zip(branch.jaxpr.outvars, used) if is_used]
        if _moves(branch.jaxpr, outs, {v for v, a in pairs if a in whole},
                  {v for v, a in pairs if a in moving}, most):
            return True
    return False


def _reads_elsewhere(eqn: JaxprEqn, whole: Collection[Atom], moving: Collection[Atom],
                     most: int) -> bool:
    """Whether an equation reads elements of a whole array at other positions than its own."""
    if eqn.primitive.kind is Kind.REDUCTION:
        axes = eqn.params.get("axes", ())
        return any(x.aval.shape[d] > most for x in eqn.invars if x in whole for d in axes)
    if eqn.primitive.name != "dynamic_slice" or eqn.invars[0] not in whole:
        return False
    sizes, shape = eqn.params["slice_sizes"], eqn.invars[0].aval.shape
    return any(size < n and n > most and not isinstance(start, Literal) and start in moving
               for start, size, n in zip(eqn.invars[1:], sizes, shape))
