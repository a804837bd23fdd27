"""Run the same cases on tanx and on JAX, taking turns, and compare the best times.

    python benchmarks/duel.py --rival /path/to/python-with-jax [CASE ...]

Each system runs in a process of its own (its own interpreter, so that the two may need different
versions of Python), kept alive for the whole duel. The two take turns case by case, several rounds
of it, and the minimum of each counts: on a machine that others use as well, the minimum is what
the code costs. Without ``--rival`` only tanx is measured.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from cases import CASES

WORKER = Path(__file__).with_name("worker.py")


ENVIRONMENT = {
    **os.environ, "JAX_PLATFORMS": "cpu",
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]),
                                   os.environ.get("PYTHONPATH", "")])}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode


class Contestant:
    """A process that measures cases with one of the systems."""

    def __init__(self, python: str, system: str):
        self.process = subprocess.Popen(
            [python, str(WORKER), system], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=ENVIRONMENT)

    def measure(self, case: str) -> float:
        """The best time of one round, in microseconds."""
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process measuring {case} ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{case}: {answer['error']}")
        return answer["microseconds"]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def duel(contestants: dict[str, Contestant], cases: list[str], rounds: int) -> dict:
    """Best microseconds by case and system."""
    best: dict = {case: dict.fromkeys(contestants, math.inf) for case in cases}
    for turn in range(rounds):
        for i, case in enumerate(cases):
            done = turn * len(cases) + i
            print(f"\r{done * 100 // (rounds * len(cases)):3d} %  {case:<40}", end="",
                  file=sys.stderr)
            for name, contestant in contestants.items():
                best[case][name] = min(best[case][name], contestant.measure(case))
    print("\r" + " " * 50 + "\r", end="", file=sys.stderr)
    return best


def import_seconds(pythons: dict[str, str], rounds: int) -> dict[str, float]:
    """Best time from starting Python to the system imported, less that of Python alone."""
    def seconds(python: str, code: str) -> float:
        start = time.perf_counter()
        subprocess.run([python, "-c", code], check=True, env=ENVIRONMENT)
        return time.perf_counter() - start

    best = dict.fromkeys(pythons, math.inf)
    bare = dict.fromkeys(pythons, math.inf)
    for _ in range(rounds):
        for name, python in pythons.items():
            best[name] = min(best[name], seconds(python, f"import {name}"))
            bare[name] = min(bare[name], seconds(python, "pass"))
    return {name: best[name] - bare[name] for name in pythons}


def report(best: dict) -> None:
    """A table with the ratio of each case and their geometric mean."""
    names = list(next(iter(best.values())))
    print(f"{'case':<44}" + "".join(f"{name + ' µs':>12}" for name in names)
          + (f"{'ratio':>9}" if len(names) > 1 else ""))
    ratios = []
    for case, times in best.items():
        row = f"{case:<44}" + "".join(f"{times[name]:12.2f}" for name in names)
        if len(names) > 1:
            ratios.append(times["jax"] / times["tanx"])
            row += f"{ratios[-1]:8.1f}x"
        print(row)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{'geometric mean':<44}{'':24}{mean:8.1f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("cases", nargs="*", help="cases to run (all, unless given)")
    parser.add_argument("--rival", help="a Python interpreter that has jax")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"no such cases: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    pythons = {"tanx": sys.executable} | ({"jax": options.rival} if options.rival else {})
    for name, seconds in import_seconds(pythons, options.rounds).items():
        print(f"import {name}: {seconds:.3f} s")
    contestants = {name: Contestant(python, name) for name, python in pythons.items()}
    try:
        report(duel(contestants, options.cases or list(CASES), options.rounds))
    finally:
        for contestant in contestants.values():
            contestant.close()


if __name__ == "__main__":
    main()
