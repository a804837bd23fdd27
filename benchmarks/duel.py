"""The duel: every case on every system, alternating, in several rounds; the minimum time counts.

Each system runs in a separate process with its own interpreter, which lasts for the whole duel.
They alternate case by case, so that a machine that is busy for a while is busy for all of them.
"""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from benchmarks.agreement import difference
from benchmarks.cases import CASES
from benchmarks.contestant import Contestant, Failure, environment
from benchmarks.processors import divided

__all__ = ["Progress", "available", "first_calls", "imports", "run"]

CACHES = {
    "tanx": lambda folder: {"TANX_CACHE_DIR": folder},
    "jax": lambda folder: {"JAX_COMPILATION_CACHE_DIR": folder,
                           "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                           "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"},
}
"""The variables that set the folders for compiled code on disk."""


NEAR = 0.9
"""The ratio to JAX's time above which a case is measured again."""


class Progress:
    """Shows progress: one line on a terminal, which changes; elsewhere a line now and then."""

    def __init__(self, title: str, total: int):
        self.title, self.total, self.done, self.said = title, total, 0, 0
        self.start = time.monotonic()

    def step(self, what: str) -> None:
        """Begin the next part of the work."""
        percent = 100 * self.done // self.total
        spent = time.monotonic() - self.start
        left = f"{spent / self.done * (self.total - self.done):.0f} s left" if self.done else ""
        if sys.stderr.isatty():
            print(f"\r\033[K{self.title} {percent:3d} %  {left:<12} {what}", end="",
                  file=sys.stderr, flush=True)
        elif percent >= self.said + 10:
            print(f"{self.title} {percent} %  {left}", file=sys.stderr, flush=True)
            self.said = percent
        self.done += 1

    def end(self) -> None:
        """Clear the line."""
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def run(pythons: dict[str, str], names: Sequence[str], rounds: int, seconds: float,
        shards: int = 1) -> dict:
    """Measure the cases; returns the data of the report and the chart, in a form for JSON.

    Processors are divided among ``shards``, which measure some of the cases each. They share
    caches and memory, so that a case that seems slower than JAX is measured once more, alone.
    """
    cases = {name: {"family": CASES[name].family, "seconds": {}, "processor": {},
                    "errors": {},
                    "flops": CASES[name].operations(), "memory": CASES[name].memory}
             for name in names}
    machine: dict[str, Any] = {"processor": platform.machine(),
                               "cores": len(os.sched_getaffinity(0)) // shards}
    progress = Progress("timing", len(names) * rounds)

    def work(some: Sequence[str], stop: Event) -> None:
        with ExitStack() as stack:
            contestants = [stack.enter_context(Contestant(*item)) for item in pythons.items()]
            for turn in range(rounds):
                for limit, best in contestants[0].ask("machine").items():
                    machine[limit] = max(best, machine.get(limit, 0))
                for name in some:
                    progress.step(name)
                    for one in contestants:
                        if stop.is_set():
                            return
                        _measure(one, name, cases[name], seconds)
                    if turn == 0:
                        _compare(contestants, name, cases[name])

    divided(names, shards, work)
    slower = [name for name, case in cases.items() if _seems_slower(case["seconds"])]
    if shards > 1 and slower:
        progress = Progress("timing again", len(slower) * rounds)
        divided(slower, shards, work, at_a_time=1)
    progress.end()
    return {"machine": machine, "cases": cases, "systems": {
        system: _version(system, python) for system, python in pythons.items()}}


def _seems_slower(seconds: dict[str, float]) -> bool:
    return seconds.get("tanx", 0.0) > NEAR * seconds.get("jax", math.inf)


def _measure(one: Contestant, name: str, record: dict, seconds: float) -> None:
    if CASES[name].form(one.system) is None or one.system in record["errors"]:
        return
    try:
        taken = one.ask("measure", case=name, seconds=seconds)
    except Failure as failure:
        record["errors"][one.system] = str(failure)
    else:
        for kind, least in taken.items():
            record[kind][one.system] = min(least, record[kind].get(one.system, math.inf))


# -- agreement -------------------------------------------------------------------------------------


def _compare(contestants: Iterable[Contestant], name: str, record: dict) -> None:
    """Compare results with those of the first system: the time of a wrong result does not count."""
    first, *others = [one for one in contestants if one.system in record["seconds"]] or [None]
    if first is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        mine, types = _results(first, name, folder, record)
        for other in others:
            theirs, their_types = _results(other, name, folder, record)
            # The other systems have other types, such as NumPy's int64.
            if other.system == "jax" and types != their_types:
                problem = f"{types[:3]} against {their_types[:3]}"
            else:
                problem = difference(mine, theirs, types, CASES[name].chaotic)
            if problem:
                record.setdefault("disagrees", {})[other.system] = problem


def _results(one: Contestant, name: str, folder: str, record: dict) -> tuple[list, list]:
    file = str(Path(folder, f"{one.system}.npz"))
    try:
        answer = one.ask("results", case=name, file=file)
    except Failure as failure:
        record["errors"][one.system] = str(failure)
        return [], []
    record.setdefault("read", answer["read"])
    record.setdefault("written", answer["written"])
    with np.load(file) as arrays:
        return [arrays[key] for key in arrays], answer["types"]


# -- first calls and imports -----------------------------------------------------------------------


def first_calls(pythons: dict[str, str], names: Sequence[str], rounds: int) -> dict:
    """Seconds of the first call of each case, by ``SYSTEM cold`` and ``SYSTEM warm``.

    Cold: nothing on disk. Warm: another process has run the case before and left its code on disk.
    """
    best: dict[str, dict[str, float]] = {name: {} for name in names}
    systems = {system: python for system, python in pythons.items() if system in CACHES}
    progress = Progress("first calls", len(names) * rounds * 3)
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            folders = {system: CACHES[system](str(Path(folder, system))) for system in systems}
            # JAX stores nothing on disk by default; a cold call is one without the option.
            cold = {system: folders[system] if system == "tanx" else {} for system in systems}
            for kind, variables in (("cold", cold), ("filled", folders), ("warm", folders)):
                with ExitStack() as stack:
                    contestants = [
                        stack.enter_context(Contestant(system, python, variables[system]))
                        for system, python in systems.items()]
                    for name in names:
                        progress.step(f"{kind}: {name}")
                        for one in contestants:
                            _first(one, name, f"{one.system} {kind}", best[name])
    progress.end()
    return best


def _first(one: Contestant, name: str, key: str, best: dict[str, float]) -> None:
    try:
        best[key] = min(best.get(key, math.inf), one.ask("first", case=name)["seconds"])
    except Failure:
        pass  # the timing of the same case reports it


STARTS = {
    "import": "import {0}",
    "import and first jitted call": "import {0}; {0}.jit(lambda x: x + 1)(1.0).block_until_ready()",
}


def imports(pythons: dict[str, str], rounds: int) -> dict[str, dict[str, float]]:
    """Minimum seconds from the start of Python to the first call, minus those of Python alone."""
    def seconds(python: str, code: str) -> float:
        start = time.perf_counter()
        subprocess.run([python, "-c", code], check=True, env=environment())
        return time.perf_counter() - start

    best: dict[str, dict[str, float]] = {what: {} for what in STARTS}
    systems = {system: python for system, python in pythons.items() if system in CACHES}
    bare = dict.fromkeys(systems, math.inf)
    for _ in range(rounds):
        for system, python in systems.items():
            bare[system] = min(bare[system], seconds(python, "pass"))
            for what, code in STARTS.items():
                taken = seconds(python, code.format(system))
                best[what][system] = min(taken, best[what].get(system, math.inf))
    return {what: {system: taken - bare[system] for system, taken in times.items()}
            for what, times in best.items()}


def _version(system: str, python: str) -> str:
    code = f"import platform, {system} as m; print(m.__version__, 'on Python',"\
           " platform.python_version())"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=environment())
    return done.stdout.strip()


def available(system: str, python: str) -> bool:
    """Whether an interpreter has a system."""
    done = subprocess.run([python, "-c", f"import {system}"], capture_output=True,
                               env=environment())
    return done.returncode == 0
