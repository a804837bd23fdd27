"""Traversal: visit expressions and statements, and rebuild them with parts replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .expr import (
    FOLDS,
    LOADS,
    Const,
    Expr,
    Facts,
    Fold,
    Index,
    Interval,
    Load,
    Node,
    Op,
    Pick,
    Variable,
    While,
    facts_of,
    fresh_index,
    fresh_state,
    op,
)
from .names import CALLBACK, FOREIGN
from .nest import (
    Branch,
    Buffer,
    Call,
    Extern,
    Loop,
    Nest,
    Plan,
    Prefetch,
    Program,
    Statement,
    Store,
)

__all__ = ["children", "expressions", "facts_at", "folds", "has_effects", "loads",
           "map_expressions", "moved", "programs_in", "rebuild", "rewrite", "statements_in",
           "substitute", "substitution", "walk", "with_programs", "written"]


def children(node: Node) -> tuple[Node, ...]:
    """The nodes that a node consists of, without a fold's bound variables."""
    kind = type(node)  # every pass comes here for every node, so no isinstance
    whole: Any = node
    if kind is Op:
        return whole.args
    if kind is Load:
        return whole.index
    if kind is Pick:
        return (whole.fold,)
    if kind is Fold or kind is While:
        return whole.parts
    return ()


def walk(*roots: Node, into: Callable[[Node], Sequence[Node]] = children,
         seen: set[Node] | None = None) -> Iterator[Node]:
    """Each node under ``roots`` once, children before parents, however deep.

    To walk several expressions, pass the same ``seen``: shared parts come once.
    """
    seen = set() if seen is None else seen
    stack: list[Any] = list(reversed(roots))
    pop, add = stack.pop, seen.add
    while stack:
        node = pop()
        if node is None:  # the children of the node below are done
            yield pop()
        elif node not in seen:
            add(node)
            parts = into(node)
            if parts:
                stack += (node, None)
                stack += parts[::-1]
            else:
                yield node


def loads(*roots: Node, seen: set[Node] | None = None) -> Iterator[Load]:
    """Each load under ``roots`` once; ``seen`` as for :func:`walk`."""
    seen = set() if seen is None else seen
    stack: list[Any] = list(reversed(roots))
    pop, add = stack.pop, seen.add
    while stack:
        node = pop()
        if node is None:
            node = pop()
            if type(node) is Load:
                yield node
        elif node.holds & LOADS and node not in seen:
            add(node)
            stack += (node, None)
            stack += children(node)[::-1]


def folds(*roots: Node) -> Iterator[Fold]:
    """Each fold under ``roots`` once."""
    roots = tuple(root for root in roots if root.holds & FOLDS)
    return (node for node in walk(*roots, into=_toward_folds) if isinstance(node, Fold))


def _toward_folds(node: Node) -> Sequence[Node]:
    return children(node) if node.holds & FOLDS else ()


def facts_at(*roots: Expr) -> dict[Node, Facts]:
    """For each node, the intervals of integers in which selects evaluate it.

    >>> from tanx._loops.expr import Index, op
    >>> i = Index("i", 8)
    >>> facts_at(op("select", i < 5, i + 1, i))[i + 1]
    {i: (0, 4)}
    """
    facts: dict[Node, Facts] = dict.fromkeys(roots, {})
    for node in reversed(list(walk(*roots))):
        own = facts[node]
        for child in children(node):
            inner = own
            if type(node) is Op and node.name == "select" and child is not node.args[0]:
                arm = facts_of(node.args[0], child is node.args[1])
                inner = {**own, **{e: _both(ends, own.get(e, ends)) for e, ends in arm.items()}}
            before = facts.get(child)
            facts[child] = inner if before is None else {
                e: (min(ends[0], before[e][0]), max(ends[1], before[e][1]))
                for e, ends in inner.items() if e in before}
    return facts


def _both(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), min(a[1], b[1])


def rewrite(root: Expr, replacement: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild bottom up, simplifying; ``replacement`` may return another expression for a node."""
    images: dict[Node, Any] = {}
    for node in walk(root):
        image = _rebuild(node, images)
        other = replacement(image) if isinstance(image, Expr) else None
        images[node] = image if other is None else other
    return images[root]


def substitute(root: Expr, values: Mapping[Variable, Expr]) -> Expr:
    """Replace free indices and states by expressions; bound ones are renamed to avoid capture.

    >>> from tanx._loops.expr import Index
    >>> i, j = Index("i", 8), Index("j", 8)
    >>> substitute(3 * i + 1, {i: 2 * j})
    add(mul(j, 6), 1)
    """
    return substitution(values)(root)


def substitution(values: Mapping[Variable, Expr]) -> Callable[[Expr], Expr]:
    """As :func:`substitute`, for several expressions: shared parts are rebuilt once."""
    arriving = frozenset().union(*(value.free for value in values.values()))
    images: dict[Any, Any] = {**values}

    def affected(node: Node) -> Sequence[Node]:
        if node in images or node.free.isdisjoint(values):
            return ()
        if type(node) is Op and node.name == "select":
            condition = change(node.args[0])
            if type(condition) is Const:  # only one arm remains
                return node.args[1:2] if condition.value else node.args[2:]
        return children(node)

    def change(root: Expr) -> Expr:
        for node in walk(root, into=affected):
            if node in images:
                continue
            if node.free.isdisjoint(values):
                images[node] = node
            elif isinstance(node, Fold) and not node.bound.isdisjoint(arriving | values.keys()):
                images[node] = _substitute_fold(_renamed(node), values)
            else:
                images[node] = _rebuild(node, images)
        return images[root]
    return change


def _renamed(fold: Fold) -> Fold:
    """The same fold with fresh bound variables."""
    indices = [fresh_index(i.extent, i.name.split(".")[0]) for i in fold.indices]
    states = [fresh_state(s.dtype, s.name.split(".")[0]) for s in fold.states]
    names: dict[Variable, Expr] = {**dict(zip(fold.indices, indices, strict=True)),
                                   **dict(zip(fold.states, states, strict=True))}
    inside = [substitute(e, names) for e in fold.parts[len(fold.init):]]
    return fold.made_of((*fold.init, *inside), indices, states)


def _substitute_fold(fold: Fold, values: Mapping) -> Fold:
    return fold.made_of([substitute(e, values) for e in fold.parts], fold.indices, fold.states)


def _rebuild(node: Node, images: Mapping[Node, Any]) -> Node:
    before = children(node)
    if not before:
        return node
    parts = tuple([images.get(child, child) for child in before])
    return node if parts == before else rebuild(node, parts)


def rebuild(node: Node, parts: Sequence[Any]) -> Node:
    """The node with other children, in the same order; simplified."""
    if isinstance(node, Op):
        return op(node.name, *parts, **dict(node.attrs))
    if isinstance(node, Load):
        return Load(node.buffer, parts)
    if isinstance(node, Pick):
        return Pick(parts[0], node.position)
    assert isinstance(node, Fold)
    return node.made_of(parts, node.indices, node.states)


# -- statements ------------------------------------------------------------------------------------


def statements_in(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Statements and nested ones, in program order."""
    for statement in statements:
        yield statement
        if isinstance(statement, Nest):
            yield from statements_in(statement.body)
            yield from statements_in(statement.rest)


def expressions(statement: Statement) -> tuple[Expr, ...]:
    """The expressions that a statement itself evaluates: index, value and guard of a store."""
    if not isinstance(statement, Store):
        return ()
    guard = () if statement.guard is None else (statement.guard,)
    return (*guard, *statement.index, statement.value)


def map_expressions(statement: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """The statement, including nested ones, with each expression changed."""
    if isinstance(statement, Nest):
        return replace(statement, body=tuple(map_expressions(s, change) for s in statement.body),
                       rest=tuple(map_expressions(s, change) for s in statement.rest))
    if isinstance(statement, Store):
        return replace(statement, index=tuple(map(change, statement.index)),
                       value=change(statement.value),
                       guard=None if statement.guard is None else change(statement.guard),
                       prefetched=tuple(moved(p, change) for p in statement.prefetched))
    return statement


def moved(prefetch: Prefetch, change: Callable[[Expr], Expr]) -> Prefetch:
    """The prefetch of an access whose index is changed, along the index that replaces its own."""
    access, along = prefetch.access, change(prefetch.along)
    return Prefetch(Load(access.buffer, tuple(map(change, access.index))),
                    along if isinstance(along, Index) else prefetch.along, prefetch.steps,
                    prefetch.is_store, prefetch.first)


def written(statements: Iterable[Statement]) -> dict[Buffer, None]:
    """The buffers that statements write, in program order (an ordered set)."""
    found: dict[Buffer, None] = {}
    for statement in statements_in(statements):
        if isinstance(statement, Store):
            found[statement.buffer] = None
        elif isinstance(statement, Call):
            found.update(dict.fromkeys(statement.outputs))
    return found


def has_effects(*statements: Statement) -> bool:
    """Whether statements, including nested ones, have effects besides filling their outputs."""
    return any(isinstance(s, Extern) and s.name in (CALLBACK, FOREIGN)
               or any(has_effects(*program.statements) for program in programs_in(s))
               for s in statements_in(statements))


def programs_in(statement: Statement) -> Iterator[Program]:
    """The programs that a statement runs."""
    if isinstance(statement, Branch):
        yield from (plan.program for plan in statement.bodies)
    elif isinstance(statement, Loop):
        yield statement.body.program
        if statement.condition is not None:
            yield statement.condition.program


def with_programs(statement: Statement, change: Callable[[Plan], Plan]) -> Statement:
    """The statement with its programs replaced."""
    if isinstance(statement, Branch):
        return replace(statement, bodies=tuple(map(change, statement.bodies)))
    if isinstance(statement, Loop):
        condition = statement.condition
        return replace(statement, body=change(statement.body),
                       condition=None if condition is None else change(condition))
    return statement
