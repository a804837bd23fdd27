"""Call primitives other than ``jit``: libraries look for them in jaxprs, and may bind them."""

from __future__ import annotations

from .._control.call import jit_p
from .._core.jaxpr import ClosedJaxpr
from .._core.wrapped import WrappedFun
from .primitive import Primitive

__all__ = ["call_p", "closed_call_p", "create_call_primitive", "register_call_primitive_rules"]


class CallPrimitive(Primitive):
    """Runs a jaxpr, or a wrapped function, on its operands; jaxprs show the call as ``jit``."""

    multiple_results = True
    call_primitive = True

    def bind(self, *args, call_jaxpr=None, **params):
        """Run ``call_jaxpr``, or the wrapped function that is the first argument."""
        if args and isinstance(args[0], WrappedFun):
            return args[0].call_wrapped(*args[1:])
        closed = call_jaxpr if type(call_jaxpr) is ClosedJaxpr else ClosedJaxpr(call_jaxpr)
        return jit_p.bind(*args, jaxpr=closed, name=params.get("name", self.name), inline=False,
                          keep_unused=False, donated_invars=())


call_p = CallPrimitive("call")
closed_call_p = CallPrimitive("closed_call")


def create_call_primitive(name: str, inline_jax_late: bool = True) -> CallPrimitive:
    """A primitive that runs a function.

    >>> p = tanx.extend.core.create_call_primitive("mine")
    >>> closed = tanx.make_jaxpr(lambda x: x + 1)(1.0)
    >>> p.bind(2.0, call_jaxpr=closed)
    [Array(3., dtype=float32, weak_type=True)]
    """
    return CallPrimitive(name)


def register_call_primitive_rules(prim, name: str | None = None, transpose_rule=None,
                                  inline_jax_late: bool = True) -> None:
    """Do nothing: a call primitive already has all rules.

    >>> tanx.extend.core.register_call_primitive_rules(
    ...     tanx.extend.core.create_call_primitive("mine"))
    """
