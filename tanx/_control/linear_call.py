"""``linear_call``: a linear function, with a transpose written by the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import tree_util
from .._core.jaxpr import ClosedJaxpr, Var, eval_jaxpr
from .._core.linear import Linear, Zero, instantiate
from .._core.naming import name_of
from .._core.stage import stage_closed
from .._core.types import typeof
from .._ops.base import materialize, to_front
from .._ops.derive import sum_cotangents
from .._transforms.vmap import batch_jaxpr
from ..errors import explain
from .call import Call, forward_body
from .custom import flat_leaves

__all__ = ["linear_call", "linear_call_p"]


class LinearCall(Call):
    """Runs ``jaxpr``, which is linear except in its first ``num_res`` operands, the residuals.

    ``transposed`` takes the same residuals, and returns cotangents of the other operands.
    """

    name = "linear_call"

    def jvp(self, primals, tangents, *, jaxpr, num_res, transposed):
        params = {"jaxpr": jaxpr, "num_res": num_res, "transposed": transposed}
        residuals = primals[:num_res]
        outs = self.bind(*primals, **params)
        found: list = [Zero(a.to_tangent()) for a in jaxpr.out_avals]
        if any(type(t) is not Zero for t in tangents[num_res:]):
            found = self.bind(*residuals, *map(instantiate, tangents[num_res:]), **params)
        nonzero = tuple(type(t) is not Zero and i < num_res for i, t in enumerate(tangents))
        if any(nonzero):  # with respect to residuals it is differentiated like any function
            body, which = forward_body(jaxpr, nonzero)
            given = [t for t, nz in zip(tangents, nonzero) if nz]
            more = iter(eval_jaxpr(body.jaxpr, body.consts, *primals, *given)[len(which):])
            found = [sum_cotangents(t, next(more)) if nz else t for t, nz in zip(found, which)]
        return outs, found

    # Either all linear operands are known, or the whole call is recorded.
    partial_eval: Any = None

    def transpose(self, cts, *args, jaxpr, num_res, transposed):
        residuals, linear = args[:num_res], args[num_res:]
        if any(type(x) is Linear for x in residuals) or not all(
                type(x) is Linear for x in linear):
            raise NotImplementedError(explain(
                "tanx.custom_derivatives.linear_call", "can only be transposed with respect to all "
                "linear_args.", hint="pass known values as part of residual_args."))
        outs = self.bind(*residuals, *map(instantiate, cts), jaxpr=transposed, num_res=num_res,
                         transposed=jaxpr)
        return [None] * num_res + list(outs)

    def batch_axis(self, axis, args, dims, *, jaxpr, num_res, transposed):
        size = axis.size
        residuals = [to_front(x, d) for x, d in zip(args[:num_res], dims)]
        linear = [materialize(x, d, size) for x, d in zip(args[num_res:], dims[num_res:])]
        front = [None if d is None else 0 for d in dims[:num_res]]
        body, _ = batch_jaxpr(jaxpr, axis, front + [0] * len(linear), True)
        back, _ = batch_jaxpr(transposed, axis, front + [0] * len(jaxpr.out_avals), True)
        outs = self.bind(*residuals, *linear, jaxpr=body, num_res=num_res, transposed=back)
        return outs, [0] * len(outs)

    def dce(self, used_outs, eqn):
        return [True] * len(eqn.invars), eqn


linear_call_p = LinearCall()


def linear_call(fun: Callable, fun_transpose: Callable, residual_args, linear_args):
    """Call a linear function, with its transpose given by another function.

    ``fun(residual_args, linear_args)`` is linear in its second argument. ``fun_transpose`` takes
    the residuals and a cotangent of the result, and returns that of ``linear_args``. The transpose
    of the transpose is ``fun`` again.

    >>> def half(x):
    ...     return linear_call(lambda r, x: x / r, lambda r, ct: ct / r, 2.0, x)
    >>> tanx.linear_transpose(half, 1.0)(6.0)
    (Array(3., dtype=float32, weak_type=True),)
    """
    name = "tanx.custom_derivatives.linear_call"
    residuals, res_tree = flat_leaves(f"{name}: residual_args", residual_args)
    linear, lin_tree = flat_leaves(f"{name}: linear_args", linear_args)

    def staged(function: Callable, tree, avals: list) -> tuple[ClosedJaxpr, list, Any]:
        out_tree = None

        def flat(*xs):
            nonlocal out_tree
            outs, out_tree = flat_leaves(f"{name}: result of {name_of(function)}", function(
                tree_util.tree_unflatten(res_tree, xs[:len(residuals)]),
                tree_util.tree_unflatten(tree, xs[len(residuals):])))
            return outs

        closed, captured = stage_closed(flat, [typeof(x) for x in residuals] + avals)
        return closed, captured, out_tree

    forward, captured, out_tree = staged(fun, lin_tree, [typeof(x) for x in linear])
    back, captured_back, back_tree = staged(
        fun_transpose, out_tree, [a.to_tangent() for a in forward.out_avals])
    if back_tree != lin_tree:
        raise TypeError(explain(
            name, f"{name_of(fun_transpose)} must return a cotangent of the structure of "
            "linear_args.", f"linear_args: {lin_tree}", f"cotangent:   {back_tree}"))
    # Values that either function closes over are residuals of both.
    more = [Var(typeof(x)) for x in captured], [Var(typeof(x)) for x in captured_back]
    forward = _with_arguments(forward, len(captured), more[1])
    back = _with_arguments(back, 0, more[0])
    outs = linear_call_p.bind(*captured, *captured_back, *residuals, *linear, jaxpr=forward,
                              num_res=len(more[0]) + len(more[1]) + len(residuals), transposed=back)
    return tree_util.tree_unflatten(out_tree, outs)


def _with_arguments(closed: ClosedJaxpr, position: int, more: list[Var]) -> ClosedJaxpr:
    """The same function with arguments that it does not use."""
    given = closed.jaxpr.invars
    return ClosedJaxpr(closed.jaxpr.replace(
        invars=[*given[:position], *more, *given[position:]]), closed.consts)
