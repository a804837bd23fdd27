"""Matrix products of many shapes in GFLOP/s, on tanx and its rivals, with given numbers of cores.

    python -m benchmarks.products --rival PYTHON_WITH_JAX [--torch PYTHON] [--cores 1 2]

The duel has few products; this shows where blocking and packing lose: sizes, tall and flat shapes,
long sums, batches, transposed operands, dtypes, and operations fused with a product. Systems run in
separate processes on the given cores, alternate, and the minimum time of all rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from benchmarks.cases.case import noise
from benchmarks.contestant import environment
from benchmarks.systems import AVX2_ONLY, obey_limits
from benchmarks.timing import time_of_call

Shape = tuple[int, ...]
Case = tuple[str, Shape, Shape, str]

FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "x @ y": lambda x, y: x @ y,
    "x.T @ y": lambda x, y: x.T @ y,
    "x @ y.T": lambda x, y: x @ y.T,
    "x.T @ y.T": lambda x, y: x.T @ y.T,
    "relu(x @ y + 1)": lambda x, y: (x @ y + 1).clip(0),
}


def _cases() -> dict[str, Case]:
    square = [(n, n, n) for n in (64, 128, 192, 256, 384, 512, 768, 1024, 2048)]
    odd = [(100, 100, 100), (300, 300, 300), (1000, 1000, 1000), (3000, 3000, 3000)]
    slim = [(4096, 64, 64), (64, 64, 4096), (64, 4096, 64), (256, 8192, 256), (2048, 128, 512),
            (32, 512, 512), (4096, 512, 64), (8, 1024, 1024)]
    batches = [(64, 64, 64, 64), (16, 256, 256, 256), (8, 512, 64, 512)]
    found: list[Case] = [("x @ y", (n, k), (k, m), "float32") for n, k, m in square + odd + slim]
    found += [("x @ y", (b, n, k), (b, k, m), "float32") for b, n, k, m in batches]
    found += [(form, (n, n), (n, n), "float32") for form in FORMS if form != "x @ y"
              for n in (512, 1024)]
    found += [("x @ y", (n, n), (n, n), dtype) for dtype in ("float64", "bfloat16", "float16")
              for n in (256, 512, 1024, 2048)]
    found.append(("x @ y", (3000, 3000), (3000, 3000), "float64"))
    return {f"{form}, {_text(x)} {_text(y)} {dtype}": (form, x, y, dtype)
            for form, x, y, dtype in found}


def _text(shape: Shape) -> str:
    return "x".join(map(str, shape))


CASES = _cases()


def flops(case: Case) -> int:
    """Operations of a product: each multiplication and each addition is one."""
    form, x, y, _ = case
    rows, terms = x[-2:][::-1] if "x.T" in form else x[-2:]
    return 2 * int(np.prod(x[:-2])) * rows * terms * (y[-2] if "y.T" in form else y[-1])


def work(system: str) -> None:
    """Answer each line of input, the name of a case and seconds, with the time of a call."""
    answers, sys.stdout = sys.stdout, sys.stderr
    runs: dict[str, Callable[[], Any]] = {}
    if system == "tanx":
        obey_limits()
    for line in sys.stdin:
        name, seconds = json.loads(line)
        if name not in runs:
            runs[name] = _runner(system, CASES[name])
        answers.write(f"{time_of_call(runs[name], seconds)[0]}\n")
        answers.flush()


def _runner(system: str, case: Case) -> Callable[[], Any]:
    """A function that makes one call and waits for its result; four calls were made before."""
    form, *shapes, dtype = case
    arrays = [noise(*shape, dtype=dtype, seed=n) for n, shape in enumerate(shapes)]
    if system == "torch":
        import torch
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        x, y = (torch.from_numpy(a.astype("float32")).to(getattr(torch, dtype)) for a in arrays)
        run = lambda: FORMS[form](x, y)
    else:
        module = __import__(system)
        if dtype == "float64":
            module.config.update("jax_enable_x64", True)
        x, y = map(module.numpy.asarray, arrays)
        compiled = module.jit(FORMS[form])
        run = lambda: compiled(x, y).block_until_ready()
    for _ in range(4):
        run()
    return run


class Worker:
    """A process that measures one system on some cores."""

    def __init__(self, system: str, python: str, cores: int):
        chosen = sorted(os.sched_getaffinity(0))[:cores]
        self.process = subprocess.Popen(
            ["taskset", "-c", ",".join(map(str, chosen)), python, "-m", "benchmarks.products",
             "--work", system], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
            env=environment(OMP_NUM_THREADS=str(cores)))

    def seconds(self, name: str, budget: float) -> float:
        """The time of a case; None if the system cannot run it."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([name, budget]) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline() or "inf")


def main() -> None:
    """Measure and print a table for each number of cores."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.products", description=__doc__)
    parser.add_argument("--rival", metavar="PYTHON", help="an interpreter that has jax")
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter that has torch")
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.05, help="of one turn (0.05)")
    parser.add_argument("--only", metavar="REGEX", default="")
    parser.add_argument("--avx2", action="store_true",
                        help="let neither tanx nor torch use instructions after AVX2")
    parser.add_argument("--work", metavar="SYSTEM", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work)
        return
    if options.avx2:
        os.environ.update(AVX2_ONLY)  # all workers inherit it
    systems = {"tanx": sys.executable, "jax": options.rival, "torch": options.torch}
    systems = {name: python for name, python in systems.items() if python}
    names = [name for name in CASES if re.search(options.only, name)]
    for cores in options.cores:
        workers = {name: Worker(name, python, cores) for name, python in systems.items()}
        print(f"\nGFLOP/s, {cores} cores".ljust(53) + "".join(s.rjust(9) for s in workers))
        for name in names:
            best = dict.fromkeys(workers, inf)
            for _ in range(options.rounds):
                for system, worker in workers.items():
                    best[system] = min(best[system], worker.seconds(name, options.seconds))
            rates = {system: flops(CASES[name]) / time / 1e9 for system, time in best.items()}
            ratio = f"{rates['tanx'] / rates['jax']:9.2f}" if rates.get("jax") else ""
            print(f"  {name:50}" + "".join(f"{r:9.1f}" for r in rates.values()) + ratio,
                  flush=True)


if __name__ == "__main__":
    main()
