"""The runner of libraries' tests: outcomes, crashes, limits, samples, and the table."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.ecosystem import suites
from tests.ecosystem.outcomes import Outcomes
from tests.ecosystem.suites import (
    Count,
    Environment,
    Outcome,
    Suite,
    counts_on,
    read,
    reason,
    run,
    table,
    write,
)

TESTS = """
import os, time
import jax, pytest
jax.numpy.ones(2).sum() == 3

def test_passes():
    assert jax.numpy.ones(2).sum() == 2

def test_fails():
    assert jax.numpy.ones(2).sum() == 3

def test_skips():
    pytest.skip("not today")

def test_ends_the_process():
    os._exit(1)

def test_takes_long():
    while True:
        pass

def test_sleeps_long():
    time.sleep(600)

def test_comes_last():
    pass
"""


class Here(Environment):
    """This interpreter, with tanx as jax."""

    python = Path(sys.executable)


def test_outcomes(tmp_path):
    """After a crash the next test runs in a new process; failures to import have a reason."""
    folder = tmp_path / "src" / "library" / "tests"
    folder.mkdir(parents=True)
    (folder / "test_it.py").write_text(TESTS)
    (folder / "test_other.py").write_text("import jax.no_such_module")
    here, suite = Here(tmp_path, as_jax=True), Suite(("tests",), checkout=True)
    found = run(here, "library", suite, limit=0.5)
    name = "tests/test_it.py::test_"
    assert {test.removeprefix(name): outcome.outcome for test, outcome in found.items()} == {
        "passes": "passed", "fails": "failed", "skips": "skipped", "ends_the_process": "crashed",
        "takes_long": "failed", "sleeps_long": "failed", "comes_last": "passed",
        "tests/test_other.py": "not collected"}
    assert "assert Array(2., dtype=float32) == 3" in found[name + "fails"].error
    for long in ("takes_long", "sleeps_long"):
        assert "longer than its limit" in found[name + long].error
    assert "no_such_module" in reason("tests/test_other.py::test_x", found)
    assert "2 failed" in (tmp_path / "suites" / "library-tanx.log").read_text()


def test_failed_tests_run_again_alone(tmp_path):
    folder = tmp_path / "src" / "library" / "tests"
    folder.mkdir(parents=True)
    (folder / "test_it.py").write_text("""
before = []
def test_first(): before.append(1)
def test_depends_on_order(): assert not before
def test_fails(): assert False
""")
    here, suite = Here(tmp_path, as_jax=True), Suite(("tests",), checkout=True)
    name, found = "tests/test_it.py::test_", run(here, "library", suite)
    assert [found[name + test].outcome for test in ("first", "depends_on_order", "fails")] == [
        "passed", "failed", "failed"]
    found = suites.run_alone(here, "library", suite, found, 60.0)
    assert [found[name + test].outcome for test in ("first", "depends_on_order", "fails")] == [
        "passed", "passed", "failed"]
    assert read(tmp_path / "suites" / "library-tanx.jsonl") == (found, None)


def test_tests_may_import_each_other(tmp_path):
    """A library's package of tests may have the name of the package that runs them."""
    folder = tmp_path / "src" / "library" / "tests"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "helper.py").write_text("VALUE = 1")
    (folder / "inner" / "test_it.py").write_text(
        "from tests.helper import VALUE\ndef test_value(): assert VALUE == 1")
    suite = Suite(("tests/inner",), checkout=True)
    found = run(Here(tmp_path, as_jax=True), "library", suite)
    assert [outcome.outcome for outcome in found.values()] == ["passed"]


@pytest.mark.parametrize("every, only, skip, chosen", [
    (1, None, [], "abcdef"), (3, None, [], "ad"), (3, None, ["d"], "a"),
    (3, ["b", "file::f"], [], "bf"), (3, ["file"], [], "ef")])
def test_choice(tmp_path, every, only, skip, chosen):
    """Known outcomes do not change the sample; a file name selects all its tests."""
    items = [SimpleNamespace(nodeid=name) for name in [*"abcd", "file::e", "file::f"]]
    plugin = Outcomes({"every": every, "only": only, "skip": skip, "report": tmp_path / "report"})
    plugin.pytest_collection_modifyitems(items)
    assert "".join(item.nodeid.removeprefix("file::") for item in items) == chosen


def test_tests_of_a_file_that_is_not_collected_count(tmp_path, monkeypatch):
    outcomes = {
        True: {"a::x": Outcome("passed"), "a::y": Outcome("failed"), "b": Outcome("not collected")},
        False: {"a::y": Outcome("failed"), "c::x": Outcome("passed"), "b::y": Outcome("failed"),
                **{f"b::{i}": Outcome("passed") for i in range(3)}}}
    asked = []

    def fake(environment, name, suite, only=None, **options):
        asked.append(only)
        return outcomes[environment.as_jax]

    monkeypatch.setattr(suites, "run", fake)
    monkeypatch.setattr(suites, "run_alone", lambda *given: given[3])
    assert suites.measure_failing(tmp_path, "optax", 1, 1.0) == (4, 1)
    assert suites.measure_failing(tmp_path, "optax", 2, 1.0) == (3, 1)
    assert asked == [None, ["a::y", "b"]] * 2


def test_interrupted_reports_are_read(tmp_path):
    """Outcomes are read from a report whose last test did not end."""
    report = tmp_path / "report"
    rows = [("a", "started"), ("a", "passed"), ("b", "started")]
    report.write_text("".join(
        json.dumps({"test": test, "outcome": outcome, "seconds": 1.0, "error": ""}) + "\n"
        for test, outcome in rows))
    assert read(report) == ({"a": Outcome("passed", 1.0)}, "b")


def test_table(tmp_path):
    """Counts that are written are read back; rows of other libraries and other text stay."""
    page = tmp_path / "page.md"
    before = table({"chex": Count(10, 9), "optax": Count(3, 3, 5)})
    page.write_text(f"Before\n\n{before}\n\nAfter\n")
    write(page, {"chex": Count(20, 20)})
    text = page.read_text()
    assert counts_on(text) == {"chex": Count(20, 20), "optax": Count(3, 3, 5)}
    assert "| chex | all | 20 | 20 | 100.0 % |\n| optax | 1 in 5 | 3 | 3 | 100.0 % |" in text
    assert text.startswith("Before\n\n| library") and text.endswith("|\n\nAfter\n")


def test_the_page_has_the_table():
    counts = counts_on(suites.PAGE.read_text(encoding="utf-8"))
    assert counts and counts.keys() <= suites.SUITES.keys()


@pytest.mark.parametrize("name", suites.SUITES)
def test_configuration_of_a_suite(name):
    """Installed packages have no pytest configuration: that of a parent folder is not read."""
    suite = suites.SUITES[name]
    arguments = suites.pytest_arguments(Path("root"), suite)
    assert ("-c" in arguments) is not suite.checkout
