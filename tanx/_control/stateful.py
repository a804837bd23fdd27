"""Primitives that run functions with references."""

from __future__ import annotations

from .._core.flow import ForLoop
from .._core.jaxpr import eval_jaxpr
from .._core.primitive import Primitive
from .._core.refs import check_distinct
from .._core.stage import StageTrace
from .._core.trace import context
from .._transforms.discharge import run_call, run_flow, stateful_use
from .._transforms.low import run_low
from .late import run_late

__all__ = ["RunsFunctions"]


class RunsFunctions(Primitive):
    """Base of primitives that run functions.

    With references, a use becomes an equation while a function is staged. All other traces see a
    use on the contents of the references: see :meth:`discharge`.
    """

    def bind(self, *args, **params):
        if stateful_use(args, params):
            if type(context.trace) is not StageTrace:
                return self.discharge(args, params)
            self.check_refs(args)
        return context.trace.process(self, args, params)

    def check_refs(self, args) -> None:
        """Raise if two operands are the same reference."""
        check_distinct(f"tanx.{self.name}", args)

    def discharge(self, args, params):
        """Apply the primitive to the contents of references, and write the new ones back."""
        flow = self.flow(params)
        if flow is not None:
            carried = range(flow.constants if isinstance(flow, ForLoop) else len(args))
            return run_late(self, args, params, carried,
                            lambda late: run_flow(self, args, params, flow, late))
        if "jaxpr" in params:
            return run_late(self, args, params, range(len(args)),
                            lambda late: run_call(self, args, self.for_contents(params), late))
        body = self.called(params)
        if body is None:
            raise NotImplementedError(
                f"tanx.lax.{self.name} does not take functions that use references.")
        return eval_jaxpr(body.jaxpr, body.consts, *args)

    def on_parts(self, args, params):
        return run_low(self, args, params)

    def for_contents(self, params: dict) -> dict:
        """The parameters of a use on contents."""
        return params
