"""Expressions: how one element is made. Immutable, typed, and equal only to themselves.

Expressions are interned: building one twice gives the same object, so ``==`` and ``hash`` are those
of the structure at the cost of a pointer, and what is written once but used often is shared.
``==`` therefore builds nothing; comparisons that compute are ``op("eq", a, b)`` and ``<``.

:func:`op` applies an instruction. Index arithmetic (int64 and bool) is simplified on the way, so
that a layout rule may be written naively and still print as ``x[i, 7 - j]``. Sums of int64 stand as
linear forms, which is exact under wrap-around; rules about ``//``, ``%`` and comparisons apply only
where :func:`bounds` proves that nothing wraps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import count
from math import gcd
from typing import Any

import numpy as np

from ..dtypes import stored
from .instructions import BOOL, INDEX, REDUCERS, kind_of, result_dtype, short_name, value_range
from .node import FOLDS, LOADS, WHILES, Node

__all__ = ["FOLDS", "LOADS", "WHILES", "Const", "Expr", "Facts", "Fold", "Index", "Interval",
           "Linear", "Load", "Node", "Op", "Pick", "State", "Variable", "While", "bounds", "const",
           "facts_of", "flatten_index", "fresh_index", "fresh_state", "linear_form", "op",
           "position"]

Interval = tuple[int, int]
Facts = Mapping["Expr", Interval]
Linear = tuple[dict["Expr", int], int]

_set = object.__setattr__  # what a node is made of is set once

_NOTHING: frozenset[Variable] = frozenset()


class Expr(Node):
    """A scalar of a known dtype; Python's operators on it build more of them."""

    __slots__ = ("_ends", "_linear", "dtype")
    dtype: np.dtype
    _ends: Interval
    _linear: Linear

    def __add__(self, other):
        return op("add", self, other)

    def __radd__(self, other):
        return op("add", other, self)

    def __sub__(self, other):
        return op("sub", self, other)

    def __rsub__(self, other):
        return op("sub", other, self)

    def __mul__(self, other):
        return op("mul", self, other)

    def __rmul__(self, other):
        return op("mul", other, self)

    def __truediv__(self, other):
        return op("div", self, other)

    def __rtruediv__(self, other):
        return op("div", other, self)

    def __floordiv__(self, other):
        return op("floor_div", self, other)

    def __mod__(self, other):
        return op("floor_mod", self, other)

    def __neg__(self):
        return op("neg", self)

    def __lt__(self, other):
        return op("lt", self, other)

    def __le__(self, other):
        return op("le", self, other)

    def __gt__(self, other):
        return op("gt", self, other)

    def __ge__(self, other):
        return op("ge", self, other)

    def __and__(self, other):
        return op("and", self, other)

    def __or__(self, other):
        return op("or", self, other)

    def __xor__(self, other):
        return op("xor", self, other)

    def __invert__(self):
        return op("not", self)

    def __lshift__(self, other):
        return op("shift_left", self, other)

    def __rshift__(self, other):
        kind = "arithmetic" if kind_of(self.dtype) == "i" else "logical"
        return op(f"shift_right_{kind}", self, other)

    def __bool__(self):
        raise TypeError(f"an expression has no truth value while code is built: {self!r}. "
                        "Choose with select(condition, a, b).")


class Const(Expr):
    """A number known now; ``value`` is Python's bool, int, float or complex."""

    __slots__ = ("value",)
    value: Any

    def __new__(cls, value, dtype):
        dtype = np.dtype(stored(dtype))
        given = np.asarray(value)
        fitting = {"O": "", "f": "fc", "c": "c"}.get(given.dtype.kind, "biufc")
        if kind_of(dtype) not in fitting:
            raise TypeError(f"{value!r} is not a constant of dtype {short_name(dtype)}.")
        array = given.astype(dtype)
        # The bits tell -0.0 from 0.0 and know that NaN is NaN.
        return cls._make((dtype, array.tobytes()), dtype=dtype, value=array.item())

    def _brief(self, depth):
        if self.dtype == BOOL:
            return "true" if self.value else "false"
        # The scalar's own text is the shortest that tells it from others of its dtype.
        text = str(np.asarray(self.value).astype(self.dtype)[()])
        return text if self.dtype == INDEX else f"{text}:{short_name(self.dtype)}"


class Variable(Expr):
    """What a loop or a fold binds. Its name is its identity."""

    __slots__ = ("name",)
    name: str

    def _free(self):
        return frozenset((self,))

    def _brief(self, depth):
        return self.name


class Index(Variable):
    """A loop variable, int64, from 0 to ``extent`` - 1."""

    __slots__ = ("extent",)
    extent: int

    def __new__(cls, name: str, extent: int):
        return cls._make((name, int(extent)), dtype=INDEX, name=name, extent=int(extent))


class State(Variable):
    """What a fold carries from one step to the next."""

    __slots__ = ()

    def __new__(cls, name: str, dtype):
        dtype = np.dtype(dtype)
        return cls._make((name, dtype), dtype=dtype, name=name)


class Load(Expr):
    """The element of a buffer at an index."""

    __slots__ = ("_place", "buffer", "index")
    buffer: Any
    index: tuple[Expr, ...]
    _place: Linear

    def __new__(cls, buffer, index: Iterable[Expr]):
        index = tuple(index)
        return cls._make((buffer, index), dtype=buffer.dtype, buffer=buffer, index=index)

    @property
    def place(self) -> Linear:
        """The position in the buffer, row by row, as a sum: see :func:`position`."""
        try:
            return self._place
        except AttributeError:
            _set(self, "_place", place := position(self.index, self.buffer.shape))
            return place

    def _free(self):
        return _free_in(self.index)

    def _holds(self):
        return LOADS | _held_in(self.index)

    def _brief(self, depth):
        return f"{self.buffer.name}[{_brief_list(self.index, depth)}]"


class Op(Expr):
    """An instruction applied; built by :func:`op`, which simplifies and finds the dtype."""

    __slots__ = ("args", "attrs", "name")
    name: str
    args: tuple[Expr, ...]
    attrs: tuple[tuple[str, Any], ...]

    def __new__(cls, name: str, args: tuple[Expr, ...], dtype, attrs: tuple = ()):
        return cls._make((name, args, dtype, attrs), name=name, args=args, dtype=dtype, attrs=attrs)

    def _free(self):
        return _free_in(self.args)

    def _holds(self):
        return _held_in(self.args)

    def _brief(self, depth):
        attrs = "".join(f", {k}={v}" for k, v in self.attrs)
        return f"{self.name}({_brief_list(self.args, depth)}{attrs})"


class Fold(Node):
    """A loop that carries values; not itself a value, since it may carry several (see ``Pick``).

    Starting from ``init``, each step of the loop over ``indices`` (the last one fastest) replaces
    ``states`` by ``next``, which is the ``body``. When ``combine`` is a reducer, the body is one
    element instead, which is combined with the one state and does not look at it, so that a
    scheduler may go through the elements in any order. ``combine`` may also be ``"argmax"`` or
    ``"argmin"``, which change nothing but tell the scheduler that the two states are the best value
    and its position, where NaN is best and of equals the first.
    """

    __slots__ = ("body", "combine", "indices", "init", "states")
    indices: tuple[Index, ...]
    init: tuple[Expr, ...]
    states: tuple[State, ...]
    body: tuple[Expr, ...]
    combine: str | None

    def __new__(cls, indices, init, states, body, combine: str | None = None):
        fields = dict(indices=tuple(indices), init=tuple(init), states=tuple(states),
                      body=tuple(body), combine=combine)
        return cls._make(tuple(fields.values()), **fields)

    def _free(self):
        inside = _free_in(self.parts[len(self.init):])
        return _free_in(self.init) | inside.difference(self.indices, self.states)

    def _holds(self):
        return FOLDS | _held_in(self.parts)

    @property
    def parts(self) -> tuple[Expr, ...]:
        """What it is made of: the start, and then what is evaluated in each step."""
        return (*self.init, *self.body)

    def made_of(self, parts: Sequence[Expr], indices: Sequence[Index],
                states: Sequence[State]) -> Fold:
        """A fold like this one of other parts, which binds other variables."""
        split = len(self.init)
        return Fold(indices, parts[:split], states, parts[split:], self.combine)

    @property
    def bound(self) -> frozenset[Variable]:
        """The variables that it binds."""
        return frozenset((*self.indices, *self.states))

    @property
    def reducer(self) -> str | None:
        """The reducer by which elements are combined, if this is a reduction."""
        return self.combine if self.combine in REDUCERS else None

    @property
    def next(self) -> tuple[Expr, ...]:
        """What the states become in one step."""
        if self.reducer is None:
            return self.body
        (state,), (element,) = self.states, self.body
        return (Op(self.reducer, (state, element), state.dtype),)

    def _brief(self, depth):
        loops = ", ".join(f"{i.name} in {i.extent}" for i in self.indices)
        return f"{self.combine or 'fold'}({loops}: {_brief_list(self.body, depth)})"


class While(Fold):
    """A fold over no indices, which goes on as long as a condition on its states holds.

    The condition is asked before each step. Nobody knows whether it ends: it is evaluated only
    where its value is needed.
    """

    __slots__ = ("condition",)
    condition: Expr

    def __new__(cls, init, states, condition: Expr, body):
        fields = dict(indices=(), init=tuple(init), states=tuple(states), body=tuple(body),
                      combine=None, condition=condition)
        return cls._make(tuple(fields.values()), **fields)

    def _holds(self):
        return WHILES | super()._holds()

    @property
    def parts(self):
        return (*self.init, *self.body, self.condition)

    def made_of(self, parts, indices, states):
        split = len(self.init)
        return While(parts[:split], states, parts[-1], parts[split:-1])

    def _brief(self, depth):
        return f"while({_brief_list((self.condition, *self.body), depth)})"


class Pick(Expr):
    """The value that a fold carries last in its ``position``-th state."""

    __slots__ = ("fold", "position")
    fold: Fold
    position: int

    def __new__(cls, fold: Fold, position: int):
        dtype = fold.states[position].dtype
        return cls._make((fold, position), dtype=dtype, fold=fold, position=position)

    def _free(self):
        return self.fold.free

    def _holds(self):
        return self.fold.holds

    def _brief(self, depth):
        return f"{self.fold._brief(depth)}.{self.position}"


def _brief_list(nodes: Iterable[Node], depth: int) -> str:
    return ", ".join(node._brief(depth - 1) for node in nodes) if depth else "..."


def _free_in(nodes: Iterable[Node]) -> frozenset[Variable]:
    """What is free in any of some nodes; the set of one of them where it has all."""
    found = _NOTHING
    for node in nodes:
        more = node.free
        if more is not found and not more <= found:
            found = more if found <= more else found | more
    return found


def _held_in(nodes: Iterable[Node]) -> int:
    held = 0
    for node in nodes:
        held |= node.holds
    return held


_serial = count()


def fresh_index(extent: int, hint: str = "i") -> Index:
    """A loop variable that nobody else has."""
    return Index(f"{hint}.{next(_serial)}", extent)


def fresh_state(dtype, hint: str = "s") -> State:
    """A state of a fold that nobody else has."""
    return State(f"{hint}.{next(_serial)}", dtype)


def const(value, dtype=INDEX) -> Const:
    """A constant.

    >>> const(1, "float32")
    1.0:f32
    """
    return _int64(value) if type(value) is int and dtype is INDEX else Const(value, dtype)


@lru_cache(maxsize=4096)
def _int64(value: int) -> Const:
    return Const(value, INDEX)


@lru_cache(maxsize=2)
def _bool(value: bool) -> Const:
    return Const(value, BOOL)


def op(name: str, *args, **attrs) -> Expr:
    """Apply an instruction. A Python number takes the dtype of the expression beside it.

    >>> i = Index("i", 8)
    >>> op("add", i, 2), 7 - (7 - i), (i * 4 + 3) // 4, op("integer_pow", i, y=2)
    (add(i, 2), i, i, integer_pow(i, y=2))
    """
    exprs: tuple[Expr, ...] = args
    for arg in args:
        if not isinstance(arg, Expr):
            exprs = _operands(name, args)
            break
    if attrs:
        if "dtype" in attrs:
            attrs["dtype"] = np.dtype(attrs["dtype"])
        pairs = tuple(sorted(attrs.items()))
    else:
        pairs = ()
    result = result_dtype(name, tuple([e.dtype for e in exprs]), pairs)
    simplify = _SIMPLIFY.get(name)
    if simplify is not None:
        simpler = simplify(*exprs, **attrs)
        if simpler is not None:
            return simpler
    return Op(name, exprs, result, pairs)


def _operands(name: str, args: tuple) -> tuple[Expr, ...]:
    """Operands among which are numbers; they take the dtype of an expression."""
    dtype = next((arg.dtype for arg in reversed(args) if isinstance(arg, Expr)), None)
    if dtype is None:
        raise TypeError(f"{name}: one operand at least must be an expression; see const().")
    return tuple([a if isinstance(a, Expr) else const(a, dtype) for a in args])


# -- linear forms ----------------------------------------------------------------------------------


def linear_form(expr: Expr) -> Linear:
    """An int64 as a sum: the factor of each term, and a constant; exact modulo 2**64.

    >>> linear_form(3 * Index("i", 8) + 1)
    ({i: 3}, 1)
    """
    return _linear(expr)


def position(index: Sequence[Expr], shape: Sequence[int]) -> Linear:
    """The row-major position of an index in a shape, as a sum.

    >>> position([Index("i", 8) + 1, Index("j", 4)], (9, 4))
    ({i: 4, j: 1}, 4)
    """
    terms: dict[Expr, int] = {}
    constant, step = 0, 1
    for i, n in zip(reversed(index), reversed(shape), strict=True):
        more, rest = _linear(i)
        constant += step * rest
        for atom, factor in reversed(more.items()):
            terms[atom] = terms.get(atom, 0) + step * factor
        step *= n
    # The first dimension first, as one would write it.
    form = {t: f for t, f in reversed(terms.items()) if f}, constant
    return _wrapped(_rejoin(form))


def flatten_index(index: Sequence[Expr], shape: Sequence[int]) -> Expr:
    """The row-major position of an index in a shape, as an expression.

    >>> flatten_index([Index("i", 8) + 1, Index("j", 4)], (9, 4))
    add(add(mul(i, 4), j), 4)
    """
    return _sum(*position(index, shape))


def _linear(expr: Expr) -> Linear:
    """An int64 as a sum of multiples of others and a constant, exact modulo 2**64."""
    try:
        return expr._linear
    except AttributeError:
        _set(expr, "_linear", form := _wrapped(_find_linear(expr)))
        return form


def _find_linear(expr: Expr) -> Linear:
    if isinstance(expr, Const):
        return {}, expr.value
    if isinstance(expr, Op):
        if expr.name == "add":
            return _plus(_linear(expr.args[0]), _linear(expr.args[1]))
        if expr.name == "sub":
            return _plus(_linear(expr.args[0]), _linear(expr.args[1]), -1)
        if expr.name == "neg":
            return _plus(({}, 0), _linear(expr.args[0]), -1)
        if expr.name == "mul" and isinstance(expr.args[1], Const):
            return _plus(({}, 0), _linear(expr.args[0]), expr.args[1].value)
    return {expr: 1}, 0


def _plus(a: Linear, b: Linear, times: int = 1) -> Linear:
    """``a + times * b`` in unbounded integers."""
    terms = dict(a[0])
    for atom, factor in b[0].items():
        terms[atom] = terms.get(atom, 0) + times * factor
    return {t: f for t, f in terms.items() if f}, a[1] + times * b[1]


def _wrapped(form: Linear) -> Linear:
    """The same modulo 2**64, in numbers of int64."""
    numbers = (form[1], *form[0].values())
    if _fits((min(numbers), max(numbers))):
        return form
    terms = {t: (f + 2**63) % 2**64 - 2**63 for t, f in form[0].items()}
    return {t: f for t, f in terms.items() if f}, (form[1] + 2**63) % 2**64 - 2**63


def _sum(terms: dict[Expr, int], constant: int) -> Expr:
    """The expression of a linear form: what is added, what is taken away, then the constant."""
    terms, constant = _wrapped((terms, constant))
    # -2**63 is its own negative, and so counts among what is added.
    added = [_times(t, f) for t, f in terms.items() if f > 0 or f == -2**63]
    taken = [_times(t, -f) for t, f in terms.items() if -2**63 < f < 0]
    if not added or constant > 0 or constant == -2**63:
        added.append(const(constant))
    elif constant:
        taken.append(const(-constant))
    result = added[0]
    for part in added[1:]:
        result = Op("add", (result, part), INDEX)
    for part in taken:
        result = Op("sub", (result, part), INDEX)
    return result


def _times(atom: Expr, factor: int) -> Expr:
    return atom if factor == 1 else Op("mul", (atom, const(factor)), INDEX)


# -- intervals -------------------------------------------------------------------------------------


def bounds(expr: Expr, facts: Facts | None = None) -> Interval:
    """An interval that holds the value of an integer expression; empty when the first is greater.

    ``facts`` narrow the intervals of expressions that occur inside; see :func:`facts_of`.

    >>> i = Index("i", 8)
    >>> bounds(3 * i + 1), bounds(7 - i), bounds(i % 3)
    ((1, 22), (0, 7), (0, 2))
    """
    return _clipped(_ends(expr, facts), expr.dtype)


def _clipped(ends: Interval, dtype: np.dtype) -> Interval:
    """The interval, or that of the dtype where values may have wrapped around."""
    limits = value_range(dtype)
    return ends if limits[0] <= ends[0] and ends[1] <= limits[1] else limits


class _Slots:
    """The intervals of expressions about which no facts are given, kept with the expressions."""

    def __contains__(self, expr: Expr) -> bool:
        return hasattr(expr, "_ends")

    def __getitem__(self, expr: Expr) -> Interval:
        return expr._ends

    def __setitem__(self, expr: Expr, ends: Interval) -> None:
        _set(expr, "_ends", ends)


_slots = _Slots()


def _ends(root: Expr, facts: Facts | None = None, known=None) -> Interval:
    """The interval of an integer; that of an int64 is what its linear form has without wrapping."""
    known = known if known is not None else {} if facts else _slots
    stack = [] if root in known else [root]
    while stack:
        expr = stack[-1]
        unknown = [part for part in _parts(expr) if part not in known]
        if unknown:
            stack += unknown
        else:
            stack.pop()
            known[expr] = _ends_of(expr, facts or {}, known)
    return known[root]


def _parts(expr: Expr) -> Iterable[Expr]:
    """The integers whose intervals give that of another one."""
    if expr.dtype == INDEX and (terms := _linear(expr)[0]) != {expr: 1}:
        return terms
    if isinstance(expr, Op) and expr.name in _BOUNDS and kind_of(expr.args[-1].dtype) in "biu":
        return expr.args
    return ()


def _ends_of(expr: Expr, facts: Facts, known) -> Interval:
    """The interval of an integer whose parts are known."""
    if isinstance(expr, Const):
        return int(expr.value), int(expr.value)
    if expr.dtype == INDEX and (form := _linear(expr))[0] != {expr: 1}:
        return _sum_ends(form, facts, known)
    low, high = (0, expr.extent - 1) if isinstance(expr, Index) else value_range(expr.dtype)
    parts = [_clipped(known[part], part.dtype) for part in _parts(expr)]
    if isinstance(expr, Op) and parts:
        low, high = _clipped(_BOUNDS[expr.name](*parts), expr.dtype)
    fact = facts.get(expr, (low, high))
    return max(low, fact[0]), min(high, fact[1])


def _sum_ends(form: Linear, facts: Facts | None = None, known=None) -> Interval:
    """The interval of a linear form in unbounded integers."""
    terms, constant = form
    low = high = 0
    for atom, factor in terms.items():
        ends = _ends(atom, facts, known)
        if ends[0] > ends[1]:
            return 0, -1
        low += min(factor * ends[0], factor * ends[1])
        high += max(factor * ends[0], factor * ends[1])
    if facts and terms:
        key, sign = _fact_key(terms)
        fact = facts.get(key)
        if fact is not None:
            ends = fact if sign > 0 else (-fact[1], -fact[0])
            low, high = max(low, ends[0]), min(high, ends[1])
    return low + constant, high + constant


def _fact_key(terms: Mapping[Expr, int]) -> tuple[Expr, int]:
    """The sum of terms without a constant, and the sign that makes its first factor positive."""
    sign = 1 if next(iter(terms.values())) > 0 else -1
    return _sum({t: sign * f for t, f in terms.items()}, 0), sign


def _fits(ends: Interval) -> bool:
    return -2**63 <= ends[0] and ends[1] < 2**63


def _corners(f, a: Interval, b: Interval) -> Interval:
    values = [f(x, y) for x in a for y in b]
    return min(values), max(values)


_EVERYTHING = (-(2**64), 2**64)
_BOUNDS: dict[str, Callable[..., Interval]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": lambda a, b: _corners(lambda x, y: x * y, a, b),
    "neg": lambda a: (-a[1], -a[0]),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "clamp": lambda lo, x, hi: (min(max(x[0], lo[0]), hi[0]), min(max(x[1], lo[1]), hi[1])),
    "floor_div": lambda a, b: _corners(lambda x, y: x // y, a, b) if b[0] > 0 else _EVERYTHING,
    "floor_mod": lambda a, b: (0, b[1] - 1) if b[0] > 0 else _EVERYTHING,
    "select": lambda c, a, b: (min(a[0], b[0]), max(a[1], b[1])),
    "convert": lambda a: a,
}


def facts_of(condition: Expr, holds: bool = True) -> dict[Expr, Interval]:
    """What a condition tells about int64 expressions when it holds (or when it does not).

    Conjunctions of comparisons are understood; anything else tells nothing.

    >>> i = Index("i", 8)
    >>> facts_of((i - 2 >= 0) & (i < 5)), facts_of(i < 5, False)
    ({i: (2, 4)}, {i: (5, 7)})
    """
    facts: dict[Expr, Interval] = {}
    if not isinstance(condition, Op):
        return facts
    name, args = condition.name, condition.args
    if name == "not":
        return facts_of(args[0], not holds)
    if name == ("and" if holds else "or"):
        for arg in args:
            for expr, ends in facts_of(arg, holds).items():
                other = facts.get(expr, ends)
                facts[expr] = max(ends[0], other[0]), min(ends[1], other[1])
        return facts
    if not holds:
        name = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "ne": "eq"}.get(name, "")
    if name in ("lt", "le", "gt", "ge", "eq") and args[0].dtype == INDEX:
        difference = _plus(_linear(args[0]), _linear(args[1]), -1)
        if difference[0] and all(_exact(a) for a in args):
            key, sign = _fact_key(difference[0])
            low, high = _sum_ends((difference[0], 0))
            zero = -difference[1]
            low = max(low, zero + (name == "gt")) if name in ("gt", "ge", "eq") else low
            high = min(high, zero - (name == "lt")) if name in ("lt", "le", "eq") else high
            facts[key] = (low, high) if sign > 0 else (-high, -low)
    return facts


def _exact(expr: Expr) -> bool:
    """Whether the linear form of an int64 provably does not wrap around."""
    return _fits(_ends(expr))


# -- simplification: each takes the operands and gives a simpler expression or None ----------------


def _ring(times: int):
    def simplify(a: Expr, b: Expr) -> Expr | None:
        if a.dtype != INDEX:
            return None
        return _sum(*_rejoin(_plus(_linear(a), _linear(b), times)))
    return simplify


def _rejoin(form: Linear) -> Linear:
    """Undo a division: ``x // c * c + x % c`` is ``x``, as where one reshape follows another."""
    for atom, factor in form[0].items():
        if isinstance(atom, Op) and atom.name == "floor_mod" and isinstance(atom.args[1], Const):
            x, c = atom.args[0], atom.args[1].value
            if c > 0 and form[0].get(x // c) == factor * c:
                parts = {atom: factor, x // c: factor * c}
                return _rejoin(_plus(_plus(form, (parts, 0), -1), _linear(x), factor))
    return form


def _simplify_neg(a: Expr) -> Expr | None:
    return _sum(*_plus(({}, 0), _linear(a), -1)) if a.dtype == INDEX else None


def _simplify_mul(a: Expr, b: Expr) -> Expr | None:
    if a.dtype != INDEX:
        return None
    if isinstance(a, Const):
        a, b = b, a
    return _sum(*_plus(({}, 0), _linear(a), b.value)) if isinstance(b, Const) else None


def _simplify_floor_div(x: Expr, divisor: Expr) -> Expr | None:
    if x.dtype != INDEX or not isinstance(divisor, Const) or divisor.value <= 0 or not _exact(x):
        return None
    c = divisor.value
    terms, constant = _linear(x)
    low, high = bounds(x)
    if low // c == high // c:
        return const(low // c)
    if any(f % c == 0 for f in terms.values()) or constant // c:
        part, left = _split(terms, constant, c)
        return part + left // c if _exact(left) else None
    for g in _divisors(terms, c):
        part, left = _split(terms, constant, g)
        if bounds(left)[0] >= 0 and bounds(left)[1] < g:
            return part // (c // g)
    if isinstance(x, Op) and x.name == "floor_div" and isinstance(x.args[1], Const):
        product = x.args[1].value * c
        return x.args[0] // product if 0 < product < 2**63 else None
    return None


def _simplify_floor_mod(x: Expr, divisor: Expr) -> Expr | None:
    if x.dtype != INDEX or not isinstance(divisor, Const) or divisor.value <= 0 or not _exact(x):
        return None
    c = divisor.value
    terms, constant = _linear(x)
    low, high = bounds(x)
    if low // c == high // c:
        return _sum(terms, constant - c * (low // c))
    if any(f % c == 0 for f in terms.values()) or constant // c:
        left = _split(terms, constant, c)[1]
        return left % c if _exact(left) else None
    for g in _divisors(terms, c):
        part, left = _split(terms, constant, g)
        if bounds(left)[0] >= 0 and bounds(left)[1] < g:
            return part % (c // g) * g + left
    if isinstance(x, Op) and x.name == "floor_mod" and isinstance(x.args[1], Const):
        return x.args[0] % c if x.args[1].value % c == 0 else None
    return None


def _divisors(terms: Mapping[Expr, int], c: int) -> list[int]:
    """Common divisors, above 1, of ``c`` and a factor: greatest first."""
    return sorted({gcd(f, c) for f in terms.values()} - {1}, reverse=True)


def _split(terms: Mapping[Expr, int], constant: int, g: int) -> tuple[Expr, Expr]:
    """A sum as ``part * g + left``, where ``part`` has the terms that are multiples of ``g``."""
    return (_sum({t: f // g for t, f in terms.items() if f % g == 0}, constant // g),
            _sum({t: f for t, f in terms.items() if f % g}, constant % g))


def _sign_of(a: Expr, b: Expr) -> Interval | None:
    """An interval of ``a - b`` for integers; int64 must not wrap."""
    if a.dtype is INDEX and type(a) is Const and type(b) is Const:
        return a.value - b.value, a.value - b.value
    if a.dtype != INDEX and kind_of(a.dtype) in "iu":
        (low, high), (least, most) = bounds(a), bounds(b)
        return low - most, high - least
    if a.dtype != INDEX or not (_exact(a) and _exact(b)):
        return None
    return _sum_ends(_plus(_linear(a), _linear(b), -1))


def _comparison(name: str, true_when, false_when):
    def simplify(a: Expr, b: Expr) -> Expr | None:
        ends = _sign_of(a, b)
        if ends is None:
            return None
        if true_when(*ends) or false_when(*ends):
            return _bool(true_when(*ends))
        if a.dtype != INDEX:
            return _asked(name, a, b)
        terms, offset = _linear(a)
        factor = gcd(*terms.values())
        if terms and isinstance(b, Const) and (offset or factor > 1):
            return _divided(name, terms, b.value - offset, factor)
        return None
    return simplify


def _divided(name: str, terms: Mapping[Expr, int], limit: int, factor: int) -> Expr | None:
    """A comparison of a sum with a number, both divided by what divides the sum."""
    bare = _sum({t: f // factor for t, f in terms.items()}, 0)
    if not _exact(bare) or not _fits((limit, limit)):
        return None
    if name in ("eq", "ne") and limit % factor:
        return Const(name == "ne", BOOL)
    up = name in ("lt", "ge")  # x * 2 < 5 where x < 3, and x * 2 <= 5 where x <= 2
    return Op(name, (bare, const(-(-limit // factor) if up else limit // factor)), BOOL)


def _asked(name: str, a: Expr, b: Expr) -> Expr | None:
    """The bool behind a comparison of its number with 0 or 1."""
    if name in ("eq", "ne") and isinstance(a, Op) and a.name == "convert" and isinstance(
            b, Const) and b.value in (0, 1) and a.args[0].dtype == BOOL:
        return a.args[0] if (b.value == 1) is (name == "eq") else op("not", a.args[0])
    return None


def _simplify_max(a: Expr, b: Expr) -> Expr | None:
    ends = _sign_of(a, b)
    return None if ends is None else a if ends[0] >= 0 else b if ends[1] <= 0 else None


def _simplify_min(a: Expr, b: Expr) -> Expr | None:
    ends = _sign_of(a, b)
    return None if ends is None else a if ends[1] <= 0 else b if ends[0] >= 0 else None


def _simplify_clamp(low: Expr, x: Expr, high: Expr) -> Expr | None:
    below, above = _sign_of(x, low), _sign_of(high, x)
    return x if below and above and below[0] >= 0 and above[0] >= 0 else None


def _logic(absorbing: bool):
    def simplify(a: Expr, b: Expr) -> Expr | None:
        if a.dtype != BOOL:
            return None
        for this, other in ((a, b), (b, a)):
            if isinstance(this, Const):
                return this if this.value is absorbing else other
        return a if a == b else None
    return simplify


def _simplify_not(a: Expr) -> Expr | None:
    return Const(not a.value, BOOL) if a.dtype == BOOL and isinstance(a, Const) else None


def _simplify_select(condition: Expr, a: Expr, b: Expr) -> Expr | None:
    if isinstance(condition, Const):
        return a if condition.value else b
    if isinstance(condition, Op) and condition.name == "not":
        return op("select", condition.args[0], b, a)
    return a if a == b else None


def _simplify_convert(x: Expr, *, dtype: np.dtype) -> Expr | None:
    if x.dtype == dtype:
        return x
    if isinstance(x, Const) and x.dtype in (INDEX, BOOL):
        return Const(np.asarray(x.value, x.dtype).astype(dtype), dtype)
    if isinstance(x, Op) and x.name == "convert" and x.args[0].dtype == dtype:
        inner, outer = kind_of(dtype), kind_of(x.dtype)
        if inner in "biu" and outer in "iu":
            (a, b), (c, d) = bounds(x.args[0]), value_range(x.dtype)
            return x.args[0] if c <= a and b <= d else None
    return None


_SIMPLIFY = {
    "add": _ring(1), "sub": _ring(-1), "neg": _simplify_neg, "mul": _simplify_mul,
    "floor_div": _simplify_floor_div, "floor_mod": _simplify_floor_mod,
    "lt": _comparison("lt", lambda a, b: b < 0, lambda a, b: a >= 0),
    "le": _comparison("le", lambda a, b: b <= 0, lambda a, b: a > 0),
    "gt": _comparison("gt", lambda a, b: a > 0, lambda a, b: b <= 0),
    "ge": _comparison("ge", lambda a, b: a >= 0, lambda a, b: b < 0),
    "eq": _comparison("eq", lambda a, b: a == b == 0, lambda a, b: a > 0 or b < 0),
    "ne": _comparison("ne", lambda a, b: a > 0 or b < 0, lambda a, b: a == b == 0),
    "max": _simplify_max, "min": _simplify_min, "clamp": _simplify_clamp,
    "and": _logic(False), "or": _logic(True), "not": _simplify_not,
    "select": _simplify_select, "convert": _simplify_convert,
}
