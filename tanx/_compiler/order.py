"""The order of statements: if possible, reads of an array come before updates of a copy of it.

Then the array is dead when the copy is updated, so that the update goes to the array itself
(``memory.py``). Scalars are computed as early as possible, so that they do not separate statements
that could be fused. And loop invariants are computed before the loop.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from .._loops.expr import FOLDS, Load
from .._loops.nest import Buffer, Call, Nest, Program, Statement, Store
from .._loops.traverse import has_effects, written
from .nest_tools import loops_in, mentioned, rename
from .schedule.tiles import unmarked

__all__ = ["copied", "numbers_first", "reads_first", "without_invariants"]


def copied(statement: Statement) -> Buffer | None:
    """The array that a statement copies as a whole, if it does nothing else."""
    if isinstance(statement, Nest) and len(statement.body) == 1:
        (store,) = statement.body
        if isinstance(store, Store) and isinstance(store.value, Load) and not store.combine and (
                store.index == store.value.index and loops_in(store.index) == statement.indices
                and store.buffer.shape == store.value.buffer.shape):
            return store.value.buffer
    return None


def reads_first(program: Program) -> Program:
    """Move statements that read an array, and depend on nothing later, before its copy."""
    copies = [(s, x) for s in program.statements if (x := copied(s)) is not None]
    if not copies:
        return program
    mentions = {id(s): mentioned(s) for s in program.statements}
    users: dict[Buffer, list[Statement]] = {}
    for statement in program.statements:
        for buffer in mentions[id(statement)]:
            users.setdefault(buffer, []).append(statement)
    order = list(program.statements)
    place = {id(s): n for n, s in enumerate(order)}
    for copy, x in copies:
        (target,) = written((copy,))
        start, last = place[id(copy)], max(place[id(s)] for s in users[x])
        if last == start or len(users[target]) < 2:
            continue
        first: list[Statement] = []
        later: list[Statement] = []
        changed: set[Buffer] = set()
        for statement in order[start:last + 1]:
            if statement is copy or isinstance(statement, Call) or not changed.isdisjoint(
                    mentions[id(statement)]):
                later.append(statement)
                changed.update(written((statement,)))
            else:
                first.append(statement)
        order[start:last + 1] = [*first, *later]
        place.update((id(s), n) for n, s in enumerate(order[start:last + 1], start))
    return replace(program, statements=tuple(order))


def numbers_first(program: Program) -> Program:
    """Move the computation of scalars to right after the last statement they depend on.

    Adam divides by ``1 - b ** t``, which is computed for all parameters after the first gradients:
    at that position it would keep the updates of these parameters from being fused with the
    products before it.
    """
    writers = Counter(b for s in program.statements for b in written((s,)))
    writers.update(program.inputs)
    behind: dict[Buffer, int] = {}  # the number of the statement that completes a buffer
    places: list[tuple[int, bool]] = []
    for n, statement in enumerate(program.statements):
        made = written((statement,))
        is_free = _is_number(statement) and all(writers[b] <= 1 for b in mentioned(statement))
        if is_free:
            n = max((behind.get(b, -1) for b in mentioned(statement) if b not in made), default=-1)
        behind.update(dict.fromkeys(made, n))
        places.append((n, is_free))
    order = sorted(range(len(places)), key=places.__getitem__)  # scalars keep their relative order
    return replace(program, statements=tuple(program.statements[n] for n in order))


def _is_number(statement: Statement) -> bool:
    """Whether a statement only computes scalars from scalars."""
    return isinstance(statement, Nest) and all(i.extent == 1 for i in statement.indices) and all(
        isinstance(s, Store) and not s.combine and s.guard is None and not s.value.holds & FOLDS
        for s in statement.body)


def without_invariants(program: Program, constants: int) -> tuple[Program, list[Statement]]:
    """A program without what depends on its first inputs alone, and the statements for that.

    The temporaries that these statements fill become inputs after the first ones; they keep their
    names. Statements with effects stay.
    """
    same = set(program.inputs[:constants])
    outputs = set(program.outputs)
    writers = Counter(b for s in program.statements for b in written((s,)))
    before: list[Statement] = []
    for statement in program.statements:
        made = written((statement,))
        if same.issuperset(b for b in mentioned(statement) if b not in made) and made and all(
                writers[b] == 1 and b not in outputs for b in made) and not has_effects(statement):
            before.append(statement)
            same.update(made)
    if not before:
        return program, []
    gone = set(map(id, before))
    left = [s for s in program.statements if id(s) not in gone]
    used = {b for s in left for b in mentioned(s)}
    taken = {b: Buffer(b.name, b.shape, b.dtype) for b in written(before) if b in used}
    made = written(before)
    return Program(
        (*program.inputs[:constants], *taken.values(), *program.inputs[constants:]),
        program.outputs, tuple(b for b in program.temps if b not in made),
        tuple(rename(s, taken) for s in left)), list(map(unmarked, before))
