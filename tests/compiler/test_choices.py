"""Chains of choices: their code grows with their length, and each arm keeps its meaning."""

import numpy as np
import pytest

from tanx._compiler.emit.cpu.module import generate
from tanx._compiler.machine import host
from tanx._loops import interpret
from tanx._loops.build import element_program, op, select
from tests.compiler.compiled import run
from tests.compiler.programs import settings


def f(x):
    return op("sin", op("exp", x) + 1.0)


def g(x):
    return op("cos", op("exp", x * 0.5) - 1.0)


def both_arms(values, condition):
    return [*values, select(condition, f(values[-1]), g(values[-1]))]


def one_unchanged(values, condition):
    return [*values, select(condition, f(values[-1]), values[-1])]


def three_arms(values, condition):
    x = values[-1]
    return [*values, select(condition, f(x), select(x < 0.5, g(x), op("tanh", f(x))))]


def an_arm_that_may_not_need_it(values, condition):
    x = values[-1]
    return [*values, select(condition, f(x), select(condition, g(x), 0.25))]


def an_arm_of_each_of_two(values, condition):
    """The gradient of a choice."""
    x = values[-1]
    return [*values, select(condition, f(x), 0.0) + select(condition, 0.0, g(x))]


def the_last_two(values, condition):
    return [*values, select(condition, f(values[-1]), g(values[-2]))]


def program(step, count, by_lanes, x, data):
    """A chain of choices, by numbers that differ between lanes, or that are the same in all."""
    def rule(at, x, data):
        values = [x[at], x[at] * 0.5]
        for n in range(count):
            values = step(values, (data[at] if by_lanes else data[[n]]) < (n % 5) - 2.0)
        return values[-1]
    return element_program(rule, [x, data], x)


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return [rng.uniform(0, 1, 100).astype(np.float32), rng.normal(size=100).astype(np.float32)]


@pytest.mark.parametrize("step", [
    both_arms, one_unchanged, three_arms, an_arm_that_may_not_need_it, an_arm_of_each_of_two,
    the_last_two])
@pytest.mark.parametrize("by_lanes", [False, True], ids=["by scalars", "by lanes"])
@pytest.mark.parametrize("dear", [4, 64])
def test_code_of_a_chain_grows_with_its_length(step, by_lanes, dear, arrays):
    with settings({"choices.dear": dear}):
        lines = [generate(program(step, n, by_lanes, *arrays), host()).text.count("\n")
                 for n in (7, 14)]
        assert lines[1] < 3 * lines[0]  # twice as long and what all have, where it was 2 ** 7
        whole = program(step, 14, by_lanes, *arrays)
        for got, want in zip(run(whole, *arrays), interpret.run(whole, *arrays), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
