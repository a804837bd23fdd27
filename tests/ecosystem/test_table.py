"""The table of the ecosystem: each program has its row, and differences are found."""

import importlib.util
import subprocess
import sys

import pytest

from tests.ecosystem import gaps
from tests.ecosystem.__main__ import HEAD, HERE, LIBRARIES, Outcome, difference, run
from tests.ecosystem.tables import PAGE, merged
from tests.ecosystem.well_known import __main__ as well_known


def test_each_program_has_a_row():
    assert sorted(LIBRARIES) == sorted(p.stem for p in (HERE / "programs").glob("*.py"))


def leaf(*values, dtype="float32"):
    return {"dtype": dtype, "shape": [len(values)], "values": list(values)}


@pytest.mark.parametrize("ours, theirs, tolerance, found", [
    (leaf(1.0), leaf(1.00001), {}, ""),
    (leaf(1.0), leaf(1.01), {}, "['x']: 1, JAX 1.01"),
    (leaf(1.0), leaf(1.01), {"x": 0.1}, ""),
    (leaf(float("nan")), leaf(float("nan")), {}, ""),
    (leaf(1.0), leaf(float("nan")), {}, "['x']: 1, JAX nan"),
    (leaf(1.0), leaf(1.0, dtype="float64"), {}, "['x']: float32[1], JAX float64[1]"),
])
def test_differences(ours, theirs, tolerance, found):
    assert difference(Outcome(result={"['x']": ours}),
                      Outcome(result={"['x']": theirs}, tolerance=tolerance)) == found


def test_new_rows_take_the_places_of_old_ones():
    text = "Before.\n\n| name | n |\n|---|---|\n| a | 1 |\n| c | 3 |\n\nBehind.\n"
    rows = {"b": "| b | 2 |", "c": "| c | 4 |"}
    assert merged(text, "| name | n |", rows, "abcd") == (
        "Before.\n\n| name | n |\n|---|---|\n| a | 1 |\n| b | 2 |\n| c | 4 |\n\nBehind.\n")
    with pytest.raises(ValueError, match="no table"):
        merged(text, "| other |", rows, "abc")


@pytest.mark.parametrize("head", [HEAD, well_known.HEAD, gaps.HEAD])
def test_the_page_has_the_tables(head):
    assert f"{head}\n" in PAGE.read_text(encoding="utf-8")


def test_gaps_of_libraries():
    report = ("one: 3 names of JAX are missing in tanx\n  sys.path    a.py:1\n"
              "  json.no_such_name    a.py:2\n  sys.path.append    a.py:3\n"
              "two: tanx has every name of JAX that it uses\n")
    found = gaps.parsed(report)
    assert found == {"one": ["sys.path", "json.no_such_name", "sys.path.append"], "two": []}
    in_jax = gaps.existing(sys.executable, found["one"])
    assert gaps.row("one", found["one"], in_jax) == "| one | `sys.path` | 1 |"
    assert gaps.row("two", found["two"], in_jax) == "| two | none | 0 |"


@pytest.mark.skipif(importlib.util.find_spec("jax") is not None, reason="runs beside no real jax")
def test_a_program_is_run(tmp_path):
    """With tanx as jax; its results are returned, or its error if it fails."""
    program = tmp_path / "program.py"
    program.write_text("import jax.numpy as jnp\nRESULT = {'x': jnp.arange(2.0), 'n': 3}\n")
    done = run(sys.executable, program, True, 60.0)
    assert done.error == "" and done.result["['x']"] == leaf(0.0, 1.0)
    program.write_text("import jax\njax.no_such_name\n")
    assert "no attribute 'no_such_name'" in run(sys.executable, program, True, 60.0).error


def test_the_command_explains_itself():
    done = subprocess.run([sys.executable, "-m", "tests.ecosystem", "--help"], cwd=HERE.parents[1],
                          capture_output=True, text=True, check=True)
    assert "--make" in done.stdout
