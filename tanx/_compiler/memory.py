"""Memory of a program: which buffers may be overwritten, and where temporaries are.

:func:`share` gives outputs the memory of arguments that the caller has donated. :func:`in_place`
lets a result take the buffer of an array that is read for the last time where the result is
computed: the resulting program has fewer buffers, and shows itself what is overwritten.
:func:`plan` places the remaining temporaries by their lifetimes: in one arena, or in outputs that
are written later. A training step keeps what it needs for its gradients where the new weights will
be.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add, is_

import numpy as np

from .._base.records import record
from .._loops.check import ProgramError
from .._loops.expr import Expr, Index, Load, bounds, const, linear_form
from .._loops.nest import (
    TASKS,
    Buffer,
    Call,
    Nest,
    Own,
    Place,
    Plan,
    Program,
    Statement,
    Store,
    Within,
)
from .._loops.traverse import expressions, written
from ..errors import explain
from .abi import ALIGNMENT
from .cost import nbytes
from .nest_tools import find_loads, is_affine, mentioned, rename
from .tuning import USUAL, MemoryTuning

__all__ = ["check_plan", "in_place", "lifetimes", "overwriting", "plan", "share"]


# -- accesses --------------------------------------------------------------------------------------


@record
class _Access:
    """An element read or written: in which nests, and at which position in program order."""

    nests: tuple[Nest, ...]
    position: int
    index: tuple[Expr, ...]
    writes: bool
    plain: bool  # a store that always overwrites


class _Accesses:
    """All accesses in a statement, by buffer."""

    def __init__(self, statement: Statement):
        self.of: dict[Buffer, list[_Access]] = {}
        self.whole: set[Buffer] = set()  # buffers that library functions take
        self.count = 0
        self._visit(statement, ())

    def _visit(self, statement: Statement, nests: tuple[Nest, ...]) -> None:
        if isinstance(statement, Nest):
            for inner in statement.body:
                self._visit(inner, (*nests, statement))
        elif isinstance(statement, Call):
            self.whole.update((*statement.inputs, *statement.outputs))
        else:
            self.count += 1
            for load in find_loads(expressions(statement)):
                self._add(load.buffer, nests, load.index, False, False)
            plain = statement.combine is None and statement.guard is None
            self._add(statement.buffer, nests, statement.index, True, plain)

    def _add(self, buffer: Buffer, nests, index, writes: bool, plain: bool) -> None:
        self.of.setdefault(buffer, []).append(_Access(nests, self.count, index, writes, plain))

    def may_overwrite(self, old: Buffer, new: Buffer) -> bool:
        """Whether an array that is dead after this statement may share memory with the new one.

        The new array is stored at one position in program order. Before that, an iteration of the
        loops around both may access only those elements of the old array that it will overwrite;
        nothing may access the old array afterwards.
        """
        if old in self.whole or new in self.whole:
            return False
        target, *others = self.of[new]
        if not target.plain or any(access.writes for access in others):
            return False
        return all(self._precedes(access, target) for access in self.of[old])

    def _precedes(self, access: _Access, target: _Access) -> bool:
        if access.position - target.position >= (0 if access.writes else 1):
            return False
        shared = {i for a, b in zip(access.nests, target.nests) if a is b for i in a.indices}
        alone = [(place, other) for place, other in zip(target.index, access.index)
                 if len(place.free) == 1 and is_affine(linear_form(place))]
        if not shared <= frozenset().union(*(place.free for place, _ in alone)):
            return False  # several iterations access one element
        if len(access.nests) == len(target.nests) and all(map(is_, access.nests, target.nests)):
            return access.index == target.index
        return all(place is other for place, other in alone if place.free <= shared)


def _lives(mentions: Iterable[Iterable[Buffer]]) -> dict[Buffer, tuple[int, int]]:
    """The first and the last statement that mention each buffer, from the buffers of each one."""
    lives: dict[Buffer, tuple[int, int]] = {}
    for number, buffers in enumerate(mentions):
        for buffer in buffers:
            first, _ = lives.get(buffer, (number, number))
            lives[buffer] = (first, number)
    return lives


def lifetimes(program: Program) -> dict[Buffer, tuple[int, int]]:
    """The first and the last statement that mention each buffer of a program."""
    return _lives(map(mentioned, program.statements))


# -- donated inputs -------------------------------------------------------------------------------


def share(program: Program, donated: Iterable[Buffer],
          partners: Mapping[Buffer, Buffer] | None = None, tuning: MemoryTuning = USUAL.memory,
          ) -> tuple[Program, dict[Buffer, Buffer]]:
    """The donated input whose memory each output takes, if any.

    Any output of the same type may take an input, or only its partner if there are ``partners``. A
    statement may be delayed a little for that: the new weights of a layer are stored after the old
    ones have been read for the last time. The program is returned in that order.
    """
    donated = tuple(donated)
    if not donated:
        return program, {}
    sharing = _Sharing(program, partners, tuning)
    for given in donated:
        sharing.put_off(given)
    for given in sorted(donated, key=sharing.last):
        sharing.find(given)
    order = tuple(program.statements[n] for n in sharing.order)
    return replace(program, statements=order), sharing.shared


class _Sharing:
    """Statements, identified by number, in an order that may change."""

    def __init__(self, program: Program, partners: Mapping[Buffer, Buffer] | None,
                 tuning: MemoryTuning):
        self.tuning = tuning
        self.program, self.shared = program, dict[Buffer, Buffer]()
        self.partners = partners
        self.order = list(range(len(program.statements)))
        self.place = list(self.order)
        self.users: dict[Buffer, list[int]] = {}
        for number, statement in enumerate(program.statements):
            for buffer in mentioned(statement):
                self.users.setdefault(buffer, []).append(number)
        self.accesses: dict[int, _Accesses] = {}
        self.free = sorted(program.outputs, key=self.first)

    def first(self, buffer: Buffer) -> int:
        """The position of the first statement that mentions a buffer."""
        return min(self.place[n] for n in self.users[buffer])

    def last(self, buffer: Buffer) -> int:
        """The position of the last one; unused inputs end before the first."""
        return max((self.place[n] for n in self.users.get(buffer, ())), default=-1)

    def fits(self, given: Buffer, out: Buffer) -> bool:
        """Whether an output can take the memory of an input that is not read later."""
        number = self.order[self.first(out)]
        if number not in self.users.get(given, ()):
            return True
        if number not in self.accesses:
            self.accesses[number] = _Accesses(self.program.statements[number])
        return self.accesses[number].may_overwrite(given, out)

    def candidates(self, given: Buffer) -> list[Buffer]:
        return [out for out in self.free if (out.shape, out.dtype) == (given.shape, given.dtype)
                and (self.partners is None or self.partners.get(given) is out)]

    def put_off(self, given: Buffer) -> None:
        """Move a statement that reads an input and computes an output from it after its last
        reader."""
        last = self.last(given)
        for out in self.candidates(given):
            start = self.first(out)
            number = self.order[start]
            if not start < last <= start + self.tuning.put_off or (
                    number not in self.users[given]) or (
                    not self.fits(given, out)):
                continue
            made = written((self.program.statements[number],))
            if all(not start < self.place[n] <= last for b in made for n in self.users[b]):
                self.order[start:last + 1] = [*self.order[start + 1:last + 1], number]
                for place in range(start, last + 1):
                    self.place[self.order[place]] = place
                return

    def find(self, given: Buffer) -> None:
        """Let the next suitable output take the memory of an input."""
        last = self.last(given)
        for out in sorted(self.candidates(given), key=self.first):
            if last < self.first(out) or last == self.first(out) and self.fits(given, out):
                self.shared[out] = given
                self.free.remove(out)
                return


# -- in place --------------------------------------------------------------------------------------


def overwriting(program: Program, shared: Mapping[Buffer, Buffer] = {}) -> dict[Buffer, Buffer]:
    """For each buffer that is read for the last time where another one is computed, that other one.

    A chain of such buffers maps to its last name. ``shared`` says which outputs are the memory of
    donated inputs.
    """
    final: dict[Buffer, Buffer] = {}
    for old, new in reversed(_Merger(program, shared).names.items()):
        final[old] = final.get(new, new)  # the new buffer may itself have been replaced
    return final


def in_place(program: Program, names: Mapping[Buffer, Buffer]) -> Program:
    """Let results overwrite arrays that are read for the last time where they are computed.

    A copy of an array that is dead afterwards disappears, so that updating a part of it writes only
    that part. ``names`` is the result of :func:`overwriting`.
    """
    renamed = (rename(s, names) if any(b in names for b in mentioned(s)) else s
               for s in program.statements)
    return replace(program, statements=tuple(s for s in renamed if not _does_nothing(s, {})),
                   temps=tuple(b for b in program.temps if b not in names))


class _Merger:
    """Finds the buffer that replaces each overwritten one, in one pass over the statements."""

    def __init__(self, program: Program, shared: Mapping[Buffer, Buffer]):
        self.statements, self.shared = program.statements, shared
        self.mentions = [mentioned(s) for s in program.statements]
        self.lives = _lives(self.mentions)
        self.names: dict[Buffer, Buffer] = {}
        self.begin: dict[Buffer, Buffer] = {}  # the first buffer of a chain
        self.accesses: dict[int, _Accesses] = {}
        born = _at_statement(self.lives, 0, ("temp", "output"))
        dying = _at_statement(self.lives, 1, ("temp",))
        for number in sorted(born.keys() & dying.keys()):
            free = list(dying[number])
            for new in born[number]:
                old = next((b for b in free if self.fits(b, new, number)), None)
                if old is not None:
                    free.remove(old)
                    self.names[old] = new
                    self.begin[new] = self.begin.get(old, old)

    def at(self, number: int) -> _Accesses:
        if number not in self.accesses:
            self.accesses[number] = _Accesses(self.statements[number])
        return self.accesses[number]

    def fits(self, old: Buffer, new: Buffer, number: int) -> bool:
        """Whether a buffer that dies in a statement can become the one that is defined in it."""
        if old is new or (old.shape, old.dtype) != (new.shape, new.dtype):
            return False
        if not self.at(number).may_overwrite(old, new):
            return False
        given = self.shared.get(new)
        if given is None or given not in self.lives:
            return True
        # The memory is in use since the first buffer of the chain.
        first = self.begin.get(old, old)
        start, last = self.lives[first][0], self.lives[given][1]
        return last < start or last == start and self.at(start).may_overwrite(given, first)


def _at_statement(lives: Mapping[Buffer, tuple[int, int]], end: int, roles: Iterable[str],
                  ) -> dict[int, list[Buffer]]:
    """The buffers whose lifetime begins, or ends, at each statement."""
    found: dict[int, list[Buffer]] = {}
    for buffer, life in lives.items():
        if buffer.role in roles:
            found.setdefault(life[end], []).append(buffer)
    return found


def _does_nothing(statement: Statement, shared: Mapping[Buffer, Buffer]) -> bool:
    """Whether a nest only stores elements where they already are, given aliases of buffers."""
    def same(store: Statement) -> bool:
        return (isinstance(store, Store) and isinstance(store.value, Load)
                and store.combine is None and store.index == store.value.index
                and shared.get(store.buffer, store.buffer) is store.value.buffer)
    return isinstance(statement, Nest) and all(map(same, statement.body))


# -- the plan --------------------------------------------------------------------------------------


def plan(program: Program, shared: Mapping[Buffer, Buffer] = {}, guests: bool = False,
         tuning: MemoryTuning = USUAL.memory) -> Plan:
    """Place temporaries in memory; ``shared`` is the result of :func:`share`.

    With ``guests``, large ones may be placed in outputs if the arena would have to grow otherwise.
    """
    kept: list[Statement] = []
    needless: list[Statement] = []
    for statement in program.statements:
        (needless if _does_nothing(statement, shared) else kept).append(statement)
    program = replace(program, statements=tuple(kept))
    lives = lifetimes(program)
    arena = _Arena()
    updated = frozenset(written(needless)).intersection(shared)
    hosts = _Hosts({b: life for b, life in lives.items() if b not in updated} if guests else {},
                   shared, tuning)
    offsets: dict[Buffer, Place] = _parts_of_tasks(program, lives, tuning)
    born, dying = (_at_statement(lives, end, ("temp",)) for end in (0, 1))
    for number in range(len(program.statements)):
        for buffer in sorted(born.get(number, ()), key=nbytes, reverse=True):
            if buffer in offsets:
                continue
            size = _rounded(buffer)
            place: Place | None = None
            if size >= tuning.guest and arena.smallest(size) is None:
                place = hosts.take(size, lives[buffer])
            offsets[buffer] = arena.take(size) if place is None else place
        for buffer in dying.get(number, ()):
            place = offsets[buffer]
            if isinstance(place, Within):
                hosts.give(place, _rounded(buffer))
            elif not isinstance(place, Own):
                arena.give(place, _rounded(buffer))
    return Plan(program, offsets, arena.size, arena.peak, dict(shared), updated)


def _parts_of_tasks(program: Program, lives: Mapping[Buffer, tuple[int, int]],
                    tuning: MemoryTuning) -> dict[Buffer, Place]:
    """The temporaries of which each task of one statement uses a private part.

    A task keeps its part in cache, so that the whole need not exist in memory.
    """
    found: dict[Buffer, Place] = {}
    for number, statement in enumerate(program.statements):
        tasks = isinstance(statement, Nest) and statement.indices[:statement.kinds.count(TASKS)]
        if not tasks or not isinstance(statement, Nest) or not any(
                isinstance(inner, Nest) for inner in statement.body):
            continue
        left = tuning.own
        for buffer, accesses in _Accesses(statement).of.items():
            if buffer.role != "temp" or lives[buffer] != (number, number) or (
                    nbytes(buffer) < tuning.worth_own):
                continue
            part = _part_of_task(buffer, [access.index for access in accesses], tasks)
            if part is not None and part.size * buffer.dtype.itemsize <= left:
                found[buffer] = part
                left -= part.size * buffer.dtype.itemsize
    return found


def _part_of_task(buffer: Buffer, places: Sequence[tuple[Expr, ...]], tasks: Sequence[Index],
                  ) -> Own | None:
    """The part of a buffer that a task uses, if no other task does."""
    firsts: list[Expr] = []
    lasts: list[int] = []
    told: set[Index] = set()
    for along in zip(*places):
        first, last = _stretch_of_task(along, tasks)
        if first is None:
            return None
        terms = linear_form(first)[0]
        if len(terms) == 1 and all(last < distance for distance in terms.values()):
            told.update(i for i in terms if isinstance(i, Index))
        firsts.append(first)
        lasts.append(last)
    if any(task.extent > 1 and task not in told for task in tasks):
        return None
    start, size, step = const(0), 1, 1
    for first, last, extent in zip(firsts[::-1], lasts[::-1], buffer.shape[::-1]):
        start, size, step = start + first * step, size + last * step, step * extent
    return Own(start, size)


def _stretch_of_task(along: Iterable[Expr], tasks: Sequence[Index]) -> tuple[Expr | None, int]:
    """Where a task begins along a dimension, and how far it extends; None if not known."""
    first: Expr | None = None
    last = 0
    for at in along:
        own = {i: n for i, n in linear_form(at)[0].items() if i in tasks}
        start = reduce(add, (i * n for i, n in own.items()), const(0))
        low, high = bounds(at - start)
        if low < 0 or first not in (None, start) or not (at - start).free.isdisjoint(tasks):
            return None, 0
        first, last = start, max(last, high)
    return first, last


def _rounded(buffer: Buffer) -> int:
    """The bytes that a buffer takes in the arena; buffers without elements have an address, too."""
    return max(1, -(-nbytes(buffer) // ALIGNMENT)) * ALIGNMENT


class _Arena:
    """Free ranges of memory; allocation is best fit."""

    def __init__(self, free: int = 0):
        self.used = self.peak = 0
        self.size = free
        self.starts = [0] if free else []  # of free ranges, in order
        self.ends = {0: free} if free else {}

    @property
    def largest(self) -> int:
        """The length of the largest free range."""
        return max([self.ends[s] - s for s in self.starts], default=0)

    def smallest(self, size: int) -> int | None:
        """The length of the smallest free range that fits, or None."""
        return min([n for s in self.starts if (n := self.ends[s] - s) >= size], default=None)

    def take(self, size: int) -> int:
        self.used += size
        self.peak = max(self.peak, self.used)
        length = self.smallest(size)
        if length is not None:
            start = next(s for s in self.starts if self.ends[s] - s == length)
            self._remove(start, start + size)
            return start
        if self.starts and self.ends[self.starts[-1]] == self.size:
            start = self.starts[-1]  # extend the last one
            self._remove(start, self.ends[start])
        else:
            start = self.size
        self.size = start + size
        return start

    def _remove(self, start: int, until: int) -> None:
        end = self.ends.pop(start)
        self.starts.pop(bisect_left(self.starts, start))
        if until < end:
            insort(self.starts, until)
            self.ends[until] = end

    def give(self, start: int, size: int) -> None:
        self.used -= size
        end = start + size
        place = bisect_left(self.starts, start)
        if place < len(self.starts) and self.starts[place] == end:
            end = self.ends.pop(self.starts.pop(place))
        if place and self.ends[self.starts[place - 1]] == start:
            self.ends[self.starts[place - 1]] = end
        else:
            self.starts.insert(place, start)
            self.ends[start] = end


class _Hosts:
    """Outputs as memory for temporaries that are dead when the outputs are written."""

    def __init__(self, lives: Mapping[Buffer, tuple[int, int]], shared: Mapping[Buffer, Buffer],
                 tuning: MemoryTuning):
        self.outputs = [b for b in lives if b.role == "output" and nbytes(b) >= tuning.guest]
        self.numbers = {b: n for n, b in enumerate(self.outputs)}
        self.arenas = [_Arena(nbytes(b) // ALIGNMENT * ALIGNMENT) for b in self.outputs]
        # They are free between two statements; an input that is going to be overwritten is free
        # after it has been read.
        read = [lives.get(shared[b]) if b in shared else None for b in self.outputs]
        self.after = np.array([-1 if life is None else life[1] for life in read], np.int64)
        self.before = np.array([lives[b][0] for b in self.outputs], np.int64)
        self.room = np.array([a.size for a in self.arenas], np.int64)  # in a stretch

    def take(self, size: int, life: tuple[int, int]) -> Within | None:
        """A place that is free for the whole lifetime, with the least left over, or None."""
        first, last = life
        fits = (self.after < first) & (last < self.before) & (size <= self.room)
        if not fits.any():
            return None
        n = int(np.argmin(np.where(fits, self.room, np.max(self.room) + 1)))
        place = Within(self.outputs[n], self.arenas[n].take(size))
        self.room[n] = self.arenas[n].largest
        return place

    def give(self, place: Within, size: int) -> None:
        n = self.numbers[place.output]
        self.arenas[n].give(place.start, size)
        self.room[n] = self.arenas[n].largest


def check_plan(memory: Plan) -> None:
    """Raise :class:`ProgramError` unless arrays with overlapping lifetimes are disjoint."""
    lives = lifetimes(memory.program)
    born, dying = (_at_statement(lives, end, ("temp",)) for end in (0, 1))
    live: list[tuple[str, int, int, str]] = []
    for number in range(len(memory.program.statements)):
        for buffer in born.get(number, ()):
            if isinstance(memory.offsets.get(buffer), Own):
                continue
            block = _block(memory, buffer, lives)
            insort(live, block)
            for a, b in _neighbours(live, live.index(block)):
                if a[0] == b[0] and a[2] > b[1]:
                    _fail("arrays that live at the same time must lie apart.",
                          f"buffers: {a[3]}, {b[3]}", f"statement: {number}")
        for buffer in dying.get(number, ()):
            if not isinstance(memory.offsets.get(buffer), Own):
                live.remove(_block(memory, buffer, lives))
    if len(set(memory.shared.values())) < len(memory.shared):
        _fail("an input can be overwritten by one output only.")


def _block(memory: Plan, buffer: Buffer, lives: Mapping[Buffer, tuple[int, int]],
           ) -> tuple[str, int, int, str]:
    """The memory that holds a temporary, where it begins and ends there, and its own name."""
    place = memory.offsets.get(buffer, -1)
    assert not isinstance(place, Own)
    host, start = (place.output, place.start) if isinstance(place, Within) else (None, place)
    if start < 0 or start % ALIGNMENT:
        _fail("a temporary must have an aligned place.", f"buffer: {buffer!r}")
    end = start + nbytes(buffer)
    if end > (memory.size if host is None else _room(memory, host, lives[buffer], lives)):
        _fail("a temporary must lie in the arena, or in an output while it is not written.",
              f"buffer: {buffer!r}")
    return host.name if host else "", start, end, buffer.name


def _room(memory: Plan, host: Buffer, life: tuple[int, int],
          lives: Mapping[Buffer, tuple[int, int]]) -> int:
    """The bytes of an output, which must not be in use during that lifetime."""
    given = memory.shared.get(host)
    free = host not in memory.updated and life[1] < lives[host][0] and (
        given is None or given not in lives or lives[given][1] < life[0])
    return nbytes(host) if free else -1


def _neighbours(live: list, place: int) -> Iterator[tuple]:
    for n in (place - 1, place):
        if 0 <= n and n + 1 < len(live):
            yield live[n], live[n + 1]


def _fail(rule: str, *facts: str) -> None:
    raise ProgramError(explain("tanx._compiler.memory", rule, *facts))
