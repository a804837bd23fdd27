"""Partial evaluation with JAX's interface, for libraries: functions with some known arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .._core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
from .._core.rewrite import dce
from .._core.types import AbstractValue
from .._core.wrapped import WrappedFun
from .._transforms.linearize import PartialVal, partial_eval
from .._transforms.transpose import backward
from ..errors import explain
from .rules import RuleBook

__all__ = ["custom_partial_eval_rules", "dce_jaxpr_call_rule", "dce_jaxpr_closed_call_rule",
           "dce_rules", "eval_jaxpr_transpose", "lower_jaxpr", "lower_jaxpr2", "new_eqn_recipe",
           "partial_eval_jaxpr_custom_rules", "trace_to_jaxpr_nounits"]


def trace_to_jaxpr_nounits(fun, pvals: Sequence[PartialVal],
                           instantiate: bool | Sequence[bool] = False,
                           ) -> tuple[Jaxpr, list[PartialVal], tuple]:
    """Run the part of a function that depends on known arguments, and record the rest.

    Returns the jaxpr of the unknown results, which takes residuals, then the unknown arguments; the
    results, known or not; and the residuals. ``instantiate`` says which results to treat as
    unknown always.

    >>> pe = tanx.interpreters.partial_eval
    >>> given = [pe.PartialVal.known(3.0), pe.PartialVal.unknown(tanx.typeof(1.0))]
    >>> pe.trace_to_jaxpr_nounits(lambda x, y: [-x, -y], given)
    ({ lambda ; a:f32[]. let b:f32[] = neg a in (b,) }, [(None, -3.0), (ShapedArray(float32[], \
weak_type=True), None)], ())
    """
    call = fun.call_wrapped if isinstance(fun, WrappedFun) else fun
    counted: list[int] = []

    def flat(*args):
        outs = list(call(*args))
        counted.append(len(outs))
        return outs

    unknown = [None if value.is_known() else value[0] for value in pvals]
    forget = instantiate if not isinstance(instantiate, bool) else []
    outs, which, jaxpr, residuals = partial_eval(flat, unknown, [v[1] for v in pvals], forget)
    if instantiate is True:
        outs, which, jaxpr, residuals = partial_eval(
            flat, unknown, [v[1] for v in pvals], [True] * counted[0])
    types = iter(jaxpr.out_avals)
    found = [PartialVal.unknown(next(types)) if is_unknown else PartialVal.known(out)
             for out, is_unknown in zip(outs, which)]
    open_jaxpr = jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
    return open_jaxpr, found, tuple(residuals)


def new_eqn_recipe(trace, in_tracers, out_tracers, primitive, params, effects, source_info,
                   ctx=None):
    """Raises: a trace makes equations when primitives are bound on its tracers.

    >>> tanx.interpreters.partial_eval.new_eqn_recipe(None, [], [], lax.sin_p, {}, set(), None)
    Traceback (most recent call last):
    NotImplementedError: tanx.interpreters.partial_eval.new_eqn_recipe: ...
    """
    raise NotImplementedError(explain(
        "tanx.interpreters.partial_eval.new_eqn_recipe",
        "equations are made by binding primitives on tracers.", f"primitive: {primitive}"))


# -- rules -----------------------------------------------------------------------------------------


def _with_trace_first(rule: Callable) -> Callable:
    """A rule ``rule(trace, *tracers, **params)`` in the form of ``Primitive.partial_eval``."""
    def partial_eval(trace, args, params):
        return rule(trace, *args, **params)

    partial_eval.given = rule  # type: ignore[attr-defined]
    return partial_eval


def _called_with_trace(primitive, rule: Callable) -> Callable:
    return getattr(rule, "given", None) or (
        lambda trace, *tracers, **params: rule(trace, tracers, params))


custom_partial_eval_rules = RuleBook("partial_eval", _with_trace_first, _called_with_trace)

partial_eval_jaxpr_custom_rules: dict[Any, Callable] = {}
"""Rules of libraries for splitting an equation under ``checkpoint``. They are stored and not used:
tanx saves or recomputes whole results, by the policy, for every primitive.
"""


def _with_liveness(rule: Callable) -> Callable:
    """A rule ``(used_outputs, live_ins, eqn)``, or without ``live_ins``, for ``Primitive.dce``."""
    takes_live = len(inspect.signature(rule).parameters) > 2

    def prune(used_outputs, eqn):
        live = ([True] * len(eqn.invars),) if takes_live else ()
        return rule(list(used_outputs), *live, eqn)

    prune.given = rule  # type: ignore[attr-defined]
    return prune


def _pruning(primitive, rule: Callable) -> Callable:
    return getattr(rule, "given", None) or (
        lambda used_outputs, live_ins, eqn: rule(used_outputs, eqn))


dce_rules = RuleBook("dce", _with_liveness, _pruning)


def dce_jaxpr_call_rule(used_outputs: Sequence[bool], live_ins: Sequence[bool], eqn: JaxprEqn,
                        ) -> tuple[list[bool], JaxprEqn | None]:
    """Drop the parts of a call that its used results do not need: a rule for ``dce_rules``.

    >>> p = tanx.extend.core.primitives.closed_call_p
    >>> body = tanx.make_jaxpr(lambda x, y: (x + 1, jnp.sin(y)))(1.0, 2.0)
    >>> eqn = tanx.extend.core.new_jaxpr_eqn(
    ...     body.jaxpr.invars, body.jaxpr.outvars, p, {"call_jaxpr": body}, set())
    >>> rule = tanx.interpreters.partial_eval.dce_jaxpr_call_rule
    >>> used, smaller = rule([True, False], [True, True], eqn)
    >>> used, len(smaller.params["call_jaxpr"].eqns)
    ([True, False], 1)
    """
    body = eqn.params["call_jaxpr"]
    smaller, used = dce(body.jaxpr, list(used_outputs))
    if not smaller.outvars and not smaller.effects:
        return [False] * len(used), None
    inner: Any = smaller.replace(invars=[v for v, u in zip(smaller.invars, used) if u])
    if type(body) is ClosedJaxpr:
        inner = ClosedJaxpr(inner, body.consts)
    return used, eqn.replace(
        invars=[v for v, u in zip(eqn.invars, used) if u],
        outvars=[v for v, u in zip(eqn.outvars, used_outputs) if u],
        params={**eqn.params, "call_jaxpr": inner}, effects=inner.effects)


dce_jaxpr_closed_call_rule = dce_jaxpr_call_rule


def eval_jaxpr_transpose(prim, ct, *args, call_jaxpr, **params) -> list:
    """The transpose of a call of a jaxpr that is linear in its undefined operands.

    >>> ad, body = tanx.interpreters.ad, tanx.make_jaxpr(lambda x: 3 * x)(1.0)
    >>> operand = ad.UndefinedPrimal(tanx.typeof(1.0))
    >>> p = tanx.extend.core.primitives.closed_call_p
    >>> tanx.extend.core.eval_jaxpr_transpose(p, [2.0], operand, call_jaxpr=body)
    [Array(6., dtype=float32, weak_type=True)]
    """
    return backward(call_jaxpr.jaxpr, call_jaxpr.consts, args, ct)


def lower_jaxpr(hi_jaxpr, lo_avals: Sequence[AbstractValue] | None = None):
    """A jaxpr whose types are arrays; one that has no other types is returned.

    >>> closed = tanx.make_jaxpr(lambda x: x + 1)(1.0)
    >>> tanx.interpreters.partial_eval.lower_jaxpr(closed, closed.in_avals) is closed
    True
    """
    if hi_jaxpr.is_high:
        raise NotImplementedError(explain(
            "tanx.interpreters.partial_eval.lower_jaxpr",
            "a jaxpr of high types is lowered when it is staged, not afterwards.",
            f"arguments: {', '.join(map(str, hi_jaxpr.in_avals))}"))
    return hi_jaxpr


lower_jaxpr2 = lower_jaxpr
