"""The nodes of expressions, and int64 expressions as sums.

:func:`op` applies an instruction, after asking ``simplify.py`` for something simpler. Sums of int64
are linear forms, which is exact under wrap-around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np

from ...dtypes import stored
from ..instructions import BOOL, INDEX, REDUCERS, kind_of, result_dtype, short_name
from ..loop_kinds import Kind
from .interned import FOLDS, LOADS, WHILES, Node

__all__ = ["Const", "Expr", "Fold", "Index", "Linear", "Load", "Op", "Pick", "State", "Variable",
           "While", "const", "flatten_index", "fresh_index", "fresh_state", "linear_form", "op",
           "position"]

Linear = tuple[dict["Expr", int], int]
"""A sum: the factor of each term, and a constant."""

SIMPLIFY: dict[str, Callable[..., Expr | None]] = {}
"""By instruction, a function that returns a simpler expression of some operands, or None: see
``simplify.py``, which fills it (its rules build expressions, so they cannot be imported here)."""

_set = object.__setattr__  # the fields of a node are set once

_NOTHING: frozenset[Variable] = frozenset()


class Expr(Node):
    """A scalar of a known dtype; Python's operators on it build more of them."""

    __slots__ = ("_ends", "_linear", "dtype")
    dtype: np.dtype
    _ends: tuple[int, int]
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
    """A number known at compile time; ``value`` is Python's bool, int, float or complex."""

    __slots__ = ("value",)
    value: Any

    def __new__(cls, value, dtype):
        dtype = np.dtype(stored(dtype))
        given = np.asarray(value)
        fitting = {"O": "", "f": "fc", "c": "c"}.get(given.dtype.kind, "biufc")
        if kind_of(dtype) not in fitting:
            raise TypeError(f"{value!r} is not a constant of dtype {short_name(dtype)}.")
        array = given.astype(dtype)
        # The bits distinguish -0.0 from 0.0, and make NaN equal to itself.
        return cls._make((dtype, array.tobytes()), dtype=dtype, value=array.item())

    def _brief(self, depth):
        if self.dtype == BOOL:
            return "true" if self.value else "false"
        # The scalar's own text is the shortest that identifies it in its dtype.
        text = str(np.asarray(self.value).astype(self.dtype)[()])
        return text if self.dtype == INDEX else f"{text}:{short_name(self.dtype)}"


class Variable(Expr):
    """A variable that a loop or a fold binds. Its name is its identity."""

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
    """A value that a fold carries from one step to the next."""

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
        """The row-major position in the buffer, as a sum: see :func:`position`."""
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
    """An application of an instruction; :func:`op` builds it, simplifies, and infers the dtype."""

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

    ``kinds`` says how the loops run, one by one where it is empty (see ``loop_kinds.py``). A loop
    in vectors runs inside of the others. A sum with a ``stretch`` adds partial sums of so many
    steps in each loop that has at least twice as many, which keeps rounding errors small.
    """

    __slots__ = ("body", "combine", "indices", "init", "kinds", "states", "stretch")
    indices: tuple[Index, ...]
    init: tuple[Expr, ...]
    states: tuple[State, ...]
    body: tuple[Expr, ...]
    combine: str | None
    kinds: tuple[Kind, ...]
    stretch: int

    def __new__(cls, indices, init, states, body, combine: str | None = None,
                kinds: Iterable[Kind] = (), stretch: int = 0):
        fields = dict(indices=tuple(indices), init=tuple(init), states=tuple(states),
                      body=tuple(body), combine=combine, kinds=tuple(kinds), stretch=stretch)
        return cls._make(tuple(fields.values()), **fields)

    def _free(self):
        inside = _free_in(self.parts[len(self.init):])
        return _free_in(self.init) | inside.difference(self.indices, self.states)

    def _holds(self):
        return FOLDS | _held_in(self.parts)

    @property
    def parts(self) -> tuple[Expr, ...]:
        """Its parts: the start values, and then the expressions evaluated in each step."""
        return (*self.init, *self.body)

    def made_of(self, parts: Sequence[Expr], indices: Sequence[Index],
                states: Sequence[State]) -> Fold:
        """A fold like this one of other parts, which binds other variables."""
        split = len(self.init)
        return Fold(indices, parts[:split], states, parts[split:], self.combine, self.kinds,
                    self.stretch)

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
        """The states after one step."""
        if self.reducer is None:
            return self.body
        (state,), (element,) = self.states, self.body
        return (Op(self.reducer, (state, element), state.dtype),)

    def _brief(self, depth):
        loops = ", ".join(f"{i.name} in {i.extent}" for i in self.indices)
        return f"{self.combine or 'fold'}({loops}: {_brief_list(self.body, depth)})"


class While(Fold):
    """A fold over no indices, which goes on as long as a condition on its states holds.

    The condition is asked before each step. The loop may not end, so it is evaluated only
    where its value is needed. If it is ``brief``, it surely ends soon, and need not check whether
    the program should stop.
    """

    __slots__ = ("brief", "condition")
    condition: Expr
    brief: bool

    def __new__(cls, init, states, condition: Expr, body, brief: bool = False):
        fields = dict(indices=(), init=tuple(init), states=tuple(states), body=tuple(body),
                      combine=None, kinds=(), stretch=0, condition=condition, brief=brief)
        return cls._make(tuple(fields.values()), **fields)

    def _holds(self):
        return WHILES | super()._holds()

    @property
    def parts(self):
        return (*self.init, *self.body, self.condition)

    def made_of(self, parts, indices, states):
        split = len(self.init)
        return While(parts[:split], states, parts[-1], parts[split:-1], self.brief)

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
    """The free variables of some nodes; the set of one node itself if it contains all of them."""
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
    """A new loop variable."""
    return Index(f"{hint}.{next(_serial)}", extent)


def fresh_state(dtype, hint: str = "s") -> State:
    """A new state of a fold."""
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
    simplify = SIMPLIFY.get(name)
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
    try:
        return expr._linear
    except AttributeError:
        _set(expr, "_linear", form := wrapped(_find_linear(expr)))
        return form


def _find_linear(expr: Expr) -> Linear:
    if isinstance(expr, Const):
        return {}, expr.value
    if isinstance(expr, Op):
        if expr.name == "add":
            return plus(linear_form(expr.args[0]), linear_form(expr.args[1]))
        if expr.name == "sub":
            return plus(linear_form(expr.args[0]), linear_form(expr.args[1]), -1)
        if expr.name == "neg":
            return plus(({}, 0), linear_form(expr.args[0]), -1)
        if expr.name == "mul" and isinstance(expr.args[1], Const):
            return plus(({}, 0), linear_form(expr.args[0]), expr.args[1].value)
    return {expr: 1}, 0


def position(index: Sequence[Expr], shape: Sequence[int]) -> Linear:
    """The row-major position of an index in a shape, as a sum.

    >>> position([Index("i", 8) + 1, Index("j", 4)], (9, 4))
    ({i: 4, j: 1}, 4)
    """
    terms: dict[Expr, int] = {}
    constant, step = 0, 1
    for i, n in zip(reversed(index), reversed(shape), strict=True):
        more, rest = linear_form(i)
        constant += step * rest
        for atom, factor in reversed(more.items()):
            terms[atom] = terms.get(atom, 0) + step * factor
        step *= n
    # The first dimension first, as one would write it.
    form = {t: f for t, f in reversed(terms.items()) if f}, constant
    return wrapped(rejoin(form))


def flatten_index(index: Sequence[Expr], shape: Sequence[int]) -> Expr:
    """The row-major position of an index in a shape, as an expression.

    >>> flatten_index([Index("i", 8) + 1, Index("j", 4)], (9, 4))
    add(add(mul(i, 4), j), 4)
    """
    return sum_of(*position(index, shape))


def plus(a: Linear, b: Linear, times: int = 1) -> Linear:
    """``a + times * b`` in unbounded integers."""
    terms = dict(a[0])
    for atom, factor in b[0].items():
        terms[atom] = terms.get(atom, 0) + times * factor
    return {t: f for t, f in terms.items() if f}, a[1] + times * b[1]


def wrapped(form: Linear) -> Linear:
    """The same modulo 2**64, in numbers of int64."""
    numbers = (form[1], *form[0].values())
    if -2**63 <= min(numbers) and max(numbers) < 2**63:
        return form
    terms = {t: (f + 2**63) % 2**64 - 2**63 for t, f in form[0].items()}
    return {t: f for t, f in terms.items() if f}, (form[1] + 2**63) % 2**64 - 2**63


def sum_of(terms: dict[Expr, int], constant: int) -> Expr:
    """The expression of a linear form: added terms, subtracted terms, then the constant."""
    terms, constant = wrapped((terms, constant))
    # -2**63 is its own negative, and so counts as an added term.
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


def rejoin(form: Linear) -> Linear:
    """Undo a division: ``x // c * c + x % c`` is ``x``, as where one reshape follows another."""
    for atom, factor in form[0].items():
        if isinstance(atom, Op) and atom.name == "floor_mod" and isinstance(atom.args[1], Const):
            x, c = atom.args[0], atom.args[1].value
            if c > 0 and form[0].get(x // c) == factor * c:
                parts = {atom: factor, x // c: factor * c}
                return rejoin(plus(plus(form, (parts, 0), -1), linear_form(x), factor))
    return form
