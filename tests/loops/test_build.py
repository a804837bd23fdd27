"""``build`` refuses invalid expressions, and rewriting rebuilds expressions."""

from importlib import import_module

import numpy as np
import pytest

from tanx._loops import build
from tanx._loops.build import (
    all_of,
    any_of,
    arg_reduce,
    const,
    element_program,
    extern,
    fold,
    nest,
    op,
    reduce,
    select,
    statement_program,
    store,
    temp,
    unflatten_index,
)
from tanx._loops.expr import Fold, Index, Load, Pick, State
from tanx._loops.nest import Buffer
from tanx._loops.show import show, show_expr
from tanx._loops.traverse import loads, map_expressions, rewrite, substitute, walk, written

A, B = Index("i", 8), Index("j", 8)
X = Buffer("x", (8, 8), np.float32)
ONES = np.ones((8, 8), np.float32)


@pytest.mark.parametrize("make, message", [
    (lambda: select(A == B, A, B), "== compares expressions themselves; write eq"),
    (lambda: select(A < B, 1.0, 2.0), "one of 1.0 and 2.0 must be an expression"),
    (lambda: op("add", 1, 2), "one operand at least must be an expression"),
    (lambda: op("add", A, X[[A, B]]), "operands must have one dtype, got i64, f32"),
    (lambda: X[[A]], "has 2 dimensions, but the index has 1"),
    (lambda: X[[A, op("convert", B, dtype="int32")]], "as_index"),
    (lambda: X[[A, 0.5]], "0.5 is not a constant of dtype i64"),
    (lambda: reduce("sub", 3, lambda k: k[0]), "combine must be one of add, mul"),
    (lambda: arg_reduce("best", 3, lambda k: k[0]), "which must be 'max' or 'min'"),
    (lambda: fold(3, [const(0)], lambda k, s: [X[[A, *k]]]), "but it gave"),
    (lambda: store(X, [A, B], const(1, "int8")), "must be an expression of dtype f32, got i8"),
    (lambda: extern("sort", [X], [ONES]), "is not stored; a library needs memory"),
    (lambda: element_program(lambda at, x: x[at], [ONES], np.zeros(8)), "but the index has 1"),
    (lambda: element_program(lambda at: (A, A), [], [np.zeros(2, int), np.zeros(3, int)]),
     "results of one shape"),
    (lambda: op("convert", A, dtype="datetime64[s]"), "no elements of dtype"),
    (lambda: op("exp", X[[A, B]], y=3), "y"),
])
def test_invalid_expressions_are_refused(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_conditions_without_operands():
    assert show_expr(all_of()) == "true" and show_expr(any_of()) == "false"
    assert show_expr(any_of(A < 3, B < 3)) == "(i < 3) | (j < 3)"


def test_temporaries_are_found():
    def rule(into, x):
        t, u = temp("t", (8, 8), np.float32), temp("u", (8,), np.float32)
        return [nest((8, 8), lambda k: [store(t, k, x[k])]), extern("reduce", [u], [t]),
                nest(8, lambda k: [store(into[0], k, u[k])])]

    program = statement_program(rule, [ONES], ONES[0])
    assert [b.name for b in program.temps] == ["t", "u"]
    assert list(written(program.statements)) == [*program.temps, *program.outputs]


def test_more_than_three_operands_are_numbered():
    program = element_program(lambda at, *xs: xs[0][at] + xs[3][at], [ONES] * 4, ONES)
    assert show(program).splitlines()[-1] == "    out[i, j] = x0[i, j] + x3[i, j]"


def test_unflatten_of_an_empty_shape():
    assert [show_expr(i) for i in unflatten_index(A, (2, 0))] == ["0", "0"]
    assert unflatten_index(A, ()) == ()


def test_every_public_name_is_in_the_cheat_sheet():
    sheet = import_module("tanx._loops.build").__doc__
    missing = [n for n in build.__all__ if n not in sheet and n not in (
        "Operand", "temporaries", "ne", "eq")]
    assert not missing


# -- ways through ----------------------------------------------------------------------------------


def test_walk_visits_each_node_once_children_first():
    value = X[[A, B]] + X[[A, B]] * X[[A, 0]]
    order = list(walk(value))
    assert len(order) == len(set(order)) and order[-1] is value
    assert set(loads(value)) == {X[[A, B]], X[[A, 0]]}


def test_substitution_simplifies_and_reuses_expressions():
    total = reduce("add", 8, lambda k: X[[A, *k]])
    value = total + X[[B, 7 - A]]
    assert substitute(value, {A: 7 - B}) is substitute(value, {A: 7 - B})
    assert show_expr(substitute(value, {A: 7 - B})) == "add(k in 8: x[7 - j, k]) + x[j, j]"
    assert show_expr(substitute(value, {B: const(2)})) == "add(k in 8: x[i, k]) + x[2, 7 - i]"
    assert substitute(value, {Index("elsewhere", 3): A}) is value


def test_substitution_does_not_capture():
    k = Index("k", 8)
    s = State("s", np.float32)
    inner = Fold((k,), (const(0, "float32"),), (s,), (X[[A, k]],), "add")
    value = Pick(inner, 0) + X[[k, 0]]
    assert show_expr(substitute(value, {A: k})) == "add(l in 8: x[k, l]) + x[k, 0]"
    assert show_expr(substitute(value, {k: B})) == "add(k in 8: x[i, k]) + x[j, 0]"


def test_rewrite_puts_producers_in_place_of_loads():
    t = temp("t", (8,), np.float32)
    value = reduce("add", 8, lambda k: t[k] * 2.0)

    def produce(e):
        return op("exp", X[[*e.index, 0]]) if isinstance(e, Load) and e.buffer is t else None

    fused = rewrite(value, produce)
    assert show_expr(fused) == "add(k in 8: exp(x[k, 0]) * 2.0:f32)"


def test_statements_can_be_changed_throughout():
    body = nest((8, 8), lambda k: [store(X, k, X[k] + 1.0, guard=k[0] < 3)])
    (i, j), (inner,) = body.indices, body.body
    changed = map_expressions(body, lambda e: substitute(e, {i: j}))
    assert changed.body[0].index == (j, j) and inner.index == (i, j)
    assert changed.body[0].guard is (j < 3)
