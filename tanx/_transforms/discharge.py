"""Discharge: functions that read and write references as functions from values to values.

A jaxpr is run once more while every reference is a :class:`~tanx._core.cells.Cell`. Reads and
writes are then operations on values, and the recorded jaxpr has no references: it takes the
contents of references that were arguments, and returns, after its results, the contents it wrote.

Loops carry the contents they write to, so these are updated in place, like any carry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from .._base.tuples import NamedTuple
from .._core.cells import Cell, check_writable
from .._core.effects import has_ref_effects
from .._core.flow import Choice, ForLoop, WhileLoop
from .._core.jaxpr import ClosedJaxpr, cached_by_jaxpr, eval_jaxpr, jaxprs_in_params
from .._core.refs import NO_GRADIENT, AbstractRef, Reference, check_distinct, is_ref
from .._core.stage import stage
from .._core.trace import Trace, context, running
from .._core.types import ShapedArray
from .._ops.convert import stop_gradient
from ..errors import explain

__all__ = ["DischargeTrace", "Discharged", "content_type", "contents", "discharge", "is_stateful",
           "late_type", "run_call", "run_flow", "stateful_use", "store", "without_refs"]


class DischargeTrace(Trace):
    """Holds the cells of a function; passes everything else to the trace below."""

    __slots__ = ()
    below: Trace

    def process(self, primitive, args, params):
        with running(self.below):
            return self.below.process(primitive, args, params)


class Discharged(NamedTuple):
    """A function without references."""

    closed: ClosedJaxpr  # takes contents for references; returns results, then contents
    written: tuple[int, ...]  # which of the arguments those contents are of


def is_stateful(closed: ClosedJaxpr) -> bool:
    """Whether a function takes references, or creates some."""
    return has_ref_effects(closed.effects) or any(
        type(v.aval) is AbstractRef for v in closed.jaxpr.invars)


def stateful_use(args: Sequence, params: dict[str, Any]) -> bool:
    """Whether references are among the operands, or in the functions, of a use of a primitive."""
    for x in args:
        if isinstance(x, Reference):
            return True
    return any(jaxpr.effects and has_ref_effects(jaxpr.effects)
               for jaxpr in jaxprs_in_params(params))


@cached_by_jaxpr
def discharge(closed: ClosedJaxpr, also: tuple[int, ...] = (),
              late: tuple[int, ...] = ()) -> Discharged:
    """A function without references; contents at ``also`` are returned even if unchanged.

    References at ``late`` have late values (:mod:`tanx._control.late`), which are the last
    arguments and the last results.
    """
    jaxpr = closed.jaxpr
    count = len(jaxpr.invars)
    changed: tuple[int, ...] = ()

    def fun(*values):
        nonlocal changed
        trace = DischargeTrace(context.trace)
        behind = dict(zip(late, values[count:]))
        args = [Cell(trace, x, v.aval, behind.get(i)) if type(v.aval) is AbstractRef else x
                for i, (x, v) in enumerate(zip(values, jaxpr.invars))]
        with running(trace):
            outs = eval_jaxpr(jaxpr, closed.consts, *args)
        changed = tuple(i for i, x in enumerate(args)
                        if isinstance(x, Cell) and (x.written or i in also))
        return [*outs, *(args[i].content for i in changed), *(args[i].late for i in late)]

    types = [content_type(v.aval) for v in jaxpr.invars]
    pure, consts = stage(fun, [*types, *(late_type(types[i]) for i in late)], jaxpr.debug_info)
    return Discharged(ClosedJaxpr(pure, consts), changed)


def without_refs(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A function on contents, if it is one on references; itself otherwise."""
    return discharge(closed).closed if is_stateful(closed) else closed


def content_type(aval):
    """The type of a value, or of the content of a reference."""
    return aval.inner_aval if type(aval) is AbstractRef else aval


def late_type(aval: ShapedArray) -> ShapedArray:
    """The type of the late value of a reference: it has a derivative, and can hold the content.

    Integers of 32 and 64 bits are split into pieces of 16 bits along a leading axis.
    """
    if dtypes.issubdtype(aval.dtype, np.inexact):
        return aval
    wide = aval.dtype.itemsize // 2 if aval.dtype.itemsize > 2 else 1
    shape = (wide, *aval.shape) if wide > 1 else aval.shape
    return ShapedArray(shape, np.dtype(np.float32))


def contents(args: Iterable) -> list:
    """Operands with references replaced by their contents."""
    return [x.load() if is_ref(x) else x for x in args]


def store(refs: Sequence, values: Sequence) -> None:
    """Write new contents to references; references without a derivative take only values."""
    for ref, value in zip(refs, values, strict=True):
        check_writable(ref)
        ref.store(stop_gradient(value) if ref.aval.kind == NO_GRADIENT else value)


def run_flow(primitive, args: Sequence, params: dict[str, Any], flow,
             late: Mapping[int, Any] = {}) -> list:
    """Apply a loop or a choice whose functions use references.

    ``late`` has late values of operands, by position; the new ones come after the results.
    """
    if isinstance(flow, ForLoop):
        return _run_for(primitive, args, params, flow, late)
    if isinstance(flow, WhileLoop):
        return _run_while(primitive, args, params, flow, late)
    return _run_choice(primitive, args, params, flow, late)


# -- loops over rows -------------------------------------------------------------------------------


@cached_by_jaxpr
def _step(body: ClosedJaxpr, constants: int, carries: int, late: tuple[int, ...],
          ) -> tuple[ClosedJaxpr, tuple[int, ...], tuple[int, ...]]:
    """The body on contents; which constants it writes to, and so carries, and which rows it writes.

    Contents of such constants come first among its carries, then the late values of constants;
    contents of rows come last among its results.
    """
    pure, written = discharge(body, (), late)
    jaxpr = pure.jaxpr
    given = len(body.jaxpr.invars)
    carried = tuple(i for i in written if i < constants)
    rows = tuple(i for i in written if i >= constants + carries)
    count = len(body.jaxpr.outvars)
    ends = dict(zip(written, jaxpr.outvars[count:]))
    invars = [*(v for i, v in enumerate(jaxpr.invars[:constants]) if i not in carried),
              *(jaxpr.invars[i] for i in carried), *jaxpr.invars[given:],
              *jaxpr.invars[constants:given]]
    outvars = [*(ends[i] for i in carried), *jaxpr.outvars[len(jaxpr.outvars) - len(late):],
               *jaxpr.outvars[:count], *(ends[i] for i in rows)]
    return ClosedJaxpr(jaxpr.replace(invars=invars, outvars=outvars), pure.consts), carried, rows


def _run_for(primitive, args: Sequence, params: dict[str, Any], flow: ForLoop,
             late: Mapping[int, Any]) -> list:
    check_distinct(f"tanx.lax.{primitive.name}", args)
    constants = flow.constants
    moving = {i: x for i, x in late.items() if i < constants}
    body, carried, rows = _step(flow.body, constants, flow.carries, tuple(moving))
    values = contents(args)
    operands = [*(x for i, x in enumerate(values[:constants]) if i not in carried),
                *(values[i] for i in carried), *moving.values(), *values[constants:]]
    first = len(carried) + len(moving)
    outs = primitive.bind(*operands, **primitive.with_flow(params, flow._replace(
        body=body, constants=constants - len(carried), carries=flow.carries + first)))
    last = len(outs) - len(rows)
    store([args[i] for i in (*carried, *rows)], [*outs[:len(carried)], *outs[last:]])
    ends = dict(zip(moving, outs[len(carried):first]))
    return [*outs[first:last], *(ends.get(i, x) for i, x in late.items())]


# -- loops with a condition ------------------------------------------------------------------------


@cached_by_jaxpr
def _turn(body: ClosedJaxpr, condition: ClosedJaxpr, body_refs: tuple[int | None, ...],
          condition_refs: tuple[int | None, ...], late: tuple[int, ...],
          ) -> tuple[WhileLoop, tuple[int, ...]]:
    """The loop on contents, and the numbers of the references that it writes to.

    ``body_refs`` and ``condition_refs`` have an entry for each constant: the number of the
    reference that it is, or None. Contents that are written to lead the carries, then come the late
    values of the constants of the body at ``late``.
    """
    step, written = discharge(body, (), late)
    test, tested = discharge(condition)
    if tested:
        raise NotImplementedError(explain(
            "tanx.lax.while_loop", "the condition writes to a reference.",
            hint="write to it in the body."))
    changed = tuple(body_refs[i] for i in written)
    moving = [step.in_avals[i] for i in written]
    given, count = len(body.jaxpr.invars), len(body.jaxpr.outvars)
    behind = step.in_avals[given:]

    def arranged(pure: ClosedJaxpr, refs: tuple[int | None, ...]) -> tuple[ClosedJaxpr, int]:
        stays = [n is None or n not in changed for n in refs]
        constants = sum(stays)

        def fun(*args):
            fixed, leading = iter(args[:constants]), dict(zip(changed, args[constants:]))
            start = constants + len(changed)
            lates, carry = args[start:start + len(late)], args[start + len(late):]
            outs = eval_jaxpr(pure.jaxpr, pure.consts, *(
                next(fixed) if stay else leading[n] for n, stay in zip(refs, stays)), *carry,
                *(lates if pure is step else ()))
            return [*outs[count:], *outs[:count]] if pure is step else outs

        avals = [a for a, stay in zip(pure.in_avals, stays) if stay]
        carry = pure.in_avals[len(refs):given] if pure is step else pure.in_avals[len(refs):]
        jaxpr, consts = stage(fun, [*avals, *moving, *behind, *carry], pure.jaxpr.debug_info)
        return ClosedJaxpr(jaxpr, consts), constants

    return WhileLoop(*arranged(test, condition_refs), *arranged(step, body_refs)), changed


def _run_while(primitive, args: Sequence, params: dict[str, Any], flow: WhileLoop,
               late: Mapping[int, Any]) -> list:
    refs = list({id(x): x for x in args if is_ref(x)}.values())
    number = {id(x): n for n, x in enumerate(refs)}
    tested, constants, carry = flow.split(args)
    first = len(tested)
    kept = {i: x for i, x in late.items() if first <= i < first + len(constants)}
    new, changed = _turn(flow.body, flow.condition, *(
        tuple(number.get(id(x)) for x in part) for part in (constants, tested)),
        tuple(i - first for i in kept))
    moving = [refs[n] for n in changed]
    stays = [contents(x for x in part if not (is_ref(x) and number[id(x)] in changed))
             for part in (tested, constants)]
    outs = primitive.bind(*stays[0], *stays[1], *contents(moving), *kept.values(), *carry,
                          **primitive.with_flow(params, new))
    count = len(moving) + len(kept)
    store(moving, outs[:len(moving)])
    ends = dict(zip(kept, outs[len(moving):count]))
    return [*outs[count:], *(ends.get(i, x) for i, x in late.items())]


# -- choices and calls -----------------------------------------------------------------------------


def _run_choice(primitive, args: Sequence, params: dict[str, Any], flow: Choice,
                late: Mapping[int, Any]) -> list:
    """Apply a choice; all branches return the contents that any of them writes to."""
    check_distinct(f"tanx.lax.{primitive.name}", args)
    changed = tuple(sorted({i for branch in flow.branches for i in discharge(branch).written}))
    behind = tuple(i - 1 for i in late)
    branches = tuple(discharge(branch, changed, behind).closed for branch in flow.branches)
    outs = primitive.bind(*contents(args), *late.values(),
                          **primitive.with_flow(params, Choice(branches)))
    return _stored([args[1 + i] for i in changed], outs, len(late))


def run_call(primitive, args: Sequence, params: dict[str, Any],
             late: Mapping[int, Any] = {}) -> list:
    """Apply a call, whose parameter ``jaxpr`` uses references, with these parameters.

    ``late`` is as for :func:`run_flow`.
    """
    check_distinct(f"tanx.{primitive.name}", args)
    closed, written = discharge(params["jaxpr"], (), tuple(late))
    outs = primitive.bind(*contents(args), *late.values(), **{**params, "jaxpr": closed})
    return _stored([args[i] for i in written], outs, len(late))


def _stored(refs: Sequence, outs: list, late: int) -> list:
    """Write the contents among results to their references; returns the other results."""
    end = len(outs) - late
    count = end - len(refs)
    store(refs, outs[count:end])
    return [*outs[:count], *outs[end:]]
