"""Which equations each kernel computes.

Fusion computes values where they are read, so most equations have no array. Stored arrays determine
the rest: a kernel computes the equations between the arrays that it stores and those that any
kernel stores.
Three forms of the program are compared for this: that of ``lower``, where each statement belongs to
one equation; the fused one, whose buffers have the same names; and the final one, in which buffers
were renamed by ``reuse``, and nests cut, packed and joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .._base.tuples import NamedTuple
from .._compiler.lower import Lowered
from .._compiler.nest_tools import mentioned
from .._loops.nest import Buffer, Program, Statement
from .._loops.traverse import written

__all__ = ["Origin", "origins"]


class Origin(NamedTuple):
    """The equations that a kernel computes, by number; or the kernel that it packs operands for."""

    equations: tuple[int, ...]
    prepares: int | None = None


class _Touched(NamedTuple):
    """The buffers that a statement mentions and those that it writes."""

    mentions: frozenset[Buffer]
    writes: frozenset[Buffer]


def _touched(statements: Iterable[Statement],
             names: Mapping[Buffer, Buffer] | None = None) -> list[_Touched]:
    """The buffers of statements, by their later names."""
    def final(buffers: Iterable[Buffer]) -> frozenset[Buffer]:
        return frozenset(buffers if names is None else (names.get(b, b) for b in buffers))
    return [_Touched(final(mentioned(s)), final(written((s,)))) for s in statements]


def origins(lowered: Lowered, fused: Program, names: Mapping[Buffer, Buffer],
            final: Program) -> list[Origin]:
    """The origin of each statement of the final program.

    ``names`` maps buffers of ``fused`` to their later names.
    """
    computed = _computed(lowered, fused)
    kernels = _touched(final.statements)
    before = _touched(fused.statements, names)
    known = {b for touched in before for b in touched.writes}
    parts = _parts(_through_copies(kernels, known), before)
    found = []
    for number, kernel in enumerate(kernels):
        if parts[number] and not kernel.writes.isdisjoint(known):
            found.append(Origin(tuple(sorted({e for n in parts[number] for e in computed[n]}))))
        else:
            found.append(Origin((), _reader(kernels, number)))
    return found


def _computed(lowered: Lowered, fused: Program) -> list[set[int]]:
    """For each statement of the fused program the equations whose values it computes."""
    makers: dict[Buffer, list[int]] = {}
    reads: list[frozenset[Buffer]] = []
    for number, touched in enumerate(_touched(lowered.program.statements)):
        reads.append(touched.mentions)
        for buffer in touched.writes:
            makers.setdefault(buffer, []).append(number)
    stages = _touched(fused.statements)
    stored = {b for touched in stages for b in touched.writes}
    return [_behind(touched.writes, makers, reads, stored, lowered.owners) for touched in stages]


def _behind(results: frozenset[Buffer], makers: Mapping[Buffer, Sequence[int]],
            reads: Sequence[frozenset[Buffer]], stored: set[Buffer],
            owners: Sequence[int | None]) -> set[int]:
    """The equations between stored arrays and some results."""
    equations: set[int] = set()
    seen = set(results)
    waiting = list(results)
    while waiting:
        for number in makers.get(waiting.pop(), ()):
            owner = owners[number]
            if owner is not None:
                equations.add(owner)
            new = [b for b in reads[number] if b not in seen and b not in stored]
            seen.update(new)
            waiting += new
    return equations


def _through_copies(kernels: Sequence[_Touched], known: set[Buffer]) -> list[_Touched]:
    """Kernels with the original operands in place of the copies that were made for them."""
    copied: dict[Buffer, frozenset[Buffer]] = {}
    found = []
    for kernel in kernels:
        mentions = frozenset(b for own in kernel.mentions for b in copied.get(own, (own,)))
        found.append(_Touched(mentions, kernel.writes))
        if kernel.writes.isdisjoint(known):
            copied.update(dict.fromkeys(kernel.writes, mentions - kernel.writes))
    return found


def _parts(kernels: Sequence[_Touched], before: Sequence[_Touched]) -> list[set[int]]:
    """For each kernel, the statements before cutting and joining that it contains a part of.

    Each statement belongs to the most similar kernel that writes its buffers; a kernel without one,
    a further piece of a nest that was cut, takes the most similar statement. If several are equally
    similar, as in a chain of updates, their order decides.
    """
    writers: dict[Buffer, list[int]] = {}
    for number, kernel in enumerate(kernels):
        for buffer in kernel.writes:
            writers.setdefault(buffer, []).append(number)
    parts: list[set[int]] = [set() for _ in kernels]
    last: dict[Buffer, int] = {}
    for number, one in enumerate(before):
        candidates = sorted({k for b in one.writes for k in writers.get(b, ())
                             if k >= last.get(b, 0)})
        if candidates:
            best = max(candidates, key=lambda k: (_likeness(one, kernels[k]), -k))
            parts[best].add(number)
            last.update(dict.fromkeys(one.writes, best))
    for k, kernel in enumerate(kernels):
        if not parts[k]:
            alike = [n for n, one in enumerate(before) if one.writes & kernel.writes]
            parts[k].update([max(alike, key=lambda n: _likeness(before[n], kernel))]
                            if alike else ())
    return parts


def _likeness(one: _Touched, kernel: _Touched) -> tuple[float, int]:
    """How much of a statement's buffers a kernel accesses, and how little besides."""
    return len(one.mentions & kernel.mentions) / len(one.mentions), -len(kernel.mentions)


def _reader(kernels: Sequence[_Touched], number: int) -> int | None:
    """The first kernel that reads the output of a kernel."""
    made = kernels[number].writes
    return next((n for n in range(number + 1, len(kernels))
                 if not made.isdisjoint(kernels[n].mentions - kernels[n].writes)), None)
