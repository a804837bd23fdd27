"""Staging: run a Python function once and record its operations as a jaxpr.

Every primitive applied while a :class:`StageTrace` runs becomes an equation. Values that depend on
no argument stay computable: when Python needs one (a shape, a bool, an index), the equations that
compute it are evaluated immediately.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from .._base.config import enable_checks, no_tracing
from .._base.frames import more_frames
from .._base.symbolic import DimExpr, Hook
from .._base.tuples import NamedTuple
from ..dtypes import float0
from ..errors import explain
from . import explicit
from .array import Array
from .explicit import Explicit
from .guards import NONE, Guards
from .jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, eval_jaxpr
from .leaks import check_leaks
from .naming import DebugInfo
from .opaque import Opaque
from .primitive import Kind
from .reads import absorb
from .refs import AbstractRef, Reference, no_array
from .source import is_ours, unscoped, user_source
from .trace import EvalTrace, Trace, Tracer, context, leaked, running
from .types import AbstractValue, ShapedArray, high_classes, typeof

__all__ = ["Memory", "StageRef", "StageTrace", "StageTracer", "Staged", "captured_by",
           "clear_memories", "keeps_traces", "memory_of", "memory_of_object", "stage",
           "stage_closed"]

_SCALARS = (bool, int, float, complex, np.generic)


class Staged(NamedTuple):
    """A Python function on pytrees, staged for one kind of arguments."""

    closed: ClosedJaxpr
    out_tree: Any
    refs: tuple = ()  # references of eager code that it closes over: its leading arguments
    stateful: bool = False  # whether references are involved
    guards: Guards = NONE  # the Python state that it has read
    high: bool = False  # whether values of high types are involved


VARIANTS = 16
"""Limit of traces of one signature for different Python states; the oldest is dropped first."""


class Memory(dict):
    """The traces of a function, by signature; kept on the function, and freed with it.

    For a signature there may be several, each with its guards: the state in which it was staged.
    """

    __slots__ = ("owner", "__weakref__")

    def __init__(self, owner: weakref.ref | None = None):
        self.owner = owner
        _memories[id(self)] = self

    def find(self, key: Any) -> Any:
        """The trace of a signature in the present state, or None.

        The running trace, if any, then depends on that state, too.
        """
        for guards, value in self.get(key, ()):
            if not guards or guards.hold():
                absorb(guards)
                return value
        return None

    def keep(self, key: Any, value: Any, guards: Guards) -> None:
        """Keep the trace of a signature in a state."""
        self[key] = ((guards, value), *self.get(key, ()))[:VARIANTS]

    def forget(self, closed: ClosedJaxpr) -> None:
        """Remove the traces whose result is a jaxpr."""
        for key, kept in list(self.items()):
            left = tuple(pair for pair in kept if pair[1].closed is not closed)
            if not left:
                self.pop(key, None)
            elif len(left) < len(kept):
                self[key] = left

    def count(self) -> int:
        """The number of traces."""
        return sum(map(len, list(self.values())))

    def __reduce__(self):  # copies of the function start afresh
        return Memory, ()


_memories: weakref.WeakValueDictionary[int, Memory] = weakref.WeakValueDictionary()
_ATTRIBUTE = "__tanx_staged__"


def keeps_traces(fun: Callable) -> bool:
    """Whether traces of a callable can be kept among its attributes."""
    members = getattr(fun, "__dict__", None)
    return type(members) is dict and (
        isinstance(fun, FunctionType | partial) or "__wrapped__" in members)


def memory_of(fun: Callable) -> Memory:
    """The traces of a Python function so far; all wrappers of one function share them.

    Partials and objects that wrap a function (``functools.update_wrapper``) have them, too. Other
    objects are not modified, so they are traced again.
    """
    if not keeps_traces(fun):
        return Memory()
    members = fun.__dict__
    memory = members.get(_ATTRIBUTE)
    if memory is None or memory.owner is None or memory.owner() is not fun:
        # functools.wraps copies attributes to other functions: these get a separate memory.
        memory = members[_ATTRIBUTE] = Memory(weakref.ref(fun))
    return memory


OBJECTS = 64
"""Limit of callable objects and methods whose traces are kept; the oldest is dropped first."""

_of_objects: dict[tuple[int, int], tuple[weakref.ref, Callable | None, Memory]] = {}


def memory_of_object(fun: Callable) -> Memory:
    """The traces of a callable object or of a bound method, for as long as the object lives.

    They must not hold the object, which is ``Memory.owner``. It is None if nothing is kept: for
    classes, whose attributes are not watched, and for objects without weak references.
    """
    owner, function = (fun.__self__, fun.__func__) if isinstance(fun, MethodType) else (fun, None)
    if isinstance(owner, type):
        return Memory()
    key = id(owner), id(function)
    known = _of_objects.get(key)
    if known is not None and known[0]() is owner:
        return known[2]
    try:
        found = weakref.ref(owner, lambda _: _of_objects.pop(key, None))
    except TypeError:  # an object with __slots__
        return Memory()
    memory = Memory(found)
    _of_objects[key] = found, function, memory
    while len(_of_objects) > OBJECTS:
        _of_objects.pop(next(iter(_of_objects)), None)
    return memory


def clear_memories() -> None:
    """Remove the traces of every function."""
    for memory in list(_memories.values()):
        memory.clear()


class _Constant(NamedTuple):
    """A value that the function closes over; ``original`` is held so that its id stays unique."""

    var: Var
    value: Any
    original: Any


class StageTracer(Tracer):
    """A value of the function being staged: a variable or a literal of the future jaxpr."""

    __slots__ = ("atom",)
    _trace: StageTrace

    def __init__(self, trace: StageTrace, atom: Atom):
        self._trace = trace
        self.atom = atom

    @property
    def aval(self):
        return self.atom.aval

    def concrete(self):
        return self._trace.value_of(self.atom)

    def describe_origin(self) -> str:
        return self._trace.describe(self.atom)

    # Attributes that programs for JAX use.

    @property
    def val(self) -> Atom:
        """The variable or literal."""
        return self.atom

    @property
    def parent(self) -> JaxprEqn | None:
        """The equation that computes the value; None for arguments and constants."""
        return None if isinstance(self.atom, Literal) else self._trace.producer.get(self.atom)

    def get_const(self):
        """The value if it depends on no argument, else None."""
        return self.concrete()

    def __repr__(self) -> str:
        return self._trace.shown(self)


class HighStageTracer(Opaque, StageTracer):
    """A value of a high type in the function being staged."""

    __slots__ = ()


class StageRef(Reference, StageTracer):
    """A reference in the function being staged."""

    __slots__ = ()

    def load(self):
        with running(self._trace):
            return self._get(None)

    def store(self, value) -> None:
        with running(self._trace):
            self._set(None, value)


def _same_bytes(x: np.ndarray, y: np.ndarray) -> bool:
    first, second = (np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in (x, y))
    return np.array_equal(first, second)


class StageTrace(Trace):
    """Records primitives as equations."""

    __slots__ = ("eqns", "invars", "constants", "copies", "producer", "static", "values", "debug",
                 "shares_literals")
    plain: type[StageTracer] = StageTracer
    high: type[StageTracer] = HighStageTracer

    def __init__(self, below: Trace, debug: DebugInfo | None = None, shares_literals: bool = True):
        super().__init__(below)
        self.staging = True
        self.shares_literals = shares_literals
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.constants: dict[int, _Constant] = {}  # by the id of what was captured
        self.copies: dict[int, tuple[np.ndarray, Array]] = {}  # of NumPy's arrays, by their ids
        self.producer: dict[Var, JaxprEqn] = {}
        self.static: set[Var] = set()  # variables that depend on no argument
        # Known values of static variables: constants, and values computed so far. A tracer of a
        # trace below represents the value it has there.
        self.values: dict[Var, Any] = {}
        self.debug = debug or DebugInfo()

    def argument(self, aval: AbstractValue) -> StageTracer:
        """A new argument of the function."""
        var = Var(aval)
        self.invars.append(var)
        return StageRef(self, var) if type(aval) is AbstractRef else self.tracer(var)

    def tracer(self, var: Var) -> StageTracer:
        """The value of a variable."""
        if high_classes and var.aval.is_high:
            return self.high(self, var)
        return self.plain(self, var)

    def literal(self, value, aval, written=None):
        return StageTracer(self, Literal(value, aval, written))

    def captured(self, x):
        if self.underneath.staging:
            return self.underneath.captured(x)
        _, copy = self.copies.get(id(x), (None, None))
        if copy is None or not _same_bytes(x, copy._value):  # it may have been written to since
            copy = Array(x.copy())
            self.copies[id(x)] = x, copy
        return copy

    def process(self, primitive, args, params):
        if primitive.stage is not None:
            return primitive.stage(self, args, params)
        return self.record(primitive, args, params)

    def record(self, primitive, args, params):
        """Append an equation; its results as tracers."""
        atoms, types, known, plain = [], [], True, self.plain
        for x in args:
            atom = x.atom if type(x) is plain and x._trace is self else self.atom(x)
            atoms.append(atom)
            types.append(atom.aval)
            if known and type(atom) is not Literal and atom not in self.static:
                known = False
        if AbstractRef in map(type, types):
            self._check_refs(primitive, types)
        inferred = (explicit.infer(primitive, types, params) if Explicit.seen
                    else primitive.infer(*types, **params))
        effects = primitive.effects(*types, **params)
        source = user_source() if self.staging else None  # eager derivatives are not shown
        outvars = [*map(Var, inferred)] if primitive.multiple_results else [Var(inferred)]
        eqn = JaxprEqn(atoms, outvars, primitive, params, effects, source)
        self.eqns.append(eqn)
        for var in outvars:
            self.producer[var] = eqn
        if known and not effects and primitive is not Hook.primitive:  # a symbolic size has none
            self.static.update(outvars)
        if primitive.multiple_results:
            return [*map(self.tracer, outvars)]
        if primitive.ref_allocating:
            return StageRef(self, outvars[0])
        return self.tracer(outvars[0])

    def _check_refs(self, primitive, types) -> None:
        """Check that only primitives on references, or that run functions, take references."""
        if not primitive.ref_primitive and primitive.kind is not Kind.CALL:
            raise no_array(f"tanx.lax.{primitive.name}",
                           next(a for a in types if type(a) is AbstractRef))

    def atom(self, x) -> Atom:
        """``x`` as a variable or literal of this jaxpr; a value from outside becomes a constant."""
        if isinstance(x, StageTracer) and x._trace is self:
            return x.atom
        if isinstance(x, Tracer):
            if not self.stands_on(x):
                raise leaked(x)
            if self.shares_literals and isinstance(x, StageTracer) and type(x.atom) is Literal:
                return x.atom
        elif isinstance(x, _SCALARS):
            aval = typeof(x)
            return Literal(np.asarray(x, aval.dtype), aval, x if type(x) is float else None)
        elif type(x) is DimExpr:
            return self.record(Hook.primitive, (), {"dim": x}).atom
        value = x
        if isinstance(x, np.ndarray) and x.dtype != float0:
            aval = typeof(x)
            value = x = (self.captured(x) if type(x) is np.ndarray and x.dtype == aval.dtype
                         else Array(np.array(x, aval.dtype)))
            if not aval.shape:  # as in JAX: interpreters of jaxprs bind the values of literals
                return Literal(np.asarray(value), aval)
        constant = self.constants.get(id(x))
        if constant is None:
            constant = self.constants[id(x)] = _Constant(Var(typeof(x)), value, x)
            if not isinstance(x, Tracer) or (
                    isinstance(x, StageTracer) and (
                        type(x.atom) is Literal or x.atom in x._trace.static)):
                self.static.add(constant.var)
                self.values[constant.var] = value
        return constant.var

    def shown(self, tracer: StageTracer) -> str:
        """The text of a value."""
        return f"JitTracer({tracer.aval})"

    def value_of(self, atom: Atom) -> Array | None:
        """The value of a variable that depends on no argument, else None."""
        if type(atom) is Literal:
            return Array(np.asarray(atom.val), atom.aval.weak_type, atom.aval)
        if atom not in self.static:
            return None
        if atom not in self.values:
            needed = self._equations_behind(atom)
            known = [v for v in dict.fromkeys(a for e in needed for a in e.invars)
                     if v in self.values]
            outvars = [v for e in needed for v in e.outvars]
            jaxpr = Jaxpr(known, (), outvars, needed)
            with running(_eval):
                results = eval_jaxpr(jaxpr, [_data(self.values[v]) for v in known])
            self.values.update(zip(outvars, results, strict=True))
        return _data(self.values[atom])

    def _equations_behind(self, atom: Var) -> list[JaxprEqn]:
        """The equations that ``atom`` needs and that were not evaluated yet, in order."""
        needed: set[int] = set()
        stack = [atom]
        while stack:
            var = stack.pop()
            if var in self.values or id(self.producer[var]) in needed:
                continue
            eqn = self.producer[var]
            needed.add(id(eqn))
            stack.extend(v for v in eqn.invars if type(v) is not Literal)
        return [eqn for eqn in self.eqns if id(eqn) in needed]

    def describe(self, atom: Atom) -> str:
        """The origin of a value: the arguments it depends on, and the line that made it."""
        names: list[str] = []
        known = self.debug.arg_names or ()
        seen: set[Atom] = set()
        stack = [atom]
        while stack:
            var = stack.pop()
            if type(var) is Literal or var in seen:
                continue
            seen.add(var)
            if var in self.producer:
                stack.extend(self.producer[var].invars)
            elif var in self.invars:
                i = self.invars.index(var)
                names.append(known[i] if i < len(known) else f"#{i}")
        made = self.producer[atom].source_info if atom in self.producer else self.debug.source
        parts = []
        if names:
            plural = "s" if len(names) > 1 else ""
            parts.append(f"depends on argument{plural} {', '.join(sorted(names))} of "
                         f"{self.debug.function}, traced for {self.debug.transform}")
        if made is not None and not is_ours(made.file):
            parts.append(f"made at {made}" + (f": {made.text}" if made.text else ""))
        return "; ".join(parts)

    def finish(self, outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """Close the trace: its jaxpr and the values of its constants."""
        outvars = [self.atom(x) for x in outs]
        if AbstractRef in (type(v.aval) for v in outvars):
            raise self._returned_ref(outvars)
        used = {v for eqn in self.eqns for v in eqn.invars}.union(outvars)
        constants = [c for c in self.constants.values() if c.var in used]
        jaxpr = Jaxpr([c.var for c in constants], self.invars, outvars, self.eqns,
                      debug_info=self.debug)
        if enable_checks.value:
            from .check import check_jaxpr
            check_jaxpr(jaxpr)
        return jaxpr, [c.value for c in constants]


    def _returned_ref(self, outvars: list[Atom]) -> ValueError:
        """The error for a function that returns a reference."""
        at = next(i for i, v in enumerate(outvars) if type(v.aval) is AbstractRef)
        atom = outvars[at]
        if atom in self.invars:
            number = self.invars.index(atom)
            names = self.debug.arg_names
            origin = f"passed as argument {names[number] if number < len(names) else f'#{number}'}"
        elif atom in self.producer:
            origin = f"made at {self.producer[atom].source_info}"
        else:
            origin = "closed over"
        return ValueError(explain(
            f"tanx.{self.debug.transform}", f"{self.debug.function} returns a reference to a "
            "mutable array, but references cannot be returned.", f"result {at}:  {atom.aval}",
            f"reference: {origin}", hint="return its content: ref[...]."))


_eval = EvalTrace(None)


def _data(x) -> Array:
    return x.concrete() if isinstance(x, Tracer) else x


def stage(fun: Callable, in_avals: Sequence[AbstractValue], debug: DebugInfo | None = None,
          shares_literals: bool = True) -> tuple[Jaxpr, list[Any]]:
    """Record a function of flat arguments that returns a list; its jaxpr and constants.

    Constants may be tracers of traces below: values of surrounding functions that it closes over.
    Those that are literals there are literals here as well if it ``shares_literals``.
    """
    if no_tracing.value:
        raise _traced_again(debug)
    if _nesting.depth >= MOST:
        raise _nested_too_deep(debug)
    trace = StageTrace(context.trace, debug, shares_literals)
    args = [trace.argument(aval) for aval in in_avals]
    _nesting.depth += 1
    try:
        with running(trace), unscoped(), _room if _nesting.depth == MANY else nullcontext():
            result = trace.finish(fun(*args))
    finally:
        _nesting.depth -= 1
    del args
    check_leaks(trace)
    return result


class _Nesting(threading.local):
    """The depth of nested staging in this thread."""

    depth = 0


_nesting = _Nesting()
MANY = 40
"""From this depth on the recursion limit is raised: each function takes about ten frames."""
_room = more_frames(5_000)
MOST = 400
"""Limit of nested functions. Five hundred were seen to use 1.5 MB of a C stack."""


def _nested_too_deep(debug: DebugInfo | None) -> RecursionError:
    """The error for unbounded nesting of functions."""
    debug = debug or DebugInfo()
    return RecursionError(explain(
        "tanx", f"{MOST} functions are being traced, each called by another.",
        f"the last one: {debug.function}, for {debug.transform}"
        + (f", at {debug.source}" if debug.source else ""),
        hint="a recursion that depends on values of arrays never ends while it is traced; "
             "tanx.lax.while_loop and tanx.lax.scan repeat a step."))


def _traced_again(debug: DebugInfo | None) -> RuntimeError:
    """The error for tracing where ``no_tracing`` forbids it."""
    debug = debug or DebugInfo()
    facts = [f"function:  {debug.function}" + (f" at {debug.source}" if debug.source else ""),
             f"called at: {user_source()}"]
    return RuntimeError(explain(
        "tanx.no_tracing", f"a function is traced for {debug.transform}, which no_tracing forbids.",
        *facts, hint="tanx.explain_cache_misses reports what differs from earlier calls."))


def stage_closed(fun: Callable, in_avals: Sequence[ShapedArray], debug: DebugInfo | None = None,
                 shares_literals: bool = True) -> tuple[ClosedJaxpr, list[Any]]:
    """As :func:`stage`, with tracers and references closed over as leading arguments.

    The closed jaxpr holds the concrete constants; the tracers and references it needs are a second
    result, to be passed before the other arguments.
    """
    return _lifted(*stage(fun, in_avals, debug, shares_literals))


def captured_by(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """The tracers among the constants of a closed jaxpr, and it with leading arguments for them.

    References count as tracers here.
    """
    if not any(isinstance(x, Tracer | Reference) for x in closed.consts):
        return closed, []
    return _lifted(closed.jaxpr, closed.consts)


def _lifted(jaxpr: Jaxpr, constants: Sequence[Any]) -> tuple[ClosedJaxpr, list[Any]]:
    lifted = [i for i, x in enumerate(constants) if isinstance(x, Tracer | Reference)]
    kept = [i for i, x in enumerate(constants) if not isinstance(x, Tracer | Reference)]
    jaxpr = jaxpr.replace(constvars=[jaxpr.constvars[i] for i in kept],
                          invars=[jaxpr.constvars[i] for i in lifted] + jaxpr.invars)
    return ClosedJaxpr(jaxpr, [constants[i] for i in kept]), [constants[i] for i in lifted]
