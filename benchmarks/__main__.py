"""The command: ``python -m benchmarks --rival PYTHON_WITH_JAX``; ``--help`` lists all options."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path

from benchmarks import chart, duel, report
from benchmarks.cases import CASES
from benchmarks.systems import AVX2_ONLY


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Times the same code on tanx and on its rivals, in turns.")
    parser.add_argument("--rival", metavar="PYTHON", help="an interpreter that has jax")
    parser.add_argument("--numpy", action=argparse.BooleanOptionalAction, default=True,
                        help="time NumPy too, in this interpreter (on)")
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter that has torch")
    parser.add_argument("--numba", metavar="PYTHON", help="an interpreter that has Numba")
    parser.add_argument("--only", metavar="REGEX", default="",
                        help="cases whose family or name it matches")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each case (7)")
    parser.add_argument("--quick", action="store_true", help="two rounds of short timings")
    parser.add_argument("--avx2", action="store_true",
                        help="let no system use instructions after AVX2 (libraries of JAX may)")
    parser.add_argument("--shards", type=int, default=1, metavar="N",
                        help="divide processors and cases among N duels at a time (1)")
    parser.add_argument("--list", action="store_true", help="only name the cases")
    parser.add_argument("--first", action=argparse.BooleanOptionalAction, default=True,
                        help="time first calls and imports too (on)")
    parser.add_argument("--json", metavar="FILE", help="keep the results")
    parser.add_argument("--markdown", metavar="FILE", help="write the tables as Markdown")
    parser.add_argument("--chart", metavar="FILE", help="write the chart as SVG")
    parser.add_argument("--show", metavar="FILE", help="show results kept by --json; time nothing")
    return parser.parse_args()


def _measure(options: argparse.Namespace, names: list[str]) -> dict:
    pythons = {"tanx": sys.executable, "jax": options.rival,
               "numpy": sys.executable if options.numpy else None,
               "torch": options.torch, "numba": options.numba}
    present = {}
    for system, python in pythons.items():
        if python and duel.available(system, python):
            present[system] = python
        elif python:
            print(f"{python} cannot import {system}: going on without it", file=sys.stderr)
    rounds, seconds = (2, 0.03) if options.quick else (options.rounds, 0.1)
    if options.avx2:
        os.environ.update(AVX2_ONLY)  # all workers inherit it
    result = duel.run(present, names, rounds, seconds, options.shards)
    if options.first:
        result["imports"] = duel.imports(present, rounds)
        for name, times in duel.first_calls(present, names, max(1, rounds // 3)).items():
            result["cases"][name]["first"] = times
    return result


def main() -> None:
    """Measure, and show the results."""
    options = _arguments()
    names = [name for name, case in CASES.items()
             if re.search(options.only, f"{case.family}: {name}")]
    if options.list or not names:
        print("\n".join(f"{CASES[name].family}: {name}" for name in names) or "no such case")
        return
    result = json.loads(Path(options.show).read_text()) if options.show \
        else _measure(options, names)
    for file, write in ((options.json, lambda result: json.dumps(result, indent=1)),
                        (options.markdown, report.markdown), (options.chart, chart.svg)):
        if file:
            Path(file).write_text(write(result), encoding="utf-8")
    print(report.terminal(result))
    print(chart.bars(result))


if __name__ == "__main__":
    main()
