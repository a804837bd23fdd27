"""What functions with rules of their own share: arguments, constants, and types of tangents."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .. import dtypes, tree_util
from .._core.jaxpr import ClosedJaxpr, eval_jaxpr
from .._core.linear import Zero
from .._core.stage import DebugInfo, stage_closed
from .._core.types import ShapedArray, is_arraylike, typeof
from .._ops.batching import materialize
from .._transforms.vmap import batch
from ..errors import explain

__all__ = ["SymbolicZero", "batched_flat", "bind_arguments", "name_of", "run", "same_type",
           "split_nondiff", "stage_call"]


class SymbolicZero:
    """A zero tangent or cotangent, shown to rules that asked for ``symbolic_zeros=True``."""

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: self.aval.size)

    @staticmethod
    def from_primal_value(val) -> SymbolicZero:
        """The zero tangent of a value."""
        return SymbolicZero(typeof(val).to_tangent())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolicZero) and self.aval == other.aval

    def __hash__(self) -> int:
        return hash(self.aval)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


def name_of(fun: Callable) -> str:
    """A function's name for messages and jaxprs, looking through partials without one."""
    while not hasattr(fun, "__name__") and isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(fun, "__name__", type(fun).__name__)


def run(call, args) -> list:
    """Run the body of a call: a closed jaxpr, or a Python function of flat arguments."""
    if isinstance(call, ClosedJaxpr):
        return eval_jaxpr(call.jaxpr, call.consts, *args)
    return call(*args)


def bind_arguments(fun: Callable, args: tuple, kwargs: dict) -> tuple:
    """All arguments by position, defaults filled in, for rules take them so."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):  # built-in functions without a signature
        signature = None
    if signature is None:
        if kwargs:
            raise TypeError(explain(
                name_of(fun), "its keyword arguments cannot be matched with positions, since "
                "Python knows no signature of it.", hint="pass them by position."))
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(explain(
            name_of(fun), "a function with derivative rules of its own takes no keyword-only "
            "arguments.", f"given: {', '.join(bound.kwargs)}",
            hint="make them positional, or close over them."))
    return bound.args


def split_nondiff(fun: Callable, args: tuple, argnums, argnames) -> tuple[list, dict[int, Any]]:
    """Arguments to be differentiated, and the fixed ones by position."""
    positions = {i % len(args) for i in argnums} if args else set()
    if argnames:
        names = list(inspect.signature(fun).parameters)
        positions |= {names.index(n) for n in argnames}
    fixed = {i: args[i] for i in sorted(positions)}
    return [x for i, x in enumerate(args) if i not in fixed], fixed


def flat_leaves(function: str, tree) -> tuple[list, Any]:
    """Leaves that are arrays, and the tree; an error names the leaf that is not."""
    leaves, structure = tree_util.tree_flatten(tree)
    for path, leaf in tree_util.tree_flatten_with_path(tree)[0]:
        if not is_arraylike(leaf):
            raise TypeError(explain(
                function, f"argument{tree_util.keystr(path)} is no array.", f"value: {leaf!r:.100}",
                hint="list it in nondiff_argnums, or close over it."))
    return leaves, structure


def stage_call(trace, primitive, args, params, key: str, debug: DebugInfo):
    """Record a call as an equation, its Python body staged; captured tracers lead its operands."""
    call = params[key]
    if isinstance(call, ClosedJaxpr):
        return trace.record(primitive, args, params)
    closed, captured = stage_closed(functools.partial(_run_list, call),
                                    [typeof(x) for x in args], debug)
    consts = params["num_consts"] + len(captured)
    return trace.record(primitive, [*captured, *args],
                        {**params, key: closed, "num_consts": consts})


def _run_list(call, *args):
    return list(call(*args))


def batched_flat(call, axis, dims, out_dims: list | None = None):
    """A flat function over a batch, its outputs with the batch axis in front.

    Where ``out_dims`` is given, outputs without the axis stay so, and the list tells which.
    """
    def batched(*args):
        outs, found = batch(lambda *xs: list(run(call, xs)), axis, args, dims)
        if out_dims is not None:
            out_dims[:] = [None if d is None else 0 for d in found]
        return [x if out_dims is not None and d is None else materialize(x, d, axis.size)
                for x, d in zip(outs, found)]
    return batched


def same_type(aval: ShapedArray, x) -> bool:
    """Whether a tangent has the shape and dtype it should, weakness aside."""
    if type(x) in (Zero, SymbolicZero):
        return x.aval.shape == aval.shape
    found = typeof(x)
    if aval.dtype == dtypes.float0:
        return found.shape == aval.shape
    return found.shape == aval.shape and found.dtype == aval.dtype
