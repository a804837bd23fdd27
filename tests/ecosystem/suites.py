"""Run the tests of libraries that are built on JAX, on JAX and on tanx.

    python -m tests.ecosystem.suites FOLDER [--only REGEX] [--sample N] [--limit SECONDS]

FOLDER has the environments that ``python -m tests.ecosystem --make`` makes. Tests come from the
installed packages or, if these contain none, from FOLDER/src/LIBRARY: a checkout of the version
that is installed, without the package itself. Outcomes on JAX are stored in FOLDER/suites, so that
only the runs on tanx are repeated; the last outcomes and output of pytest are there as well.
``--sample 10`` takes each tenth test, ``--kept`` those that JAX has run. ``--failing`` runs the
sample on tanx first and then its failures on JAX, which takes a tenth of the time: a test that
passes on tanx counts as passing on JAX. ``--resume`` continues an interrupted run.
A test that fails on tanx runs once more, alone: some depend on those before them, or on time.
``--write`` puts the counts into docs/from_jax.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, NamedTuple

from tests.ecosystem import paths
from tests.ecosystem.tables import PAGE

HERE = Path(__file__).parent
SHARE = 0.95
MOST_ALONE = 60
"""The number of failing tests of a library that are run again alone; more do not fail by chance."""


@dataclass(frozen=True)
class Suite:
    """Where the tests of a library are, and how pytest is called on them."""

    tests: tuple[str, ...]
    """Folders or files of tests, below the environment's packages or the checkout."""

    checkout: bool = False
    """Whether they are in a checkout (FOLDER/src/NAME), not in the installed package."""

    arguments: tuple[str, ...] = ()
    """Further arguments of pytest."""

    sample: int = 1
    """The default N of ``--sample``: large suites take hours on JAX."""


SUITES = {
    "chex": Suite(("chex/_src",)),
    "jaxtyping": Suite(("test",), checkout=True),
    "einops": Suite(("einops/tests",)),
    "mctx": Suite(("mctx/_src/tests",)),
    "jraph": Suite(("jraph/_src",)),
    "rlax": Suite(("rlax/_src",)),
    "optax": Suite(("optax",), sample=5),
    "distrax": Suite(("distrax/_src",), sample=20),
    # Warnings are errors in these, and pytest-asyncio, which jaxtyping's tests need, warns.
    "equinox": Suite(("tests",), checkout=True, arguments=("-p", "no:asyncio")),
    "flax": Suite(("tests",), checkout=True, sample=4, arguments=("-p", "no:asyncio")),
    "dm-haiku": Suite(("haiku/_src",), sample=5),
    "lineax": Suite(("tests",), checkout=True, sample=20),
    # Its options need pytest-benchmark.
    "optimistix": Suite(("tests",), checkout=True, sample=5,
                        arguments=("-o", "addopts=", "-p", "no:asyncio")),
    "diffrax": Suite(("test",), checkout=True, sample=5),
    "numpyro": Suite(("test",), checkout=True, sample=20),
    "blackjax": Suite(("tests",), checkout=True, sample=5, arguments=("-p", "no:asyncio")),
    "quax": Suite(("tests/unit", "tests/usage"), checkout=True),
    "jaxopt": Suite(("tests",), checkout=True, sample=5),
    "flashbax": Suite(("flashbax",), sample=10),
    "treeo": Suite(("tests",), checkout=True),
    "gymnax": Suite(("tests",), checkout=True),
    "penzai": Suite(("tests",), checkout=True),
    "evosax": Suite(("tests",), checkout=True, sample=2),
    "pgx": Suite(("tests",), checkout=True, sample=3),
    "brax": Suite(("brax",), sample=6),
    "mujoco-mjx": Suite(("mujoco/mjx/_src",), sample=2),
    # Its tests are beside the modules; files in several folders have one name.
    "orbax-checkpoint": Suite(
        tuple(f"checkpoint/orbax/checkpoint/_src/{folder}" for folder in (
            "arrays", "checkpoint_managers", "checkpointers", "handlers", "metadata", "path",
            "serialization", "tree")),
        checkout=True, sample=5,
        arguments=("--import-mode=importlib", "-o", "python_files=*_test.py")),
}


@dataclass(frozen=True)
class Outcome:
    """How a test ended."""

    outcome: str
    seconds: float = 0.0
    error: str = ""


@dataclass(frozen=True)
class Environment:
    """One of the two environments: its interpreter, and whether jax means tanx in it."""

    folder: Path
    as_jax: bool

    @property
    def python(self) -> Path:
        return self.folder / ("tanx" if self.as_jax else "jax") / "bin" / "python"

    def root(self, name: str, suite: Suite) -> Path:
        """The folder that names of tests are relative to."""
        if suite.checkout:
            return self.folder / "src" / name
        package = suite.tests[0].split("/")[0]
        find = f"import importlib.util as u; print(u.find_spec({package!r}).origin)"
        found = subprocess.run([self.python, "-c", find], capture_output=True, text=True,
                               check=True)
        return Path(found.stdout.strip()).parents[1]

    def start(self, order: Path, cwd: Path, log: IO[str]) -> subprocess.Popen:
        # Parameters of tests may come from sets: both systems must have them in the same order.
        # The library's tests come first: they may import a package "tests", as this one is called.
        path = os.pathsep.join(filter(None, [str(cwd), paths(self.as_jax)]))
        environment = {**os.environ, "PYTHONHASHSEED": "0", "JAX_PLATFORMS": "cpu",
                       "PYTHONPATH": path}
        return subprocess.Popen([self.python, HERE / "outcomes.py", order], cwd=cwd,
                                env=environment, stdout=log, stderr=log)


def pytest_arguments(root: Path, suite: Suite) -> list[str]:
    """Pytest's arguments for a suite: the configuration of the checkout, or none."""
    files = [str(root / tests) for tests in suite.tests]
    common = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", "--rootdir",
              str(root), *suite.arguments]
    if suite.checkout:
        return [*common, *files]
    return [*common, "-c", os.devnull, "-o", "python_files=*_test.py test_*.py", *files]


def read(report: Path) -> tuple[dict[str, Outcome], str | None]:
    """The outcomes in a report, and the test that was running at its end, if there was one."""
    found: dict[str, Outcome] = {}
    running = None
    for line in report.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["outcome"] == "started":
            running = row["test"]
        else:
            running = None
            found[row["test"]] = Outcome(row["outcome"], row["seconds"], row["error"])
    return found, running


def follow(process: subprocess.Popen, report: Path, patience: float) -> None:
    """Wait for a process; kill it if it has written nothing for ``patience`` seconds."""
    while process.poll() is None:
        time.sleep(0.2)
        if time.time() - report.stat().st_mtime > patience:
            process.kill()
            process.wait()


def kept(environment: Environment, name: str, kind: str) -> Path:
    """The file in FOLDER/suites for a library's outcomes, or for the output of pytest."""
    system = "tanx" if environment.as_jax else "jax"
    return environment.folder / "suites" / f"{name}-{system}.{kind}"


def run(environment: Environment, name: str, suite: Suite, *, every: int = 1,
        only: list[str] | None = None, again: bool = True,
        limit: float = 60.0) -> dict[str, Outcome]:
    """Run tests of a suite; after a crash in a test, a new process continues with the next test.

    Without ``again``, tests whose outcomes are in the file are not run. Each outcome is written as
    soon as it is known, so that an interrupted run can be continued.
    """
    root, report = environment.root(name, suite), kept(environment, name, "jsonl")
    report.parent.mkdir(exist_ok=True)
    if again or not report.exists():
        report.write_text("")
    with kept(environment, name, "log").open("w") as log:
        while True:
            found, _ = read(report)
            running = run_once(environment, root, suite, {
                "every": every, "only": only, "skip": sorted(found), "limit": limit,
                "report": str(report)}, log)
            if running is None:
                return read(report)[0]
            with report.open("a") as file:
                file.write(json.dumps({"test": running, "outcome": "crashed", "seconds": 0.0,
                                       "error": "the process ended in this test"}) + "\n")


def run_once(environment: Environment, root: Path, suite: Suite, order: dict,
             log: IO[str]) -> str | None:
    """Run tests in one process; return the test in which it crashed, or None."""
    report = Path(order["report"])
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "order.json"
        file.write_text(json.dumps({"as_jax": environment.as_jax,
                                    "arguments": pytest_arguments(root, suite), **order}))
        report.touch()
        # Nothing is written during collection; code that cannot be interrupted gets more time.
        follow(environment.start(file, root, log), report, 12 * order["limit"] + 120)
    return read(report)[1]


def run_alone(environment: Environment, name: str, suite: Suite, found: dict[str, Outcome],
              limit: float) -> dict[str, Outcome]:
    """The outcomes after each test that failed has run again, in a separate process."""
    failed = [test for test, outcome in found.items() if outcome.outcome in ("failed", "crashed")]
    if len(failed) > MOST_ALONE:
        return found
    root, report = environment.root(name, suite), kept(environment, name, "jsonl")
    with kept(environment, name, "log").open("a") as log:
        for test in failed:
            file = root / test.split("::")[0]
            one = replace(suite, tests=(str(file.relative_to(root)),))
            run_once(environment, root, one, {
                "every": 1, "only": [test], "skip": [], "limit": limit, "report": str(report)}, log)
    return read(report)[0]


def reason(test: str, ours: dict[str, Outcome]) -> str:
    """Why a test did not pass on tanx; for tests that pytest did not find, its file's error."""
    if test in ours:
        return f"{ours[test].outcome}: {ours[test].error}"
    file = ours.get(test.split("::")[0])
    return f"{file.outcome}: {file.error}" if file else "not collected"


def report_failures(passing: list[str], ours: dict[str, Outcome]) -> None:
    """Print the errors, most frequent first, each with a test."""
    failed = {test: reason(test, ours) for test in passing
              if test not in ours or ours[test].outcome != "passed"}
    firsts: Counter[str] = Counter()
    example: dict[str, str] = {}
    for test, why in failed.items():
        key = re.sub(r"0x[0-9a-f]+|\d+", "#", why)[:160]
        firsts[key] += 1
        example.setdefault(key, f"{test}\n        {why[:600]}")
    for key, count in firsts.most_common():
        print(f"  {count:4} {example[key]}")


class Count(NamedTuple):
    """How many tests of a sample pass on JAX, and how many of these on tanx."""

    theirs: int
    ours: int
    every: int = 1

    def row(self, name: str) -> str:
        """The counts of a library as a row of the table."""
        return (f"| {name} | {'all' if self.every == 1 else f'1 in {self.every}'} | {self.theirs} "
                f"| {self.ours} | {100 * self.ours / max(self.theirs, 1):.1f} % |")


def measure(folder: Path, name: str, every: int | None, limit: float) -> tuple[int, int]:
    """How many tests of a sample pass on JAX, and how many of these on tanx.

    Without a sample, the tests are those that have been run on JAX before.
    """
    suite = SUITES[name]
    jax, tanx = (Environment(folder, as_jax) for as_jax in (False, True))
    if every is None:
        theirs, _ = read(kept(jax, name, "jsonl"))
    else:
        theirs = run(jax, name, suite, every=every, again=False, limit=limit)
    passing = [test for test, outcome in theirs.items() if outcome.outcome == "passed"]
    ours = run(tanx, name, suite, only=passing, limit=limit)
    ours = run_alone(tanx, name, suite, ours, limit)
    report_failures(passing, ours)
    return len(passing), sum(test in ours and ours[test].outcome == "passed" for test in passing)


def measure_failing(folder: Path, name: str, every: int, limit: float,
                    resume: bool = False) -> tuple[int, int]:
    """The counts of `measure`, if JAX runs only the tests that fail on tanx.

    If tanx cannot import a file, JAX runs all its tests, and each N-th that passes counts, because
    the sample contains none of them.
    """
    suite = SUITES[name]
    jax, tanx = (Environment(folder, as_jax) for as_jax in (False, True))
    ours = run(tanx, name, suite, every=every, again=not resume, limit=limit)
    ours = run_alone(tanx, name, suite, ours, limit)
    passing = [test for test, outcome in ours.items() if outcome.outcome == "passed"]
    failing = [test for test, outcome in ours.items()
               if outcome.outcome in ("failed", "crashed", "not collected")]
    theirs = run(jax, name, suite, only=failing, again=False, limit=limit) if failing else {}
    good = [test for test, outcome in theirs.items() if outcome.outcome == "passed"]
    known = [test for test in good if test in failing]
    known += [test for test in good if test not in ours and test.split("::")[0] in failing][::every]
    report_failures(known, ours)
    return len(passing) + len(known), len(passing)


def table(counts: dict[str, Count]) -> str:
    """The counts as a table of Markdown, in the order of the suites."""
    rows = ["| library | tests | pass on JAX | of these on tanx | share |", "|---|---|---|---|---|"]
    return "\n".join(rows + [counts[name].row(name) for name in SUITES if name in counts])


def counts_on(page: str) -> dict[str, Count]:
    """The counts in a table on a page."""
    rows = re.findall(r"^\| ([\w-]+) \| (?:all|1 in (\d+)) \| (\d+) \| (\d+) \| [\d.]+ % \|$",
                      page, re.MULTILINE)
    return {name: Count(int(theirs), int(ours), int(every or 1))
            for name, every, theirs, ours in rows}


def write(page: Path, counts: dict[str, Count]) -> None:
    """Write counts to the page's table; rows of libraries that were not run stay."""
    text = page.read_text(encoding="utf-8")
    merged = counts_on(text) | counts
    text = re.sub(r"^\| library \| tests \| pass on JAX .*\n(\|.*\n)+",
                  lambda _: table(merged) + "\n", text, flags=re.MULTILINE)
    page.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="libraries, as a regular expression")
    parser.add_argument("--sample", type=int, help="run each N-th test")
    parser.add_argument("--kept", action="store_true",
                        help="take JAX's outcomes as they are kept, run tanx only")
    parser.add_argument("--failing", action="store_true",
                        help="run tanx first, and JAX only on what fails there")
    parser.add_argument("--resume", action="store_true",
                        help="with --failing: keep tanx's outcomes of the last run")
    parser.add_argument("--limit", type=float, default=60.0,
                        help="seconds of processor time a test may take")
    parser.add_argument("--write", action="store_true", help="put the counts into the page")
    options = parser.parse_args()
    counts = {}
    for name, suite in SUITES.items():
        if re.fullmatch(options.only or ".*", name):
            every = options.sample or suite.sample
            folder = options.folder.resolve()
            counts[name] = Count(*(
                measure_failing(folder, name, every, options.limit, options.resume)
                if options.failing else
                measure(folder, name, None if options.kept else every, options.limit)), every)
            print(counts[name].row(name), flush=True)
    if options.write:
        write(PAGE, counts)
    return int(any(count.ours < SHARE * max(count.theirs, 1) for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
