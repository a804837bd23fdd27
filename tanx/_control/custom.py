"""Shared by functions with custom rules: arguments, constants, and types of tangents."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .. import dtypes, tree_util
from .._core.cells import Cell
from .._core.effects import NamedAxisEffect
from .._core.jaxpr import ClosedJaxpr, Jaxpr, eval_jaxpr
from .._core.linear import Zero, never
from .._core.naming import DebugInfo, name_of
from .._core.primitive import Kind, Name
from .._core.refs import is_ref
from .._core.stage import stage_closed
from .._core.trace import EvalTrace, Tracer, context, running
from .._core.types import NUMBERS, ShapedArray, is_arraylike, typeof
from .._core.wrapped import WrappedFun, wrap_init
from .._ops.base import as_array, materialize
from .._ops.convert import stop_gradient
from .._transforms.discharge import DischargeTrace, contents
from .._transforms.jvp import JVPTrace
from .._transforms.linearize import PartialTrace
from .._transforms.transpose import backward
from .._transforms.vmap import batch
from ..errors import UnexpectedTracerError, explain
from .late import late_of, run_on_origins
from .stateful import RunsFunctions

__all__ = ["Arguments", "CustomCall", "SymbolicZero", "batched_flat", "batched_run", "flat_leaves",
           "same_type", "settled"]


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

    def along(self, dim: int | None) -> SymbolicZero:
        """One lane of a zero with a batch axis at ``dim``."""
        shape = self.shape if dim is None else (*self.shape[:dim], *self.shape[dim + 1:])
        return SymbolicZero(self.aval.update(shape=shape))

    def across(self, size: int) -> SymbolicZero:
        """The zero of a batch whose lanes are this one, with the batch axis in front."""
        return SymbolicZero(self.aval.update(shape=(size, *self.shape)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolicZero) and self.aval == other.aval

    def __hash__(self) -> int:
        return hash(self.aval)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


class Arguments:
    """Splits the arguments of calls of one function into differentiated and fixed ones."""

    def __init__(self, fun: Callable, nondiff_argnums, nondiff_argnames):
        self.fun = fun
        self.argnums = ((nondiff_argnums,) if isinstance(nondiff_argnums, int)
                        else tuple(nondiff_argnums))
        self.argnames = ((nondiff_argnames,) if isinstance(nondiff_argnames, str)
                         else tuple(nondiff_argnames))
        try:
            self.signature: inspect.Signature | None = inspect.signature(fun)
        except (TypeError, ValueError):  # built-in functions without a signature
            self.signature = None
        parameters = list(self.signature.parameters.values()) if self.signature else []
        names = [p.name for p in parameters]
        for name in self.argnames:
            if name not in names:
                raise ValueError(explain(
                    name_of(fun), "nondiff_argnames names a parameter that it does not have.",
                    f"nondiff_argnames: {self.argnames}", f"parameters:       {tuple(names)}"))
        self.positions = self.argnums + tuple(names.index(name) for name in self.argnames)
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        # This many arguments, none by keyword, need no matching with the signature.
        self.complete = len(names) if all(p.kind in by_position for p in parameters) else -1

    def take(self, args: tuple, kwargs: dict) -> tuple[tuple, dict[int, Any], int]:
        """Arguments to differentiate, fixed ones by position, and the number of all arguments."""
        if kwargs or len(args) != self.complete:
            args = self._bound(args, kwargs)
        count = len(args)
        if not self.positions:
            return args, {}, count
        fixed = {i % count: args[i] for i in sorted(self.positions) if -count <= i < count}
        return tuple(x for i, x in enumerate(args) if i not in fixed), fixed, count

    def _bound(self, args: tuple, kwargs: dict) -> tuple:
        """All arguments by position, with defaults, because rules take positional arguments."""
        if self.signature is None:
            if kwargs:
                raise TypeError(explain(
                    name_of(self.fun), "its keyword arguments cannot be matched with positions: "
                    "it has no signature.", hint="pass them by position."))
            return args
        bound = self.signature.bind(*args, **kwargs)
        if bound.kwargs:
            raise TypeError(explain(
                name_of(self.fun), "a function with custom derivative rules takes no "
                "keyword-only arguments.", f"given: {', '.join(bound.kwargs)}",
                hint="make them positional, or close over them."))
        bound.apply_defaults()
        return bound.args


def flat_leaves(function: str, tree, hint: str = "", *,
                keep_numbers: bool = False) -> tuple[list, Any]:
    """Leaves as arrays, and the tree; an error names the leaf that is not an array.

    With ``keep_numbers``, Python numbers that an array can hold are not converted.
    """
    leaves, structure = tree_util.tree_flatten(tree)
    if not all(map(is_arraylike, leaves)):
        path, leaf = next((path, leaf) for path, leaf in tree_util.tree_flatten_with_path(tree)[0]
                          if not is_arraylike(leaf))
        raise TypeError(explain(
            function, "needs arrays or numbers.", f"at {tree_util.keystr(path) or 'its root'}: "
            f"{leaf!r:.100} of type {type(leaf).__name__}", hint=hint or None))
    arrays = [x if is_ref(x) else as_array(x) for x in leaves]
    if keep_numbers:
        return [x if type(x) in NUMBERS else y for x, y in zip(leaves, arrays)], structure
    return arrays, structure


class CustomCall(RunsFunctions):
    """A call with the user's rules.

    Its body, ``call_jaxpr``, is a closed jaxpr after staging, and before that a Python function of
    flat arguments, which may close over values.
    """

    kind = Kind.CALL
    multiple_results = True
    subfuns: tuple[str, ...]
    """The parameters that are functions, in the order in which libraries know them."""

    def get_bind_params(self, params):
        """The functions come as one parameter ``subfuns``, wrapped."""
        call = params["call_jaxpr"]
        if isinstance(call, Jaxpr):  # from libraries that rewrite the body
            call = ClosedJaxpr(call, ())
        functions = {**params, "call_jaxpr": lambda *xs: run(call, xs)}
        return {"subfuns": tuple(wrap_init(functions[name]) for name in self.subfuns),
                **{name: value for name, value in params.items() if name not in self.subfuns}}

    def bind(self, *args, **params):
        return super().bind(*args, **self.unwrapped(params))

    def unwrapped(self, params: dict) -> dict:
        """The parameters, with the functions of ``subfuns`` if that is given."""
        if (subfuns := params.pop("subfuns", None)) is None:
            return params
        return {"num_consts": 0, "name": subfuns[0].__name__, **params,
                **dict(zip(self.subfuns, map(repeatable, subfuns)))}

    def infer(self, *types, call_jaxpr, **params):
        return call_jaxpr.out_avals

    def effects(self, *types, call_jaxpr, **params):
        return call_jaxpr.effects

    def eval(self, *args, call_jaxpr, **params):
        return run(call_jaxpr, args)

    def stage(self, trace, args, params):
        """Become an equation with a staged body; values that it closes over are the first
        operands."""
        call = params["call_jaxpr"]
        if isinstance(call, ClosedJaxpr):
            return trace.record(self, args, params)
        debug = DebugInfo(self.name.removesuffix("_call"), params["name"])
        closed, captured = stage_closed(lambda *xs: list(call(*xs)), [typeof(x) for x in args],
                                        debug)
        return trace.record(self, [*captured, *args], {
            **params, "call_jaxpr": closed, "num_consts": params["num_consts"] + len(captured)})

    def discharge(self, args, params):
        """Pass references to the user's rules unchanged, if their content is not traced.

        Otherwise the rules see cells: the function of contents is differentiated.
        """
        trace = context.trace
        if isinstance(trace, EvalTrace):
            return run(params["call_jaxpr"], args)
        if isinstance(trace, JVPTrace | PartialTrace) and not any(
                is_ref(x) and isinstance(x, Tracer) and trace.owns(x) for x in args):
            if any(isinstance(x, Tracer) and trace.owns(x) for x in args):
                return trace.process(self, args, params)
            with running(trace.underneath):
                return self.bind(*args, **params)
        outs = run_on_origins(self, args, params)
        if outs is not None:
            return outs
        late = late_of(args) if self.keeps_refs is not None else {}
        refs = [Written(x.aval, i in late) if is_ref(x) else None for i, x in enumerate(args)]
        outs = self.bind(*contents(args), *late.values(), **self.on_contents(refs, params))
        end = len(outs) - len(late)
        count = end - sum(map(is_ref, args))
        for ref, mark, content in zip(filter(is_ref, args), filter(None, refs), outs[count:end]):
            if mark.written:  # by a rule, which has no derivative for it
                ref.store(stop_gradient(content))
        for i, value in zip(late, outs[end:]):
            args[i].late = value
        return outs[:count]

    def on_contents(self, refs: Refs, params: dict) -> dict:
        """The parameters of a use on contents, which returns new contents after its results.

        ``refs`` has, for each operand, the facts about its reference, or None. Late values are the
        last operands and the last results.
        """
        raise NotImplementedError(f"{self.name}.on_contents")

    def called(self, params):
        call = params["call_jaxpr"]
        return call if isinstance(call, ClosedJaxpr) else None

    def written(self, params):
        """A plain call: the rules are for transformations, which have been applied by then."""
        return "jit", {"jaxpr": params["call_jaxpr"], "name": Name(params["name"])}

    def depends_on(self, axis, params):
        call = params["call_jaxpr"]
        return not isinstance(call, ClosedJaxpr) or NamedAxisEffect(axis.name) in call.effects

    def transpose(self, cts, *args, call_jaxpr, **params):
        """The transpose of a function that is linear in some arguments; rules are not needed."""
        return backward(call_jaxpr.jaxpr, call_jaxpr.consts, args, cts)

    batch = never("a call is batched by batch_axis, which gets the mapped axis")
    lower = never("the compiler inlines the function")

    def check_results(self, outs, what: str, call_jaxpr, **params) -> None:
        """Check that a rule returns results of the types that the function returns, if known."""
        if not isinstance(call_jaxpr, ClosedJaxpr):
            return
        for aval, y in zip(call_jaxpr.out_avals, outs, strict=True):
            if not same_type(aval, y):
                raise TypeError(explain(
                    f"tanx.{self.name.removesuffix('_call')}: the {what} of {params['name']}",
                    "must return results of the types that the function returns.",
                    f"function: {aval}", f"rule:     {typeof(y)}"))


def process_custom_jvp_call(primitive, trace, args, params):
    """Pass a use of ``custom_jvp_call`` to a trace that takes functions and rules."""
    body = wrap_init(lambda *xs: run(params["call_jaxpr"], xs))
    return trace.process_custom_jvp_call(primitive, body, wrap_init(params["jvp"]), args,
                                         symbolic_zeros=params["symbolic_zeros"])


def repeatable(fun: WrappedFun) -> Callable:
    """A function from a library's trace that can be run repeatedly, like the body of a call.

    Its stores, from which the library reads facts about the last run, are emptied before each run.
    """
    @functools.wraps(fun.f)
    def run_again(*args):
        for store in filter(None, fun.stores):
            store.reset()
        return fun.call_wrapped(*args)
    return run_again


def process_custom_vjp_call(primitive, trace, args, params):
    """Pass a use of ``custom_vjp_call`` to a trace that takes functions and rules."""
    body = wrap_init(lambda *xs: run(params["call_jaxpr"], xs))
    return trace.process_custom_vjp_call(
        primitive, body, wrap_init(params["fwd"]), params["bwd"], args, out_trees=None,
        symbolic_zeros=params["symbolic_zeros"])


class Written:
    """The type of a reference, whether it has a late value, and whether a function writes to it."""

    __slots__ = ("aval", "late", "written")

    def __init__(self, aval, late: bool = False):
        self.aval, self.late, self.written = aval, late, False


Refs = list[Written | None]


def run_on_cells(fun: Callable, refs: Refs, values) -> tuple[Any, list]:
    """Run a function with cells in place of contents; its result, and the arguments with cells."""
    trace = DischargeTrace(context.trace)
    args = [x if ref is None else Cell(trace, x, ref.aval) for x, ref in zip(values, refs)]
    with running(trace):
        answer = fun(*args)
    for x, ref in zip(args, refs):
        if ref is not None:
            ref.written = ref.written or x.written
    return answer, args


def contents_of(args: list, refs: Refs) -> list:
    """The contents of the cells among arguments."""
    return [x.content for x, ref in zip(args, refs) if ref is not None]


def call_on_contents(call, refs: Refs) -> Callable:
    """The body of a call as a function of contents, which returns new ones after its results."""
    def on_contents(*values):
        outs, args = run_on_cells(lambda *xs: list(run(call, xs)), refs, values)
        return [*outs, *contents_of(args, refs), *values[len(refs):]]
    return on_contents if isinstance(call, ClosedJaxpr) else functools.update_wrapper(
        on_contents, call)


def run(call, args) -> list:
    """Run the body of a call."""
    if isinstance(call, ClosedJaxpr):
        return eval_jaxpr(call.jaxpr, call.consts, *args)
    return call(*args)


def batched_flat(call, axis, dims, mapped: list[bool]):
    """A flat function over a batch; :func:`settled` decides whether its results have the axis."""
    def batched(*args):
        outs, found = batched_run(lambda *xs: list(run(call, xs)), axis, args, dims)
        return settled(outs, found, axis, mapped, call)
    return batched if isinstance(call, ClosedJaxpr) else functools.update_wrapper(batched, call)


def batched_run(fun, axis, args, dims) -> tuple[list, list]:
    """As :func:`batch`, but some arguments may be symbolic zeros."""
    lanes = [x.along(d) if type(x) is SymbolicZero else x for x, d in zip(args, dims)]
    return batch(fun, axis, lanes, [None if type(x) is SymbolicZero else d
                                    for x, d in zip(args, dims)])


def settled(outs, dims, axis, mapped: list[bool], rule) -> list:
    """Results with the batch axis in front, or without it.

    ``mapped`` says which, and is shared by all functions of one call. It is empty if no operand has
    the axis; then the first function to run decides, because it may close over a mapped value.
    """
    if not mapped:
        mapped.append(any(d is not None for d in dims))
    if mapped[0]:
        return [x.across(axis.size) if type(x) is SymbolicZero else materialize(x, d, axis.size)
                for x, d in zip(outs, dims)]
    if any(d is not None for d in dims):
        raise UnexpectedTracerError(explain(
            "tanx.vmap", "a derivative rule closes over a mapped value that the function itself "
            "does not depend on.", f"rule: {name_of(rule)}",
            hint="pass the value to the function as an argument."))
    return outs


def same_type(aval: ShapedArray, x) -> bool:
    """Whether a tangent has the right shape and dtype, ignoring weakness."""
    if type(x) in (Zero, SymbolicZero):
        return x.aval.shape == aval.shape
    found = typeof(x)
    if aval.dtype == dtypes.float0:
        return found.shape == aval.shape
    return found.shape == aval.shape and found.dtype == aval.dtype
