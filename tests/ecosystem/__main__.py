"""Run programs of libraries that are built on JAX, on JAX and on tanx, and compare the numbers.

    python -m tests.ecosystem --make FOLDER          two environments, FOLDER/jax and FOLDER/tanx
    python -m tests.ecosystem FOLDER [--only REGEX] [--write]

A row of the table is a program of ``programs/``: whether it ran, whether its results agree with
JAX's, and its wall time with all first calls, imports included. ``--write`` puts the rows into
docs/from_jax.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.ecosystem import paths, tables

HERE = Path(__file__).parent
TOLERANCE = 2e-4
HEAD = "| program | library | outcome | tanx, s | JAX, s |"

LIBRARIES = {
    "optax": "optax", "chex": "chex", "jaxtyping": "jaxtyping", "equinox": "equinox",
    "flax_linen": "flax", "flax_nnx": "flax", "numpyro": "numpyro", "diffrax": "diffrax",
    "lineax": "lineax", "optimistix": "optimistix", "distrax": "distrax",
    "tfp": "tfp-nightly", "flashbax": "flashbax", "haiku": "dm-haiku", "blackjax": "blackjax",
    "jraph": "jraph", "treeo": "treeo", "gymnax": "gymnax", "jaxopt": "jaxopt", "rlax": "rlax",
    "mctx": "mctx", "orbax": "orbax-checkpoint", "einops": "einops", "brax": "brax",
    "evosax": "evosax", "pgx": "pgx", "quax": "quax", "penzai": "penzai",
}
"""Programs, and the distributions of their libraries."""

BESIDE = """
numpy scipy llvmlite ml_dtypes opt_einsum absl-py typing_extensions toolz wadler-lindig beartype
msgpack rich tqdm multipledispatch treescope PyYAML humanize tensorstore nest_asyncio simplejson
etils[epath,epy] protobuf cloudpickle decorator gast dm-tree tabulate jmp fastprogress dm-env
six plum-dispatch ordered_set ml-collections mujoco trimesh flask flask-cors jinja2 pillow
svgwrite aiofiles matplotlib gymnasium seaborn
""".split()
"""Packages that the libraries need besides JAX. Libraries are installed without dependencies,
because jax must not be installed in the environment of tanx."""

TESTS = """
pytest pytest-asyncio typeguard==2.13.3 parameterized mock scikit-learn dill ipython
minatar dotmap
""".split()
"""Packages that the libraries' tests need (``suites.py``)."""

ON_JAX = ["mujoco-mjx"]
"""Packages among these that depend on JAX; also installed without dependencies."""


@dataclass(frozen=True)
class Outcome:
    """The output of a program on one of the systems, or its error."""

    seconds: float = 0.0
    result: dict | None = None
    tolerance: dict | None = None
    figures: dict | None = None  # measured by the program itself
    error: str = ""


def make(folder: Path) -> None:
    """Make both environments."""
    for name, extra in (("tanx", []), ("jax", ["jax==0.11.2", "jaxlib==0.11.2"])):
        subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
        pip = [folder / name / "bin" / "pip", "install", "--quiet"]
        subprocess.run([*pip, *BESIDE, *TESTS, *extra], check=True)
        subprocess.run([*pip, "--no-deps", *ON_JAX, *sorted(set(LIBRARIES.values()))], check=True)


def run(python: Path, program: Path, as_jax: bool, limit: float) -> Outcome:
    """Run a program by an interpreter."""
    command = [python, HERE / "run.py", program, *(["--as-jax"] if as_jax else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit,
                              env={**os.environ, "PYTHONPATH": paths(as_jax)})
    except subprocess.TimeoutExpired:
        return Outcome(error=f"took more than {limit:.0f} s")
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return Outcome(error=lines[-1] if lines else f"exit code {done.returncode}")
    return Outcome(**json.loads(done.stdout.splitlines()[-1]))


def difference(ours: Outcome, theirs: Outcome) -> str:
    """The first difference of results; empty if they agree."""
    assert ours.result is not None and theirs.result is not None
    for path in theirs.result.keys() | ours.result.keys():
        a, b = ours.result.get(path), theirs.result.get(path)
        if a is None or b is None:
            return f"{path} is missing in {'tanx' if a is None else 'JAX'}"
        if a["shape"] != b["shape"] or a["dtype"] != b["dtype"]:
            return f"{path}: {a['dtype']}{a['shape']}, JAX {b['dtype']}{b['shape']}"
        named = re.match(r"\['(\w+)'\]", path)
        limit = (theirs.tolerance or {}).get(named[1] if named else "", TOLERANCE)
        for x, y in zip(a["values"], b["values"]):
            if not (x == y or math.isnan(x) and math.isnan(y)
                    or abs(x - y) <= limit * max(1.0, abs(x), abs(y))):
                return f"{path}: {x:.7g}, JAX {y:.7g}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--write", action="store_true", help="put the rows into the page")
    options = parser.parse_args()
    if options.make:
        make(options.folder)
    rows, wrong = {}, 0
    for name, library in LIBRARIES.items():
        if not re.search(options.only, name):
            continue
        program = HERE / "programs" / f"{name}.py"
        ours = run(options.folder / "tanx/bin/python", program, True, options.limit)
        theirs = run(options.folder / "jax/bin/python", program, False, options.limit)
        if theirs.error:
            verdict = f"does not run on JAX: {theirs.error}"
        elif ours.error:
            verdict = ours.error
        else:
            verdict = difference(ours, theirs) or "same numbers"
        wrong += verdict != "same numbers"
        rows[name] = (f"| {name} | {library} | {verdict[:200]} | {ours.seconds:.1f} | "
                      f"{theirs.seconds:.1f} |")
        print(rows[name], flush=True)
    if options.write:
        tables.write(HEAD, rows, LIBRARIES)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
