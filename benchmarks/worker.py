"""One side of the duel: a process that measures one system on request.

    python -m benchmarks.worker SYSTEM

Reads a request in JSON from each line of standard input, and answers each with a line of JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np

from benchmarks.agreement import sample, type_name
from benchmarks.cases import CASES
from benchmarks.systems import SYSTEMS, System, leaves
from benchmarks.timing import time_of_call


class Worker:
    """Answers requests; compiled functions are kept from one round to the next."""

    def __init__(self, system: System):
        self.system = system
        self.compiled: dict[str, Callable] = {}
        self.started = False

    def measure(self, case: str, seconds: float) -> dict[str, Any]:
        """The time of one call in seconds, and its processor time."""
        chosen = CASES[case]
        with self.system.context(chosen):
            run = self.system.runner(*self._prepare(case))
            wall, processor = time_of_call(run, seconds)
            return {"seconds": wall, "processor": processor}

    def first(self, case: str) -> dict[str, Any]:
        """The time of the first call of a case: tracing, compiling and running.

        Work that a system does only once per process was done by another call before.
        """
        if not self.started:
            self.started = True
            self.first("eager: a + 1, 100 floats")
            self.first("jit: identity")
        chosen = CASES[case]
        self.system.forget()
        with self.system.context(chosen):
            function, arguments = self.system.setup(chosen)
            start = perf_counter()
            result = self.system.compile(chosen, function)(*arguments)
            for leaf in leaves(result):
                leaf.block_until_ready()
            return {"seconds": perf_counter() - start}

    def results(self, case: str, file: str) -> dict[str, Any]:
        """Write a sample of the results to a file; return the bytes of arguments and of results."""
        chosen = CASES[case]
        with self.system.context(chosen):
            function, arguments = self._prepare(case)
            arrays = [self.system.to_numpy(leaf) for leaf in leaves(function(*arguments))]
        np.savez(file, *map(sample, arrays))
        return {"types": [*map(type_name, arrays)],
                "read": sum(getattr(leaf, "nbytes", 0) for leaf in leaves(arguments)),
                "written": sum(array.nbytes for array in arrays)}

    def machine(self) -> dict[str, Any]:
        """The limits of the processor and its memory."""
        from benchmarks.machine import limits
        return limits()

    def _prepare(self, case: str) -> tuple[Callable, tuple]:
        """The compiled function, and new arguments, which are too large to keep."""
        function, arguments = self.system.setup(CASES[case])
        if case not in self.compiled:
            self.compiled[case] = self.system.compile(CASES[case], function)
        return self.compiled[case], arguments


def main() -> None:
    """Answer until the input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr  # a system's output is not an answer
    worker = Worker(SYSTEMS[sys.argv[1]](sys.argv[1]))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # reported by the other side, case by case
            message = str(error).strip().split("\n")[0]
            answer = {"error": f"{type(error).__name__}: {message}"}
        rest()
        print(json.dumps(answer), file=answers, flush=True)


def rest(patience: float = 2.0) -> None:
    """Wait until no thread of this process runs, so that the other system can use all cores.

    The threads of OpenBLAS spin for half a second before they sleep.
    """
    end = perf_counter() + patience
    before = process_time()
    while perf_counter() < end:
        sleep(0.005)
        now = process_time()
        if now - before < 0.0025:
            return
        before = now


if __name__ == "__main__":
    main()
