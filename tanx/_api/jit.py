"""``jit``: functions staged once for each kind of arguments, and run as a unit."""

from __future__ import annotations

import enum
import functools
import gc
import sys
import threading
import weakref
from collections.abc import Callable
from time import perf_counter
from types import MethodType
from typing import Any

from .._base import config
from .._base.collector import at_rest
from .._base.logger import verbose
from .._base.monitoring import TRACING, timed
from .._base.traceback import boundary
from .._base.tuples import NamedTuple
from .._control.call import jit_p
from .._control.contents import run_on_contents
from .._core.array import Array
from .._core.axes import axis_sizes
from .._core.high import is_high, lower_all, raise_all
from .._core.jaxpr import ClosedJaxpr, cached_by_jaxpr, eval_jaxpr, jaxpr_as_fun
from .._core.naming import debug_info, leaf_names, name_of, parameters_of
from .._core.reads import absorb, reading
from .._core.recording import current, span
from .._core.refs import check_distinct, is_ref
from .._core.stage import Staged, clear_memories, memory_of, stage_closed
from .._core.trace import EvalTrace, Tracer, context
from .._core.types import is_arraylike, typeof
from .._ops.base import as_array
from .._runtime.background_compile import run_meanwhile
from .._runtime.device import devices_of
from .._runtime.dispatch import Dispatcher, NativeCalls
from .._runtime.ledger import ledger
from .._runtime.objects import callable_class
from .._runtime.python_call import Call
from .._runtime.reports import report
from .._runtime.tier0 import program_of
from .._transforms.discharge import discharge, is_stateful, without_refs
from .._transforms.low import lowered
from ..errors import explain, warn_user
from ..tree_util import tree_flatten, tree_leaves, tree_structure, tree_unflatten
from .arguments import (
    check_callable,
    check_leaves,
    positions_and_names,
    result_leaves,
)
from .cache_report import note_trace
from .jit_shardings import ShardedFunction
from .misses import Signature, explain_miss, warn_of_state, why_again
from .options import check_options, using_options
from .wrapped import Wrapped

__all__ = ["Inline", "PjitFunction", "clear_caches", "jit", "library_jit"]


class _Call(NamedTuple):
    """The arguments of one call, flattened."""

    leaves: list
    in_tree: Any
    fixed: dict[int, Any]
    fixed_names: dict[str, Any]
    arity: int


@callable_class
class PjitFunction(Wrapped):
    """A function wrapped by :func:`jit`; libraries know the type by this name."""

    _whole: Staged | None = None  # its only trace, if it takes only one kind of arguments

    def __init__(self, fun: Callable, static_argnums, static_argnames, donate_argnums,
                 donate_argnames, keep_unused: bool, inline: bool, name: str | None = None,
                 compiler_options=None, background: bool = False):
        functools.update_wrapper(self, fun)
        for name in [n for n in vars(self) if n[:2] != "__" and hasattr(type(self), n)]:
            del vars(self)[name]  # an attribute of the user's must not hide a method of ours
        self._options = (fun, static_argnums, static_argnames, donate_argnums, donate_argnames,
                         keep_unused, inline, name, compiler_options, background)
        self._fun, self._name = fun, name or name_of(fun)
        self._static, self._static_names = positions_and_names(
            fun, "tanx.jit", "static", static_argnums, static_argnames)
        self._donated, self._donated_names = positions_and_names(
            fun, "tanx.jit", "donate", donate_argnums, donate_argnames)
        both = set(self._static_names) & set(self._donated_names)
        if both:
            raise ValueError(explain("tanx.jit", "a static argument has no data to donate.",
                                     f"static and donated: {', '.join(sorted(both))}"))
        self._keep_unused, self._inline, self._background = keep_unused, inline, background
        self._compiler_options = check_options("tanx.jit", compiler_options)
        self._entries = memory_of(fun)
        self._native_calls = NativeCalls()
        _functions.add(self)

    def __get__(self, instance, owner=None):
        return self if instance is None else MethodType(self, instance)

    @boundary
    def __call__(self, *args, **kwargs):
        if config.jit_disabled.value:
            return self._fun(*args, **kwargs)
        call, entry, captured = self._staged(args, kwargs)
        donated = self._donated_leaves(call, args, kwargs)
        if entry.high and type(context.trace) is EvalTrace:
            outs = run_on_parts(entry.closed, [*entry.refs, *captured, *call.leaves], self._name)
            return tree_unflatten(entry.out_tree, outs)
        if entry.stateful:
            captured = self._with_refs(call, entry, captured, args, kwargs)
            if type(context.trace) is EvalTrace:
                if any(map(is_ref, (*captured, *call.leaves))):
                    outs = run_on_refs(entry.closed, [*captured, *call.leaves], donated, self._name)
                    return tree_unflatten(entry.out_tree, outs)
                # All references are private: on values, it is called like any other function.
                entry = entry._replace(closed=without_refs(entry.closed), stateful=False)
        if not captured and type(context.trace) is EvalTrace:
            if self._background:
                early = run_meanwhile(entry.closed, donated, [*map(_present, call.leaves)])
                if early is not None:
                    return tree_unflatten(entry.out_tree, early)
            whole = Call(args, kwargs, frozenset(call.fixed), frozenset(call.fixed_names))
            self._native_calls.learn(self, whole, call.leaves, entry, donated)
        operands = [*captured, *map(_present, call.leaves)]
        donated = donated and (*(False for _ in captured), *donated)
        if self._compiler_options:
            with using_options(self._compiler_options):
                outs = self._run(entry.closed, operands, donated)
        else:
            outs = self._run(entry.closed, operands, donated)
        ledger.used(entry.closed, self)
        return tree_unflatten(entry.out_tree, outs)

    def _staged(self, args: tuple, kwargs: dict) -> tuple[_Call, Staged, list]:
        """The flattened arguments, the function staged for them, the tracers it closes over."""
        call = self._take_apart(args, kwargs)
        return call, *self._entry(call, args, kwargs)

    def _run(self, closed: ClosedJaxpr, operands: list, donated: tuple[bool, ...]) -> list:
        if self._inline and context.trace.staging:
            return eval_jaxpr(closed.jaxpr, closed.consts, *operands)
        return jit_p.bind(*operands, jaxpr=closed, name=self._name, inline=self._inline,
                          keep_unused=self._keep_unused, donated_invars=donated)

    def _donated_leaves(self, call: _Call, args: tuple, kwargs: dict) -> tuple[bool, ...]:
        """For each leaf of the arguments whether it is donated; empty if none is."""
        if not self._donated and not self._donated_names:
            return ()
        positions = {i % len(args) for i in self._donated if -len(args) <= i < len(args)}
        given = [(x, i in positions) for i, x in enumerate(args) if i not in call.fixed]
        given += [(kwargs[name], name in self._donated_names)
                  for name in sorted(kwargs.keys() - call.fixed_names.keys())]
        return tuple(flag for x, flag in given for _ in tree_leaves(x))

    def _take_apart(self, args: tuple, kwargs: dict) -> _Call:
        count = len(args)
        fixed = {i % count: args[i] for i in self._static if -count <= i < count}
        fixed_names = {n: kwargs[n] for n in self._static_names if n in kwargs}
        for where, value in (*fixed.items(), *fixed_names.items()):
            _check_hashable(self._fun, where, value)
        dynamic = [x for i, x in enumerate(args) if i not in fixed]
        keywords = {k: v for k, v in kwargs.items() if k not in fixed_names}
        leaves, in_tree = tree_flatten((dynamic, keywords))
        return _Call(leaves, in_tree, fixed, fixed_names, count)

    def _entry(self, call: _Call, args: tuple, kwargs: dict) -> tuple[Staged, list]:
        """The staged function for a call, and the tracers that it closes over."""
        if self._whole is not None:
            return self._whole, []
        if not all(map(is_arraylike, call.leaves)):
            dynamic = {k: v for k, v in kwargs.items() if k not in call.fixed_names}
            check_leaves("tanx.jit", self._fun, args, dynamic, call.leaves,
                         "mark it with static_argnums or static_argnames.", call.fixed)
        avals = tuple(typeof(x) for x in call.leaves)
        # Static values are equal only when their types are too: 1 is not True.
        static = tuple((k, type(v), v) for k, v in (*call.fixed.items(), *call.fixed_names.items()))
        key = (call.in_tree, avals, static, config.trace_key(), tuple(axis_sizes().items()))
        entry = self._entries.find(key)
        if entry is not None:
            return entry, []
        if (self, key) in _being_traced.calls:
            raise _calls_itself(self._fun, avals)
        _being_traced.calls.add((self, key))
        try:
            entry, captured = self._stage(call, avals, args, kwargs, key)
        finally:
            _being_traced.calls.discard((self, key))
        if not captured:
            self._entries.keep(key, entry, entry.guards)
        return entry, captured

    def _with_refs(self, call: _Call, entry: Staged, captured: list, args: tuple,
                   kwargs: dict) -> list:
        """All values that the function closes over; no reference may occur twice."""
        captured = [*entry.refs, *captured]
        refs = [x for x in (*captured, *call.leaves) if is_ref(x)]
        if len(set(map(id, refs))) < len(refs):
            dynamic = {k: v for k, v in kwargs.items() if k not in call.fixed_names}
            check_distinct(f"tanx.jit of {name_of(self._fun)}", [*captured, *call.leaves], [
                *("what it closes over" for _ in captured),
                *leaf_names(self._fun, args, dynamic, call.fixed)])
        return captured

    def _stage(self, call: _Call, avals: tuple, args: tuple, kwargs: dict,
               key: Signature) -> tuple[Staged, list]:
        out_tree = None

        def flat(*xs):
            nonlocal out_tree
            given, keywords = tree_unflatten(call.in_tree, xs)
            rest = iter(given)
            whole = [call.fixed[i] if i in call.fixed else next(rest) for i in range(call.arity)]
            result = self._fun(*whole, **keywords, **call.fixed_names)
            outs, out_tree = result_leaves("tanx.jit", self._fun, result)
            return outs

        debug = debug_info("jit", self._fun, args, kwargs, call.fixed, call.in_tree)
        if config.explain_cache_misses.value:
            explain_miss(self._fun, debug, key, self._entries)
        warn_of_state(debug, key, self._entries)
        reasons = why_again(debug, key, self._entries)
        start = perf_counter()
        # The collector is paused: objects created here stay, or are freed by reference counting.
        static = (*call.fixed.values(), *call.fixed_names.values())
        with timed(TRACING, debug.function), at_rest, span(
                f"trace {debug.function}", "trace", avals):
            with reading(self._fun, static) as reads:
                closed, captured = stage_closed(flat, avals, debug, shares_literals=False)
            guards = reads.guards(closed.jaxpr)
            absorb(guards)
        seconds = perf_counter() - start
        if config.log_compiles.value or verbose():
            report("traced", debug.function, avals, seconds)
        note_trace(debug.function, debug.source, avals, reasons, seconds)
        _check_constants(debug.function, closed)
        high = is_high(closed)
        if not is_stateful(closed):
            return Staged(closed, out_tree, guards=guards, high=high), captured
        if any(isinstance(x, Tracer) for x in captured):
            return Staged(closed, out_tree, (), True, guards, high), captured
        return Staged(closed, out_tree, tuple(captured), True, guards, high), []

    def forget(self, closed: ClosedJaxpr) -> None:
        """Drop one program."""
        self._entries.forget(closed)
        self._native_calls.forget(self, closed)

    def clear_cache(self) -> None:
        """Drop everything staged for this function."""
        self._entries.clear()
        self._native_calls.clear(self)

    def _cache_size(self) -> int:
        return self._entries.count()

    def __reduce__(self):
        """Pickle by name, like functions, if the name leads here; otherwise with the function."""
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        for name in getattr(self, "__qualname__", "<locals>").split("."):
            found = getattr(found, name, None)
        return self.__qualname__ if found is self else (PjitFunction, self._options)

    def __repr__(self) -> str:
        return f"<PjitFunction of {self._fun!r}>"


class _BeingTraced(threading.local):
    """Functions and signatures that this thread is tracing, nested."""

    def __init__(self) -> None:
        self.calls: set[tuple[PjitFunction, Signature]] = set()


_being_traced = _BeingTraced()


def _calls_itself(fun: Callable, avals: tuple) -> RecursionError:
    """The error for a function that would be traced forever."""
    return RecursionError(explain(
        "tanx.jit", f"{name_of(fun)} calls itself with arguments of the same types, so tracing it "
        "would never end.",
        f"types of arguments: {', '.join(map(str, avals)) or 'none'}",
        hint="tanx.lax.while_loop, tanx.lax.fori_loop and tanx.lax.scan repeat a step; a number "
             "that Python branches on must be a static argument."))


def _flat_function(closed: ClosedJaxpr, donated: tuple[int, ...], name: str) -> PjitFunction:
    """A function of flat arguments that is staged already, and donates some of them."""
    function = PjitFunction(jaxpr_as_fun(closed), None, None, donated or None, None, True, False,
                           name)
    function._whole = Staged(closed, tree_structure([0] * len(closed.out_avals)))
    return function


@cached_by_jaxpr
def _on_contents(closed: ClosedJaxpr, donated: tuple[bool, ...],
                 name: str) -> tuple[PjitFunction, tuple[int, ...]]:
    """A function on the contents of references, and which of them it returns after its results.

    Contents that it replaces are donated, so that they are updated in place.
    """
    pure, written = discharge(closed)
    given = [i for i, flag in enumerate(donated) if flag]
    return _flat_function(pure, tuple(sorted({*given, *written})), name), written


def run_on_refs(closed: ClosedJaxpr, operands: list, donated: tuple[bool, ...],
                name: str) -> list:
    """Run a function in eager code that takes or creates references, and update these."""
    captured = len(operands) - len(donated) if donated else 0
    run, written = _on_contents(closed, (*[False] * captured, *donated), name)
    return run_on_contents(run, operands, written)


@cached_by_jaxpr
def _function_on_parts(closed: ClosedJaxpr, name: str) -> PjitFunction:
    """A function on the parts of values of high types."""
    return _flat_function(lowered(closed), (), name)


def run_on_parts(closed: ClosedJaxpr, operands: list, name: str) -> list:
    """Run a function in eager code that involves values of high types."""
    low = lowered(closed)
    values = lower_all(closed.in_avals, operands)
    outs = (run_on_refs(low, values, (), name) if is_stateful(low)
            else _function_on_parts(closed, name)(*values))
    return raise_all(closed.out_avals, outs)


def clear_caches() -> None:
    """Drop everything staged and compiled for every function, except for files on disk.

    Unused memory is returned to the system.

    >>> tanx.clear_caches()
    """
    from .._runtime.host import give_back  # late: most programs never call this
    from .._runtime.load import clear
    clear_memories()
    clear()
    for function in list(_functions):
        function._native_calls.clear(function)
    gc.collect()  # programs are full of cycles
    give_back()


_functions: weakref.WeakSet[PjitFunction] = weakref.WeakSet()


def _present(x):
    """An argument as an array whose data exists, or a reference."""
    if is_ref(x):
        return x
    x = as_array(x)
    if type(x) is Array and x.is_deleted():
        x._value  # noqa: B018 - says that the data is gone
    return x


def _check_constants(name: str, closed: ClosedJaxpr) -> None:
    """Warn if the data that becomes part of the program exceeds the option's limit."""
    limit = config.captured_constants_warn_bytes.value
    total = sum(getattr(c, "nbytes", 0) for c in closed.consts)
    if total > limit >= 0:
        largest = max(closed.consts, key=lambda c: getattr(c, "nbytes", 0))
        warn_user(explain(
            "tanx.jit", f"{name} captures {total} bytes of arrays as constants.",
            f"arrays:  {len(closed.consts)}, the largest {typeof(largest)}",
            f"warn at: {limit} bytes (tanx.config.jax_captured_constants_warn_bytes)",
            hint="pass them as arguments, so that programs do not hold them."))


def _check_hashable(fun: Callable, where: Any, value) -> None:
    try:
        hash(value)
    except TypeError:
        arrays = is_arraylike(value)
        known = parameters_of(fun) or ()
        if isinstance(where, int):
            where = known[where].name if where < len(known) else f"#{where}"
        raise ValueError(explain(
            "tanx.jit", f"static argument {where} of {name_of(fun)} must be hashable.",
            f"value: {value!r:.100} of type {type(value).__name__}",
            hint="pass arrays as ordinary arguments." if arrays
            else "pass a tuple instead of a list, or a frozen dataclass.")) from None


class Inline(enum.Enum):
    """When a jitted function becomes part of the function that calls it.

    ``JAX_EARLY`` is when the caller is traced, as ``inline=True``. The others leave it to the
    compiler, which always makes one program of both.
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


_MISSING: Any = object()


def jit(fun: Callable = _MISSING, /, *, in_shardings=None, out_shardings=None, static_argnums=None,
        static_argnames=None, donate_argnums=None, donate_argnames=None, keep_unused: bool = False,
        device=None, backend=None, inline: bool | Inline = False, compiler_options=None,
        background: bool = False):
    """Compile a function as a unit, once for each kind of arguments.

    Arguments in ``static_argnums`` and ``static_argnames`` are Python constants: they must be
    hashable, and each new value means a new compilation. Data of arguments in ``donate_argnums``
    and ``donate_argnames`` may be reused for results. ``in_shardings`` and ``out_shardings`` are
    the shardings of positional arguments and results: a sharding, a ``PartitionSpec`` for the mesh
    in scope, None (unspecified), or pytrees of them. With ``background`` code is compiled in a
    thread, and calls before it is ready run on tier 0. Without a function, returns a decorator.

    >>> @jit
    ... def f(x):
    ...     return 2 * x
    >>> f(3.0)
    Array(6., dtype=float32, weak_type=True)
    >>> @jit(static_argnames="n")
    ... def power(x, n):
    ...     return x ** n
    >>> power(3.0, n=2)
    Array(9., dtype=float32, weak_type=True)
    """
    if fun is _MISSING:
        return functools.partial(
            jit, in_shardings=in_shardings, out_shardings=out_shardings,
            static_argnums=static_argnums, static_argnames=static_argnames,
            donate_argnums=donate_argnums, donate_argnames=donate_argnames,
            keep_unused=keep_unused, device=device, backend=backend, inline=inline,
            compiler_options=compiler_options, background=background)
    check_callable("tanx.jit", fun)
    if device is not None or backend is not None:
        _check_place(device, backend)
    function = PjitFunction(fun, static_argnums, static_argnames, donate_argnums, donate_argnames,
                           keep_unused, inline is Inline.JAX_EARLY or inline is True,
                           compiler_options=compiler_options, background=background)
    if in_shardings is None and out_shardings is None:
        return function
    return ShardedFunction(function, in_shardings, out_shardings)


def _check_place(device, backend) -> None:
    """Check that ``device`` and ``backend`` name the only place where everything runs."""
    known = devices_of(backend)  # raises if there is no such backend
    if device is not None and device not in known:
        raise ValueError(explain("tanx.jit", "there is no such device.", f"device: {device!r}",
                                 f"devices: {', '.join(map(repr, known))}"))


def library_jit(fun: Callable | None = None, *, name: str | None = None, static_argnums=(),
                static_argnames=None):
    """For the library's own functions: a call in jaxprs, and one program in eager code.

    Jaxprs show ``jit[name=clip]`` where JAX does. Eager code stages a signature at its second
    occurrence, so that calls with always new shapes do not pay for staging.
    """
    if fun is None:
        return functools.partial(library_jit, name=name, static_argnums=static_argnums,
                                 static_argnames=static_argnames)

    @functools.cache  # inspecting signatures takes time, and most functions are never called
    def staged() -> tuple[PjitFunction, Dispatcher]:
        function = PjitFunction(fun, static_argnums or None, static_argnames, None, None, False,
                               False, name)
        return function, Dispatcher(function._static, function._static_names, program_of)

    seen: set = set()

    @functools.wraps(fun)
    def either(*args, **kwargs):
        function, dispatcher = staged()
        if context.trace.staging:
            return function(*map(_plain, args), **kwargs)
        signature = dispatcher.signature(args, kwargs)
        if signature is None:
            return fun(*args, **kwargs)
        ready = dispatcher.find(signature)
        if ready is None:
            if not _second_time(signature, seen):
                return fun(*args, **kwargs)
            _, entry, captured = function._staged(args, kwargs)
            if captured:
                return fun(*args, **kwargs)
            ready = dispatcher.remember(signature, entry.closed, entry.out_tree, args)
        if current.recorder is not None:
            with span(function._name, "operation", signature[1:]):
                return ready(args)
        return ready(args)
    return either


def _plain(x):
    """An argument of a library function, or the array that it represents."""
    return x.__jax_array__() if hasattr(type(x), "__jax_array__") else x


def _second_time(signature: tuple, seen: set) -> bool:
    """Whether a signature was seen before."""
    try:
        if signature in seen:
            return True
        if len(seen) >= Dispatcher.LIMIT:
            seen.clear()
        seen.add(signature)
    except TypeError:  # a static argument that is not hashable
        pass
    return False
