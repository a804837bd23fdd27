"""A minute of random programs; ``python -m tests.compiler.programs 20000 --jobs 2`` is the hour."""

import pytest

from tests.compiler import programs
from tests.compiler.programs import report_of


@pytest.mark.parametrize("seed", range(240))
def test_compiled_programs_agree_with_eval(seed):
    report = report_of(seed)
    assert report is None, report


SETTINGS = [
    {"fuse._STORE": 1000.0, "split._WORTH": 1, "fuse._REUSE": 2},  # store as little as possible
    {"fuse._STORE": -1000.0, "fuse._SMALL": 0, "fuse._ROWS": 1},  # and as much
    {"fuse._NODES": 8, "split._WORTH": 1, "split._PIECES": 4, "simplify._FOLDED": 2},
    {"fuse._CONTEXTS": 1, "fuse._ROWS": 1, "fuse._NEAR": 1000, "memory._PUT_OFF": 1000},
    {"schedule_cpu._GRAIN": 1e-9, "schedule_cpu._LINE": 1, "fuse._ROWS": 1},
    {"schedule_cpu._GRAIN": 2e-8, "schedule_cpu._LINE": 2, "schedule_cpu._ENOUGH": 3},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
@pytest.mark.parametrize("seed", range(1000, 1030))
def test_random_programs_do_not_depend_on_settings(seed, settings, monkeypatch):
    for name, value in settings.items():
        monkeypatch.setattr(f"tanx._compiler.{name}", value)
    source = programs.make(seed)
    assert source.fails() is None, programs.smaller(source).script()


def test_failures_become_small_programs_that_run():
    def fails(candidate):
        return "cumsum: wrong" if "tanh" in str(candidate) or "exp" in str(candidate) else None
    long = next(s for s in map(programs.make, range(100)) if fails(s) and len(s.lines) > 6)
    least = programs.smaller(long, fails)
    assert len(least.lines) == 1 and fails(least)
    exec(least.script(), {})
