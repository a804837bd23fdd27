"""Choices: each arm runs only where it is taken, and code of a chain grows with its length."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.emit.cpu.module import generate
from tanx._compiler.machine import host
from tanx._compiler.schedule.analysis import Analysis
from tanx._compiler.tuning import USUAL
from tanx._loops import interpret
from tanx._loops.build import element_program, op, select
from tanx._loops.expr import Index
from tanx._loops.nest import Buffer
from tests.compiler.agreement import check_function
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


def test_a_choice_is_safe_if_its_own_condition_keeps_its_loads_in_range():
    i, x, places = Index("i", 16), Buffer("x", (4,), np.float32), Buffer("p", (16,), np.int64)
    is_safe = Analysis({}, USUAL.choices).is_safe
    place = places[[i]]
    read, inside = x[[place]], (place >= 0) & (place < 4)
    inner = select(i < 4, x[[i]], x[[i - 4]])
    assert is_safe(select(i < 4, x[[i]], 0.0)) and is_safe(select(i >= 12, x[[i - 12]], 0.0))
    assert is_safe(select(inside, op("exp", read) + 1.0, 0.0)) and not is_safe(read)
    assert not is_safe(inner)  # i may be 8, where another choice has to keep it away
    assert not is_safe(op("exp", inner)) and not is_safe(select(i < 8, 0.0, x[[i - 12]]))


@pytest.mark.parametrize("parts", [2, 3, 4, 7])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_loops_in_arms_run_only_for_lanes_that_take_them(parts, dtype):
    """A loop in a part of a concatenation ended by what lies behind the array of its lengths."""
    def function(x, lengths):
        loop = tanx.vmap(lambda n, r: lax.fori_loop(0, n, lambda i, c: c * 0.5 + i, r))(lengths, x)
        others = [x * (k + 2.0) for k in range(parts - 1)]
        return jnp.concatenate([*others[:1], loop, *others[1:]], 0)

    with tanx.enable_x64(True):
        x, lengths = np.arange(4, dtype="float32"), np.arange(4, dtype=dtype)
        loop = x.copy()
        for k, n in enumerate(lengths):
            for i in range(n):
                loop[k] = loop[k] * 0.5 + i
        others = [x * (k + 2.0) for k in range(parts - 1)]
        expected = np.concatenate([*others[:1], loop, *others[1:]])
        compiled = tanx.jit(function)
        for _ in range(4):
            np.testing.assert_allclose(compiled(x, lengths), expected, rtol=1e-6)


@pytest.mark.parametrize("reduction, shape, count", [
    (lambda x, w: jnp.sum(x, 0), (40, 5), 5),
    (lambda x, w: jnp.sum(x * w, 1), (5, 40), 5),
    (lambda x, w: lax.conv_general_dilated(
        x[:, None], x[:1, None, :5], (3,), [(-1, -1)])[0, 0], (1, 130), 42),
    (lambda x, w: tanx.grad(lambda k: jnp.sum(lax.conv_general_dilated(
        x[:, None], k[None, None], (3,), [(-1, -1)]) ** 2))(w[:5]), (1, 130), 5),
], ids=["of columns", "of rows", "of windows", "of a kernel's gradient"])
@pytest.mark.parametrize("before, after", [(0, 125), (125, 0), (3, 40)])
def test_sums_in_arms_read_nothing_where_the_arm_is_not_taken(reduction, shape, count, before,
                                                              after):
    """Their arrays lie between forbidden pages. A sum of columns was computed for all elements."""
    rng = np.random.default_rng(0)
    x, w, y = (rng.normal(size=n).astype("float32")
               for n in (shape, shape[1], before + count + after))
    check_function(lambda x, w, y: jnp.pad(reduction(x, w), (before, after)) + y, x, w, y)
