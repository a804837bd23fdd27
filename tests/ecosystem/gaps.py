"""List the names of JAX that libraries use and tanx lacks, for each library of the table.

    python -m tests.ecosystem.gaps FOLDER [--write]

FOLDER has the environments that ``python -m tests.ecosystem --make`` makes. The names come from
``python -m tanx.as_jax --gaps`` in the environment of tanx. Names that JAX itself lacks, too, are
only counted: libraries keep them in branches for its older versions. ``--write`` puts the rows
into docs/from_jax.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tests.ecosystem import paths, tables

HEAD = "| library | JAX 0.11.2 has them, tanx lacks them | both lack |"

PACKAGES = """
optax chex jaxtyping equinox flax numpyro diffrax lineax optimistix distrax tensorflow_probability
flashbax haiku blackjax jraph treeo gymnax jaxopt rlax mctx orbax einops brax evosax pgx quax penzai
""".split()
"""The libraries, by the names that they are imported by."""

HAS = """
import importlib, json, sys, warnings

def has(name):
    path, *rest = name.split(".")
    found = importlib.import_module(path)
    for part in rest:
        path += "." + part
        try:
            found = getattr(found, part) if hasattr(found, part) else importlib.import_module(path)
        except ImportError:
            return False
    return True

warnings.simplefilter("ignore")
print(json.dumps([name for name in json.load(sys.stdin) if has(name)]))
"""
"""A program that reads a list of names and prints those that exist."""


def missing(python: Path, packages: list[str]) -> dict[str, list[str]]:
    """The names that tanx lacks, by package; ``python`` is the interpreter of its environment."""
    done = subprocess.run([python, "-m", "tanx.as_jax", "--gaps", *packages], text=True, check=True,
                          stdout=subprocess.PIPE, env={"PYTHONPATH": paths(True)})
    return parsed(done.stdout)


def parsed(report: str) -> dict[str, list[str]]:
    """The names in a report, by package."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in report.splitlines():
        if line.startswith(" "):
            names.append(line.split()[0])
        else:
            names = found[line.split(":")[0]] = []
    return found


def existing(python: Path, names: list[str]) -> set[str]:
    """Those of the names that exist in an environment."""
    done = subprocess.run([python, "-c", HAS], input=json.dumps(names), text=True, check=True,
                          stdout=subprocess.PIPE)
    return set(json.loads(done.stdout))


def row(package: str, names: list[str], in_jax: set[str]) -> str:
    """The row of a library: names that only tanx lacks, without those below others of them."""
    ours = [name for name in names if name in in_jax]
    tops = [name for name in ours if not any(name.startswith(f"{other}.") for other in ours)]
    listed = ", ".join(f"`{name}`" for name in tops) or "none"
    return f"| {package} | {listed} | {len(names) - len(ours)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="put the rows into the page")
    options = parser.parse_args()
    found = missing(options.folder / "tanx/bin/python", PACKAGES)
    in_jax = existing(options.folder / "jax/bin/python", sorted(set().union(*found.values())))
    rows = {package: row(package, names, in_jax) for package, names in found.items()}
    print("\n".join(rows.values()))
    if options.write:
        tables.write(HEAD, rows, PACKAGES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
