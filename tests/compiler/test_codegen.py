"""Compiled programs match the interpreter: every row of every table, and odd shapes."""

import ctypes
import gc
import mmap
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest

import tanx
from tanx._compiler.emit.cpu.module import generate
from tanx._compiler.machine import host
from tanx._core.array import Array
from tanx._core.primitive import Kind
from tanx._core.stage import stage
from tanx._core.types import typeof
from tanx._loops import interpret
from tanx._loops.build import (
    arg_reduce,
    as_index,
    clamp_index,
    const,
    convert,
    copy,
    element_program,
    eq,
    fold,
    load_guarded,
    nest,
    op,
    reduce,
    select,
    statement_program,
    store,
    temp,
)
from tanx._loops.instructions import INSTRUCTIONS, apply, kind_of, result_dtype, value_range, width
from tanx._runtime import load
from tests.cases import CASES
from tests.compiler.compiled import run, run_rule
from tests.compiler.programs import settings
from tests.loops.programs import CASES as RULES
from tests.test_rules import arrays, as_list, close, flat

# -- tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", RULES, ids=lambda case: case.name)
def test_rules_written_by_hand(case):
    results = run(case.program, *case.inputs, externs=case.externs)
    for got, want in zip(results, case.outputs, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", [case for case in CASES if case.lower], ids=repr)
def test_primitives(case):
    with tanx.enable_x64(True):
        args = arrays(case.arguments())
        jaxpr, consts = stage(flat(case), [x.aval for x in args])
        values = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))
        for eqn in jaxpr.eqns:
            ins = [values[a] if a in values else Array(np.asarray(a.val), False, a.aval)
                   for a in eqn.invars]
            outs = as_list(eqn.primitive.bind(*ins, **eqn.params))
            values.update(zip(eqn.outvars, outs))
            if eqn.primitive.name != case.primitive:
                continue
            make = (statement_program if eqn.primitive.kind is Kind.STATEMENT else element_program)
            program = make(eqn.primitive.lower, [typeof(x) for x in ins],
                           [typeof(x) for x in outs], eqn.params)
            given = [x._value for x in ins]
            for got, same, want in zip(run(program, *given), interpret.run(program, *given), outs):
                close(got, want._value, rtol=case.rtol, atol=1e-9)
                close(got, same, rtol=case.rtol, atol=1e-9)


# -- instructions ----------------------------------------------------------------------------------

DTYPES = {"b": ["bool"], "i": ["int8", "int16", "int32", "int64", "int4"],
          "u": ["uint8", "uint32", "uint64", "uint4"], "c": ["complex64", "complex128"],
          "f": ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
                "float8_e4m3b11fnuz", "float4_e2m1fn"]}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 2, 1.5, -2.5, 1e-40, 3e38, 1e4]
ATTRS = {"integer_pow": [dict(y=y) for y in (0, 1, 5)],
         "reduce_precision": [dict(exponent_bits=e, mantissa_bits=m)
                              for e, m in ((5, 3), (8, 7), (11, 52))],
         "convert": [dict(dtype=np.dtype(d)) for ds in DTYPES.values() for d in ds],
         "bitcast": [dict(dtype=np.dtype(d)) for kind in "iuf" for d in DTYPES[kind]]}
# Edge values, or the last digits, are SciPy's; see test_math for how good these are.
ROUGH = ("erfc", "ndtr", "polygamma", "zeta", "betainc", "igamma", "igammac", "digamma")


def operands(dtype, count, rng):
    """Numbers of a dtype, with many edge cases."""
    dtype, kind, n = np.dtype(dtype), kind_of(np.dtype(dtype)), 67
    for _ in range(count):
        if kind == "b":
            yield rng.integers(0, 2, n).astype(bool)
        elif kind in "iu":
            low, high = value_range(dtype)
            wide = np.int64 if kind == "i" else np.uint64
            x = rng.integers(low, high, n, dtype=wide, endpoint=True)
            edges = [low, low + 1, 0, 1, min(high, 3), high - 1, high, -1 if kind == "i" else 2]
            edges = rng.choice(np.array(edges, wide), n)
            yield np.where(rng.random(n) < 0.6, edges, x).astype(dtype)
        else:
            x = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 2, n)
            if kind == "f":
                x = np.where(rng.random(n) < 0.4, rng.choice(SPECIAL, n), x)
            else:
                x = rng.normal(size=n) * 3 + 3j * rng.normal(size=n)
            with np.errstate(all="ignore"):
                yield x.astype(dtype)


def instruction_calls(name):
    """The dtypes and attributes that an instruction is tested with, and operands for them."""
    rng = np.random.default_rng(len(name))
    row = INSTRUCTIONS[name]
    for dtype in (np.dtype(d) for kind in row.accepts for d in DTYPES[kind]):
        for attrs in ATTRS.get(name, [{}]):
            dtypes = (dtype,) * row.arity
            if name in ("select", "keep"):
                dtypes = (np.dtype(bool), *dtypes[1:])
            if name == "bitcast" and (kind_of(dtype) in "bc" or "float4" in f"{dtype} {attrs}"
                                      or width(attrs["dtype"]) != width(dtype)):
                continue
            if name == "reduce_precision" and dtype.itemsize == 1:
                continue
            try:
                result = result_dtype(name, dtypes, tuple(sorted(attrs.items())))
                args = [next(operands(d, 1, rng)) for d in dtypes]
                if name in ("floor_div", "floor_mod"):
                    most = min(value_range(dtype)[1], 99)
                    args[1] = (args[1].astype(np.int64) % most + 1).astype(dtype)
                want = apply(name, args, result, attrs) if name != "select" else np.where(*args)
            except TypeError:  # no such instruction, or no such conversion in NumPy
                continue
            yield args, attrs, want.astype(result)


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_instructions(name):
    """All dtypes at once: each call is a nest of one program."""
    calls = list(instruction_calls(name))
    inputs = [x for args, _, _ in calls for x in args]

    def rule(into, *xs):
        statements, rest = [], list(xs)
        for out, (args, attrs, _) in zip(into, calls):
            mine, rest = rest[:len(args)], rest[len(args):]
            statements.append(nest(out.shape, lambda k, out=out, mine=mine, attrs=attrs: [
                store(out, k, op(name, *(x[k] for x in mine), **attrs))]))
        return statements

    program = statement_program(rule, inputs, [want for _, _, want in calls])
    for (args, attrs, want), got in zip(calls, run(program, *inputs), strict=True):
        wrong = ~same(got, want, name in EXACT, name not in EITHER_ZERO)
        if name in ROUGH:
            wrong &= np.isfinite(want.astype(np.float64)) & np.isfinite(got.astype(np.float64))
            wrong &= ~np.isclose(got.astype(np.float64), want.astype(np.float64), 1e-4, 1e-9)
        where = np.flatnonzero(wrong)[:4]
        assert not len(where), [(args[0].dtype, attrs, [a[i] for a in args], got[i], want[i])
                                for i in where]


EXACT = ("add", "sub", "mul", "div", "rem", "max", "min", "neg", "square", "sqrt", "rsqrt", "floor",
         "ceil", "round_away", "round_even", "sign", "convert", "bitcast", "reduce_precision",
         "nextafter", "select", "keep", "clamp", "integer_pow", "one_minus_square")


EITHER_ZERO = ("max", "min", "clamp")
"""What may give either zero where both are offered: NumPy's choice differs between processors."""


def same(got, want, exact, signs=True):
    """Equal, up to rounding of floats unless that is defined, and to signs of zero."""
    if kind_of(want.dtype) in "biu":
        return got == want
    wide = np.complex128 if kind_of(want.dtype) == "c" else np.float64
    info = ml_dtypes.finfo(want.real.dtype if want.dtype.kind == "c" else want.dtype)
    with np.errstate(all="ignore"):
        a, b = got.astype(wide), want.astype(wide)
        error = np.zeros(a.shape) if exact and kind_of(want.dtype) == "f" else (
            (200 if want.dtype.kind == "c" else 8) * float(info.eps) * abs(b)
            + 4 * float(info.smallest_subnormal))
        close = (abs(a - b) <= error) | (a == b) | (np.isnan(a) & np.isnan(b))
    return close & ((a != 0) | (b != 0) | (want.dtype.kind == "c")
                    | (np.signbit(a.real) == np.signbit(b.real)) | (not exact) | (not signs))


# -- shapes and layouts ----------------------------------------------------------------------------


def normal(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape) + 1).normal(size=shape).astype(dtype)


SIZES = (1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 1000)


@pytest.mark.parametrize("n", SIZES)
def test_every_length_in_every_direction(n):
    x, y = normal(n), normal(n, 3)
    for rule, inputs, want in [
            (lambda at, x: x[at] * 2.0, [x], x * 2),
            (lambda at, x: x[n - 1 - at[0]], [x], x[::-1]),
            (lambda at, y: y[[at[0], 1]], [y], y[:, 1]),
            (lambda at, y: y[[n - 1 - at[0], 2]], [y], y[::-1, 2]),
            (lambda at, y: y[at[::-1]], [y], y.T),
            (lambda at, x: convert(at[0], np.float32) + x[[at[0]]], [x], np.arange(n) + x),
            (lambda at, x: x[at[0] // 2], [x], x[np.arange(n) // 2]),
            (lambda at, x: x[[(at[0] * at[0]) % n]], [x], x[np.arange(n) ** 2 % n])]:
        (got,) = run_rule(rule, inputs, want.astype(np.float32))
        np.testing.assert_array_equal(got, want.astype(np.float32))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float64", "complex64",
                                   "bfloat16", "int4", "float8_e5m2"])
def test_copies_of_all_widths(dtype):
    for n in (1, 3, 16, 50, 129):
        x = abs(normal(n, 2) * 3).astype(dtype)
        for rule, want in [(lambda at, x: x[at], x), (lambda at, x: x[at[::-1]], x.T),
                           (lambda at, x: x[[at[0], 1 - at[1]]], x[:, ::-1])]:
            (got,) = run_rule(rule, [x], want)
            assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("n", SIZES)
def test_reductions_of_every_length(n):
    x = normal(n, 5)
    y = np.where(np.arange(n)[:, None] % 7 == 5, -x, abs(x) + 0.5)
    for name, want in [("add", x.sum), ("max", x.max), ("min", x.min)]:
        for axis in (0, 1):
            (got,) = run_rule(lambda at, x, name=name, axis=axis: reduce(
                name, x.shape[axis], lambda k: x[[*k, *at] if axis == 0 else [*at, *k]]),
                [x], want(axis))
            np.testing.assert_allclose(got, want(axis), rtol=1e-5, atol=1e-5)
    (got,) = run_rule(lambda at, y: reduce("mul", y.shape, lambda k: y[k]), [y[:5]],
                      np.float32(0))
    np.testing.assert_allclose(got, y[:5].prod(), rtol=1e-4)
    (got,) = run_rule(lambda at, x: reduce("xor", n, lambda k: x[k]), [np.arange(n)], np.int64(0))
    assert got == np.bitwise_xor.reduce(np.arange(n))


def test_sums_of_products_and_of_complex_numbers():
    x, y = normal(33, 70), normal(70, 21)
    dot = lambda at, x, y: reduce("add", 70, lambda k: x[[at[0], *k]] * y[[*k, at[1]]])
    for dtype in ("float32", "float64", "complex64", "int32"):
        a, b = (x * 3).astype(dtype), (y * 3).astype(dtype)
        want = a.astype(np.complex128) @ b.astype(np.complex128)
        (got,) = run_rule(dot, [a, b], np.zeros((33, 21), dtype))
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_long_sums_are_accurate():
    x = np.random.default_rng(0).random(3_000_001, np.float32)
    (got,) = run_rule(lambda at, x: reduce("add", x.shape, lambda k: x[k]), [x], np.float32(0))
    assert abs(got / x.sum(dtype=np.float64) - 1) < 3e-7


@pytest.mark.parametrize("n", [1, 2, 9, 16, 17, 40, 101])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "bfloat16", "uint32"])
def test_positions_of_extremes(n, dtype):
    rng = np.random.default_rng(n)
    x = rng.integers(0, 4, (6, n)).astype(dtype)
    if dtype == "float32":
        x[1, n // 2] = x[2, -1] = x[2, 0] = np.nan
    for which, want in (("max", x.argmax(1)), ("min", x.argmin(1))):
        for position in (np.int32, np.int64, np.uint8):
            rule = lambda at, x, w=which, p=position: arg_reduce(
                w, n, lambda k: x[[*at, *k]], p)
            values, places = run_rule(rule, [x], [x[:, 0], want.astype(position)])
            np.testing.assert_array_equal(places, want)
            np.testing.assert_array_equal(values.astype(float), np.take_along_axis(
                x, want[:, None], 1)[:, 0].astype(float))


def test_softmax_reduces_each_row_once():
    x = normal(37, 129)
    def softmax(at, x):
        row = at[:-1]
        top = reduce("max", 129, lambda k: x[[*row, *k]])
        total = reduce("add", 129, lambda k: op("exp", x[[*row, *k]] - top))
        return op("exp", x[at] - top) / total
    program = element_program(softmax, [x], x)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(run(program, x)[0], e / e.sum(1, keepdims=True), rtol=1e-5)
    # One loop over rows, with three loops in it.
    text = generate(program, host()).text
    assert text.count("phi i64") <= 1 + 3 + 2  # ends of rows that do not fill a vector


# -- choices, guards, order ------------------------------------------------------------------------


def at_the_end_of_memory(x):
    """A copy of an array that ends at an unmapped page: a load past its end is fatal."""
    page = mmap.PAGESIZE
    room = mmap.mmap(-1, 3 * page)
    address = np.frombuffer(room, np.uint8).ctypes.data
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if libc.mprotect(address + 2 * page, page, 0):
        pytest.skip("pages cannot be protected here")
    copied = np.frombuffer(room, x.dtype, x.size, 2 * page - x.nbytes).reshape(x.shape)
    copied[...] = x
    return copied, lambda: libc.mprotect(address + 2 * page, page, 3)


@pytest.mark.parametrize("n", [3, 16, 37, 64])
def test_guarded_loads_do_not_read_out_of_bounds(n):
    x, open_up = at_the_end_of_memory(normal(n))
    i = np.array([0, n + 10 ** 9, 1, -1, n - 1, 5 * 10 ** 9] * 9)
    rules = [
        (lambda at, x, i: load_guarded(x, [at[0] - 3], -1.0), np.r_[[-1.0] * 3, x, [-1.0] * 5]),
        (lambda at, x, i: load_guarded(x, [2 * at[0]], 7.0),
         np.r_[x[::2], [7.0] * (n + 8 - len(x[::2]))]),
        (lambda at, x, i: load_guarded(x, [i[[at[0]]]], 0.5),
         np.where((i >= 0) & (i < n), x[np.clip(i, 0, n - 1)], 0.5)),
        (lambda at, x, i: select(at[0] < n, op("exp", load_guarded(x, [at[0]], 0.0)), 0.0),
         np.r_[np.exp(x), [0.0] * 8]),
        (lambda at, x, i: select(at[0] < n, reduce("add", 3, lambda k: load_guarded(
            x, [at[0] + k[0]], 0.0)), -1.0),
         np.r_[[x[j:j + 3].sum() for j in range(n)], [-1.0] * 8])]
    for rule, want in rules:
        program = element_program(rule, [x, i], want.astype(np.float32))
        code, out = load.compile_program(program), np.empty(want.shape, np.float32)
        code(x, i, out)
        np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-6)
    open_up()


def test_chains_of_choices():
    """As long as those of a concatenation of many arrays, by scalars and by lanes."""
    count = 400
    x = normal(count, 3)
    def pick(at, x, axis):
        result = x[[count - 1, at[1 - axis]]]
        for n in reversed(range(count - 1)):
            result = select(eq(at[axis], n), x[[n, at[1 - axis]]] * 1.0, result)
        return result
    for axis, want in ((0, x), (1, x.T)):
        (got,) = run_rule(pick, [x], want, axis=axis)
        np.testing.assert_array_equal(got, want)


def test_stores_in_order_and_where_guards_hold():
    def rule(into, x, i):
        out, last, count = into
        inside = lambda k: (as_index(i[k]) >= 0) & (as_index(i[k]) < 10)
        return [nest(out.shape, lambda k: [store(out, k, -1.0), store(count, k, 0)]),
                store(last, [], 0.0),
                nest(x.shape, lambda k: [store(out, [as_index(i[k])], x[k], guard=inside(k)),
                                         store(last, [], x[k])], sequential=True),
                nest(x.shape, lambda k: [
                    store(count, [as_index(i[k])], 1, "add", inside(k))])]
    x, i = normal(200), np.random.default_rng(0).integers(-3, 13, 200)
    out, count = np.full(10, -1, np.float32), np.zeros(10, np.int32)
    for value, place in zip(x, i):
        if 0 <= place < 10:
            out[place] = value
            count[place] += 1
    program = statement_program(rule, [x, i], [out, np.float32(0), count])
    results = run(program, x, i)
    for got, want in zip(results, (out, x[-1], count)):
        np.testing.assert_array_equal(got, want)


def test_parallel_stores_that_meet_are_combined():
    def rule(into, x):
        total, columns = into
        return [store(total, [], 0.0), nest(columns.shape, lambda k: [store(columns, k, 1.0)]),
                nest(x.shape, lambda k: [store(total, [], x[k], "add"),
                                         store(columns, k[1:], x[k], "max")])]
    x = normal(50, 33)
    total, columns = run(statement_program(rule, [x], [np.float32(0), x[0]]), x)
    np.testing.assert_allclose(total, x.sum(), rtol=1e-4)
    np.testing.assert_array_equal(columns, np.maximum(x.max(0), 1))


@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_stay_in_registers(axis):
    x = normal(70, 45)
    def rule(into, x):
        (out,) = into
        running = temp("running", x.shape[1 - axis:][:1] if axis == 0 else x.shape[:1], x.dtype)
        def step(k):
            at = [k[1 - axis]]
            before = select(eq(k[axis], 0), 0.0, running[at])
            return [store(running, at, before + x[k]), store(out, k, running[at])]
        return [nest(x.shape, step, sequential=tuple(a == axis for a in (0, 1)))]
    (got,) = run(statement_program(rule, [x], [x]), x)
    np.testing.assert_allclose(got, x.cumsum(axis), rtol=1e-4, atol=1e-4)


def test_a_fold_that_carries_lanes():
    """Binary search, all lanes at once."""
    table, x = np.sort(normal(64)), normal(41)
    def rule(at, table, x):
        def step(k, state):
            low, high = state
            middle = (low + high) // 2
            below = table[[clamp_index(middle, 64)]] < x[at]
            return (select(below & (low < high), middle + 1, low),
                    select(below | (low >= high), high, middle))
        return fold(7, [const(0), const(64)], step)[0]
    (got,) = run_rule(rule, [table, x], np.zeros(41, np.int64))
    np.testing.assert_array_equal(got, np.searchsorted(table, x))


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [5, 16, 37, 1000])
def test_outputs_in_the_memory_of_inputs(n):
    x = normal(n)
    program = element_program(lambda at, x: x[at] * 3.0 + 1.0, [x], x)
    code = load.compile_program(program, shared={program.outputs[0]: program.inputs[0]})
    memory = x.copy()
    code(memory, memory)
    np.testing.assert_array_equal(memory, x * 3 + 1)


def test_temporaries_in_an_arena():
    def rule(into, x):
        twice, more = temp("twice", x.shape, x.dtype), temp("more", x.shape, np.float64)
        return [nest(x.shape, lambda k: [store(twice, k, x[k] + x[k])]),
                nest(x.shape, lambda k: [store(more, k, convert(twice[k], np.float64))]),
                copy(into[0], more)]
    x = normal(100)
    program = statement_program(rule, [x], [x.astype(np.float64)])
    twice, more = program.temps
    code = load.compile_program(program, offsets={twice: 64, more: 512})
    arena, out = np.zeros(2048, np.uint8), np.empty(100)
    code(x, out, arena)
    np.testing.assert_array_equal(out, x.astype(np.float64) * 2)
    np.testing.assert_array_equal(arena[64:464].view(np.float32), x * 2)


def scaled(factor, n=8):
    return element_program(lambda at, x: x[at] * float(factor), [normal(n)], normal(n))


def test_equal_statements_are_one_function_and_equal_programs_one_code():
    def rule(into, x):
        return [nest(x.shape, lambda k, out=out: [store(out, k, x[k] + 1.0)]) for out in into]
    x = normal(64)
    program = statement_program(rule, [x], [x] * 5)
    assert generate(program, host()).text.count("define internal") == 1
    assert load.compile_program(scaled(3)) is load.compile_program(scaled(3))


def test_code_leaves_memory():
    load.clear()
    code = load.compile_program(scaled(5))
    gone = weakref.ref(code)
    x, y = normal(8), normal(8)
    code(x, y)
    del code
    assert gone() is not None  # kept for the next time
    load.clear()
    gc.collect()
    assert gone() is None


def test_least_recently_used_code_is_evicted(monkeypatch):
    load.clear()
    first = weakref.ref(load.compile_program(scaled(6)))
    monkeypatch.setattr(load, "LIMIT", 3 * first().nbytes)
    for factor in range(7, 12):
        load.compile_program(scaled(factor))
    gc.collect()
    assert first() is None
    kept = load._kept
    assert sum(code.nbytes for code in kept.code.values()) == kept.nbytes <= load.LIMIT


def test_threads_compile_and_run_at_once():
    failures = []
    def work(seed):
        try:
            for factor in range(20, 26):
                x, y = normal(100), np.empty(100, np.float32)
                load.compile_program(scaled(factor + seed % 2, 100))(x, y)
                np.testing.assert_array_equal(y, x * np.float32(factor + seed % 2))
        except Exception as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("name", ["sin", "exp", "logistic"])
def test_functions_used_often_are_called(name):
    def rule(at, x):
        return tuple(op(name, x[at] * times) for times in range(1, 9))
    x = np.linspace(-3, 1e5, 37).astype(np.float32)
    many = run_rule(rule, [x], [x] * 8)
    for times, values in enumerate(many, 1):
        alone = run_rule(lambda at, x, t=times: op(name, x[at] * t), [x], [x])
        np.testing.assert_array_equal(values, alone[0])
    text = generate(element_program(rule, [x], [x] * 8), host()).text
    assert text.count(f"@whole.{name}.v") == 5  # it is written once as a function, and called


@pytest.mark.parametrize("steps", [31, 32, 33, 1000])
def test_scattered_updates_of_a_large_buffer(steps):
    random, size = np.random.default_rng(steps), 200_003
    places = random.integers(-size - 50, size + 50, steps).astype(np.int32)
    old, new = (random.integers(0, 9, n).astype(np.float32) for n in (size, steps))
    updated = np.copy(old)
    wrapped = np.where(places < 0, places + size, places)
    inside = (wrapped >= 0) & (wrapped < size)
    np.add.at(updated, wrapped[inside], new[inside])
    with settings({"access.scattered": 1 << 19}):
        update = tanx.jit(lambda x, i, v: x.at[i].add(v))
        for _ in range(4):
            got = update(*map(tanx.numpy.asarray, (old, places, new)))
            np.testing.assert_array_equal(np.asarray(got), updated)
