"""Run the table of calls on tanx and on JAX, and report what differs.

    python -m tests.oracle.sweep [WORD ...]       # only calls that contain one of the words
    python -m tests.oracle.sweep --part 3/16      # each sixteenth call, from the third on

JAX compiles for each shape and dtype, which takes most of the time, so its outcomes are stored in a
file, by the call and by the code that runs calls.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import itertools
import os
import pickle
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from tests.oracle import operands, system
from tests.oracle.calls.call import Call
from tests.oracle.compare import difference
from tests.oracle.differences import reason
from tests.oracle.system import Failure, Outcome, System

__all__ = ["Oracle", "Verdict", "calls", "main"]

TABLES = sorted(path.stem for path in Path(__file__).with_name("calls").glob("*.py")
                if path.stem != "call")


def calls() -> list[Call]:
    """All calls of all tables, each once."""
    tables = [importlib.import_module(f"tests.oracle.calls.{name}").CALLS for name in TABLES]
    return list(dict.fromkeys(itertools.chain.from_iterable(tables)))


class Verdict(str):
    """The result of a comparison: ``agrees``, ``missing``, or the difference."""

    @property
    def differs(self) -> bool:
        return self not in ("agrees", "missing")


class Oracle:
    """tanx, and JAX with a cache of its outcomes."""

    def __init__(self, folder: Path):
        source = b"".join(Path(m.__file__).read_bytes() for m in (operands, system))
        self.path = folder / f"jax-{hashlib.sha256(source).hexdigest()[:12]}.pickle"
        self.answers: dict[Call, Outcome | Failure] = {}
        if self.path.exists():
            self.answers = pickle.loads(self.path.read_bytes())
        self.fresh = 0
        self.tanx = System("tanx")

    @cached_property
    def jax(self) -> System:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        # The time to compile matters here, the time to run does not.
        os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
        return System("jax")

    def answer(self, call: Call) -> Outcome | Failure:
        """The outcome of the call on JAX."""
        if call not in self.answers:
            self.answers[call] = self.jax.run(*call)
            self.fresh += 1
            if self.fresh % 500 == 0:
                self.jax.jax.clear_caches()
                self.save()
        return self.answers[call]

    def judge(self, call: Call) -> Verdict:
        """Compare the outcomes of the call on tanx and on JAX."""
        theirs, ours = self.answer(call), self.tanx.run(*call)
        if (isinstance(ours, Failure) and "has no attribute" in ours.text
                and not (isinstance(theirs, Failure) and "AttributeError" in theirs.classes)):
            return Verdict("missing")
        return Verdict(difference(theirs, ours) or "agrees")

    def save(self) -> None:
        """Store the outcomes for the next run."""
        if self.fresh:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_bytes(pickle.dumps(self.answers))


def chosen(words: Sequence[str], part: str) -> list[Call]:
    """The part ``K/N`` of the calls that contain one of the words; without words, of all calls."""
    number, parts = map(int, part.split("/"))
    found = [call for call in calls() if not words or any(word in call.text for word in words)]
    return found[number - 1::parts]


def main() -> None:
    """Print each difference without a reason, missing functions, and counts."""
    parser = argparse.ArgumentParser(description="compare tanx with JAX, call by call")
    parser.add_argument("words", nargs="*", help="run only calls that contain one of these")
    parser.add_argument("--part", default="1/1", metavar="K/N",
                        help="run each N-th call from the K-th on: one process for each part")
    options = parser.parse_args()
    kept = "oracle" if options.part == "1/1" else f"oracle-{options.part.replace('/', '-')}"
    oracle = Oracle(Path(".pytest_cache/d") / kept)
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    for call in chosen(options.words, options.part):
        verdict = oracle.judge(call)
        why = reason(call) if verdict.differs else None
        counts["known" if why else "differs" if verdict.differs else verdict] += 1
        if why:
            reasons[why] += 1
        elif verdict.differs:
            print(f"{call.mode:9} {call.text}\n          {verdict}", flush=True)
        elif verdict == "missing":
            missing[call.group] += 1
    oracle.save()
    for why, count in reasons.items():
        print(f"{count:4}  {why}")
    if missing:
        print("missing:", *missing)
    print(*(f"{name}: {count}" for name, count in counts.items()), sep=", ")


if __name__ == "__main__":
    main()
