"""Run the table of calls on tanx and on JAX, and report what differs.

    python -m tests.oracle.sweep [WORD ...]       # only calls that contain one of the words

JAX compiles anew for each shape and dtype, which takes most of the time, so its answers are kept
in a file, by the call and the version of JAX.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import os
import pickle
import sys
from collections import Counter
from functools import cached_property
from pathlib import Path

from tests.oracle import operands, system
from tests.oracle.calls.call import Call
from tests.oracle.compare import difference
from tests.oracle.differences import reason
from tests.oracle.system import Failure, Outcome, System

__all__ = ["Oracle", "calls", "main"]

TABLES = sorted(path.stem for path in Path(__file__).with_name("calls").glob("*.py")
                if path.stem != "call")


def calls() -> list[Call]:
    """All calls of all tables, each once."""
    tables = [importlib.import_module(f"tests.oracle.calls.{name}").CALLS for name in TABLES]
    return list(dict.fromkeys(itertools.chain.from_iterable(tables)))


class Oracle:
    """JAX, with a memory of what it answered."""

    def __init__(self, folder: Path):
        source = b"".join(Path(m.__file__).read_bytes() for m in (operands, system))
        self.path = folder / f"jax-{hashlib.sha256(source).hexdigest()[:12]}.pickle"
        self.answers: dict[Call, Outcome | Failure] = {}
        if self.path.exists():
            self.answers = pickle.loads(self.path.read_bytes())
        self.fresh = 0

    @cached_property
    def system(self) -> System:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        # Quick to compile matters here, quick to run does not.
        os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
        return System("jax")

    def answer(self, call: Call) -> Outcome | Failure:
        """What JAX gives for the call."""
        if call not in self.answers:
            self.answers[call] = self.system.run(*call)
            self.fresh += 1
            if self.fresh % 500 == 0:
                self.system.jax.clear_caches()
                self.save()
        return self.answers[call]

    def save(self) -> None:
        """Keep what was answered for the next time."""
        if self.fresh:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_bytes(pickle.dumps(self.answers))


def main(words: list[str]) -> None:
    """Print each difference that has no reason, and the counts."""
    oracle = Oracle(Path(".pytest_cache/oracle"))
    tanx = System("tanx")
    counts: Counter[str] = Counter()
    for call in calls():
        if words and not any(word in call.text for word in words):
            continue
        theirs = oracle.answer(call)
        ours = tanx.run(*call)
        if isinstance(ours, Failure) and "has no attribute" in ours.text and isinstance(
                theirs, Outcome):
            counts["missing"] += 1
            continue
        found = difference(theirs, ours)
        why = reason(call)
        counts["agree" if found is None else "known" if why else "differ"] += 1
        if found and not why:
            print(f"{call.mode:9} {call.text}\n          {found}")
        if not found and why:
            print(f"{call.mode:9} {call.text}\n          agrees, though it is listed: {why}")
    oracle.save()
    print(dict(counts))


if __name__ == "__main__":
    main(sys.argv[1:])
