"""Functions as jaxprs: ``make_jaxpr``, ``eval_shape``, ``named_call``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from .._base.traceback import boundary
from .._core.axes import named_axis
from .._core.explicit import stated
from .._core.jaxpr import ClosedJaxpr
from .._core.naming import debug_info, name_of, wraps
from .._core.source import named_scope
from .._core.stage import StageTracer, stage
from .._core.trace import EvalTrace, Trace, Tracer, context, running
from .._core.types import ShapeDtypeStruct, described
from ..errors import explain
from ..tree_util import tree_flatten, tree_unflatten
from .arguments import as_tuple, check_callable, not_an_array, result_leaves

__all__ = ["ensure_compile_time_eval", "eval_shape", "make_jaxpr", "named_call", "trace_to_jaxpr"]


def trace_to_jaxpr(function: str, fun: Callable, args: tuple, kwargs: dict, static=()):
    """Stage a function of pytrees: closed jaxpr, its flat dynamic arguments, and output tree."""
    count = len(args)
    if any(not -count <= i < count for i in static):
        raise ValueError(explain(
            function, "static_argnums names an argument that was not passed by position.",
            f"static_argnums: {static}", f"arguments:      {count} passed to {name_of(fun)}"))
    fixed = {i % count: args[i] for i in static}
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
            avals.append(described(leaf))
        except TypeError:
            raise not_an_array(function, fun, name, leaf, "mark it with static_argnums.") from None
    jaxpr, consts = stage(flat, avals, debug, shares_literals=False)
    return jaxpr, consts, leaves, out_tree


def make_jaxpr(fun: Callable, static_argnums=(), axis_env=None, return_shape: bool = False):
    """A function that returns the jaxpr of ``fun``.

    ``static_argnums`` are arguments to treat as Python constants; ``axis_env`` is a list of
    ``(name, size)`` of axes that collectives may use; with ``return_shape`` the shapes of the
    outputs are a second result.

    >>> make_jaxpr(lambda x: 2 * jnp.sin(x))(1.0)
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul 2.0:f32[] b in (c,) }
    """
    check_callable("tanx.make_jaxpr", fun)
    static = as_tuple("tanx.make_jaxpr", "static_argnums", static_argnums, int)

    @boundary
    @wraps(fun)
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
    made.__name__ = made.__qualname__ = f"make_jaxpr({name_of(fun)})"
    return made


def _struct(aval):
    if aval.is_high:
        return aval
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type,
                            sharding=stated(aval))


def eval_shape(fun: Callable, *args, **kwargs):
    """Shapes and dtypes of a function's results, without computing them.

    Arguments may be arrays, :class:`tanx.ShapeDtypeStruct`, or any objects with a shape and a
    dtype; results that are such structs are unchanged.

    >>> eval_shape(lambda x: x @ x.T, ShapeDtypeStruct((3, 4), jnp.float32))
    ShapeDtypeStruct(shape=(3, 3), dtype=float32)
    """
    check_callable("tanx.eval_shape", fun)
    found: dict = {}

    @wraps(fun)
    def arrays(*args, **kwargs):
        leaves, found["tree"] = tree_flatten(fun(*args, **kwargs))
        found["leaves"] = [x if isinstance(x, ShapeDtypeStruct) else None for x in leaves]
        return [x for x in leaves if not isinstance(x, ShapeDtypeStruct)]

    jaxpr, *_ = trace_to_jaxpr("tanx.eval_shape", arrays, args, kwargs)
    computed = iter(jaxpr.out_avals)
    result = tree_unflatten(found["tree"], [
        _struct(next(computed)) if x is None else x for x in found["leaves"]])
    shardings = getattr(fun, "with_out_shardings", None)  # of jit with out_shardings
    return result if shardings is None else shardings(result)


def named_call(fun: Callable, *, name: str | None = None) -> Callable:
    """Name the equations of a function, for profiles; by default with the function's name.

    >>> named_call(lambda x: x + 1, name="increment")(1)
    2
    """
    check_callable("tanx.named_call", fun)
    return boundary(named_scope(name or name_of(fun))(fun))


@contextlib.contextmanager
def ensure_compile_time_eval():
    """A block in which operations on known values are computed immediately, even inside ``jit``.

    >>> with ensure_compile_time_eval():
    ...     size = int(jnp.arange(3).sum())
    >>> size
    3
    """
    with running(_KnownTrace(context.trace)):
        yield


class _KnownTrace(EvalTrace):
    """Evaluates operations on known values, even staged ones; passes others to the trace below."""

    __slots__ = ()
    below: Trace

    def __init__(self, below):
        super().__init__(below)
        self.staging = False

    def process(self, primitive, args, params):
        known = [x.concrete() if isinstance(x, StageTracer) else x for x in args]
        if not any(x is None or isinstance(x, Tracer) for x in known):
            return super().process(primitive, known, params)
        with running(self.below):
            return self.below.process(primitive, args, params)
