"""Functions as jaxprs: ``make_jaxpr``, ``eval_shape``, ``named_call``."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable

from .._control.custom import name_of
from .._core.axes import named_axis
from .._core.jaxpr import ClosedJaxpr
from .._core.source import named_scope
from .._core.stage import stage
from .._core.trace import EvalTrace, Tracer, leaked, running
from .._core.types import ShapeDtypeStruct, typeof
from ..errors import explain
from ..tree_util import tree_flatten, tree_unflatten
from .arguments import as_tuple, check_callable, debug_info, result_leaves

__all__ = ["ensure_compile_time_eval", "eval_shape", "make_jaxpr", "named_call", "trace_to_jaxpr"]


def trace_to_jaxpr(function: str, fun: Callable, args: tuple, kwargs: dict, static=()):
    """Stage a function of pytrees: closed jaxpr, its flat dynamic arguments, and output tree."""
    count = len(args)
    fixed = {i % count: args[i] for i in static} if count else {}
    dynamic = tuple(x for i, x in enumerate(args) if i not in fixed)
    leaves, in_tree = tree_flatten((dynamic, kwargs))
    debug = debug_info(function.rpartition(".")[2], fun, args, kwargs, fixed)
    out_tree = None

    def flat(*xs):
        nonlocal out_tree
        given, keywords = tree_unflatten(in_tree, xs)
        rest = iter(given)
        whole = [fixed[i] if i in fixed else next(rest) for i in range(count)]
        outs, out_tree = result_leaves(function, fun, fun(*whole, **keywords))
        return outs

    avals = []
    for name, leaf in zip(debug.arg_names, leaves, strict=True):
        try:
            avals.append(typeof(leaf))
        except TypeError:
            raise TypeError(explain(
                function, f"argument {name} of {name_of(fun)} is no array.",
                f"value: {leaf!r:.100} of type {type(leaf).__name__}",
                hint="mark it with static_argnums.")) from None
    jaxpr, consts = stage(flat, avals, debug)
    return jaxpr, consts, leaves, out_tree


def make_jaxpr(fun: Callable, static_argnums=(), axis_env=None, return_shape: bool = False):
    """A function that shows what ``fun`` does as a jaxpr.

    ``static_argnums`` are arguments to be treated as Python constants; ``axis_env`` is a list of
    ``(name, size)`` of axes that collectives may use; with ``return_shape`` the result comes with
    the shapes of the outputs.

    >>> make_jaxpr(lambda x: 2 * jnp.sin(x))(1.0)
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul 2.0:f32[] b in (c,) }
    """
    check_callable("tanx.make_jaxpr", fun)
    static = as_tuple("tanx.make_jaxpr", "static_argnums", static_argnums, int)

    @functools.wraps(fun)
    def made(*args, **kwargs):
        with contextlib.ExitStack() as axes:
            for name, size in axis_env or ():
                axes.enter_context(named_axis(name, size))
            jaxpr, consts, _, out_tree = trace_to_jaxpr("tanx.make_jaxpr", fun, args, kwargs,
                                                        static)
        closed = ClosedJaxpr(jaxpr, consts)
        if not return_shape:
            return closed
        return closed, tree_unflatten(out_tree, [_struct(a) for a in closed.out_avals])
    return made


def _struct(aval) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


def eval_shape(fun: Callable, *args, **kwargs):
    """Shapes and dtypes of a function's results, without computing them.

    Arguments may be arrays or :class:`tanx.ShapeDtypeStruct`.

    >>> eval_shape(lambda x: x @ x.T, ShapeDtypeStruct((3, 4), jnp.float32))
    ShapeDtypeStruct(shape=(3, 3), dtype=float32)
    """
    check_callable("tanx.eval_shape", fun)
    jaxpr, _, _, out_tree = trace_to_jaxpr("tanx.eval_shape", fun, args, kwargs)
    return tree_unflatten(out_tree, [_struct(a) for a in jaxpr.out_avals])


def named_call(fun: Callable, *, name: str | None = None) -> Callable:
    """Name the equations a function makes, for profiles; by default with the function's name.

    >>> named_call(lambda x: x + 1, name="increment")(1)
    2
    """
    check_callable("tanx.named_call", fun)
    return named_scope(name or name_of(fun))(fun)


@contextlib.contextmanager
def ensure_compile_time_eval():
    """Compute at once what a block does, even inside ``jit``; its operands must be known.

    >>> with ensure_compile_time_eval():
    ...     size = int(jnp.arange(3).sum())
    >>> size
    3
    """
    with running(_KnownTrace(None)):
        yield


class _KnownTrace(EvalTrace):
    """Evaluates; tracers whose value is known take part."""

    __slots__ = ()

    def process(self, primitive, args, params):
        values = []
        for x in args:
            if isinstance(x, Tracer):
                known = x.concrete()
                if known is None:
                    raise leaked(x) if not x._trace.alive else TypeError(explain(
                        "tanx.ensure_compile_time_eval", "an operand is not known while tracing.",
                        f"operand: {x.aval}"))
                x = known
            values.append(x)
        return super().process(primitive, values, params)
