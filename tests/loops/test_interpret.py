"""The interpreter agrees with NumPy, is lazy where promised, and finds errors."""

import time
from dataclasses import replace

import numpy as np
import pytest

from tanx._loops.build import (
    Operand,
    as_index,
    const,
    convert,
    copy,
    element_program,
    fold,
    load_guarded,
    nest,
    op,
    reduce,
    select,
    statement_program,
    store,
)
from tanx._loops.check import check
from tanx._loops.expr import Index
from tanx._loops.interpret import run
from tanx._loops.nest import Buffer, Nest, Program, Store
from tests.loops.programs import CASES, argmax, dot, normal, scatter_add

X = normal(6, 4)


def compute(rule, inputs, like):
    program = element_program(rule, inputs, like)
    check(program)
    (result,) = run(program, *inputs)
    return result


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_rules_agree_with_numpy(case):
    check(case.program)
    results = run(case.program, *case.inputs, externs=case.externs)
    for result, expected in zip(results, case.outputs, strict=True):
        assert result.dtype == expected.dtype and result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["bool", "int4", "uint4", "int8", "uint64", "float16", "bfloat16",
                                   "float8_e4m3fn", "float8_e5m2", "float64", "complex64"])
def test_every_dtype_passes_through(dtype):
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    result = compute(lambda at, x: select(at[0] > 0, x[[at[0] - 1, at[1]]], x[at]), [x], x)
    np.testing.assert_array_equal(result, np.stack([x[0], x[0]]))


def test_scalars_ignore_the_index():
    s = np.float32(2)
    result = compute(lambda at, x, s: x[at] * s[at] + s[()], [X, s], X)
    np.testing.assert_allclose(result, X * s + s)
    assert compute(lambda at, s: s[at] + 1.0, [s], s) == 3


def test_narrow_sums_round_at_each_step_but_stay_close():
    x = normal(1000).astype("bfloat16")
    result = compute(lambda at, x: reduce("add", 1000, lambda k: x[k]), [x], x[0])
    assert abs(float(result) - x.astype(float).sum()) < 1.0


def test_nan_is_the_greatest_and_the_least_and_the_first_wins():
    x = np.array([[1, np.nan, np.nan, 5], [-np.inf] * 4, [3, 7, 7, 1]], np.float32)
    value, place = run(element_program(argmax, [x], [x[:, 0], np.zeros(3, np.int32)]), x)
    np.testing.assert_array_equal(place, [1, 0, 1])
    np.testing.assert_array_equal(value, [np.nan, -np.inf, 7])


def test_large_reductions_go_in_pieces(monkeypatch):
    monkeypatch.setattr("tanx._loops.interpret._CHUNK", 50)
    y = normal(4, 5)
    np.testing.assert_allclose(compute(dot, [X, y], np.zeros((6, 5), np.float32)), X @ y, rtol=1e-5)


def test_a_contraction_of_64_cubed_is_quick():
    a = normal(64, 64)
    start = time.process_time()
    result = compute(dot, [a, a], a)
    assert time.process_time() - start < 1
    np.testing.assert_allclose(result, a @ a, rtol=1e-3, atol=1e-4)


def test_deep_expressions_need_no_deep_stack():
    def rule(at, x):
        value = x[at]
        for _ in range(3000):
            value = value + 1.0
        return value

    np.testing.assert_array_equal(compute(rule, [np.zeros(2, np.float32)], np.zeros(2, np.float32)),
                                  [3000, 3000])


# -- laziness --------------------------------------------------------------------------------------


def test_select_does_not_load_the_side_not_taken():
    x = np.array([5.0], np.float32)
    result = compute(lambda at, x: select(at[0] < 1, x[at], -1.0), [x], np.zeros(4, np.float32))
    np.testing.assert_array_equal(result, [5, -1, -1, -1])


def test_selects_within_selects_and_folds():
    x = np.arange(3, dtype=np.float32)

    def rule(at, x):
        window = reduce("add", 3, lambda k: load_guarded(x, [at[0] + k[0] - 1], 0.0))
        return select(at[0] < 3, select(at[0] > 0, window, -1.0), x[[at[0] - 3]])

    np.testing.assert_array_equal(compute(rule, [x], np.zeros(6, np.float32)),
                                  [-1, 3, 3, 0, 1, 2])


def test_the_same_load_dead_in_one_arm_and_live_in_another():
    x = np.arange(4, dtype=np.float32)

    def rule(at, x):
        load = x[[at[0] - 2]]
        return select(at[0] < 2, select(at[0] < 0, load, 9.0), load)

    np.testing.assert_array_equal(compute(rule, [x], np.zeros(6, np.float32)), [9, 9, 0, 1, 2, 3])


def test_empty_operands_are_never_read():
    empty = np.zeros((0,), np.float32)
    result = compute(lambda at, x: load_guarded(x, [at[0]], 3.0), [empty], np.zeros(2, np.float32))
    np.testing.assert_array_equal(result, [3, 3])


# -- unstored operands -----------------------------------------------------------------------------


def test_reading_an_unstored_operand_inlines_it():
    calls = []

    def rule(at, x):
        def element(index):
            calls.append(index)
            return op("exp", x[index])

        y = Operand(x.shape, x.dtype, element)
        return y[at] + y[at] + y[[0, at[1]]]

    np.testing.assert_allclose(compute(rule, [X], X), 2 * np.exp(X) + np.exp(X[:1]), rtol=1e-6)
    assert len(calls) == 2


def test_an_operand_must_keep_its_dtype():
    with pytest.raises(TypeError, match=r"an element of f32\[2\] must be"):
        Operand((2,), np.float32, lambda at: at[0])[[const(0)]]


# -- errors found by the interpreter ---------------------------------------------------------------


def test_an_index_out_of_range_names_the_access():
    x = np.zeros(4, np.float32)
    program = element_program(lambda at, x, i: x[[as_index(i[at])]], [x, np.zeros(2, np.int32)],
                              np.zeros(2, np.float32))
    assert len(check(program)) == 1
    with pytest.raises(IndexError) as error:
        run(program, x, np.array([1, 4], np.int32))
    assert str(error.value) == ("x[i64(y[i])]: index 4 is out of range for dimension 0 of "
                                "x: f32[4].")


def test_an_element_read_before_it_is_stored():
    def rule(into, x):
        return [nest(4, lambda k: [store(into[0], k, select(k[0] > 0, into[0][[k[0] - 1]], x[k]))],
                     sequential=True)]

    x = np.arange(4, dtype=np.float32)
    (result,) = run(statement_program(rule, [x], x), x)
    np.testing.assert_array_equal(result, [0, 0, 0, 0])

    def wrong(into, x):
        return [nest(4, lambda k: [store(into[0], k, select(k[0] < 3, into[0][[k[0] + 1]], x[k]))],
                     sequential=True)]

    with pytest.raises(ValueError, match=r"^out\[i \+ 1\] reads an element before it is stored"):
        run(statement_program(wrong, [x], x), x)


def test_an_output_that_is_not_filled():
    x = np.zeros(4, np.float32)
    rule = lambda into, x: [nest(2, lambda k: [store(into[0], [k[0] * 2], x[k])])]
    with pytest.raises(ValueError, match=r"2 of its elements were never stored; .* at \[1"):
        run(statement_program(rule, [x], x), x)


def meeting(body, kind="parallel"):
    """Run a statement in a parallel loop of four over a buffer of zeros."""
    x = np.zeros(4, np.float32)

    def rule(into, x):
        loop = nest(4, lambda k: body(into[0], *k))
        return [copy(into[0], x), replace(loop, kinds=(kind,))]

    return run(statement_program(rule, [x], x), x)


@pytest.mark.parametrize("body", [
    lambda out, i: [store(out, [i // 2], 1.0)],
    lambda out, i: [store(out, [i], out[[3 - i]] + 1.0)],
    lambda out, i: [store(out, [i], 1.0), store(out, [(i + 1) % 4], 2.0)],
    lambda out, i: [store(out, [i // 2], 1.0, "add"), store(out, [i], out[[i // 2]])],
    lambda out, i: [store(out, [0], out[[i]], guard=i < 1), store(out, [i], out[[0]], guard=i > 0)],
], ids=["two stores", "a load and a store", "stores of two statements", "a load of a sum",
        "a load after a store"])
@pytest.mark.parametrize("kind", ["parallel", "tasks"])
def test_iterations_of_parallel_loops_must_not_meet(body, kind):
    with pytest.raises(ValueError, match="iterations of a parallel loop conflict"):
        meeting(body, kind)


def test_tasks_must_not_meet_in_stores_that_combine():
    with pytest.raises(ValueError, match="iterations of a parallel loop conflict"):
        meeting(lambda out, i: [store(out, [i // 2], 1.0, "add")], "tasks")
    (result,) = meeting(lambda out, i: [store(out, [i], 1.0, "add")] * 2, "tasks")
    np.testing.assert_array_equal(result, [2, 2, 2, 2])


@pytest.mark.parametrize("body, expected", [
    (lambda out, i: [store(out, [i], 1.0), store(out, [i], out[[i]] + 1.0)], [2, 2, 2, 2]),
    (lambda out, i: [store(out, [i // 2], 1.0, "add")], [2, 2, 0, 0]),
    (lambda out, i: [store(out, [0], 1.0, guard=i > 2)], [1, 0, 0, 0]),
    (lambda out, i: [nest(1, lambda k: [store(out, [i], 3.0)]), store(out, [i], out[[i]] * 2.0)],
     [6, 6, 6, 6]),
], ids=["own element", "combining", "one alone", "a loop inside"])
def test_allowed_stores_of_parallel_loops(body, expected):
    np.testing.assert_array_equal(meeting(body)[0], expected)


def test_colliding_stores_combine_in_order_and_quickly():
    n = 20_000
    x, i = np.zeros((3, 1), np.float32), np.arange(n, dtype=np.int32) % 3
    u = np.ones((n, 1), np.float32)
    (result,) = run(statement_program(scatter_add, [x, i, u], x), x, i, u)
    np.testing.assert_array_equal(result.ravel(), np.bincount(i))


def test_loads_are_repeated_after_stores():
    """A value that one statement loads is not reused by the next one."""
    def rule(into, x):
        out = into[0]
        return [copy(out, x), nest(3, lambda k: [store(out, [0], out[[0]] + 1.0)], sequential=True)]

    x = np.zeros(1, np.float32)
    np.testing.assert_array_equal(run(statement_program(rule, [x], x), x)[0], [3])


def test_mixed_loops_run_in_their_order():
    """for i sequential, j parallel, k sequential: a recurrence along i and k."""
    x = normal(3, 4, 5)

    def rule(into, x):
        (out,) = into

        def step(at):
            i, j, k = at
            above = load_guarded(out, [i - 1, j, k], 0.0)
            left = load_guarded(out, [i, j, k - 1], 0.0)
            return [store(out, at, x[at] + above * 0.5 + left * 0.25)]

        return [nest(x.shape, step, sequential=(True, False, True))]

    expected = np.zeros_like(x)
    for i in range(3):
        for k in range(5):
            expected[i, :, k] = x[i, :, k] + (expected[i - 1, :, k] * 0.5 if i else 0) + (
                expected[i, :, k - 1] * 0.25 if k else 0)
    np.testing.assert_allclose(run(statement_program(rule, [x], x), x)[0], expected, rtol=1e-5)


def test_inputs_are_checked_and_not_modified():
    program = element_program(lambda at, x: x[at], [X], X)
    with pytest.raises(TypeError, match=r"input x: f32\[6,4\] was given float64\[6, 4\]"):
        run(program, X.astype(float))
    with pytest.raises(TypeError, match="takes 1 inputs, got 2"):
        run(program, X, X)
    (result,) = run(program, X)
    result[:] = 0
    assert X.any()


def test_externs_must_be_given():
    case = next(case for case in CASES if case.name == "sort pairs")
    with pytest.raises(NotImplementedError, match="the extern 'sort'"):
        run(case.program, *case.inputs)


def test_a_variable_without_its_loop():
    out = Buffer("out", (2,), np.int64, "output")
    i, j = Index("i", 2), Index("j", 2)
    program = Program((), (out,), (), (Nest((i,), ("parallel",), (Store(out, (i,), j),)),))
    with pytest.raises(NameError, match="j is used outside of its loop"):
        run(program)


def test_folds_carry_several_types():
    count, total = fold(5, [const(0, "int8"), const(0, "bfloat16")],
                        lambda k, s: (s[0] + 1, s[1] + convert(k[0], "bfloat16")))
    (a, b) = run(element_program(lambda at: (count, total), [],
                                 [np.zeros((), np.int8), np.zeros((), "bfloat16")]))
    assert (int(a), float(b)) == (5, 10)
