"""Jaxprs: functions as typed lists of equations.

Class and attribute names are JAX's, because users' code reads and rewrites jaxprs. A :class:`Jaxpr`
is immutable by convention; passes build new ones. A :class:`ClosedJaxpr` carries its constants; to
users, both are one class (see :class:`_JaxprType`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from .._base.flags import strict, trace_key
from .._base.tuples import NamedTuple
from ..errors import UnexpectedTracerError, explain
from .effects import no_effects
from .source import SourceInfo, attributed_to
from .trace import EvalTrace, context, running
from .types import AbstractValue, typeof

__all__ = ["Atom", "ClosedJaxpr", "DropVar", "Jaxpr", "JaxprEqn", "Literal", "Var",
           "cached_by_jaxpr", "eval_jaxpr", "jaxpr_as_fun", "jaxprs_in_params", "one_equation",
           "subjaxprs"]


MOST_USES = 64
"""How many functions of one equation a body caches."""


class Var:
    """A variable: bound once, compared by identity. Its printed name is chosen when printing."""

    __slots__ = ("aval", "__weakref__")

    def __init__(self, aval: AbstractValue):
        # A ShapedArray for all but tokens; Any, so that its attributes type-check.
        self.aval: Any = aval

    def pretty_print(self, context=None, *, print_dtype: bool = True) -> str:
        """The name that ``context``, a mapping from variables to names, has for it."""
        name = str(self) if context is None else str(context[self])
        return f"{name}:{self.aval.str_short(short_dtypes=True)}" if print_dtype and (
            context is not None) else name

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short()}"


class DropVar(Var):
    """A result that is never read. Staging creates no such results: printing finds unused ones."""

    __slots__ = ()

    def pretty_print(self, context=None, *, print_dtype: bool = True) -> str:
        return "_"

    def __repr__(self) -> str:
        return "_"


class Literal:
    """A scalar constant in an equation; ``written`` is the Python number that it came from."""

    __slots__ = ("val", "aval", "written")

    def __init__(self, val, aval: Any = None, written: float | None = None):
        self.val = val
        self.aval = typeof(val) if aval is None else aval
        self.written = written

    def again(self):
        """The same constant in the trace that runs now."""
        return context.trace.literal(self.val, self.aval, self.written)

    @property
    def hash(self) -> int | None:
        """The hash of the value; None if it has none."""
        try:
            return hash(self.val.item() if hasattr(self.val, "item") else self.val)
        except (TypeError, ValueError):
            return None

    def pretty_print(self, context=None, *, print_dtype: bool = True) -> str:
        """The value as jaxprs show it, with its type.

        >>> tanx.make_jaxpr(lambda x: x + 1)(2.0).eqns[0].invars[1].pretty_print()
        '1.0:f32[]'
        """
        from .show import show_literal
        return show_literal(self, print_dtype)

    def __repr__(self) -> str:
        return f"Literal({self.val})"


Atom = Var | Literal


class EqnContext(NamedTuple):
    """The options on which equations of JAX depend.

    Equations of tanx have everything they depend on in their parameters, so these are the defaults.
    """

    compute_type: str | None = None
    threefry_partitionable: bool = True
    xla_metadata: dict | None = None

    @property
    def manager(self):
        """A context in which an equation can be run again: the one in which it was created."""
        return nullcontext()


class JaxprEqn:
    """One equation: ``outvars = primitive[params] invars``."""

    __slots__ = ("invars", "outvars", "primitive", "params", "effects", "source_info")

    def __init__(self, invars, outvars, primitive, params, effects=no_effects,
                 source_info: SourceInfo | None = None):
        self.invars: list[Atom] = list(invars)
        self.outvars: list[Var] = list(outvars)
        self.primitive = primitive
        self.params: dict[str, Any] = params
        self.effects = effects
        self.source_info = source_info

    @property
    def ctx(self) -> EqnContext:
        """The options under which the equation was made."""
        return EqnContext()

    def replace(self, **changes) -> JaxprEqn:
        """The same equation with some attributes replaced."""
        return JaxprEqn(*(changes.get(name, getattr(self, name)) for name in self.__slots__))

    def __repr__(self) -> str:
        from .show import show_eqn
        return show_eqn(self)


class _JaxprType(type):
    """Makes ``Jaxpr`` the class of closed jaxprs as well: in JAX, they are one since version 0.11.

    ``Jaxpr`` with values of the constants, or of a jaxpr and values, is a closed jaxpr, and
    ``isinstance(closed, Jaxpr)`` holds. Public modules have ``Jaxpr`` under both names.
    """

    def __instancecheck__(cls, instance) -> bool:
        return type.__instancecheck__(cls, instance) or type(instance) is ClosedJaxpr

    def __call__(cls, constvars, invars=None, outvars=None, eqns=None, effects=None,
                 debug_info=None, is_high=False, consts=None):
        if isinstance(constvars, cls):
            return ClosedJaxpr(constvars.jaxpr, (invars or ()) if consts is None else consts)
        if invars is None or outvars is None or eqns is None:
            raise TypeError(explain(
                "tanx.extend.core.Jaxpr", "a jaxpr has invars, outvars and eqns.",
                hint="Jaxpr(jaxpr, consts) gives a jaxpr values of its constants."))
        jaxpr = super().__call__(constvars, invars, outvars, eqns, effects, debug_info)
        return jaxpr if consts is None else ClosedJaxpr(jaxpr, consts)


class Jaxpr(metaclass=_JaxprType):
    """A function: ``constvars`` and ``invars`` in, equations, ``outvars`` out."""

    __slots__ = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info", "_last_uses",
                 "uses", "__weakref__")

    def __init__(self, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Atom],
                 eqns: Sequence[JaxprEqn], effects=None, debug_info=None):
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        self.effects = (frozenset().union(*(e.effects for e in self.eqns))
                        if effects is None else effects)
        self.debug_info = debug_info
        self._last_uses: list[list[Var]] | None = None
        self.uses: dict[tuple, ClosedJaxpr] = {}  # see one_equation

    def last_uses(self) -> list[list[Var]]:
        """For each equation, the variables that nothing reads after it."""
        if self._last_uses is None:
            seen: set[Atom] = set(self.outvars)
            uses: list[list[Var]] = []
            for eqn in reversed(self.eqns):
                last = {v for v in (*eqn.invars, *eqn.outvars)
                        if isinstance(v, Var) and v not in seen}
                uses.append(list(last))
                seen |= last
            self._last_uses = uses[::-1]
        return self._last_uses

    def replace(self, **changes) -> Jaxpr:
        """The same jaxpr with some attributes replaced; effects are those of the equations."""
        if "eqns" in changes:
            changes.setdefault("effects", None)
        names = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info")
        if not changes.keys() <= set(names):
            raise TypeError(explain("tanx.extend.core.Jaxpr.replace", "replaces attributes only.",
                                    f"given:      {', '.join(changes)}",
                                    f"attributes: {', '.join(names)}"))
        return Jaxpr(*(changes.get(name, getattr(self, name)) for name in names))

    # As a closed jaxpr without constants; for libraries that do not distinguish the two.
    jaxpr = property(lambda self: self)
    consts: Sequence[Any] = ()
    literals: Sequence[Any] = ()

    in_avals = property(lambda self: [v.aval for v in self.invars])
    out_avals = property(lambda self: [v.aval for v in self.outvars])
    all_invars = property(lambda self: [*self.constvars, *self.invars])
    num_consts = property(lambda self: len(self.constvars))
    is_high = property(lambda self: any(v.aval.is_high for v in (
        *self.invars, *(v for e in self.eqns for v in e.outvars))))

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> Jaxpr:
        """The result of ``f`` on this jaxpr."""
        return f(self)

    def with_consts(self, consts: Sequence[Any]) -> ClosedJaxpr:
        """The jaxpr closed over values of its constants."""
        return ClosedJaxpr(self, consts)

    def pretty_print(self, **options) -> str:
        """The jaxpr as text; options as those of :func:`tanx._core.show.show_jaxpr`."""
        from .show import show_jaxpr
        return show_jaxpr(self, **options)

    def __repr__(self) -> str:
        return self.pretty_print()


class ClosedJaxpr:
    """A jaxpr together with the values of its constants."""

    __slots__ = ("jaxpr", "consts", "made", "__weakref__")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()):
        if len(consts) != len(jaxpr.constvars):
            raise ValueError(f"ClosedJaxpr: {len(jaxpr.constvars)} constants expected, "
                             f"{len(consts)} given.")
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self.made: dict[tuple, Any] = {}  # see cached_by_jaxpr

    in_avals = property(lambda self: self.jaxpr.in_avals)
    out_avals = property(lambda self: self.jaxpr.out_avals)
    literals = property(lambda self: self.consts)
    eqns = property(lambda self: self.jaxpr.eqns)
    effects = property(lambda self: self.jaxpr.effects)
    # Attributes of its jaxpr; see _JaxprType.
    constvars = property(lambda self: self.jaxpr.constvars)
    invars = property(lambda self: self.jaxpr.invars)
    outvars = property(lambda self: self.jaxpr.outvars)
    debug_info = property(lambda self: self.jaxpr.debug_info)
    all_invars = property(lambda self: self.jaxpr.all_invars)
    num_consts = property(lambda self: len(self.consts))
    is_high = property(lambda self: self.jaxpr.is_high)

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        """The closed jaxpr with the result of ``f`` on the jaxpr, on the same constants."""
        return ClosedJaxpr(f(self.jaxpr), self.consts)

    def with_consts(self, consts: Sequence[Any]) -> ClosedJaxpr:
        """The same jaxpr, closed over other values."""
        return ClosedJaxpr(self.jaxpr, consts)

    def replace(self, *, jaxpr: Jaxpr | None = None, consts=None, **parts) -> ClosedJaxpr:
        """The same closed jaxpr with its jaxpr, its constants or parts of the jaxpr replaced."""
        jaxpr = self.jaxpr if jaxpr is None else jaxpr
        return ClosedJaxpr(jaxpr.replace(**parts) if parts else jaxpr,
                           self.consts if consts is None else consts)

    def last_uses(self) -> list[list[Var]]:
        """Those of the jaxpr, so that :func:`eval_jaxpr` takes closed jaxprs."""
        return self.jaxpr.last_uses()

    def pretty_print(self, **options) -> str:
        """The jaxpr as text; options as those of :func:`tanx._core.show.show_jaxpr`."""
        return self.jaxpr.pretty_print(**options)

    def __repr__(self) -> str:
        return self.pretty_print()


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args) -> list:
    """Run a jaxpr's equations in the running trace; the list of results.

    Values are released after their last use. Staged equations keep the user's source lines, and so
    do errors of the NaN check.
    """
    environment: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    environment.update(zip(jaxpr.invars, args, strict=True))
    located = context.trace.staging or strict.value

    def read(atom):
        if type(atom) is Literal:
            return atom.again()
        return environment[atom]

    for eqn, last in zip(jaxpr.eqns, jaxpr.last_uses(), strict=True):
        operands = map(read, eqn.invars)
        if located:
            with attributed_to(eqn.source_info):
                out = eqn.primitive.bind(*operands, **eqn.params)
        else:
            out = eqn.primitive.bind(*operands, **eqn.params)
        if eqn.primitive.multiple_results:
            environment.update(zip(eqn.outvars, out, strict=True))
        else:
            environment[eqn.outvars[0]] = out
        del out
        for var in last:
            del environment[var]
    return [read(v) for v in jaxpr.outvars]


def jaxpr_as_fun(closed: ClosedJaxpr | Jaxpr):
    """A closed jaxpr as a Python function of flat arguments that returns a list."""
    def fun(*args):
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)
    return fun


def one_equation(primitive, types: Sequence[Any], params: dict[str, Any]) -> ClosedJaxpr:
    """The function that is one use of a primitive with several results, and nothing else.

    It is created once, and cached on the last body among the parameters, with which it is freed.
    """
    *_, body = None, *jaxprs_in_params(params)
    memory = {} if body is None else body.uses
    key = (primitive, tuple(types), tuple(params.items()))
    if key not in memory:
        if len(memory) == MOST_USES:  # a long-lived body with many short-lived others
            memory.clear()
        invars = [Var(aval) for aval in types]
        outvars = [Var(aval) for aval in primitive.infer(*types, **params)]
        effects = primitive.effects(*types, **params)
        memory[key] = ClosedJaxpr(Jaxpr((), invars, outvars, [
            JaxprEqn(invars, outvars, primitive, params, effects)]))
    return memory[key]


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs among an equation's parameters, including those in tuples and lists."""
    for value in params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, Jaxpr):  # or closed, which has one
                yield item.jaxpr


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxprs inside a jaxpr's equations, one level deep."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def cached_by_jaxpr(transform):
    """Cache ``transform(closed_jaxpr, *hashable)`` for as long as the jaxpr lives.

    Transformations of the body of a call run once, however often the call occurs. They run outside
    of all traces around the call, because the result holds for every call. Only if a user's rule in
    the body closes over values of such traces does it run again inside of them, for this call: the
    tracers are among the constants of its result (see ``captured_by``).
    """
    @functools.wraps(transform)
    def remembered(closed: ClosedJaxpr, *key):
        whole_key = (transform, key, trace_key())
        if whole_key not in closed.made:
            try:
                with running(EvalTrace(None)):
                    closed.made[whole_key] = transform(closed, *key)
            except UnexpectedTracerError:
                if type(context.trace) is EvalTrace:
                    raise
                return transform(closed, *key)
        return closed.made[whole_key]
    return remembered
