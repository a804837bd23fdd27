"""Taylor mode: run a function on truncated Taylor series.

For ``x(t) = x0 + x1 t + ... + xK t**K`` it finds the coefficients of ``f(x(t))``. Coefficients are
not scaled by factorials, so that high orders neither overflow nor lose digits.

A primitive may have a rule ``taylor``; see :mod:`tanx._ops.series`. Without one

* loops and branches run bodies that carry series, for every primitive that has a ``flow``;
* everything else follows from the ``jvp`` rule. If the tangent does not depend on the operands that
    move, the primitive is linear in them, and is applied to each coefficient. Else
    ``y' = jvp(x, x')`` is run in Taylor mode one order below, and integrated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from .._core.flow import Choice, Flow, ForLoop, WhileLoop
from .._core.jaxpr import ClosedJaxpr, Var, cached_by_jaxpr, eval_jaxpr, jaxpr_as_fun
from .._core.leaks import check_leaks
from .._core.linear import Expansion, Never, Series, Zero, zero_series
from .._core.rewrite import dce
from .._core.stage import stage
from .._core.trace import Trace, Tracer, context, data_of
from .._core.types import typeof
from .._ops.derive import zeros_of
from .._ops.series import scaled
from .zeros import ZeroTrace

__all__ = ["JetTrace", "JetTracer", "taylor", "taylor_jaxpr"]


class JetTracer(Tracer):
    """A value with the coefficients that follow it in its Taylor series."""

    __slots__ = ("primal", "terms")

    _trace: JetTrace

    def __init__(self, trace: JetTrace, primal, terms):
        self._trace = trace
        self.primal = primal
        self.terms = terms

    @property
    def aval(self):
        return typeof(self.primal)

    def concrete(self):
        primal = self.primal
        return primal.concrete() if isinstance(primal, Tracer) else primal

    def data(self):
        return data_of(self.primal)

    def describe_origin(self) -> str:
        primal = self.primal
        return primal.describe_origin() if isinstance(primal, Tracer) else ""


class JetTrace(Trace):
    """Applies the ``taylor`` rule of every primitive with one of its tracers as an operand.

    Its tracers are those of traces with its ``tag``.
    """

    __slots__ = ("tag", "order")
    below: Trace

    def __init__(self, tag: object, parent_trace: Trace, order: int):
        super().__init__(parent_trace)
        self.tag, self.order = tag, order

    def process(self, primitive, args, params):
        primals, series, moves = [], [], False
        for x in args:
            if type(x) is JetTracer and x._trace.tag is self.tag:
                primals.append(x.primal)
                series.append(x.terms)
                moves = True
            else:
                primals.append(x)
                series.append(zero_series)
        rule = primitive.taylor
        if rule is None and type(primitive.jvp) is Expansion:
            rule = primitive.jvp
        if moves and type(rule) is Expansion:
            return rule.function(primitive, *args, **params)
        context.trace = self.below
        try:
            if not moves:
                return self.below.process(primitive, primals, params)
            answer = None if rule is None else rule(primals, series, **params)
            if answer is None:
                answer = _without_rule(primitive, primals, series, params, self.order)
            out, terms = answer
        finally:
            context.trace = self
        if primitive.multiple_results:
            return [self.join(y, ts) for y, ts in zip(out, terms, strict=True)]
        return self.join(out, terms)

    def join(self, primal, terms: Series):
        """A tracer, or the bare value if it does not change."""
        return primal if terms is zero_series else JetTracer(self, primal, terms)

    def split(self, x) -> tuple[Any, Series]:
        """Value and series of any value."""
        if type(x) is JetTracer and x._trace.tag is self.tag:
            return x.primal, x.terms
        return x, zero_series

    to_primal_terms_pair = split


def taylor(fun: Callable, primals: Sequence[Any], series: Sequence[Series], order: int,
           ) -> tuple[list, list[Series]]:
    """Run a function of flat arguments that returns a list; values and series of its results.

    Every series is :data:`zero_series` or has ``order`` coefficients. Coefficients may be
    :class:`Zero`: they are skipped if possible.
    """
    outer = context.trace
    below = outer
    if any(type(t) is Zero for ts in series if ts is not zero_series for t in ts):
        below = ZeroTrace(outer)
        series = [ts if ts is zero_series else [
            below.zeros(t.aval) if type(t) is Zero else t for t in ts] for ts in series]
    trace = JetTrace(object(), below, order)
    args = [trace.join(p, ts if order else zero_series)
            for p, ts in zip(primals, series, strict=True)]
    context.trace = trace
    try:
        outs = fun(*args)
        found = [trace.split(x) for x in outs]
    finally:
        context.trace = outer
    if type(below) is ZeroTrace:
        found = [(below.array(p), ts if ts is zero_series else [*map(below.array, ts)])
                 for p, ts in found]
    del args, outs
    check_leaks(trace)
    return [p for p, _ in found], [ts for _, ts in found]


# -- bodies ----------------------------------------------------------------------------------------


def _instantiated(terms: Series, aval, order: int) -> list:
    """The coefficients of a series, with zeros as arrays."""
    return [zeros_of(aval.to_tangent())] * order if terms is zero_series else list(terms)


def flattened(series: Sequence[Series]) -> list:
    """The coefficients of all series that are not zero, one series after the other."""
    return [t for terms in series if terms is not zero_series for t in terms]


def gathered(coefficients: Sequence[Any], moving: Sequence[bool], order: int) -> list[Series]:
    """The inverse of :func:`flattened`."""
    rest = iter(coefficients)
    return [[next(rest) for _ in range(order)] if m else zero_series for m in moving]


@cached_by_jaxpr
def taylor_jaxpr(closed: ClosedJaxpr, order: int, moving: tuple[bool, ...],
                 wanted: tuple[bool, ...] | None = None) -> tuple[ClosedJaxpr, list[bool]]:
    """A closed jaxpr in Taylor mode, as a closed jaxpr.

    It takes the values, then the coefficients of the arguments that are ``moving``; it returns the
    values, then the coefficients of the results that move. The second result says which those are;
    ``wanted`` ones are returned even if they are zero.
    """
    count = len(moving)
    found: list[bool] = []

    def fun(*args):
        outs, series = taylor(jaxpr_as_fun(closed), args[:count],
                              gathered(args[count:], moving, order), order)
        found[:] = [ts is not zero_series for ts in series]
        if wanted is not None:
            found[:] = [a or b for a, b in zip(found, wanted)]
        return outs + [t for y, ts, m in zip(outs, series, found) if m
                       for t in _instantiated(ts, typeof(y), order)]

    avals = closed.in_avals
    terms = [a.to_tangent() for a, m in zip(avals, moving) if m for _ in range(order)]
    return ClosedJaxpr(*stage(fun, [*avals, *terms])), found


# -- primitives without a rule ---------------------------------------------------------------------


def _without_rule(primitive, primals, series, params, order: int) -> tuple[Any, Any]:
    """The result of a primitive and its series, from its ``flow`` or its ``jvp`` rule."""
    if type(primitive.jvp) is not Never:
        flow = primitive.flow(params)
        if flow is not None:
            return _through_flow(primitive, flow, primals, series, params, order)
        return _by_derivative(primitive, primals, series, params, order)
    out = primitive.bind(*primals, **params)
    outs = out if primitive.multiple_results else [out]
    if any(dtypes.issubdtype(typeof(y).dtype, np.inexact) for y in outs):
        primitive.jvp(primals)  # raises the reason for no derivative
    return out, [zero_series] * len(outs) if primitive.multiple_results else zero_series


def _by_derivative(primitive, primals, series, params, order: int) -> tuple[Any, Any]:
    """The series of a result from the ``jvp`` rule."""
    out = primitive.bind(*primals, **params)
    outs = out if primitive.multiple_results else [out]
    moving = [ts is not zero_series for ts in series]
    values = [p for p, m in zip(primals, moving) if m]
    jaxpr, consts, which, linear = _tangent(primitive, primals, moving, params)

    def slope(*args):
        return eval_jaxpr(jaxpr, consts, *args)

    own = [ts for ts in series if ts is not zero_series]
    if linear:
        found = [slope(*values, *(ts[k] for ts in own)) for k in range(order)]
        terms = [list(ts) for ts in zip(*found)]
    else:
        velocities = [[scaled(k, t) for k, t in enumerate(ts, 1)] for ts in own]
        firsts, rest = taylor(
            slope, [*values, *(v[0] for v in velocities)],
            [*(ts[:-1] for ts in own), *(v[1:] for v in velocities)], order - 1)
        terms = [[scaled(1 / k, t) for k, t in enumerate(
            [y, *_instantiated(ts, typeof(y), order - 1)], 1)] for y, ts in zip(firsts, rest)]
    given = iter(terms)
    answers = [next(given) if w else zero_series for w in which]
    assert len(outs) == len(answers)
    return out, answers if primitive.multiple_results else answers[0]


def _tangent(primitive, primals, moving: Sequence[bool], params):
    """The tangent of a result as a jaxpr of the operands that move, and then their tangents.

    Returns the jaxpr, its constants, which results have a tangent, and whether none of these
    depends on the operands: then the primitive is linear in them.
    """
    which: list[bool] = []
    count = sum(moving)

    def fun(*args):
        values, tangents = iter(args[:count]), iter(args[count:])
        given = [next(values) if m else p for p, m in zip(primals, moving)]
        _, answer = primitive.jvp(given, [next(tangents) if m else Zero.tangent_of(p)
                                          for p, m in zip(primals, moving)], **params)
        answers = answer if primitive.multiple_results else [answer]
        which[:] = [type(t) is not Zero for t in answers]
        return [t for t in answers if type(t) is not Zero]

    avals = [typeof(p) for p, m in zip(primals, moving) if m]
    jaxpr, consts = stage(fun, [*avals, *(a.to_tangent() for a in avals)])
    jaxpr, used = dce(jaxpr, [True] * len(jaxpr.outvars))
    return jaxpr, consts, which, not any(used[:count])


def _through_flow(primitive, flow: Flow, primals, series, params, order: int) -> tuple[list, list]:
    """Run a loop or a branch whose bodies compute series together with values."""
    match flow:
        case ForLoop():
            return _for_loop(primitive, flow, primals, series, params, order)
        case WhileLoop():
            return _while_loop(primitive, flow, primals, series, params, order)
        case Choice():
            return _choice(primitive, flow, primals, series, params, order)


def _moving(series: Sequence[Series]) -> tuple[bool, ...]:
    return tuple(ts is not zero_series for ts in series)


def _started(carry, series, moving, order: int) -> list[Series]:
    """The series of carries: one that is zero initially may be nonzero after a step."""
    return [_instantiated(ts, typeof(x), order) if m else zero_series
            for x, ts, m in zip(carry, series, moving)]


def _settled(closed: ClosedJaxpr, order: int, before: tuple[bool, ...], carry: tuple[bool, ...],
             behind: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    """The body of a loop in Taylor mode, once the same carries move before and after a step."""
    others = len(closed.jaxpr.outvars) - len(carry)
    while True:
        body, found = taylor_jaxpr(closed, order, before + carry + behind,
                                   carry + (False,) * others)
        if tuple(found[:len(carry)]) == carry:
            return body, found
        carry = tuple(found[:len(carry)])


def _paired(moving: Sequence[bool], order: int, *counts: int) -> list[int]:
    """The order in which each part of the values is followed by its coefficients.

    Before, all values came first, then all coefficients; ``counts`` are the lengths of the parts.
    """
    coefficients = iter(range(len(moving), len(moving) + order * sum(moving)))
    order_of, start = [], 0
    for count in counts:
        part = range(start, start + count)
        order_of += [*part, *(next(coefficients) for i in part if moving[i] for _ in range(order))]
        start += count
    return order_of


def _for_loop(primitive, flow: ForLoop, primals, series, params, order: int):
    (consts, carry, rows), (dconsts, dcarry, drows) = flow.split(primals), flow.split(series)
    body, found = _settled(flow.body, order, _moving(dconsts), _moving(dcarry), _moving(drows))
    dcarry = _started(carry, dcarry, found, order)
    jaxpr, given = body.jaxpr, _moving([*dconsts, *dcarry, *drows])
    ins = _paired(given, order, len(consts), len(carry), len(rows))
    outs = _paired(found, order, len(carry), len(found) - len(carry))
    body = ClosedJaxpr(jaxpr.replace(invars=[jaxpr.invars[i] for i in ins],
                                     outvars=[jaxpr.outvars[i] for i in outs]), body.consts)
    parts = [flattened(part) for part in (dconsts, dcarry, drows)]
    new = ForLoop(body, flow.length, len(consts) + len(parts[0]), len(carry) + len(parts[1]),
                  flow.reverse)
    results = primitive.bind(*consts, *parts[0], *carry, *parts[1], *rows, *parts[2],
                             **primitive.with_flow(params, new))
    straight = [y for _, y in sorted(zip(outs, results), key=lambda pair: pair[0])]
    return straight[:len(found)], gathered(straight[len(found):], found, order)


def _while_loop(primitive, flow: WhileLoop, primals, series, params, order: int):
    (asked, consts, carry), (_, dconsts, dcarry) = flow.split(primals), flow.split(series)
    body, found = _settled(flow.body, order, _moving(dconsts), _moving(dcarry), ())
    terms = flattened(_started(carry, dcarry, found, order))
    ins = _paired([*_moving(dconsts), *found], order, len(consts), len(carry))
    jaxpr, condition = body.jaxpr, flow.condition.jaxpr
    new = WhileLoop(
        ClosedJaxpr(condition.replace(invars=[*condition.invars, *(
            Var(typeof(t)) for t in terms)]), flow.condition.consts), flow.condition_constants,
        ClosedJaxpr(jaxpr.replace(invars=[jaxpr.invars[i] for i in ins]), body.consts),
        len(consts) + len(flattened(dconsts)))
    results = primitive.bind(*asked, *consts, *flattened(dconsts), *carry, *terms,
                             **primitive.with_flow(params, new))
    return results[:len(carry)], gathered(results[len(carry):], found, order)


def _choice(primitive, flow: Choice, primals, series, params, order: int):
    moving = _moving(series[1:])
    each = [taylor_jaxpr(branch, order, moving)[1] for branch in flow.branches]
    wanted = tuple(any(found) for found in zip(*each))
    new = Choice(tuple(taylor_jaxpr(branch, order, moving, wanted)[0]
                       for branch in flow.branches))
    results = primitive.bind(*primals, *flattened(series[1:]), **primitive.with_flow(params, new))
    return results[:len(wanted)], gathered(results[len(wanted):], wanted, order)
