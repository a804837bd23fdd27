"""Reductions of columns: by blocks of rows, with results that depend on each other, and masks."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.emit.cpu.module import generate
from tanx._compiler.machine import host
from tanx._compiler.pipeline import build
from tanx._loops.build import arg_reduce, convert, nest, op, reduce, statement_program, store
from tanx._loops.interpret import run as interpret

from .agreement import check_function
from .compiled import NARROW, run, run_rule

TYPES = ["float32", "float64", "bfloat16", "int8", "int32", "complex64", "complex128"]


def numbers(shape, dtype="float32"):
    x = np.random.default_rng(0).standard_normal(shape) * 4
    return x.astype(np.dtype(dtype))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rows", [15, 16, 17, 63, 64, 65, 66, 67, 131])
def test_sums_of_columns(dtype, rows):
    x = numbers((rows, 2055), dtype)
    wide = np.dtype({"bfloat16": "float32", "int8": "int32"}.get(dtype, dtype))

    def rule(at, x):
        return reduce("add", rows, lambda k: convert(x[[k[0], at[0]]], wide))

    (out,) = run_rule(rule, [x], np.zeros(2055, wide))
    want = x.astype(np.complex128 if wide.kind == "c" else np.float64).sum(0)
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 16, 64), (3, 18, 70), (2, 67, 131), (5, 64, 256)])
@pytest.mark.parametrize("reducer", ["add", "max"])
def test_columns_of_several_matrices(shape, reducer):
    x = numbers(shape)
    (out,) = run_rule(lambda at, x: reduce(
        reducer, shape[1], lambda k: x[[at[0], k[0], at[1]]]), [x], np.zeros(shape[::2], x.dtype))
    np.testing.assert_allclose(out, {"add": np.sum, "max": np.max}[reducer](x, 1), 1e-5, 1e-5)


@pytest.mark.parametrize("shape", [(70, 600), (70, 1000), (128, 512), (300, 5000)])
@pytest.mark.parametrize("shared", [False, True])
def test_a_result_that_another_reduction_needs(shape, shared):
    """The maximum of a column, then the sum of the rest; both in the same memory."""
    x = numbers(shape)
    rows, _ = shape

    def lower(into, x):
        first, second = (into[0], into[0]) if shared else into

        def body(k):
            best = reduce("max", rows, lambda i: x[[i[0], k[0]]])
            total = reduce("add", rows, lambda i: op("exp", x[[i[0], k[0]]] - first[k]))
            return [store(first, k, best), store(second, k, total + first[k])]

        return [nest(shape[1:], body)]

    outs = [np.zeros(shape[1], np.float32)] * (1 if shared else 2)
    program = statement_program(lower, [x], outs)
    for got, want in zip(run(program, x), interpret(program, x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32", "bfloat16"])
@pytest.mark.parametrize("size", [1, 3, 16, 37, 100, 267])
def test_positions(axis, dtype, size):
    x = numbers((size, size + 2), dtype)
    if x.dtype.kind == "f":
        x[size // 2, 1::3] = np.nan
    x[-1] = x[0]
    length = x.shape[axis]

    def rule(at, x):
        best, place = arg_reduce("max", length, lambda k: x[[k[0], at[0]] if axis == 0 else [
            at[0], k[0]]], np.int32)
        return place, convert(best, np.float32)

    outs = [np.zeros(x.shape[1 - axis], d) for d in ("int32", "float32")]
    place, best = run_rule(rule, [x], outs)
    np.testing.assert_array_equal(place, np.argmax(x.astype(np.float64), axis))
    np.testing.assert_array_equal(best, np.max(x.astype(np.float32), axis))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool"])
def test_answers(axis, dtype):
    x = numbers((40, 75), dtype) if dtype != "bool" else numbers((40, 75)) > 5
    for combine, limit, want in (("or", 9, np.any), ("and", -9, np.all), ("xor", 1, None)):
        def answer(e, limit=limit):
            return e if e.dtype == np.bool_ else (e > limit) & (e < limit + 30) | (e < -11)

        def rule(at, x, combine=combine, answer=answer):
            return reduce(combine, x.shape[axis], lambda k: answer(x[
                [k[0], at[0]] if axis == 0 else [at[0], k[0]]]))

        (out,) = run_rule(rule, [x], np.zeros(x.shape[1 - axis], bool))
        y = x if dtype == "bool" else (x > limit) & (x < limit + 30) | (x < -11)
        np.testing.assert_array_equal(out, y.sum(axis) % 2 == 1 if want is None else want(y, axis))


@pytest.mark.parametrize("dtype", [
    "float32", "float64", "bfloat16", "int8", "complex64", "complex128"])
@pytest.mark.parametrize(("n", "m"), [(16, 64), (18, 83), (33, 100), (100, 101), (101, 128)])
def test_a_vector_times_a_small_matrix(n, m, dtype):
    rng = np.random.default_rng(0)
    v, x = ((rng.normal(size=s) * 4).astype(jnp.dtype(dtype)) for s in ((n,), (n, m)))
    with tanx.enable_x64(True):
        check_function(lambda v, x: v @ x, v, x)
        check_function(lambda v, x: (v @ x * 2 + x[0]) * (v @ (x + 1)), v, x)


@pytest.mark.parametrize("n", [64, 70, 100, 103])
def test_products_that_overwrite_their_addend(n):
    rng = np.random.default_rng(0)
    x, p = rng.normal(size=n).astype(np.float32), rng.normal(size=(n, n)).astype(np.float32) / n

    def step(_, state):
        x, y = state
        x = x - 0.1 * (y @ p + p @ y)
        return x, y - 0.1 * (x @ p + p @ x)

    check_function(lambda x, p: lax.fori_loop(0, 5, step, (x, x)), x, p)


@pytest.mark.parametrize("n", [80, 100, 128])
def test_each_element_of_a_small_matrix_is_read_once(n):
    x = np.ones((n, n), np.float32)
    module = build(tanx.make_jaxpr(lambda v, x: v @ x)(x[0], x))
    text = generate(module.program, NARROW, module.plan.offsets).text
    vectors = [line for line in text.splitlines() if "load <" in line]
    assert len(vectors) == 4 * -(-n * 32 // NARROW.vector_bits)  # of four rows


def _noisy_sums(x, seed):
    noise = tanx.random.normal(tanx.random.key(seed), x.shape[1:])
    return jnp.sum(x, axis=0) + noise * jnp.exp(jnp.sin(noise)), jnp.max(x, axis=0)


@pytest.mark.parametrize("shape", [(16, 64), (33, 70), (64, 131), (20, 3, 40)])
def test_long_code_after_reductions_is_written_once(shape):
    check_function(_noisy_sums, numbers(shape), np.int32(1))


def test_the_length_of_code_does_not_grow_with_the_columns_at_a_time():
    """The code after the reductions exists once for whole groups, and once for the remainder."""
    def lines(columns):
        x = tanx.ShapeDtypeStruct((16, columns), jnp.float32)
        return tanx.jit(_noisy_sums).lower(x, 1).as_text("llvm").count("\n")
    assert lines(64 * host().vector_bits // 32) < 4 * lines(host().vector_bits // 32)


@pytest.mark.parametrize("n", [19, 70, 100])
def test_columns_that_whole_vectors_leave(n):
    """Results overwrite operands, so that no step may be repeated."""
    matrix, start = numbers((n, n)) / np.float32(4 * n), numbers(n)

    def step(_, state):
        x, p = state
        p = p - 0.05 * (x @ matrix)
        return x + 0.1 * p, p

    x, p = start, start
    for k in range(5):
        x, p = step(k, (x, p))
    run_steps = tanx.jit(lambda x: lax.fori_loop(0, 5, step, (x, x)))
    for _ in range(4):
        for got, want in zip(run_steps(start), (x, p)):
            assert got.dtype == np.float32 and got.shape == (n,)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("columns", [2, 5, 20, 33, 50, 100])
@pytest.mark.parametrize("rows", [16, 19, 203])
def test_a_few_columns_whose_results_are_in_registers(rows, columns):
    """Whole vectors and the remainder run down the rows together, several rows per step."""
    with tanx.enable_x64(True):
        for dtype in TYPES:
            x, y = numbers((rows, columns), dtype), numbers(rows, dtype)
            check_function(lambda x, y: (y[:, None] * x).sum(0), x, y)
        x, y = numbers((rows, columns)), numbers(rows)
        check_function(lambda x, y: (jnp.tanh(y @ x) + x[0], (x * y[:, None]).max(0), x.prod(0),
                                     x.argmin(0)), x, y)


@pytest.mark.parametrize("columns", [5, 20, 50, 63])
def test_a_few_columns_that_are_updated(columns):
    x, y, w = numbers((300, columns)), numbers(300), numbers(columns)
    want = w
    for _ in range(3):
        want = 0.5 * want + (y / 300) @ x
    step = tanx.jit(lambda w, x, y: lax.fori_loop(0, 3, lambda _, w: 0.5 * w + (y / 300) @ x, w))
    for _ in range(4):
        got = step(w, x, y)
        assert got.dtype == np.float32 and got.shape == (columns,)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(64, 19), (19, 19), (1000, 5)])
def test_few_columns_of_complex_numbers(shape):
    """In vectors of 128 bits, as on ARM, one such number would fill a vector."""
    x = numbers(shape) + 1j * numbers(shape)[::-1]
    for dtype in ("complex64", "complex128"):
        with tanx.enable_x64(True):
            check_function(lambda x: (jnp.sin(x) * 2).sum(0), x.astype(dtype))
