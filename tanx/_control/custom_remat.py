"""``remat_opt``: the forward rule of a ``custom_vjp`` function, or only the function itself.

A function defined with ``optimize_remat=True`` runs its rule ``fwd`` only if the residuals are
needed. Under ``checkpoint`` the forward pass needs none: they are computed in the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core.jaxpr import ClosedJaxpr, eval_jaxpr
from .._core.stage import stage_closed
from .._core.types import typeof
from .call import Call, batched_body

__all__ = ["fwd_or_function", "remat_opt_p"]


class RematOpt(Call):
    """Runs ``jaxpr``, a rule ``fwd``; or ``fun``, if only the first ``num_outs`` results are read.

    ``fun`` returns only the first ``num_outs``. It is None if the body was transformed: then the
    choice no longer exists.
    """

    name = "remat_opt"

    def batch_axis(self, axis, args, dims, *, jaxpr, fun, num_outs):
        body, out_dims = batched_body(jaxpr, axis, tuple(dims))
        if fun is not None:
            fun, fun_dims = batched_body(fun, axis, tuple(dims))
            fun = fun if fun_dims == out_dims[:num_outs] else None
        return self.bind(*args, jaxpr=body, fun=fun, num_outs=num_outs), out_dims

    def for_operands(self, params, more=()):
        return {**params, "fun": None}

    def dce(self, used_outs, eqn):
        fun, count = eqn.params["fun"], eqn.params["num_outs"]
        if fun is None or any(used_outs[count:]):
            return super().dce(used_outs, eqn)
        eqn = eqn.replace(outvars=eqn.outvars[:count], effects=fun.effects,
                          params={"jaxpr": fun, "fun": None, "num_outs": count})
        return super().dce(used_outs[:count], eqn)


remat_opt_p = RematOpt()


def fwd_or_function(fwd: Callable, call: Any, primals: Sequence, own: Sequence,
                    ) -> tuple[list, list, Callable]:
    """The results of ``fwd``, its residuals, and the function from residuals to cotangents.

    ``call`` is the function itself, of ``primals``; ``fwd`` takes ``own``, the last of them.
    """
    count, pull = 0, None

    def rule(*args):
        nonlocal count, pull
        outs, residuals, pull = fwd(*args)
        count = len(outs)
        return [*outs, *residuals]

    forward, captured = stage_closed(rule, [typeof(x) for x in own])
    function, closed_over = stage_closed(
        lambda *args: list(eval_jaxpr(call.jaxpr, call.consts, *args)
                           if isinstance(call, ClosedJaxpr) else call(*args)),
        [typeof(x) for x in primals])
    operands = [*captured, *closed_over, *primals]
    places = (*range(len(captured)), *range(len(operands) - len(own), len(operands)))
    outs = remat_opt_p.bind(
        *operands, num_outs=count, jaxpr=_taking(forward, operands, places),
        fun=_taking(function, operands, tuple(range(len(captured), len(operands)))))
    # Residuals that are arguments are taken from there: the rule need not run for them.
    given: dict[Any, Any] = {
        var: operands[i] for var, i in zip(forward.jaxpr.invars, places, strict=True)}
    residuals = [given.get(var, out) for var, out in zip(forward.jaxpr.outvars, outs)][count:]
    assert pull is not None
    return outs[:count], residuals, pull


def _taking(closed: ClosedJaxpr, operands: Sequence, places: tuple[int, ...]) -> ClosedJaxpr:
    """A closed jaxpr extended to more operands; it reads those at ``places``."""
    whole, captured = stage_closed(
        lambda *args: eval_jaxpr(closed.jaxpr, closed.consts, *(args[i] for i in places)),
        [typeof(x) for x in operands])
    assert not captured
    return whole
