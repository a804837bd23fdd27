"""The duel itself: a worker answers, survives errors, and results become tables and a picture."""

import os
import subprocess
import sys
from itertools import count
from xml.etree import ElementTree

import pytest

from benchmarks import beside, chart, report
from benchmarks.beside import Seconds
from benchmarks.contestant import ROOT, Contestant, Failure
from benchmarks.duel import run
from benchmarks.timing import time_of_call

SCALAR = "jit: x + 1, a scalar"


def record(tanx, jax=None, family="elementwise", **more):
    seconds = {"tanx": tanx} | ({"jax": jax} if jax else {})
    return {"family": family, "seconds": seconds, "errors": {}, "memory": False, "flops": None,
            **more}


RESULT = {
    "machine": {"processor": "some", "cores": 2, "copy": 10e9, "read": 5e9,
                "write": 8e9, "peak": 80e9},
    "systems": {"tanx": "1", "jax": "2"},
    "imports": {"import": {"tanx": 0.1, "jax": 0.9}},
    "cases": {
        "fast": record(10e-3, 40e-3, memory=True, read=30_000_000, written=10_000_000,
                       first={"tanx cold": 1, "jax cold": 3}),
        "slow <&>": record(2e-3, 1e-3, flops=8e7),
        "broken": record(1e-3, 1e-3, "sort") | {"errors": {"jax": "Oops"}},
        "wrong": record(1e-3, 4e-3, "sort", disagrees={"jax": "1 against 2"}),
    },
}


def test_a_worker_answers_and_outlives_an_error():
    with Contestant("tanx", sys.executable) as one:
        assert one.ask("measure", case=SCALAR, seconds=0.001)["seconds"] > 0
        with pytest.raises(Failure, match="KeyError"):
            one.ask("measure", case="no such case", seconds=0.001)
        assert one.ask("first", case=SCALAR)["seconds"] > 0


def test_a_worker_that_uses_avx2_at_most():
    with Contestant("tanx", sys.executable, {"BENCHMARK_AVX2": "1"}) as one:
        assert one.ask("measure", case="exp, 1M f32", seconds=0.001)["seconds"] > 0


def test_a_worker_that_died_is_replaced():
    with Contestant("tanx", sys.executable) as one:
        with pytest.raises(Failure, match="died"):
            one._process = _dead(one)
            one.ask("measure", case=SCALAR, seconds=0.001)
        assert one.ask("measure", case=SCALAR, seconds=0.001)["seconds"] > 0


def _dead(one):
    return subprocess.Popen([one.python, "-c", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True)


def test_tanx_and_numpy_take_turns():
    result = run({"tanx": sys.executable, "numpy": sys.executable}, [SCALAR], 1, 0.001)
    (case,) = result["cases"].values()
    assert set(case["seconds"]) == {"tanx", "numpy"} and not case["errors"]
    assert "disagrees" not in case
    assert all(result["machine"][limit] > 0 for limit in ("copy", "read", "write", "peak"))
    assert SCALAR in report.terminal(result)


def test_the_table_shows_ratios_shares_and_problems():
    text = report.terminal(RESULT)
    rows = {line.split("  ")[0]: line for line in text.splitlines()}
    assert rows["fast"].split() == ["fast", "10,000", "40,000", "4.00", "60", "%", "mem"]
    assert rows["slow <&>"].split()[-5:] == ["0.50", "50", "%", "fma", "slower"]
    assert "elementwise: 1.41 times as fast as JAX" in rows
    assert "broken: JAX fails: Oops" in rows and "wrong: differs from JAX: 1 against 2" in rows
    assert "first call, cold: 3.0 times sooner than JAX cold (geometric mean)" in rows


def test_markdown_has_a_row_for_each_case():
    text = report.markdown(RESULT)
    assert "| fast | 10,000 | 40,000 | 4.00 | 60 % mem |" in text
    assert "| **elementwise** |  |  | **1.41** |  |" in text


def test_the_picture_has_a_dot_for_each_case():
    root = ElementTree.fromstring(chart.svg(RESULT))
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["fast: 4.00", "slow <&>: 0.50", "broken: 1.00", "wrong: 4.00"]


def test_bars_to_the_left_are_slower():
    text = chart.bars(RESULT)
    assert "▒│ 0.50" in text and "│█" in text


def test_a_call_is_timed_many_times(monkeypatch):
    clock = count(step=1e-5)  # each look at it takes ten microseconds
    monkeypatch.setattr("benchmarks.timing.perf_counter", lambda: next(clock))
    calls = []
    assert min(time_of_call(lambda: calls.append(1), 0.001)) > 0
    assert len(calls) > 10


def test_shards_measure_all_cases_between_them():
    names = [SCALAR, "jit: identity"]
    shards = min(2, len(os.sched_getaffinity(0)))
    found = run({"tanx": sys.executable}, names, 1, 0.001, shards)
    assert [*found["cases"]] == names
    assert all(case["seconds"]["tanx"] > 0 for case in found["cases"].values())
    with pytest.raises(SystemExit, match="processors"):
        run({"tanx": sys.executable}, names, 1, 0.001, 1 << 20)


def test_a_checkout_compared_with_itself():
    found = beside.measure(ROOT, [SCALAR, "no such case"], 1, 0.001, 1.05)
    assert [*found] == [SCALAR]
    assert all(0 < each < 100 * found[SCALAR].now for each in found[SCALAR])
    (first,) = beside.measure_first(ROOT, [SCALAR], 1).values()
    assert all(each > 0 for each in first)


def test_a_change_must_show_beside_both_processes_of_equal_code():
    assert Seconds(1, 1.04, 1.1).slower(1.05) and not Seconds(1, 1.2, 1.1).slower(1.05)
    assert Seconds(1, 1.2, 0.9).faster(1.05) and not Seconds(1, 0.9, 0.9).faster(1.05)
    assert Seconds(1, 4, 6).ratio == 3


def test_cases_that_seem_slower_are_measured_again(monkeypatch):
    answers = iter([{"a": Seconds(1, 1, 2), "b": Seconds(1, 1, 1.5), "c": Seconds(1, 1, 1)},
                    {"a": Seconds(1, 1.1, 1.9), "b": Seconds(1.2, 1.2, 1)},
                    {"a": Seconds(0.9, 1, 1.8)}])
    asked = []
    monkeypatch.setattr(beside, "_measure",
                        lambda before, cases, *_: asked.append([*cases]) or next(answers))
    found = beside.measure(ROOT, ["a", "b", "c"], 1, 0.001, 1.05, again=2)
    assert asked == [["a", "b", "c"], ["a", "b"], ["a"]]
    assert found == {"a": (0.9, 1, 1.8), "b": (1, 1, 1), "c": (1, 1, 1)}
    report = beside._report(found, 1.05)
    assert "3 cases" in report and "slower: 1" in report
    assert report.splitlines()[-1].split() == ["1.90", "900000.0", "1000000.0", "1800000.0", "a"]
