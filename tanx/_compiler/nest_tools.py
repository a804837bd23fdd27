"""Helpers for passes on loop nests: canonical loop indices, and replacing buffers and loads.

All nests over arrays of one shape use the same indices, so that an element is the same expression
where it is computed and where it is read, and inlining one in the other costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from operator import is_, is_not
from typing import Any

from .._loops.expr import (
    LOADS,
    Const,
    Expr,
    Fold,
    Index,
    Linear,
    Load,
    Node,
    Op,
    Pick,
    State,
    bounds,
    const,
)
from .._loops.nest import PARALLEL, Buffer, Call, Nest, Statement, Store
from .._loops.traverse import (
    children,
    expressions,
    map_expressions,
    rebuild,
    statements_in,
    walk,
)

__all__ = ["as_op", "elements", "find_loads", "fingerprint", "index_of", "is_affine", "is_search",
           "loops_in", "loops_of", "mentioned", "rename", "replace_loads", "sure_parts", "windows"]

_LETTERS = "ijlmnpqrstuvw"  # folds are k


@lru_cache(maxsize=1 << 14)
def index_of(shape: tuple[int, ...]) -> tuple[Expr, ...]:
    """The index of an arbitrary element of an array; 0 along dimensions of size 1.

    >>> index_of((8, 1, 64))
    (i, 0, j)
    """
    index: list[Expr] = []
    count = 0
    for n in shape:
        if n == 1:
            index.append(const(0))
        else:
            index.append(Index(_LETTERS[count] if count < len(_LETTERS) else f"i{count}", n))
            count += 1
    return tuple(index)


@lru_cache(maxsize=1 << 14)
def loops_of(shape: tuple[int, ...]) -> tuple[Index, ...]:
    """The loops over all elements of an array."""
    return loops_in(index_of(shape))


def loops_in(index: Iterable[Expr]) -> tuple[Index, ...]:
    """The loop variables that are themselves components of an index, in order."""
    return tuple(i for i in index if isinstance(i, Index))


def is_affine(place: Linear) -> bool:
    """Whether a sum consists of multiples of loop variables and of loop invariants."""
    for atom in place[0]:
        if type(atom) is not Index and atom.free:
            return False
    return True


def sure_parts(node: Node) -> Sequence[Node]:
    """The parts of a node that are evaluated whenever it is."""
    return node.args[:1] if isinstance(node, Op) and node.name == "select" else children(node)


def elements(shape: tuple[int, ...], body: Callable[[tuple[Expr, ...]], Iterable[Store]]) -> Nest:
    """A parallel nest over the elements of an array, with the canonical loops."""
    loops = loops_of(shape)
    return Nest(loops, (PARALLEL,) * len(loops), tuple(body(index_of(shape))))


def mentioned(statement: Statement) -> dict[Buffer, None]:
    """The buffers that a statement, including nested ones, reads or writes (an ordered set)."""
    found: dict[Buffer, None] = {}
    seen: set[Node] = set()
    for inner in statements_in((statement,)):
        if isinstance(inner, Call):
            found.update(dict.fromkeys((*inner.inputs, *inner.outputs)))
        elif isinstance(inner, Store):
            found.update((load.buffer, None) for load in find_loads(expressions(inner), seen))
            found[inner.buffer] = None
    return found


def fingerprint(statement: Statement) -> tuple[tuple, list[Buffer]]:
    """A key that is equal for statements that do the same on other buffers; and the buffers.

    Loops, states and buffers are identified by the order in which they occur, not by their names.
    """
    numbers: dict[Any, int] = {}
    seen: set[Node] = set()
    key: list[Any] = []
    buffers: list[Buffer] = []

    def number(node: Any) -> int:
        """The number of a node whose parts all have one."""
        known = numbers.get(node)
        if known is not None:
            return known
        kind = type(node)
        if kind is Op:
            key.append((node.name, node.dtype, node.attrs, *[numbers[a] for a in node.args]))
        elif kind is Load:
            key.append(("load", number(node.buffer), *[numbers[i] for i in node.index]))
        elif kind is Buffer:
            buffers.append(node)
            key.append(("buffer", node.shape, node.dtype, node.space))
        elif kind is Index:
            key.append(("index", node.extent))
        elif kind is State:
            key.append(("state", node.dtype))
        elif kind is Const:
            key.append(node)
        elif kind is Pick:
            key.append(("pick", numbers[node.fold], node.position))
        else:
            key.append((kind, node.combine, node.kinds,
                        *[number(v) for v in (*node.indices, *node.states)],
                        *[numbers[part] for part in children(node)]))
        numbers[node] = len(numbers)
        return numbers[node]

    def add(inner: Statement) -> None:
        if isinstance(inner, Nest):
            key.append(("nest", inner.kinds, *map(number, inner.indices)))
            for statement in inner.body:
                add(statement)
            key.append("end")
        elif isinstance(inner, Store):
            parts = expressions(inner)
            for node in walk(*parts, seen=seen):
                number(node)
            key.append(("store", number(inner.buffer), inner.combine, inner.guard is None,
                        *map(number, parts)))
        else:
            key.append((*inner.form, *map(number, inner.outputs), -1,
                        *map(number, inner.inputs)))

    add(statement)
    return tuple(key), buffers


def windows(statement: Statement) -> tuple[Statement, dict[Buffer, tuple[Buffer, int]]]:
    """The statement on buffers that consist only of the rows it accesses.

    Statements on different rows of the same array, such as those of an unrolled loop, become equal.
    Each new buffer comes with the buffer it is a part of, and with its offset in it.
    """
    touched: dict[Buffer, list[tuple[Expr, ...]]] = {}
    passed: set[Buffer] = set()
    seen: set[Node] = set()
    for inner in statements_in((statement,)):
        if isinstance(inner, Call):
            passed.update(inner.inputs, inner.outputs)
        elif isinstance(inner, Store):
            touched.setdefault(inner.buffer, []).append(inner.index)
            for load in find_loads(expressions(inner), seen):
                touched.setdefault(load.buffer, []).append(load.index)
    parts: dict[Buffer, tuple[Buffer, int, int, int]] = {}
    for buffer, indices in touched.items():
        part = None if buffer in passed else _window(buffer, indices)
        if part is not None:
            parts[buffer] = part
    if not parts:
        return statement, {}

    def moved(buffer: Buffer, index: Sequence[Expr]) -> tuple[Expr, ...]:
        _, _, dropped, low = parts[buffer]
        first, rest = index[dropped:dropped + 1], index[dropped + 1:]
        return (*(i - low if low else i for i in first), *rest)

    def element(load: Load) -> Load:
        return Load(parts[load.buffer][0], moved(load.buffer, load.index))

    def targets(inner: Statement) -> Statement:
        if isinstance(inner, Nest):
            return replace(inner, body=tuple(map(targets, inner.body)))
        if isinstance(inner, Store) and inner.buffer in parts:
            return replace(inner, buffer=parts[inner.buffer][0],
                           index=moved(inner.buffer, inner.index))
        return inner
    return targets(replace_loads(statement, parts, element)), {
        part: (buffer, start) for buffer, (part, start, _, _) in parts.items()}


def _window(buffer: Buffer, indices: Sequence[tuple[Expr, ...]],
            ) -> tuple[Buffer, int, int, int] | None:
    """The rows of a buffer that are accessed, unless that is all of it.

    With where they begin, the dimensions that are dropped, and the first index in the next one.
    """
    shape, start, dropped, low, size = buffer.shape, 0, 0, 0, 1
    if any(index and isinstance(index[0], Index) and index[0].extent == shape[0]
           for index in indices):
        return None
    while dropped < len(shape):
        places = {index[dropped] for index in indices}
        step = prod(shape[dropped + 1:])
        first = next(iter(places))
        if len(places) > 1 or not isinstance(first, Const):
            ends = [bounds(place) for place in places]
            low, high = min(a for a, _ in ends), max(b for _, b in ends)
            if low < 0 or high >= shape[dropped]:
                return None  # it is guarded, and guards refer to the shape
            start, size = start + low * step, high - low + 1
            break
        if not 0 <= first.value < shape[dropped]:
            return None
        start, dropped = start + first.value * step, dropped + 1
    shape = (size, *shape[dropped + 1:]) if dropped < len(shape) else ()
    if prod(shape) == prod(buffer.shape):
        return None
    return Buffer(f"{buffer.name}@{start}", shape, buffer.dtype, buffer.role), start, dropped, low


def find_loads(roots: Iterable[Node], seen: set[Node] | None = None) -> list[Load]:
    """Each load under ``roots`` once, except for those that were ``seen`` before."""
    found: list[Load] = []
    seen = set() if seen is None else seen
    stack = [root for root in dict.fromkeys(roots) if root not in seen]
    seen.update(stack)
    while stack:
        node = stack.pop()
        if type(node) is Load:
            found.append(node)
        for child in children(node):
            if child.holds & LOADS and child not in seen:
                seen.add(child)
                stack.append(child)
    return found


def replace_loads(statement: Statement, wanted: Container[Buffer],
                  element: Callable[[Load], Expr | None]) -> Statement:
    """The statement with loads of the buffers ``wanted`` replaced by other expressions."""
    images: dict[Any, Any] = {}

    def replaced(inner: Statement) -> Statement:
        if not isinstance(inner, Nest):
            return map_expressions(inner, lambda e: _replaced(e, wanted, element, images))
        body = tuple([replaced(s) for s in inner.body])
        same = all(map(is_, body, inner.body))
        return inner if same else replace(inner, body=body)
    return replaced(statement)


def _replaced(root: Expr, wanted: Container[Buffer], element: Callable[[Load], Expr | None],
              images: dict[Any, Any]) -> Expr:
    """An expression rebuilt bottom up; ``images`` has the nodes that are done."""
    if root in images:
        return images[root]
    stack: list[Node] = [root]
    while stack:
        node = stack[-1]
        parts = children(node)
        waiting = [part for part in parts if part.holds & LOADS and part not in images]
        if waiting:
            stack += waiting
            continue
        stack.pop()
        image = node
        others = [images.get(part, part) for part in parts]
        if any(map(is_not, others, parts)):
            image = rebuild(node, others)
        if type(image) is Load and image.buffer in wanted:
            other = element(image)
            image = image if other is None else other
        images[node] = image
    return images[root]


def rename(statement: Statement, names: Mapping[Buffer, Buffer]) -> Statement:
    """The statement on other buffers of the same shapes and dtypes."""
    def element(load: Load) -> Expr:
        return Load(names[load.buffer], load.index)

    def targets(inner: Statement) -> Statement:
        if isinstance(inner, Nest):
            return replace(inner, body=tuple(map(targets, inner.body)))
        if isinstance(inner, Store):
            return replace(inner, buffer=names.get(inner.buffer, inner.buffer))
        return replace(inner, outputs=tuple(names.get(b, b) for b in inner.outputs),
                       inputs=tuple(names.get(b, b) for b in inner.inputs))
    return targets(replace_loads(statement, names, element))



def is_search(fold: Fold) -> bool:
    """Whether a fold has the form that ``build.arg_reduce`` gives it."""
    return len(fold.body) == 2 and fold.body[0] is not fold.body[1] and all(
        isinstance(choice, Op) and choice.name == "select" and choice.args[2] is state
        and not isinstance(choice.args[1], Const)
        for choice, state in zip(fold.body, fold.states)) and (
        as_op(fold.body[0]).args[0] is as_op(fold.body[1]).args[0])


def as_op(expr: Expr) -> Op:
    """The expression, which must be an instruction."""
    assert isinstance(expr, Op)
    return expr
