"""Remove conditions on loop indices: cut a loop in pieces, or split its index in two.

``concatenate`` and ``pad`` compute elements by ``select(i < n, a[i], b[i - n])``. A nest over all
of them becomes one nest for each range of indices in which the conditions are constant: plain
loops, which read memory in vectors. If rows are short, as in ``stack`` along the last axis, the
parts of a row are written together, so that each cache line is loaded once.

``reshape`` after ``transpose`` reads at ``x[i // 16, j, i % 16]``. A loop over ``i`` becomes two
loops, and memory is read at constant distances in both.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import dropwhile, groupby, pairwise, product
from math import prod

from .._loops.expr import FOLDS, Const, Expr, Index, Load, Op, Variable, const, fresh_index
from .._loops.nest import PARALLEL, Nest, Program, Statement, Store
from .._loops.traverse import expressions, substitute, walk, written
from .nest_tools import find_loads, is_affine
from .tuning import USUAL, SplitTuning

__all__ = ["divided", "split"]


_CUTS = {"lt": (0,), "ge": (0,), "le": (1,), "gt": (1,), "eq": (0, 1), "ne": (0, 1)}
"""Where the condition changes, relative to the number compared with."""


def split(program: Program, times: int = 1, tuning: SplitTuning = USUAL.split) -> Program:
    """Cut nests where conditions on one of their indices change, and split indices.

    ``times`` is how often the program runs if it is part of another.
    """
    return replace(program, statements=tuple(_pieces_of_all(program.statements, times, tuning)))


def _pieces_of_all(statements: Iterable[Statement], times: int, tuning: SplitTuning,
                   ) -> Iterator[Statement]:
    """The pieces of statements that run ``times`` times."""
    for statement in statements:
        if not isinstance(statement, Nest):
            yield statement
            continue
        trips = times * prod(i.extent for i in statement.indices)
        if all(isinstance(inner, Store) for inner in statement.body):
            yield from map(partial(divided, tuning=tuning), _pieces(statement, trips, tuning))
        else:
            yield replace(statement, body=tuple(_pieces_of_all(statement.body, trips, tuning)))


def _pieces(nest: Nest, trips: int, tuning: SplitTuning) -> Iterable[Nest]:
    if any(kind != PARALLEL for kind in nest.kinds) or trips < tuning.worth:
        return [nest]
    cuts = _cuts(nest)
    if not cuts or prod(len(places) - 1 for places in cuts.values()) > tuning.pieces:
        return [nest]
    stretches = [list(pairwise(cuts.get(i, [0, i.extent]))) for i in nest.indices]
    if _has_short_rows(nest, cuts, tuning):
        return _together(_piece(nest, chosen) for chosen in product(*stretches))
    last = max(n for n, i in enumerate(nest.indices) if i in cuts)
    least = min(high - low for low, high in stretches[last]) * prod(
        i.extent for i in nest.indices[last + 1:])
    within = last if _goes_along(nest) and any(
        least * buffer.dtype.itemsize <= tuning.short for buffer in written(nest.body)) else 0
    return _constants_together(
        piece for outer in product(*stretches[:within])
        for piece in _row(nest, outer, stretches[within:]))


def _goes_along(nest: Nest) -> bool:
    """Whether memory is accessed in the order of the loops, so that the last loop may stand
    alone."""
    accesses = [Load(store.buffer, store.index) for store in nest.body if isinstance(store, Store)]
    reads = find_loads(e for store in nest.body for e in expressions(store))
    return all(is_affine(access.place) and abs(access.place[0].get(nest.indices[-1], 0)) <= 1
               for access in (*accesses, *reads))


def _row(nest: Nest, outer: Sequence[tuple[int, int]],
         inner: Sequence[Sequence[tuple[int, int]]]) -> list[Nest]:
    """The pieces of a nest along its last loops, in one nest: a short piece is best written while
    its line is in the cache.
    """
    whole = _piece(nest, (*outer, *((0, parts[-1][1]) for parts in inner)))
    if _is_constant(whole):
        return [whole]
    pieces = [_piece(nest, (*outer, *chosen)) for chosen in product(*inner)]
    rows = sum(high - low > 1 for low, high in outer)
    if not rows or len(pieces) == 1:
        return pieces
    first = pieces[0]
    return [Nest(first.indices[:rows], first.kinds[:rows], tuple(
        part for piece in pieces for part in _inside(piece, rows)))]


def _is_constant(nest: Nest) -> bool:
    return all(isinstance(s, Store) and isinstance(s.value, Const) for s in nest.body)


def _constants_together(pieces: Iterable[Nest]) -> Iterator[Nest]:
    """Merge pieces that store only constants in the same loops."""
    constants: dict[tuple[Index, ...], list[Statement]] = {}
    for piece in pieces:
        if _is_constant(piece):
            constants.setdefault(piece.indices, []).extend(piece.body)
        else:
            yield piece
    for loops, stores in constants.items():
        yield Nest(loops, (PARALLEL,) * len(loops), tuple(stores))


def _inside(nest: Nest, loops: int) -> Sequence[Statement]:
    """The statements inside of the first loops of a nest."""
    rest = nest.indices[loops:]
    return (Nest(rest, nest.kinds[loops:], nest.body),) if rest else nest.body


def _has_short_rows(nest: Nest, cut: Container[Index], tuning: SplitTuning) -> bool:
    """Whether a nest, of one store without folds, is cut in loops that cover little memory."""
    if len(nest.body) > 1 or any(e.holds & FOLDS for e in expressions(nest.body[0])):
        return False
    row = prod(i.extent for i in dropwhile(lambda i: i not in cut, nest.indices))
    return all(row * buffer.dtype.itemsize <= tuning.row_bytes for buffer in written(nest.body))


def _together(pieces: Iterable[Nest]) -> Iterator[Nest]:
    """Merge adjacent pieces that have the same loops."""
    for _, same in groupby(pieces, key=lambda piece: piece.indices):
        first, *others = same
        yield replace(first, body=(*first.body, *(s for piece in others for s in piece.body)))


def _cuts(nest: Nest) -> Mapping[Index, list[int]]:
    """For indices that a select's condition depends on, where it changes; including both ends."""
    cuts: dict[Index, list[int]] = {}
    for index, name, limit in _comparisons(nest):
        places = cuts.setdefault(index, [0, index.extent])
        for offset in _CUTS[name]:
            place = limit + offset
            if 0 < place < index.extent and place not in places:
                insort(places, place)
    return cuts


def _comparisons(nest: Nest) -> Iterator[tuple[Index, str, int]]:
    """The comparisons of a loop's index with a number that selects depend on."""
    roots = [e for store in nest.body for e in expressions(store)]
    for node in walk(*roots):
        if not (isinstance(node, Op) and node.name == "select"):
            continue
        for part in walk(node.args[0]):
            if isinstance(part, Op) and part.name in _CUTS:
                index, limit = part.args
                if isinstance(index, Index) and index in nest.indices and isinstance(limit, Const):
                    yield index, part.name, limit.value


def _piece(nest: Nest, stretches: Sequence[tuple[int, int]]) -> Nest:
    """The nest on a range of each of its indices."""
    moved: dict[Variable, Expr] = {}
    loops = []
    for index, (low, high) in zip(nest.indices, stretches):
        shorter: Expr = const(0)
        if high - low != 1:
            shorter = Index(index.name, high - low)
            loops.append(shorter)
        if shorter is not index:
            moved[index] = shorter + low
    return _moved(nest, loops, moved)


def _moved(nest: Nest, loops: Sequence[Index], moved: Mapping[Variable, Expr]) -> Nest:
    """The stores of a nest in other parallel loops."""
    body = [replace(store, index=tuple(substitute(i, moved) for i in store.index),
                    value=substitute(store.value, moved),
                    guard=None if store.guard is None else substitute(store.guard, moved))
            for store in nest.body if isinstance(store, Store)]
    return Nest(tuple(loops), (PARALLEL,) * len(loops), tuple(body))


def divided(nest: Nest, tuning: SplitTuning) -> Nest:
    """The nest with each index that is divided in an address split in two, as often as wanted."""
    for _ in range(tuning.divisions):
        found = _division(nest)
        if found is None:
            break
        index, size = found
        high, low = (fresh_index(n, index.name.split(".")[0]) for n in (index.extent // size, size))
        place = nest.indices.index(index)
        loops = (*nest.indices[:place], high, low, *nest.indices[place + 1:])
        nest = _moved(nest, loops, {index: high * size + low})
    return nest


def _division(nest: Nest) -> tuple[Index, int] | None:
    """An index and its divisor, if an access divides it and is not at constant distances."""
    if any(kind != PARALLEL for kind in nest.kinds):
        return None
    for access in find_loads(e for store in nest.body for e in expressions(store)):
        if is_affine(access.place):
            continue
        for part in walk(*access.place[0]):
            if isinstance(part, Op) and part.name in ("floor_div", "floor_mod"):
                index, divisor = part.args
                if index in nest.indices and isinstance(divisor, Const) and (
                        index.extent % divisor.value == 0):
                    return index, divisor.value
    return None
