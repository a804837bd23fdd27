"""Run the cells of JAX's documentation on JAX and on tanx, and compare what they show.

    python -m tests.ecosystem.tutorials FOLDER --jax PYTHON --tanx PYTHON [--only REGEX] [--show]

FOLDER is a checkout of JAX's documentation; nothing is fetched. Each page is run twice, by an
interpreter with JAX and by one with tanx under the alias, on one CPU device. The last lines are a
table of cells: run, equal, different (on purpose, or not), skipped, and the reasons for which cells
are skipped.
``--show`` prints what differs, ``--why`` each cell that is skipped and the reason, ``--keep``
stores what JAX shows for the next time.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.ecosystem import paths
from tests.ecosystem.pages import Cell, cells, pages

HERE = Path(__file__).parent

NOT_RUN = {
    r"(^|/)pallas": "Pallas",
    r"cute": "kernels for GPUs",
    r"colocated-python": "several hosts",
    r"(^|/)profiling": "waits for a browser",
    r"(^|/)(multi_?process|multi-process|fault[-_]tolerance)": "several hosts",
    r"(distributed_data_loading|data-loading)": "several hosts",
    r"(Neural_Network_and_Data_Loading|neural_network_with_tfds_data)": "downloads data",
}
"""Pages that are not run, by their names, and why."""

SEVERAL_DEVICES = re.compile(r"(?m)^.*(jax_num_cpu_devices|host_platform_device_count).*$")
"""Lines that request more CPU devices: they are removed, and cells that need them fail on JAX."""

TAKES_MINUTES = re.compile(r"DIM = 7168|offload_opt_state")
"""Cells that are left out: products of large matrices, whose results JAX does not wait for."""

CELLS_NOT_RUN = {
    r"""(as_text|compiler_ir)\((dialect=)?["']hlo["']|compile\(\)\.as_text""": "text of XLA",
    r"(extend|_src)\.?\w* import (mlir|ir)\b|extend\.mlir|interpreters import mlir":
        "builds MLIR by XLA's bindings",
    r"pallas|mosaic": "Pallas",
    r"mlir\.custom_call|mlir\.dialects": "builds MLIR by XLA's bindings",
    r"^len\(\w+\.mlir_module_serialized\)": "bytes of a file",
    TAKES_MINUTES.pattern: "takes minutes",
}
"""Cells that are not compared, by text that they contain, and why. Later cells of the page that
fail because of them are not compared either."""


ON_PURPOSE = {
    r"^\s*jax\.jacobian\(lambda x: x\)\(tree\)": "an error of another class: JAX builds the tree "
                                                 "of Nones first",
    r"exp\.nr_devices|in_shardings_jax\(export_mesh": "several devices",
    r"temp_size_in_bytes": "temporaries take less memory",
    r"\bcustom_remat\b": "jax.custom_remat, which JAX 0.12 removed",
    r"fns = .* dir\(random\)|print\(.*for x in fns\)\)": "jax.random.Key, which JAX 0.12 has",
    r"x\.reshape\(jnp\.array\(x\.shape\)\.prod\(\)\)": "it depends on no argument",
    r"^c\.mul = False": "a change of a static object is seen (docs/gotchas/01_static_state.md)",
}
"""Cells that show something else than on JAX, by text that they contain, and why."""


REASONS = {
    r"devices|mesh|sharding|PartitionSpec": "several devices",
    r"(?i)gpu|cuda|tpu|triton|mosaic": "a GPU or TPU",
    r"SyntaxError|IndentationError": "no Python: a sketch",
    r"NameError|UnboundLocalError": "fails on JAX: uses a name that no cell before it makes",
    r"ModuleNotFoundError|ImportError": "needs another package, or another version of JAX",
    r"JAX here": "fails on JAX, too",
    r"needs a cell before": "needs a cell before that is not run",
}
"""Short forms of the reasons for skipping cells, by patterns of the long forms."""


@dataclass(frozen=True)
class Outcome:
    """The text of a cell, and classes, messages and base classes of exceptions that it catches."""

    text: str = ""
    error: str = ""
    message: str = ""
    caught: tuple = ()

    def without_messages(self, classes: Sequence[str]) -> str:
        """The text, with the message of an exception replaced by its class.

        If JAX raises one of its ``classes``, a class derived from it is accepted: code that catches
        the one catches the other.
        """
        text = self.text
        for (kind, message, bases), wanted in zip(self.caught, classes):
            for part in (message, message.split("\n")[0]):
                if part:
                    text = text.replace(part, f"<{wanted if wanted in bases else kind}>")
        return text


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison: "equal", "words" (another message of an error), "digits" (numbers
    that differ by less than ``DIGITS``), "different" or "skipped"; and the reason for skipping, or
    the difference."""

    kind: str
    reason: str = ""


# ---------------------------------------------------------------------------- what is compared

DIGITS = 0.01
"""The tolerance for numbers that suffer from cancellation, such as finite differences."""

_VARIES = [
    (r"0x[0-9a-f]{6,}|(?<![\w.])\d{13,15}\b(?!\.\d)", "ADDRESS"),
    (r"\b\d+(\.\d+)?(e-?\d+)? ?(ns|us|µs|μs|ms|s|sec|seconds)\b", "TIME"),
    (r"/tmp/[\w./-]+", "PATH"),
    (r"(?m)^(Invalid nan value encountered|For simplicity, JAX has removed|-{20}$).*\n?", ""),
    (r"#loc\d* = .*\n|loc\([^)]*\)", ""),
    (r"<class '[\w.]*?(\w+?)(Impl)?'>", r"<class '\1'>"),
    (r"Typed(?:Int|Float|Complex)\((.*?), dtype=\w+\)", r"\1"),  # JAX's own Python numbers
    (r"\btanx\b", "jax"),
]
_TOKEN = re.compile(r"(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])|\d+\.\d*(?=j)"
                    r"|%\w+|\w+|[^\w\s]")


def tokens(text: str) -> list[str]:
    """Words, numbers and signs without parts that vary from run to run; names of values in
    StableHLO are numbered in order."""
    for pattern, by in _VARIES:
        text = re.sub(pattern, by, text)
    values: dict[str, str] = {}
    return [values.setdefault(t, f"%{len(values)}") if t.startswith("%") and len(t) > 1 else t
            for t in _TOKEN.findall(text)]


def same(ours: str, theirs: str, in_order: bool = True, rounding: float = 1e-4) -> bool:
    """Whether two texts are equal up to rounding, spaces, and parts that vary from run to run; with
    ``in_order=False`` also up to the order of lines."""
    if not in_order:
        ours, theirs = ("\n".join(sorted(text.splitlines())) for text in (ours, theirs))
    a, b = tokens(ours), tokens(theirs)
    return len(a) == len(b) and all(x == y or _close(x, y, rounding) for x, y in zip(a, b))


def _close(x: str, y: str, rounding: float) -> bool:
    """Whether two tokens are floating point numbers that differ by rounding."""
    try:
        return ("." in x or "." in y or "e" in x) and math.isclose(float(x), float(y),
                                                                  rel_tol=rounding, abs_tol=2e-6)
    except ValueError:
        return False


def verdict(cell: Cell, ours: Outcome, theirs: Outcome, in_order: bool = True) -> Verdict:
    """Compare the output of a cell on both systems."""
    if theirs.error and (not cell.may_raise or theirs.error == "NameError" != ours.error):
        return Verdict("skipped", f"on JAX here: {theirs.error}: {theirs.message[:100]}")
    same_class = ours.error == theirs.error or ours.error and theirs.error == "Exception"
    if not same_class:
        return Verdict("different", f"raises {ours.error or 'nothing'}, on JAX "
                       f"{theirs.error or 'nothing'}\n{ours.message or theirs.message}")
    if same(ours.text, theirs.text, in_order):
        first = [(o.message.splitlines() or [""])[0] for o in (ours, theirs)]
        return Verdict("equal" if same(*first) else "words")
    classes = [kind for kind, *_ in theirs.caught]
    if len(ours.caught) == len(classes) and same(
            ours.without_messages(classes), theirs.without_messages(classes), in_order):
        return Verdict("words")
    if same(ours.text, theirs.text, in_order, DIGITS):
        return Verdict("digits")
    return Verdict("different", "\n".join(difflib.unified_diff(
        theirs.text.splitlines(), ours.text.splitlines(), "JAX", "tanx", n=1, lineterm="")))


# ---------------------------------------------------------------------------- running


def run(python: Path, sources: list[str], as_jax: bool, seconds: int) -> list[Outcome]:
    """The outcomes of the cells of a page on one system."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "cells.json"), Path(folder, "outcomes.json")
        given.write_text(json.dumps(sources), encoding="utf-8")
        found.touch()
        command = [python, HERE / "run_page.py", given, found, str(seconds)]
        try:
            done = subprocess.run(
                [*command, *(["--as-jax"] if as_jax else [])], cwd=folder, check=False,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30 * seconds,
                env={**os.environ, "PYTHONPATH": paths(as_jax),
                     "JAX_PLATFORMS": "cpu", "MPLBACKEND": "Agg", "PYTHONHASHSEED": "0"})
            last = f"exit code {done.returncode}: {(done.stderr.splitlines() or [''])[-1]}"
        except subprocess.TimeoutExpired:
            last = f"the page took more than {30 * seconds} s"
        outcomes = [Outcome(**json.loads(line)) for line in found.read_text().splitlines()]
    lost = Outcome(error="ProcessEnded", message=last)
    return outcomes + [lost] * (len(sources) - len(outcomes))


def kept(folder: Path | None, python: Path, sources: list[str], seconds: int) -> list[Outcome]:
    """The outcomes on JAX, from a folder if these cells were run before."""
    if folder is None:
        return run(python, sources, False, seconds)
    runner = (HERE / "run_page.py").read_text(encoding="utf-8")
    name = hashlib.sha256(json.dumps([str(python), runner, sources]).encode()).hexdigest()[:24]
    file = folder / f"{name}.json"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        outcomes = run(python, sources, False, seconds)
        file.write_text(json.dumps([vars(o) for o in outcomes]), encoding="utf-8")
    return [Outcome(**o) for o in json.loads(file.read_text(encoding="utf-8"))]


def compare(page: list[Cell], options: argparse.Namespace) -> list[Verdict]:
    """The verdict on each cell of a page."""
    sources = ["" if TAKES_MINUTES.search(cell.source) else SEVERAL_DEVICES.sub("pass", cell.source)
               for cell in page]
    theirs = kept(options.keep, options.jax, sources, options.seconds)
    ours = run(options.tanx, sources, True, options.seconds)
    verdicts, in_order, lacking = [], True, ""
    for cell, mine, other in zip(page, ours, theirs):
        in_order &= re.search(r"debug\.|callback", cell.source) is None  # without a specified order
        why = next((w for p, w in CELLS_NOT_RUN.items() if re.search(p, cell.source)), "")
        lacking = lacking or why
        if "skip-execution" in cell.tags:
            found = Verdict("skipped", "marked so")
        elif why or lacking and mine.error in ("NameError", "KeyError", "NotImplementedError"):
            found = Verdict("skipped", why or f"needs a cell before ({lacking})")
        else:
            found = verdict(cell, mine, other, in_order)
        purpose = next((w for p, w in ON_PURPOSE.items()
                        if re.search(p, cell.source, re.MULTILINE)), "")
        if found.kind == "different" and purpose:
            found = Verdict("on purpose", purpose)
        verdicts.append(found)
    return verdicts


def kind_of(reason: str) -> str:
    """The short form of a reason for skipping a cell."""
    return next((words for pattern, words in REASONS.items() if re.search(pattern, reason)), reason)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jax", type=Path, required=True, help="a Python with JAX")
    parser.add_argument("--tanx", type=Path, default=Path(sys.executable))
    parser.add_argument("--only", default="", help="pages whose names match")
    parser.add_argument("--seconds", type=int, default=60, help="processor time for a cell")
    parser.add_argument("--keep", type=Path, help="folder for what JAX shows")
    parser.add_argument("--show", action="store_true", help="print what differs")
    parser.add_argument("--why", action="store_true", help="print why cells are skipped")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    kinds = ("equal", "words", "digits", "on purpose", "different", "skipped")
    total: Counter = Counter()
    reasons: Counter = Counter()
    rows = ["| page | cells | run | equal | other words | other digits | other on purpose "
            "| different | skipped |", "|---|---|---|---|---|---|---|---|---|"]
    for path in pages(options.folder):
        name = path.relative_to(options.folder).as_posix()
        if not re.search(options.only, name):
            continue
        page = cells(path)
        why = next((why for pattern, why in NOT_RUN.items() if re.search(pattern, name)), None)
        verdicts = ([Verdict("skipped", why)] * len(page) if why else compare(page, options))
        count = Counter(v.kind for v in verdicts)
        total += count
        reasons.update(kind_of(v.reason) for v in verdicts if v.kind == "skipped")
        done = len(page) - count["skipped"]
        rows.append(f"| {name} | {len(page)} | {done} | "
                    + " | ".join(str(count[k]) for k in kinds) + " |"
                    + (f" {why} |" if why else ""))
        print(rows[-1], flush=True)
        for cell, found in zip(page, verdicts):
            if options.show and found.kind == "different":
                print(f"--- {name}:{cell.line}\n{cell.source}\n... {found.reason}\n", flush=True)
            if options.why and not why and found.kind in ("on purpose", "skipped"):
                print(f"    {name}:{cell.line} {found.kind}: {found.reason}")
    done = sum(total.values()) - total["skipped"]
    rows.append(f"| all | {sum(total.values())} | {done} | "
                + " | ".join(str(total[k]) for k in kinds) + " |")
    print("\n".join(["", *rows, "", *(f"{count:5} skipped: {why}"
                                     for why, count in reasons.most_common())]))
    return int(total["different"] > 0)


if __name__ == "__main__":
    sys.exit(main())
