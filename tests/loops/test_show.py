"""The text of programs, in full."""

import numpy as np
import pytest

from tanx._loops.build import const, element_program, fold, op, reduce
from tanx._loops.expr import Index
from tanx._loops.nest import Buffer
from tanx._loops.show import show, show_expr
from tests.loops.programs import CASES

GOLDEN = {
    "affine": """\
program(x: f32[6,4], y: f32[4]) -> (out: f32[6,4])
for i in 6, j in 4 parallel:
    out[i, j] = tanh(x[i, j]) * y[j] + 1.0:f32""",
    "transpose": """\
program(x: f32[2,3,4]) -> (out: f32[4,2,3])
for i in 4, j in 2, k in 3 parallel:
    out[i, j, k] = x[j, k, i]""",
    "reshape": """\
program(x: f32[6,4]) -> (out: f32[3,8])
for i in 3, j in 8 parallel:
    out[i, j] = x[i * 2 + j // 4, j % 4]""",
    "reverse": """\
program(x: f32[6,4]) -> (out: f32[6,4])
for i in 6, j in 4 parallel:
    out[i, j] = x[5 - i, 3 - j]""",
    "crop": """\
program(x: f32[6,4], y: f32[]) -> (out: f32[4,2])
for i in 4, j in 2 parallel:
    out[i, j] = x[i + 2, j + 1]""",
    "dot": """\
program(x: f32[6,4], y: f32[4,5]) -> (out: f32[6,5])
for i in 6, j in 5 parallel:
    out[i, j] = add(k in 4: x[i, k] * y[k, j])""",
    "iota": """\
program() -> (out: f32[3,4])
for i in 3, j in 4 parallel:
    out[i, j] = f32(j)""",
    "softmax": """\
program(x: f32[6,4]) -> (out: f32[6,4])
for i in 6, j in 4 parallel:
    %0 = max(k in 4: x[i, k])
    out[i, j] = exp(x[i, j] - %0) / add(k in 4: exp(x[i, k] - %0))""",
    "argmax": """\
program(x: f32[6,4]) -> (out0: f32[6], out1: i32[6])
for i in 6 parallel:
    %1 = argmax k in 4, s = 0.0:f32, t = 0:i32:
        %0 = ~(x[i, k] <= s) & (s == s) | (k == 0)
        select(%0, x[i, k], s), select(%0, i32(k), t)
    out0[i] = %1.0
    %1 = argmax k in 4, s = 0.0:f32, t = 0:i32:
        %0 = ~(x[i, k] <= s) & (s == s) | (k == 0)
        select(%0, x[i, k], s), select(%0, i32(k), t)
    out1[i] = %1.1""",
    "horner": """\
program(x: f32[6,4], y: f32[4]) -> (out: f32[6,4])
for i in 6, j in 4 parallel:
    out[i, j] = fold(k in 4, s = 0.0:f32: s * x[i, j] + y[k])""",
    "total": """\
program(x: f32[6,4]) -> (out: f32[])
once:
    out[] = add(k in 6, l in 4 from 10.0:f32: x[k, l])""",
    "take": """\
program(x: f32[6,4], y: i32[20]) -> (out: f32[20,4])
for i in 20, j in 4 parallel:
    out[i, j] = x[clamp(0, i64(y[i]), 5), j]""",
    "cumsum": """\
program(x: f32[6,4]) -> (out: f32[6,4])
for i in 6 parallel:
    for j in 4 sequential:
        out[i, j] = select(j > 0, out[i, j - 1] + x[i, j], x[i, j])""",
    "scatter add": """\
program(x: f32[6,4], y: i32[20], z: f32[20,4]) -> (out: f32[6,4])
for i in 6, j in 4 parallel:
    out[i, j] = x[i, j]
for i in 20, j in 4 parallel:
    out[i64(y[i]), j] add= z[i, j] if (i64(y[i]) >= 0) & (i64(y[i]) < 6)""",
    "sort pairs": """\
program(x: f32[12], y: f32[12]) -> (out0: f32[12], out1: f32[12])
temp doubled: f32[12]
for i in 12 parallel:
    doubled[i] = y[i] * 2.0:f32
out0, out1 = extern sort(x, doubled, num_keys=1)""",
    "transposed sum": """\
program(x: f32[6,4]) -> (out: f32[4])
for i in 4 parallel:
    out[i] = 0.0:f32
for i in 6 sequential, j in 4 parallel:
    out[j] = out[j] + x[i, j]""",
}


@pytest.mark.parametrize("case", [case for case in CASES if case.name in GOLDEN],
                         ids=[case.name for case in CASES if case.name in GOLDEN])
def test_golden(case):
    assert show(case.program) == GOLDEN[case.name]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_printing_twice_gives_the_same_text(case):
    assert show(case.program) == show(case.program)


A, B = Index("i", 8), Index("j", 8)
X = Buffer("x", (8,), np.float32)
P = Buffer("p", (), np.bool_)[()]
Q = Buffer("q", (), np.bool_)[()]


@pytest.mark.parametrize("expr, text", [
    (A - (B - A % 3), "i + i % 3 - j"),
    (X[[A]] - (X[[B]] - X[[A]]), "x[i] - (x[j] - x[i])"),
    (X[[A]] - X[[B]] - X[[A]], "x[i] - x[j] - x[i]"),
    ((X[[A]] + X[[B]]) * X[[A]], "(x[i] + x[j]) * x[i]"),
    (-(X[[A]] * X[[B]]), "-(x[i] * x[j])"),
    (~(P & Q) | P, "~(p[] & q[]) | p[]"),
    ((P | Q) & P, "(p[] | q[]) & p[]"),
    (op("eq", P, A < 3), "p[] == (i < 3)"),
    (op("integer_pow", X[[A]], y=3), "integer_pow(x[i], y=3)"),
    (op("bitcast", X[[A]], dtype="int32"), "bitcast(x[i], dtype=i32)"),
    (op("convert", X[[A]], dtype="bool"), "bool(x[i])"),
    (const(float("nan"), "bfloat16"), "nan:bf16"),
    (const(-0.0, "float32"), "-0.0:f32"),
    (const(0.1, "float32"), "0.1:f32"),
    (const(1 + 2j, "complex64"), "(1+2j):c64"),
    (const(-3, "int4"), "-3:i4"),
    (const(True, "bool"), "true"),
    (const(2.0, "float8_e4m3fn"), "2:f8_e4m3fn"),
], ids=str)
def test_expressions(expr, text):
    assert show_expr(expr) == text


def test_shared_subexpressions_are_named_once():
    value = X[[A]]
    for _ in range(40):
        value = op("sin", value) * op("sin", value)
    text = show_expr(value)
    assert len(text) < 2500
    assert text.splitlines()[:2] == ["%0 = sin(sin(x[i]) * sin(x[i]))",
                                     "%1 = sin(sin(%0 * %0) * sin(%0 * %0))"]


def test_deep_expressions_are_cut_into_lines():
    value = X[[A]]
    for _ in range(2000):
        value = op("sin", value)
    assert max(map(len, show_expr(value).splitlines())) < 100


def test_long_folds_are_blocks():
    long = reduce("add", 8, lambda k: op("exp", X[k]) * op("exp", X[k]) * X[[A]] * X[[B]]
                  * op("tanh", X[k] * X[[A]]) * op("tanh", X[k] * X[[B]]))
    assert show_expr(long + 1.0) == """\
%0 = add k in 8:
    exp(x[k]) * exp(x[k]) * x[i] * x[j] * tanh(x[k] * x[i]) * tanh(x[k] * x[j])
%0 + 1.0:f32"""


def test_folds_in_folds_have_letters_of_their_own():
    inner = lambda k: reduce("max", 8, lambda m: X[m] * X[k])
    assert show_expr(reduce("add", 8, inner)) == "add(k in 8: max(l in 8: x[l] * x[k]))"


def test_letters_avoid_the_names_of_buffers():
    program = element_program(lambda at, x: x[at], [np.zeros(3)], np.zeros(3))
    i = Buffer("i", (3,), np.float64, "temp")
    from dataclasses import replace
    assert show(replace(program, temps=(i,))).splitlines()[2] == "for j in 3 parallel:"


def test_states_of_folds_are_picked_by_number():
    a, b = fold(3, [const(0), const(1)], lambda k, s: (s[1], s[0] + s[1]))
    assert show_expr(b) == "fold(k in 3, s = 0, t = 1: t, s + t).1"
