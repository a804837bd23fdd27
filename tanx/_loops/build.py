"""The language of ``lower`` rules. A cheat sheet for authors of primitives:

**Expression rules** make one element: ``lower(self, at, *operands, **params) -> Expr``, or a tuple
of them for several results of one shape. ``at`` holds an int64 expression for each dimension of the
result. Operands have ``shape``, ``dtype``, ``ndim``; ``x[[i, j]]`` reads an element, whether the
operand is stored or not (then it is inlined: that is fusion). A scalar ignores its index, so
``x[at]`` serves operands that may be scalars. ::

    def lower(self, at, x):                      return op("tanh", x[at])
    def lower(self, at, x, y):                   return x[at] + y[at]
    def lower(self, at, x, *, permutation):      return x[[at[permutation.index(d)] for d in ...]]
    def lower(self, at, x, *, new_dtype):        return convert(x[at], new_dtype)
    def lower(self, at, x, *, axes):             return reduce("add", extents, lambda k: x[...])

- ``op(name, *args, **attrs)``: any instruction of ``instructions.py``. Dtypes must agree; a Python
  number takes the dtype of the expression beside it. ``+ - * / & | ^ ~ << >> < <= > >=`` do the
  same; ``//`` and ``%`` are floor division by a positive number, for indices. Integer division of
  values is ``op("div", a, b)``. ``==`` does not compute: write ``eq(a, b)`` or ``ne(a, b)``.
- ``const(value, dtype)``, of int64 by default; ``convert(x, dtype)``; ``as_index(x)``, to int64.
- ``select(condition, a, b)`` evaluates only the chosen operand: a guarded load is safe.
  ``load_guarded(x, index, otherwise)`` is ``x[index]`` where the index is in range; ``in_range``
  gives that condition; ``clamp_index(i, size)`` moves an index into range.
- ``all_of(*conditions)``, ``any_of(*conditions)``.
- ``reduce(combine, extents, lambda k: element, init=None)``: ``k`` is a tuple of indices; combine
    by one of add mul max min and or xor; ``init`` is its identity by default.
- ``arg_reduce("max" or "min", extent, lambda k: element, dtype)``: the pair (best, position).
- ``fold(extents, init, lambda k, state: next_state)``: any loop in order; ``init``, ``state``,
  ``next_state`` and the result are tuples.
- ``while_loop(init, lambda state: condition, lambda state: next_state)``: a loop that runs while
  the condition holds.
- ``flatten_index(index, shape)``, ``unflatten_index(flat, shape)``: row-major, as reshape needs.

**Statement rules** fill buffers: ``lower(self, into, *operands, **params) -> list of statements``.
``into`` holds the output buffers, which can be read back as well. ::

    def lower(self, into, x, i, u):              # x.at[i].add(u)
        (out,) = into
        return [copy(out, x),
                nest(u.shape, lambda k: [store(out, [as_index(i[k])], u[k], combine="add")])]

- ``store(buffer, index, value, combine=None, guard=None)``; ``copy(buffer, x)`` stores all of x.
- ``nest(extents, lambda k: [statements], sequential=False)``: loops; ``sequential`` may be a tuple
  with a bool for each. Iterations of a parallel loop may store one element only by ``combine``.
- ``temp(name, shape, dtype)``: memory for the rule's own use.
- ``extern(name, outputs, inputs, **params)``: a library function on stored buffers; ``NotStored``
  is raised for an operand that is not stored.

``element_program`` and ``statement_program`` make a program of one rule, for ``interpret.run``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod

import numpy as np

from ..dtypes import stored
from .expr import (
    Const,
    Expr,
    Fold,
    Node,
    Pick,
    While,
    const,
    flatten_index,
    fresh_index,
    fresh_state,
    op,
)
from .instructions import BOOL, INDEX, REDUCERS, identity, kind_of, short_name
from .nest import (
    PARALLEL,
    SEQUENTIAL,
    Buffer,
    Call,
    Extern,
    Nest,
    Program,
    Statement,
    Store,
    index_tuple,
)
from .traverse import expressions, loads, statements_in, written

__all__ = ["NotStored", "Operand", "all_of", "any_of", "arg_reduce", "as_index", "clamp_index",
           "const", "convert", "copy", "element_program", "eq", "extern", "flatten_index", "fold",
           "in_range", "load_guarded", "ne", "nest", "op", "reduce", "select", "statement_program",
           "store", "temp", "temporaries", "unflatten_index", "while_loop"]

At = tuple[Expr, ...]


class Operand:
    """An array that is not stored: ``element`` builds the expression of the element at an index.

    It is called once for each index.
    """

    def __init__(self, shape: Sequence[int], dtype, element: Callable[[At], Expr]):
        self.shape = tuple(map(int, shape))
        self.dtype = np.dtype(stored(dtype))
        self._element = element
        self._known: dict[At, Expr] = {}

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, index) -> Expr:
        index = index_tuple(self, index)
        if index not in self._known:
            self._known[index] = _typed(self._element(index), self.dtype, self)
        return self._known[index]

    def __repr__(self):
        return f"{short_name(self.dtype)}[{','.join(map(str, self.shape))}]"


def _typed(value: Expr, dtype: np.dtype, whose) -> Expr:
    if not isinstance(value, Expr) or value.dtype != dtype:
        got = short_name(value.dtype) if isinstance(value, Expr) else repr(value)
        raise TypeError(f"an element of {whose!r} must be an expression of dtype "
                        f"{short_name(dtype)}, got {got}.")
    return value


# -- expressions -----------------------------------------------------------------------------------


def eq(a, b) -> Expr:
    """Whether two values are equal."""
    return op("eq", a, b)


def ne(a, b) -> Expr:
    """Whether two values differ."""
    return op("ne", a, b)


def all_of(*conditions: Expr) -> Expr:
    """Whether all conditions hold; true if there are none."""
    result: Expr = Const(True, BOOL)
    for condition in conditions:
        result = result & condition
    return result


def any_of(*conditions: Expr) -> Expr:
    """Whether any of the conditions holds; false if there are none."""
    result: Expr = Const(False, BOOL)
    for condition in conditions:
        result = result | condition
    return result


def select(condition: Expr, a, b) -> Expr:
    """``a`` where the condition holds, else ``b``; loads of the one not taken are not performed."""
    if not isinstance(condition, Expr):
        raise TypeError(f"select: the condition must be an expression, got {condition!r}. "
                        "== compares expressions themselves; write eq(a, b).")
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        raise TypeError(f"select: one of {a!r} and {b!r} must be an expression; see const().")
    dtype = a.dtype if isinstance(a, Expr) else b.dtype
    return op("select", condition, *(x if isinstance(x, Expr) else Const(x, dtype) for x in (a, b)))


def convert(x: Expr, dtype) -> Expr:
    """The value in another dtype."""
    return op("convert", x, dtype=np.dtype(dtype))


def as_index(x: Expr) -> Expr:
    """An integer as int64, to index with."""
    return convert(x, INDEX)


def clamp_index(i: Expr, size: int) -> Expr:
    """The index moved into ``0 .. size - 1``."""
    return op("clamp", const(0), i, const(size - 1))


def in_range(index: Iterable[Expr], shape: Sequence[int]) -> Expr:
    """Whether an index is inside a shape; dimensions that are provably in range are not tested."""
    return all_of(*((i >= 0) & (i < n) for i, n in zip(index, shape, strict=True)))


def load_guarded(x, index, otherwise) -> Expr:
    """``x[index]`` where the index is in range, else ``otherwise``.

    >>> i = fresh_index(8, "i")
    >>> x = Buffer("x", (4,), np.float32)
    >>> load_guarded(x, [i - 2], 0.0).args[1:] == (x[i - 2], const(0, np.float32))
    True
    """
    index = index_tuple(x, index)
    return select(in_range(index, x.shape), x[index], otherwise)


def unflatten_index(flat: Expr, shape: Sequence[int]) -> At:
    """The index in a shape of a row-major position."""
    if 0 in shape:
        return tuple(const(0) for _ in shape)
    steps = [prod(shape[d + 1:]) for d in range(len(shape))]
    return tuple(flat // step % n for n, step in zip(shape, steps))


def _indices(extents, hint: str):
    extents = (extents,) if isinstance(extents, (int, np.integer)) else tuple(extents)
    return tuple(fresh_index(n, hint) for n in extents)


def reduce(combine: str, extents, element: Callable[[At], Expr], init=None) -> Expr:
    """Combine elements over all indices; ``init`` defaults to the identity of ``combine``."""
    if combine not in REDUCERS:
        raise TypeError(f"reduce: combine must be one of {', '.join(REDUCERS)}, got {combine!r}.")
    indices = _indices(extents, "k")
    value = element(indices)
    if not isinstance(init, Expr):
        init = Const(identity(combine, value.dtype) if init is None else init, value.dtype)
    state = fresh_state(value.dtype)
    return Pick(Fold(indices, (init,), (state,), (value,), combine), 0)


def fold(extents, init: Sequence[Expr], step: Callable[[At, At], Sequence[Expr]]) -> At:
    """Carry values through a loop in order: ``state = step(k, state)`` from ``init``."""
    return _fold(extents, tuple(init), step, None)


def arg_reduce(which: str, extent: int, element: Callable[[At], Expr], dtype=INDEX) -> At:
    """The greatest or least element and its position; NaN is best, and of equals the first."""
    if which not in ("max", "min"):
        raise TypeError(f"arg_reduce: which must be 'max' or 'min', got {which!r}.")
    better, worse = ("gt", "le") if which == "max" else ("lt", "ge")

    def step(k, state):
        best, position = state
        value = element(k)
        takes = op(better, value, best)
        if kind_of(value.dtype) == "f":  # NaN is not worse than anything
            takes = ~op(worse, value, best) & eq(best, best)
        takes = takes | eq(k[0], 0)
        return select(takes, value, best), select(takes, convert(k[0], dtype), position)

    start = element((const(0),)).dtype
    return _fold(extent, (Const(0, start), Const(0, dtype)), step, f"arg{which}")


def _fold(extents, init: At, step, combine: str | None) -> At:
    indices = _indices(extents, "k")
    states = tuple(fresh_state(value.dtype) for value in init)
    body = _next_states("fold", states, step(indices, states))
    return _results(Fold(indices, init, states, body, combine))


def while_loop(init: Sequence[Expr], condition: Callable[[At], Expr],
               step: Callable[[At], Sequence[Expr]]) -> At:
    """Carry values through a loop: ``state = step(state)`` while ``condition(state)`` holds.

    >>> from tanx._loops.show import show_expr
    >>> n, = while_loop([const(1)], lambda s: s[0] < 1000, lambda s: [s[0] * 2])
    >>> print(show_expr(n))
    while(s = 1; s < 1000: s * 2)
    """
    states = tuple(fresh_state(value.dtype) for value in init)
    holds = condition(states)
    if not isinstance(holds, Expr) or holds.dtype != BOOL:
        raise TypeError(f"while_loop: the condition must be a bool expression, got {holds!r}.")
    return _results(While(init, states, holds, _next_states("while_loop", states, step(states))))


def _next_states(name: str, states: At, given: Sequence[Expr]) -> At:
    body = tuple(given)
    if [e.dtype for e in body] != [s.dtype for s in states]:
        raise TypeError(f"{name}: a step must return what init holds, dtypes "
                        f"{[short_name(s.dtype) for s in states]}, but it gave "
                        f"{[short_name(e.dtype) for e in body]}.")
    return body


def _results(loop: Fold) -> At:
    return tuple(Pick(loop, position) for position in range(len(loop.states)))


# -- statements ------------------------------------------------------------------------------------


def store(buffer: Buffer, index, value, combine: str | None = None,
          guard: Expr | None = None) -> Store:
    """Write one element; see :class:`Store`."""
    value = value if isinstance(value, Expr) else Const(value, buffer.dtype)
    return Store(buffer, index_tuple(buffer, index), _typed(value, buffer.dtype, buffer), combine,
                 guard)


def nest(extents, body: Callable[[At], Iterable[Statement]], sequential=False) -> Nest:
    """Loops around the statements that ``body`` returns for their indices; parallel by default."""
    indices = _indices(extents, "i")
    in_order = (sequential,) * len(indices) if isinstance(sequential, bool) else sequential
    kinds = tuple(SEQUENTIAL if s else PARALLEL for s in in_order)
    return Nest(indices, kinds, tuple(body(indices)))


def copy(buffer: Buffer, x) -> Nest:
    """Store all elements of an array of the same shape."""
    return nest(buffer.shape, lambda k: [store(buffer, k, x[k])])


def temp(name: str, shape: Sequence[int], dtype) -> Buffer:
    """A temporary buffer."""
    return Buffer(name, shape, dtype, "temp")


class NotStored(TypeError):
    """A library function was given an array that is not stored."""


def extern(name: str, outputs: Sequence[Buffer], inputs: Sequence[Buffer], **params) -> Extern:
    """Call a function of the runtime's library by its name."""
    for array in (*outputs, *inputs):
        if not isinstance(array, Buffer):
            raise NotStored(f"extern {name}: {array!r} is not stored; a library needs memory.")
    return Extern(tuple(outputs), tuple(inputs), name, tuple(sorted(params.items())))


# -- programs of one rule --------------------------------------------------------------------------


def element_program(lower, in_types, out_types, params: Mapping | None = None) -> Program:
    """A program from an expression rule: one nest over the shape of the results.

    Types are anything with ``shape`` and ``dtype``; ``out_types`` may be a single one.

    >>> program = element_program(lambda at, x: op("exp", x[at]), [np.zeros(3)], np.zeros(3))
    >>> program.statements[0].body[0].value.name
    'exp'
    """
    inputs, outputs = _buffers(in_types, out_types)
    if len({out.shape for out in outputs}) > 1:
        raise TypeError(f"an expression rule gives results of one shape, got {outputs}; "
                        "write a statement rule.")

    def body(at):
        values = lower(at, *inputs, **(params or {}))
        values = values if isinstance(values, (tuple, list)) else (values,)
        return [store(out, at, _typed(v, out.dtype, out))
                for out, v in zip(outputs, values, strict=True)]

    return Program(inputs, outputs, (), (nest(outputs[0].shape, body),))


def statement_program(lower, in_types, out_types, params: Mapping | None = None) -> Program:
    """A program from a statement rule, with the temporaries that it mentions."""
    inputs, outputs = _buffers(in_types, out_types)
    statements = tuple(lower(outputs, *inputs, **(params or {})))
    return Program(inputs, outputs, temporaries(statements), statements)


def temporaries(statements: Iterable[Statement]) -> tuple[Buffer, ...]:
    """The buffers of role ``"temp"`` that statements mention, in program order."""
    found: dict[Buffer, None] = {}
    seen: set[Node] = set()
    for statement in statements_in(statements):
        found.update((load.buffer, None) for load in loads(*expressions(statement), seen=seen))
        found.update(written((statement,)))
        if isinstance(statement, Call):
            found.update(dict.fromkeys(statement.inputs))
    return tuple(b for b in found if b.role == "temp")


def _buffers(in_types, out_types) -> tuple[tuple[Buffer, ...], tuple[Buffer, ...]]:
    in_types = tuple(in_types)
    outs = tuple(out_types) if isinstance(out_types, (tuple, list)) else (out_types,)
    names = "xyz" if len(in_types) <= 3 else [f"x{n}" for n in range(len(in_types))]
    out_names = ["out"] if len(outs) == 1 else [f"out{n}" for n in range(len(outs))]
    return (tuple(Buffer(n, t.shape, t.dtype) for n, t in zip(names, in_types)),
            tuple(Buffer(n, t.shape, t.dtype, "output") for n, t in zip(out_names, outs)))
