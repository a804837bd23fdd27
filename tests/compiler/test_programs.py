"""A minute of random programs; ``python -m tests.compiler.programs 20000`` runs for hours."""

import numpy as np
import pytest

import tanx
from tests.compiler import programs
from tests.compiler.agreement import evaluated, shaken
from tests.compiler.programs import report_of

LONG = {53, 78}
"""Programs of 2,500 equations, second derivatives of loops: they take 34 seconds each, and run only
in ``python -m tests.compiler.programs``."""


@pytest.mark.parametrize("seed", sorted({*range(112)} - LONG))
def test_compiled_programs_agree_with_eval(seed):
    report = report_of(seed)
    assert report is None, report


def test_failures_become_small_programs_that_run():
    def fails(candidate):
        return "cumsum: wrong" if "tanh" in str(candidate) or "exp" in str(candidate) else None
    long = next(s for s in map(programs.make, range(100)) if fails(s) and len(s.lines) > 6)
    least = programs.smaller(long, fails)
    assert len(least.lines) == 1 and fails(least)
    exec(least.script(), {})


def test_the_condition_of_a_gradient_through_a_maximum_is_a_number():
    """The rule of a maximum compares it with the operand: rounding must not part them."""
    x = np.linspace(0.1, 0.7, 21, dtype=np.float32).reshape(7, 3)
    closed = tanx.make_jaxpr(tanx.grad(lambda c: (tanx.numpy.sin(c * x).max(1) ** 3).sum()))(0.7)
    moved, = shaken(closed, [0.7], evaluated(closed, [0.7]))
    assert 0 < moved < 1e-5
