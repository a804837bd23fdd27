"""Runs many random programs in processes, and survives crashes and endless loops."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.context import SpawnContext
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.compiler.programs.cuts import smaller
from tests.compiler.programs.maker import varied

_PART = 4
"""Programs for a process at a time: one of them is large."""

_LONGEST = 300.0
"""Seconds after which a program counts as endless. The longest take a minute while all cores are
busy, and a failing one is made smaller for two."""


def report_of(seed: int) -> str | None:
    """The failure of the program of a seed, and the smallest program that still fails."""
    source = varied(seed)
    failure = source.fails()
    if failure is None:
        return None
    if source.fails() is None:
        return f"seed {seed}: only once: {failure}\n\n{source.script()}"
    least = smaller(source)
    return f"seed {seed}: {least.fails()}\n\n{least.script()}"


def reports_in_processes(first: int, count: int, jobs: int) -> Iterator[list[str | None]]:
    """Reports of programs, a few at a time. If it is interrupted, it says which ones run."""
    spawn, end = get_context("spawn"), first + count
    parts = [[*range(seed, min(seed + _PART, end))] for seed in range(first, end, _PART)]
    with TemporaryDirectory() as folder:
        try:
            while parts:
                with ProcessPoolExecutor(jobs, spawn, _end_with, (os.getpid(),)) as pool:
                    running = {pool.submit(_reports_of, part, folder): part for part in parts}
                    for future in as_completed(running):
                        with suppress(BrokenProcessPool):
                            yield future.result()
                            parts.remove(running[future])
                if parts:
                    ended = _ended(spawn, folder, parts)
                    yield [*ended.values()]
                    parts = [[seed for seed in part if seed not in ended] for part in parts]
        except KeyboardInterrupt:
            sys.exit(f"\nstopped while these ran: seeds {_begun(folder, parts)}")


def _ended(spawn: SpawnContext, folder: str, parts: list[list[int]]) -> dict[int, str | None]:
    """Reports of the programs that killed their process or did not end, by seed."""
    begun = _begun(folder, parts)
    reports: dict[int, str | None] = {}
    for seed in begun:
        if _stacks(folder, seed) or _dies(spawn, folder, seed):
            stacks = _stacks(folder, seed)
            what = f"it ran for {_LONGEST:.0f} seconds\n{stacks}" if stacks else "its process dies"
            reports[seed] = f"seed {seed}: {what}\n\n{varied(seed).script()}"
    if not reports:
        raise RuntimeError(f"a process died, and none of these programs does it alone: {begun}")
    return reports


def _begun(folder: str, parts: list[list[int]]) -> list[int]:
    """The programs of unfinished parts that processes have begun last."""
    found = {int(file.read_text()) for file in Path(folder).glob("*.seed")}
    return sorted(found.intersection(seed for part in parts for seed in part))


def _dies(spawn: SpawnContext, folder: str, seed: int) -> bool:
    process = spawn.Process(target=_reports_of, args=([seed], folder))
    process.start()
    process.join()
    return process.exitcode != 0


def _stacks(folder: str, seed: int) -> str:
    """The stacks of a program that did not end in time."""
    file = Path(folder) / f"{seed}.stacks"
    return file.read_text() if file.exists() else ""


def _reports_of(seeds: list[int], folder: str) -> list[str | None]:
    """The reports of programs; a file with the name of this process says which one runs.

    A program that never ends leaves the stacks of its threads in a file, and ends its process.
    """
    reports = []
    for seed in seeds:
        (Path(folder) / f"{os.getpid()}.seed").write_text(str(seed))
        with (Path(folder) / f"{seed}.stacks").open("w") as stacks:
            faulthandler.dump_traceback_later(_LONGEST, exit=True, file=stacks)
            reports.append(report_of(seed))
            faulthandler.cancel_dump_traceback_later()
    return reports


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, even if that was killed."""
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)
    threading.Thread(target=watch, daemon=True).start()
