"""Run six programs unchanged on JAX and on tanx, and compare results and times.

    python -m tests.ecosystem.well_known FOLDER [--only REGEX] [--rounds N] [--write]

FOLDER has both environments, as ``python -m tests.ecosystem --make FOLDER`` makes them. The systems
alternate; seconds are the minimum of all rounds, from the first import to the last result, with all
compilation. In each round tanx runs twice: with an empty cache of compiled code, and then with the
code that it has cached. ``--write`` puts the rows into docs/from_jax.md.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

from tests.ecosystem import tables
from tests.ecosystem.__main__ import Outcome, difference, run

HERE = Path(__file__).parent
PROGRAMS = ("cnn", "rnn", "schools", "neural_ode", "ppo", "transformer")
HEAD = "| program | outcome | tanx, s | tanx again, s | JAX, s | measured inside |"


def rounds(program: Path, options: argparse.Namespace) -> dict[str, list[Outcome]]:
    """The results in each round: on tanx with an empty and with a full cache, and on JAX."""
    found: dict[str, list[Outcome]] = {"tanx": [], "again": [], "JAX": []}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as cache:
            os.environ["TANX_CACHE_DIR"] = cache
            for turn in ("tanx", "again"):
                found[turn].append(run(options.folder / "tanx/bin/python", program, True,
                                       options.limit))
        found["JAX"].append(run(options.folder / "jax/bin/python", program, False, options.limit))
        if any(outcomes[-1].error for outcomes in found.values()):
            break
    return found


def figures(ours: list[Outcome], theirs: list[Outcome]) -> str:
    """The minima of the times that programs measure themselves, on both systems."""
    def least(outcomes: list[Outcome], name: str) -> float:
        return min((o.figures or {})[name] for o in outcomes)
    return "; ".join(f"{name}: {least(ours, name):.2f}, JAX {least(theirs, name):.2f}"
                     for name in theirs[0].figures or {})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--write", action="store_true", help="put the rows into the page")
    options = parser.parse_args()
    rows, wrong = {}, 0
    print(f"{HEAD}\n|---|---|---|---|---|---|")
    for name in PROGRAMS:
        if not re.search(options.only, name):
            continue
        found = rounds(HERE / f"{name}.py", options)
        failed = next((o[-1].error for o in found.values() if o[-1].error), "")
        verdict = failed or next(filter(None, (
            difference(found[turn][-1], found["JAX"][-1]) for turn in ("tanx", "again"))),
            "same results")
        wrong += verdict != "same results"
        seconds = " | ".join(f"{min(o.seconds for o in outcomes):.1f}"
                             for outcomes in found.values())
        measured = "" if failed else figures(found["tanx"] + found["again"], found["JAX"])
        rows[name] = f"| {name} | {verdict[:200]} | {seconds} | {measured} |"
        print(rows[name], flush=True)
    if options.write:
        tables.write(HEAD, rows, PROGRAMS)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
