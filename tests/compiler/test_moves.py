"""Moves of elements: by tiles in registers, by strides, as bits."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.emit.cpu.module import generate
from tanx._compiler.machine import host
from tanx._compiler.pipeline import build
from tanx._compiler.schedule.residues import by_residues
from tanx._loops.build import (
    const,
    convert,
    copy,
    element_program,
    load_guarded,
    nest,
    op,
    select,
    statement_program,
    store,
    temp,
)
from tanx._loops.expr import Load
from tests.compiler.agreement import check_function
from tests.compiler.programs import settings

from .compiled import NARROW, run, run_rule

DTYPES = ["float32", "float64", "bfloat16", "float16", "float8_e4m3fn", "uint8", "int16", "int64",
          "bool", "complex64", "complex128", "int4"]


def numbers(shape, dtype):
    return np.random.default_rng(0).integers(0, 8, shape).astype(np.dtype(dtype))


def transpose(at, x, *, order):
    return x[[at[order.index(d)] for d in range(x.ndim)]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(37, 70), (16, 16), (300, 5), (3, 41), (19, 8192)])
def test_transposes(dtype, shape):
    x = numbers(shape, dtype)
    (out,) = run_rule(transpose, [x], x.T, order=(1, 0))
    np.testing.assert_array_equal(out, x.T)


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("shape", [(9, 20, 33), (2, 17, 8), (18, 1, 40)])
def test_orders_of_dimensions(order, shape):
    x = numbers(shape, "float32")
    (out,) = run_rule(transpose, [x], x.transpose(order), order=order)
    np.testing.assert_array_equal(out, x.transpose(order))


@pytest.mark.parametrize("size", [5, 16, 50])
def test_elements_read_in_both_orders(size):
    x, b = numbers((size, size), "float32"), numbers(size, "float32")

    def rule(at, x, b):
        return op("select", x[at] < 4, x[at] + x[at[::-1]], b[at[0]] * b[at[1]])

    (out,) = run_rule(rule, [x, b], x)
    np.testing.assert_array_equal(out, np.where(x < 4, x + x.T, np.outer(b, b)))


def test_a_transposed_row_and_column():
    """Loads along a third loop, or at an index that is itself loaded, are collected."""
    x, i = numbers((20, 6, 30), "int32"), np.arange(20)[::-1].copy()

    def rule(at, x, i):
        return x[[at[2], at[1], at[0]]] + x[[i[at[2]], at[1], at[0]]]

    (out,) = run_rule(rule, [x, i], x.T)
    np.testing.assert_array_equal(out, x.T + x[::-1].T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [2, 3, 4, 5, -2])
def test_elements_some_steps_apart(dtype, step):
    x = numbers((7, 113), dtype)
    for start in range(2):
        want = x[:, start::step] if step > 0 else x[:, ::step]
        first = start if step > 0 else 112
        (out,) = run_rule(lambda at, x: x[[at[0], first + at[1] * step]],  # noqa: B023
                          [x], want)
        np.testing.assert_array_equal(out, want)


def test_bits_are_kept():
    """Moves do not change bits: NaN keeps its payload."""
    bits = np.array([0x7f81, 0xff93, 0x7fc0, 0x8000] * 9, np.uint16)
    x = bits.view(np.dtype("bfloat16"))
    (out,) = run_rule(lambda at, x: Load(x, (35 - at[0],)), [x], x)
    np.testing.assert_array_equal(out.view(np.uint16), bits[::-1])


@pytest.mark.parametrize("shape", [(4, 4), (9, 37), (70, 30), (3, 100), (5, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "complex64"])
def test_running_values_along_rows(shape, dtype):
    """Rows run side by side; what they store goes through tiles."""
    x = numbers(shape, dtype)
    wide = np.dtype({"float32": "float64", "bfloat16": "float32"}.get(dtype, dtype))

    def lower(into, x):
        out, doubled = into
        total = temp("total", shape[:1], wide)

        def step(k):
            at = [k[0]]
            return [store(total, at, total[at] + convert(x[k], wide)),
                    store(out, k, convert(total[at], x.dtype)),
                    store(doubled, k, x[k] + x[k])]

        return [nest(shape[:1], lambda k: [store(total, k, const(0, wide))]),
                nest(shape, step, sequential=(False, True))]

    out, doubled = run(statement_program(lower, [x], [x, x]), x)
    np.testing.assert_array_equal(out, np.cumsum(x.astype(wide), 1).astype(x.dtype))
    np.testing.assert_array_equal(doubled, x + x)


def test_stores_in_two_orders():
    x = numbers((20, 45), "float32")

    def lower(into, x):
        out, across = into
        return [nest(x.shape, lambda k: [store(out, k, x[k] + 1), store(across, k[::-1], x[k])])]

    out, across = run(statement_program(lower, [x], [x, x.T]), x)
    np.testing.assert_array_equal(out, x + 1)
    np.testing.assert_array_equal(across, x.T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("n", [1, 5, 16, 40, 67])
def test_groups_of_neighbours(dtype, size, n):
    """Loaded once for all readers, and stored at once."""
    x = numbers((n, size), dtype)

    def lower(into, x):
        return [nest((n,), lambda at: [
            store(into[0], [at[0], k], x[[at[0], (k + 1) % size]]) for k in range(size)])]

    (out,) = run(statement_program(lower, [x], [x]), x)
    np.testing.assert_array_equal(out, np.roll(x, -1, axis=1))


@pytest.mark.parametrize("size", [2, 3, 4])
def test_groups_read_elements_stored_in_the_same_step(size):
    """An element that was stored is read as it is now, not as it was loaded with its group."""
    x = numbers((50, size), "float32")

    def lower(into, x):
        out = into[0]
        return [copy(out, x), nest((50,), lambda at: [
            store(out, [at[0], k], out[[at[0], (k + 1) % size]] + 1) for k in range(size)])]

    (found,) = run(statement_program(lower, [x], [x]), x)
    expected = x.copy()
    for k in range(size):
        expected[:, k] = expected[:, (k + 1) % size] + 1
    np.testing.assert_array_equal(found, expected)


# -- by way of rooms -------------------------------------------------------------------------------


@pytest.fixture
def everything_is_far():
    """Transposes use workspaces, even for small arrays; the workspaces are small, too."""
    with settings({"transposes.far": 0, "transposes.read": 128, "transposes.room": 1 << 11,
                   "access.far": 0}):
        yield


def rooms_in(program):
    narrow = replace(NARROW, tuning=host().tuning)
    return generate(program, narrow).text.count(" = alloca [")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(37, 70), (16, 16), (300, 16), (64, 41), (17, 129)])
def test_transposes_in_blocks(dtype, shape, everything_is_far):
    x = numbers(shape, dtype)
    (out,) = run_rule(transpose, [x], x.T, order=(1, 0))
    np.testing.assert_array_equal(out, x.T)


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("shape", [(9, 20, 33), (4, 17, 8), (18, 1, 40)])
def test_orders_of_dimensions_in_blocks(order, shape, everything_is_far):
    x = numbers(shape, "float32")
    (out,) = run_rule(transpose, [x], x.transpose(order), order=order)
    np.testing.assert_array_equal(out, x.transpose(order))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8", "bool"])
@pytest.mark.parametrize("n", [16, 33, 70])
def test_transposed_reads_in_blocks(dtype, n, everything_is_far):
    """With neighbours of both kinds, choices, and elements that are the same for a row."""
    x, y, row = numbers((n, n), dtype), numbers((n, n), dtype)[::-1].copy(), numbers((n,), dtype)
    how, ufunc = ("or", np.bitwise_or) if dtype == "bool" else ("add", np.add)

    def rule(at, x, y, row):
        i, j = at
        both = op(how, op(how, x[[i, j]], x[[j, i]]), op(how, row[[i]], y[[j, i]]))
        return select(op("lt", i, j), both, y[[j, i]])

    program = element_program(rule, [x, y, row], x)
    assert rooms_in(program) == 2
    (out,) = run(program, x, y, row)
    both = ufunc(ufunc(x, x.T), ufunc(row[:, None], y.T))
    np.testing.assert_array_equal(out, np.where(np.triu(np.ones((n, n)), 1) > 0, both, y.T))


def test_small_arrays_need_no_rooms():
    x = numbers((70, 70), "float32")
    assert rooms_in(element_program(transpose, [x], x, {"order": (1, 0)})) == 0
    far = np.empty((2048, 2048), np.float32)
    assert rooms_in(element_program(transpose, [far], far, {"order": (1, 0)})) == 1


@pytest.mark.parametrize("shape, order, foreseen", [
    ((256, 256, 256), (1, 0, 2), False),  # pieces of 1 KB here and there
    ((256, 256, 256), (0, 1, 2), True), ((8, 64, 16384), (1, 0, 2), True),
    ((64, 64, 64), (1, 0, 2), True)])
def test_transposes_prefetch_short_scattered_rows(shape, order, foreseen):
    x = np.empty(shape, np.float32)
    program = element_program(transpose, [x], x.transpose(order), {"order": order})
    assert ("call void @llvm.prefetch" not in generate(program, host()).text) == foreseen


@pytest.mark.parametrize("function, shape, asked", [
    (lambda x: jnp.var(x, 1), (4096, 1024), True),  # the next row, while this one is in cache
    (lambda x: jnp.sum(x, 1), (4096, 1024), False),
    (lambda x: jnp.sum(x, 0), (4096, 1024), True),  # four rows at a time
    (lambda x: jnp.var(x, 1), (1 << 18, 16), False),
    (lambda x: jnp.sum(x, (0, 2)), (16, 64, 4096), True)])
def test_reductions_prefetch_the_next_rows(function, shape, asked):
    text = tanx.jit(function).lower(tanx.ShapeDtypeStruct(shape, np.float32)).as_text("llvm")
    assert ("call void @llvm.prefetch" in text) == asked


# -- in turn ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8", "bool", "complex64"])
@pytest.mark.parametrize("config", [
    [(0, 0, 0), (0, 0, 1)], [(0, 0, 1), (0, 0, 1)], [(2, 1, 0), (1, 2, 2)], [(0, 0, 3), (3, 0, 3)],
    [(-1, 1, 1), (2, -3, 1)], [(0, 0, 0), (1, 1, 4)], [(1, 0, 2), (-2, -2, 7)]])
def test_padding_between_elements(dtype, config):
    x = numbers((7, 40), dtype)
    fill = numbers((), dtype)
    pad = tanx.lax.pad_p
    expected = pad.eval(x, fill, padding_config=config)
    (out,) = run_rule(pad.lower, [x, fill], expected, padding_config=config)
    np.testing.assert_array_equal(out, expected)


def test_loops_are_split_by_residues():
    x = np.empty((5, 100), np.float32)
    program = element_program(lambda at, x: select(op("eq", at[1] % 3, 1), x[[at[0], at[1] // 3]],
                                                   const(7, np.float32)),
                              [x], np.empty((5, 301), np.float32))
    first, rest = by_residues(program.statements[0], worth=32)
    assert [i.extent for i in first.indices] == [5, 100] and len(first.body) == 3
    assert [isinstance(store.value, Load) for store in first.body] == [False, True, False]
    assert [i.extent for i in rest.indices] == [5, 1]
    assert by_residues(program.statements[0], worth=302) == [program.statements[0]]
    short = element_program(lambda at, x: select(op("eq", (at[1] + 2) % 3, 0), x[at],
                                                 const(7, np.float32)), [x[:, :2]], x[:, :2])
    assert by_residues(short.statements[0], worth=1) == [short.statements[0]]
    other = element_program(lambda at, x: x[[at[0], at[1] // 3]], [x], x)
    assert by_residues(other.statements[0], worth=32) == [other.statements[0]]


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64"])
@pytest.mark.parametrize("shift", [0, 3, -3])
def test_elements_of_rows_where_there_are_any(dtype, shift):
    """Indices come from data, and many are out of range: loads stay within memory."""
    x = numbers((6, 50), dtype)
    rng = np.random.default_rng(0)
    at = rng.integers(-70, 120, (6, 77)).astype(np.int64)
    at[0, :4] = [2 ** 40, -2 ** 40, 2 ** 31, -2 ** 31]
    (out,) = run_rule(lambda i, x, at: load_guarded(x, [i[0], at[i] + shift], 7), [x, at],
                      np.empty(at.shape, dtype))
    place = at + shift
    inside = (place >= 0) & (place < 50)
    expected = np.where(inside, np.take_along_axis(x, np.where(inside, place, 0), 1),
                        np.array(7, dtype))
    np.testing.assert_array_equal(out, expected)


def test_uniform_values_in_blocks_of_merged_loops():
    x = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    with settings({"transposes.far": 0, "transposes.read": 64,
                   "contract.tiny_rows": 1}):
        check_function(tanx.jacfwd(lambda p: p / (1 + jnp.sum(p * p))), x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8", "complex64"])
@pytest.mark.parametrize("rows", [3, 8, 13, 33])
@pytest.mark.parametrize("columns", [2, 4, 8])
def test_short_rows_are_written_several_at_a_time(rows, columns, dtype):
    x, row = numbers((rows,), dtype), numbers((columns,), dtype)
    matrix, turned = numbers((rows, columns), dtype), numbers((columns, rows), dtype)
    with tanx.enable_x64(True):
        check_function(lambda x: jnp.repeat(x, columns), x)
        check_function(lambda x, y: x[:, None] + y, x, row)
        check_function(lambda x, y: (x + y[0], x * y), matrix, row)
        check_function(lambda x, y: x + y.T, matrix, turned)
        check_function(lambda x: jnp.stack([x[:, ::-1], x], 1), matrix)


@pytest.mark.parametrize("colours", [3, 5, 7])
def test_colours_are_moved_without_a_loop(colours):
    """A few numbers at indices that come from data: vectors that overlap."""
    x, i = numbers((40, colours), "float32"), np.arange(40, dtype=np.int32)[::-1].copy()
    check_function(lambda x, i: x[i], x, i)
    module = build(tanx.make_jaxpr(lambda x, i: x[i])(x, i))
    text = generate(module.program, host(), module.plan.offsets).text
    assert sum(line.startswith("loop") for line in text.splitlines()) == 1


def test_reductions_in_lanes_within_tiles():
    """Lanes of a loop within a tile are not those whose columns the tile has."""
    x = np.random.default_rng(0).integers(-1, 2, (2, 17, 17)).astype(np.int32)
    with settings({"tasks.grain": 1e-9, "folds.stretch": 2}), \
            tanx.enable_x64(True):
        check_function(lambda x: tanx.vmap(lambda x: jnp.any(x.astype(float) != 0, 0), -1, -1)(
            jnp.stack([x, x], -1)), x)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
@pytest.mark.parametrize("shape, window, padding", [
    ((2, 6, 8, 5), (1, 2, 2, 1), "VALID"), ((2, 7, 9, 5), (1, 2, 3, 1), "VALID"),
    ((2, 7, 9, 5), (1, 2, 3, 1), "SAME"), ((2, 3, 8, 11), (1, 1, 2, 4), "SAME"),
    ((33,), (4,), "VALID"), ((3,), (3,), ((1, 1),)), ((2, 8), (1, 4), ((0, 0), (2, 3))),
])
def test_sums_that_repeat_elements(dtype, shape, window, padding):
    """Gradients of windows side by side, written without zeros between elements."""
    def pool(x):
        return lax.reduce_window(x, np.zeros((), dtype), lax.add, window, window, padding)

    def back(x, y):
        return tanx.linear_transpose(pool, x)(y)[0]
    x = numbers(shape, dtype)
    y = numbers(pool(x).shape, dtype)
    check_function(back, x, y)
    assert "temp" not in tanx.jit(back).lower(x, y).as_text("schedule")


@pytest.mark.parametrize("size, stride, low", [(3, 1, 2), (2, 1, 1), (3, 2, 2), (2, 1, 3)])
def test_sums_of_spread_elements(size, stride, low):
    """Windows over zeros between elements, whether or not they are repetitions."""
    def sums(x):
        return lax.reduce_window(x, 0, lax.add, (1, size), (1, stride), [(0, 0), (low, 2)],
                                 base_dilation=(1, 3))
    check_function(sums, numbers((4, 37), "int32"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "complex64"])
def test_elements_of_rows(dtype):
    """Each row has its own positions, some of them outside."""
    x = numbers((30, 301), dtype)
    places = np.random.default_rng(1).integers(-400, 400, (30, 77)).astype("int32")
    check_function(lambda x, i: jnp.take_along_axis(x, i, axis=1), x, places)
