"""Composites: functions that appear in jaxprs under a name, together with their body."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from .. import tree_util
from .._core.jaxpr import ClosedJaxpr, eval_jaxpr
from .._core.linear import expansion, never
from .._core.primitive import Kind, Name
from .._core.stage import stage
from .._core.trace import Tracer
from .._core.types import typeof
from .._ops.base import as_array
from ..errors import UnexpectedTracerError, explain
from .call import batched_body
from .stateful import RunsFunctions

__all__ = ["composite"]


class Composite(RunsFunctions):
    """Runs its body; the name is for readers of the jaxpr.

    Derivatives and batches are not the named operation any more: they are those of the body.
    """

    name = "composite"
    kind = Kind.CALL
    multiple_results = True
    transpose = never("derivatives of a composite consist of the operations of its body")
    batch = never("a call is batched by batch_axis, which gets the mapped axis")
    lower = never("the compiler inlines it")

    def called(self, params):
        return params["call_jaxpr"]

    def infer(self, *types, call_jaxpr: ClosedJaxpr, **params):
        return call_jaxpr.out_avals

    def effects(self, *types, call_jaxpr: ClosedJaxpr, **params):
        return call_jaxpr.effects

    def eval(self, *args, call_jaxpr: ClosedJaxpr, **params):
        return eval_jaxpr(call_jaxpr.jaxpr, call_jaxpr.consts, *args)

    def written(self, params):
        """A plain call, because attributes may be any objects."""
        return "jit", {"jaxpr": params["call_jaxpr"], "name": Name(params["name"])}

    @expansion
    def jvp(self, *args, call_jaxpr: ClosedJaxpr, **params):
        return eval_jaxpr(call_jaxpr.jaxpr, call_jaxpr.consts, *args)

    def batch_axis(self, axis, args, dims, *, call_jaxpr: ClosedJaxpr, **params):
        body, out_dims = batched_body(call_jaxpr, axis, tuple(dims))
        return eval_jaxpr(body.jaxpr, body.consts, *args), out_dims


composite_p = Composite()


def composite(decomposition: Callable, name: str, version: int = 0) -> Callable:
    """A function that runs ``decomposition``, under a ``name`` that jaxprs show.

    Positional arguments are arrays, or pytrees of them; keyword arguments are attributes, known
    while the function is traced. It can be differentiated and mapped as any other function.

    >>> scaled = lax.composite(lambda x, *, by: x * by, name="my.scaled")
    >>> print(tanx.make_jaxpr(lambda x: scaled(x, by=2.0))(1.0))
    { lambda ; a:f32[]. let
        b:f32[] = composite[
          attributes=(('by', (2.0,), PyTreeDef(*)),)
          call_jaxpr={ lambda ; c:f32[]. let d:f32[] = mul c 2.0:f32[] in (d,) }
          name=my.scaled
          version=0
        ] a
      in (b,) }
    """
    @wraps(decomposition)
    def named(*args, **kwargs):
        leaves, in_tree = tree_util.tree_flatten(args)
        leaves = [as_array(x) for x in leaves]
        trees = []

        def flat(*values):
            outs, tree = tree_util.tree_flatten(
                decomposition(*tree_util.tree_unflatten(in_tree, values), **kwargs))
            trees.append(tree)
            return outs

        jaxpr, consts = stage(flat, [typeof(x) for x in leaves])
        for c in consts:
            if isinstance(c, Tracer):
                raise UnexpectedTracerError(explain(
                    "tanx.lax.composite", "the decomposition uses a traced value from outside.",
                    f"composite: {name}", f"value: {typeof(c)}",
                    hint="pass it to the composite as an argument."))
        attributes = tuple((key, *_attribute(name, key, value)) for key, value in kwargs.items())
        outs = composite_p.bind(*leaves, name=name, version=version, attributes=attributes,
                                call_jaxpr=ClosedJaxpr(jaxpr, consts))
        return tree_util.tree_unflatten(trees[-1], outs)
    return named


def _attribute(name: str, key: str, value) -> tuple:
    leaves, tree = tree_util.tree_flatten(value)
    for x in leaves:
        if isinstance(x, Tracer):
            raise UnexpectedTracerError(explain(
                "tanx.lax.composite", "attributes must be known while tracing.",
                f"composite: {name}", f"{key}: {typeof(x)}",
                hint="make the array with NumPy, or pass it as an argument."))
    return tuple(leaves), tree
