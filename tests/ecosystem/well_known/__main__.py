"""Six programs on JAX and on tanx, unchanged: the same results, and in what time?

    python -m tests.ecosystem.well_known FOLDER [--only REGEX] [--rounds N]

FOLDER has both environments, as ``python -m tests.ecosystem --make FOLDER`` makes them. The systems
take turns; seconds are the least of all rounds, from the first import to the last result, with all
compilation. The first round fills the caches on disk, which tanx keeps by default; ``--cold``
gives each run an empty one.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

from tests.ecosystem.__main__ import Outcome, difference, run

HERE = Path(__file__).parent
PROGRAMS = ("cnn", "rnn", "schools", "neural_ode", "ppo", "transformer")


def rounds(program: Path, options: argparse.Namespace) -> tuple[list[Outcome], list[Outcome]]:
    """What the program gave on each system in each round."""
    ours, theirs = [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as empty:
            if options.cold:
                os.environ["TANX_CACHE_DIR"] = empty
            ours.append(run(options.folder / "tanx/bin/python", program, True, options.limit))
        theirs.append(run(options.folder / "jax/bin/python", program, False, options.limit))
        if ours[-1].error or theirs[-1].error:
            break
    return ours, theirs


def figures(ours: list[Outcome], theirs: list[Outcome]) -> str:
    """The least of what programs measured themselves, on both systems."""
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
    parser.add_argument("--cold", action="store_true", help="an empty cache for each run")
    options = parser.parse_args()
    wrong = 0
    print("| program | outcome | tanx, s | JAX, s | measured inside |\n|---|---|---|---|---|")
    for name in PROGRAMS:
        if not re.search(options.only, name):
            continue
        ours, theirs = rounds(HERE / f"{name}.py", options)
        failed = theirs[-1].error or ours[-1].error
        verdict = failed or difference(ours[-1], theirs[-1]) or "same results"
        wrong += verdict != "same results"
        print(f"| {name} | {verdict[:200]} | {min(o.seconds for o in ours):.1f} | "
              f"{min(o.seconds for o in theirs):.1f} | "
              f"{'' if failed else figures(ours, theirs)} |", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
