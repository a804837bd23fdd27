"""Compares this checkout with another one, alternating: which cases became slower or faster.

    python -m benchmarks.beside ../before --only "products|loops"

    python -m benchmarks.beside ../before --first     # first calls, with nothing on disk

The other checkout runs its own cases; those that both have are compared. With many processors,
several pairs of workers measure at a time (``--shards``), each on its own processors.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event

from benchmarks.cases import CASES
from benchmarks.contestant import ROOT, Contestant, Failure
from benchmarks.duel import Progress
from benchmarks.processors import divided

__all__ = ["main", "measure"]

MORE = 4
"""More rounds for a case that seems slower: most are not."""


def measure(before: Path, cases: Sequence[str], rounds: int, seconds: float, slower: float,
            shards: int = 1) -> dict[str, list[float]]:
    """The seconds of each case, before and now; a case that seems slower has more rounds."""
    found: dict[str, list[float]] = {}
    progress = Progress("timing", len(cases))

    def work(some: Sequence[str], stop: Event) -> None:
        with ExitStack() as stack:
            pair = _pair(before, stack)
            for case in some:
                progress.step(case)
                if stop.is_set():
                    return
                try:
                    times = _times(pair, case, rounds, seconds)
                    if times[1] > slower * times[0]:
                        times = [*map(min, times, _times(pair, case, MORE, seconds))]
                except Failure as failure:
                    if "KeyError" not in str(failure):  # the other has no such case
                        print(f"{case}: {failure}", file=sys.stderr)
                    continue
                found[case] = times

    divided(cases, shards, work)
    progress.end()
    return found


def _times(pair: Sequence[Contestant], case: str, rounds: int, seconds: float) -> list[float]:
    """The minimum time of each system in some rounds.

    Every other round is in reverse: threads of a library may still spin in the other's turn.
    """
    best = [math.inf] * len(pair)
    for turn in range(rounds):
        for n in range(len(pair))[::-1 if turn % 2 else 1]:
            asked = pair[n].ask("measure", case=case, seconds=seconds)
            best[n] = min(best[n], asked["seconds"])
    return best


def measure_first(before: Path, cases: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """The seconds of the first call of each case, before and now; processes are new each round."""
    found: dict[str, list[float]] = {}
    progress = Progress("first calls", len(cases) * rounds)
    for turn in range(rounds):
        way = slice(None, None, -1 if turn % 2 else 1)  # the first of two may find colder caches
        with ExitStack() as stack:
            pair = _pair(before, stack)
            for case in cases:
                progress.step(case)
                try:
                    times = [one.ask("first", case=case)["seconds"] for one in pair[way]][way]
                except Failure as failure:
                    if "KeyError" not in str(failure):
                        print(f"{case}: {failure}", file=sys.stderr)
                    continue
                found[case] = [*map(min, times, found.get(case, times))]
    progress.end()
    return found


def _pair(before: Path, stack: ExitStack) -> list[Contestant]:
    """Processes of the other checkout and of this one, with nothing on disk."""
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    return [stack.enter_context(Contestant(
        "tanx", sys.executable, {"TANX_CACHE_DIR": f"{folder}/{name}"}, root))
        for name, root in (("before", before), ("now", ROOT))]


def main() -> None:
    """Measure, and show the changes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside", description=__doc__)
    parser.add_argument("before", type=Path, help="the other checkout")
    parser.add_argument("--only", metavar="REGEX", default="",
                        help="cases whose family or name it matches")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each case (3)")
    parser.add_argument("--seconds", type=float, default=0.05, help="of a case in a round (0.05)")
    parser.add_argument("--shards", type=int, default=1, help="pairs of workers at a time (1)")
    parser.add_argument("--slower", type=float, default=1.05, help="factor to report (1.05)")
    parser.add_argument("--first", action="store_true", help="time first calls instead")
    parser.add_argument("--json", type=Path, help="keep the seconds of all cases")
    options = parser.parse_args()
    cases = [name for name, case in CASES.items()
             if re.search(options.only, f"{case.family}: {name}")]
    before = options.before.resolve()
    found = measure_first(before, cases, options.rounds) if options.first else measure(
        before, cases, options.rounds, options.seconds, options.slower, options.shards)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    ratios = {case: now / before for case, (before, now) in found.items()}
    if not ratios:
        raise SystemExit("no case was measured.")
    middle = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    print(f"{len(ratios)} cases, now over before: geometric mean {middle:.3f}")
    for case, ratio in sorted(ratios.items(), key=lambda item: -item[1]):
        if ratio > options.slower or ratio < 1 / options.slower:
            before, now = found[case]
            print(f"{ratio:6.2f}  {1e6 * before:10.1f} us  {1e6 * now:10.1f} us  {case}")


if __name__ == "__main__":
    main()
