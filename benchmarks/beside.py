"""Compares this checkout with another one, alternating: which cases became slower or faster.

    python -m benchmarks.beside ../before --only "products|loops"

    python -m benchmarks.beside ../before --first     # first calls, with nothing on disk

The other checkout runs its own cases; those that both have are compared. It runs in two processes:
two processes of equal code differ by a tenth in some cases, for memory and threads lie differently.
A case counts as slower or faster if it is so beside both. A case that seems slower is timed again
in new processes (``--again``), and the minima of all count. With many processors, several groups of
workers measure at a time (``--shards``), each on its own processors.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import NamedTuple

from benchmarks.cases import CASES
from benchmarks.contestant import ROOT, Contestant, Failure
from benchmarks.duel import Progress
from benchmarks.processors import divided

__all__ = ["Seconds", "main", "measure", "measure_first"]


class Seconds(NamedTuple):
    """The minimum times of a case: in two processes of the other checkout, and in one of this."""

    before: float
    again: float
    now: float

    @property
    def ratio(self) -> float:
        """Now over before."""
        return self.now / math.sqrt(self.before * self.again)

    def slower(self, factor: float) -> bool:
        """Whether this checkout is slower than both processes of the other, by a factor."""
        return self.now > factor * max(self.before, self.again)

    def faster(self, factor: float) -> bool:
        """Whether this checkout is faster than both processes of the other, by a factor."""
        return factor * self.now < min(self.before, self.again)


def measure(before: Path, cases: Sequence[str], rounds: int, seconds: float, slower: float,
            again: int = 0, shards: int = 1) -> dict[str, Seconds]:
    """The times of each case; those that seem slower are measured ``again`` in new processes."""
    found = _measure(before, cases, rounds, seconds, shards)
    for _ in range(again):
        doubtful = [case for case, times in found.items() if times.slower(slower)]
        if not doubtful:
            break
        for case, times in _measure(before, doubtful, 2 * rounds, seconds, shards).items():
            found[case] = Seconds(*map(min, found[case], times))
    return found


def _measure(before: Path, cases: Sequence[str], rounds: int, seconds: float,
             shards: int) -> dict[str, Seconds]:
    found: dict[str, Seconds] = {}
    progress = Progress("timing", len(cases))

    def work(some: Sequence[str], stop: Event) -> None:
        with _workers(before) as workers:
            for case in some:
                progress.step(case)
                if stop.is_set():
                    return
                try:
                    found[case] = _times(workers, case, rounds, seconds)
                except Failure as failure:
                    _tell(case, failure)

    divided(cases, shards, work)
    progress.end()
    return found


def _times(workers: Sequence[Contestant], case: str, rounds: int, seconds: float) -> Seconds:
    """The minimum time of each worker in some rounds.

    Every other round is in reverse: threads of a library may still spin in the other's turn.
    """
    best = [math.inf] * len(workers)
    for turn in range(rounds):
        for n in range(len(workers))[::-1 if turn % 2 else 1]:
            asked = workers[n].ask("measure", case=case, seconds=seconds)
            best[n] = min(best[n], asked["seconds"])
    return Seconds(*best)


def measure_first(before: Path, cases: Sequence[str], rounds: int) -> dict[str, Seconds]:
    """The times of the first call of each case; processes are new each round."""
    found: dict[str, Seconds] = {}
    progress = Progress("first calls", len(cases) * rounds)
    for turn in range(rounds):
        way = slice(None, None, -1 if turn % 2 else 1)  # the first one may find colder caches
        with _workers(before) as workers:
            for case in cases:
                progress.step(case)
                try:
                    times = [one.ask("first", case=case)["seconds"] for one in workers[way]][way]
                except Failure as failure:
                    _tell(case, failure)
                    continue
                found[case] = Seconds(*map(min, times, found.get(case, times)))
    progress.end()
    return found


@contextmanager
def _workers(before: Path) -> Iterator[list[Contestant]]:
    """Two processes of the other checkout and one of this, with nothing on disk."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        yield [stack.enter_context(Contestant(
            "tanx", sys.executable, {"TANX_CACHE_DIR": f"{folder}/{n}"}, root))
            for n, root in enumerate((before, before, ROOT))]


def _tell(case: str, failure: Failure) -> None:
    if "KeyError" not in str(failure):  # the other has no such case
        print(f"{case}: {failure}", file=sys.stderr)


def main() -> None:
    """Measure, and show the changes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the other checkout")
    parser.add_argument("--only", metavar="REGEX", default="",
                        help="cases whose family or name it matches")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each case (3)")
    parser.add_argument("--seconds", type=float, default=0.05, help="of a case in a round (0.05)")
    parser.add_argument("--again", type=int, default=3, metavar="N",
                        help="times that slower cases are measured again (3)")
    parser.add_argument("--shards", type=int, default=1, help="groups of workers at a time (1)")
    parser.add_argument("--slower", type=float, default=1.05, help="factor to report (1.05)")
    parser.add_argument("--first", action="store_true", help="time first calls instead")
    parser.add_argument("--json", type=Path, help="keep the seconds of all cases")
    options = parser.parse_args()
    cases = [name for name, case in CASES.items()
             if re.search(options.only, f"{case.family}: {name}")]
    before = options.before.resolve()
    found = measure_first(before, cases, options.rounds) if options.first else measure(
        before, cases, options.rounds, options.seconds, options.slower, options.again,
        options.shards)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    if not found:
        raise SystemExit("no case was measured.")
    print(_report(found, options.slower))


def _report(found: dict[str, Seconds], factor: float) -> str:
    """The mean change, how far equal code differs, and the cases that changed by the factor."""
    change = _mean([times.ratio for times in found.values()])
    equal = _mean([times.again / times.before for times in found.values()])
    slower = sum(times.slower(factor) for times in found.values())
    lines = [f"{len(found)} cases, now over before: geometric mean {change:.3f}, slower: {slower}; "
             f"before, second process over first: {equal:.3f}",
             f"{'ratio':>6}{'before us':>11}{'again us':>11}{'now us':>11}"]
    for case, times in sorted(found.items(), key=lambda item: -item[1].ratio):
        if times.slower(factor) or times.faster(factor):
            columns = "".join(f"{1e6 * each:11.1f}" for each in times)
            lines.append(f"{times.ratio:6.2f}{columns}  {case}")
    return "\n".join(lines)


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


if __name__ == "__main__":
    main()
