"""Loops with a condition: their text, errors, and how passes treat them."""

import numpy as np
import pytest

from tanx._compiler.cost import cost
from tanx._compiler.nest_tools import fingerprint
from tanx._loops.build import const, element_program, fold, ne, op, store, while_loop
from tanx._loops.check import ProgramError, check
from tanx._loops.expr import Fold, Index, Pick, State, While, fresh_state
from tanx._loops.nest import Buffer, Nest, Program
from tanx._loops.show import show, show_expr
from tanx._loops.traverse import rewrite, substitute, walk

X = np.zeros(8, np.float32)
LOOP = Index("i", 8)


def halving(x):
    return while_loop([x, const(0, np.int32)], lambda s: s[0] > 1.0,
                      lambda s: [s[0] * 0.5, s[1] + 1])


def test_text():
    assert show(element_program(lambda at, x: halving(x[at])[0], [X], X)) == """\
program(x: f32[8]) -> (out: f32[8])
for i in 8 parallel:
    out[i] = while(s = x[i], t = 0:i32; s > 1.0:f32: s * 0.5:f32, t + 1:i32).0"""


def test_wide_text_is_a_block():
    def step(s):
        long = op("sin", s[0]) * op("cos", s[0]) + op("tanh", s[0])
        return [long * long + op("exp", long)]

    value, = while_loop([const(1, np.float32)], lambda s: s[0] < 9.0, step)
    assert show_expr(value) == """\
%1 = while s = 1.0:f32; s < 9.0:f32:
    %0 = sin(s) * cos(s) + tanh(s)
    %0 * %0 + exp(%0)
%1"""


def test_steps_must_return_the_types_of_init():
    with pytest.raises(TypeError, match="a step must return what init holds"):
        while_loop([const(1)], lambda s: s[0] < 9, lambda s: [const(1.0, np.float32)])


def test_a_condition_is_a_bool():
    with pytest.raises(TypeError, match="must be a bool expression"):
        while_loop([const(1)], lambda s: s[0], lambda s: [s[0]])


def test_the_checker_refuses_other_conditions():
    state = fresh_state(np.float32)
    loop = While([const(1, np.float32)], [state], state, [state])
    out = Buffer("out", (8,), np.float32, "output")
    program = Program((), (out,), (), (Nest(
        (LOOP,), ("parallel",), (store(out, LOOP, Pick(loop, 0)),)),))
    with pytest.raises(ProgramError, match="the condition of a loop must be bool"):
        check(program)


def test_substitution_reaches_conditions_and_keeps_bound_variables_apart():
    limit, state = State("limit", np.float32), State("s", np.float32)
    loop = Pick(While([const(1, np.float32)], [state], state < limit, [state * 2.0]), 0)
    assert loop.free == {limit}
    moved = substitute(loop, {limit: state + 1.0})
    assert moved.free == {state}
    assert show_expr(moved) == "while(t = 1.0:f32; t < s + 1.0:f32: t * 2.0:f32)"
    assert substitute(moved, {state: limit - 1.0}).free == {limit}
    assert rewrite(loop, lambda e: const(8.0, np.float32) if e is limit else None).free == set()


def test_other_conditions_are_other_statements():
    def statement(change):
        program = element_program(lambda at, x: while_loop(
            [x[at]], lambda s: change(s[0]), lambda s: [s[0] * 0.5])[0], [X], X)
        return fingerprint(program.statements[0])[0]

    assert statement(lambda s: s > 1.0) == statement(lambda s: s > 1.0)
    assert statement(lambda s: s > 1.0) != statement(lambda s: ne(s, 1.0))


def test_steps_count_by_a_guess():
    once = element_program(lambda at, x: x[at] * 0.5, [X], X)
    often = element_program(lambda at, x: halving(x[at])[0], [X], X)
    assert cost(often).flops > 10 * cost(once).flops


def test_walk_visits_while_loops_as_folds():
    value = halving(const(8, np.float32))[0] + fold(3, [const(0, np.float32)], lambda k, s: [
        s[0] + 1.0])[0]
    kinds = [type(node) for node in walk(value) if isinstance(node, Fold)]
    assert sorted(kinds, key=str) == [Fold, While]
