"""Loops over tasks: what is split and how; results do not change."""

import threading
from dataclasses import replace

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._compiler.machine import host
from tanx._compiler.pipeline import build
from tanx._compiler.schedule.tasks import in_tasks
from tanx._loops import interpret
from tanx._loops.build import as_index, copy, element_program, nest, op, statement_program, store
from tanx._loops.check import check
from tanx._loops.nest import PARALLEL, TASKS
from tanx._loops.show import show
from tanx._runtime.load import compile_program
from tests.compiler import compiled, programs
from tests.compiler.programs import settings


@pytest.fixture(autouse=True)
def same_number_afterwards():
    before = tanx.get_num_threads()
    yield
    tanx.set_num_threads(before)


def scheduled(function, *shapes, dtype="float32"):
    """The program of a function of arrays with these shapes."""
    args = [tanx.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    return build(tanx.make_jaxpr(function)(*args)).program


def heads(function, *shapes):
    """The first line of each statement."""
    text = show(scheduled(function, *shapes))
    return [line for line in text.splitlines() if line.endswith(":") and line[0] != " "]


def softmax(x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# -- what is split ---------------------------------------------------------------------------------


def test_small_work_stays_in_one_piece():
    assert heads(lambda x: x + x, (64, 64)) == ["for i in 64, j in 64 parallel:"]
    assert heads(softmax, (64, 64)) == ["for i in 64 parallel:"]
    assert heads(jnp.sum, (10_000,)) == ["once:"]


def test_rows_that_follow_each_other_stay_together_where_others_are_far():
    assert heads(lambda x: x.sum(0), (256, 256, 256)) == [
        "for t in 32 tasks, i in 8, j in 256 parallel:"]
    assert heads(lambda x: x.transpose(1, 0, 2), (256, 256, 256)) == [
        "for t in 32 tasks, i in 8, j in 256, l in 256 parallel:"]


def test_the_outermost_loop_is_cut():
    assert show(scheduled(lambda x: x + x, (4096, 1000))) == """\
program(x0: f32[4096,1000]) -> (y0: f32[4096,1000])
for t in 64 tasks, i in 64, j in 1000 parallel:
    y0[t * 64 + i, j] = x0[t * 64 + i, j] + x0[t * 64 + i, j]"""


def test_remainders_of_tasks_are_a_separate_statement():
    program = scheduled(lambda x: 2 * x, (1_000_003,))
    tasks, rest = program.statements
    assert tasks.kinds[0] == TASKS and TASKS not in rest.kinds
    done, size = (np.prod([i.extent for i in s.indices]) for s in (tasks, rest))
    assert done + size == 1_000_003 and size < 10_000


def test_short_loops_are_tasks_as_they_are():
    (head,) = heads(lambda x: x + x, (2, 3, 1 << 18))
    assert head.startswith("for i in 2, j in 3, t in ") and " tasks, l in " in head


def test_repeated_reads_stay_in_one_task():
    (head,) = heads(lambda x: jnp.tile(x, 4), (1 << 21,))
    assert head == "for t in 64 tasks, i in 4, j in 32768 parallel:"
    (head,) = heads(lambda x: jnp.tile(x, 4000), (1000,))
    assert head.startswith("for t in ") and head.endswith("j in 1000 parallel:")


def test_rows_stay_together():
    (head,) = heads(softmax, (1000, 1000))
    assert head == "for t in 100 tasks, i in 10 parallel:"


def test_few_long_rows_are_torn_apart():
    found = heads(softmax, (2, 1 << 20))
    assert sum("tasks" in head for head in found) == 4 and found[1] == "for i in 2 parallel:"


def test_columns_are_taken_in_long_pieces():
    (head,) = heads(lambda x: x.sum(0), (100, 1 << 15))
    assert head == "for t in 16 tasks, i in 2048 parallel:"
    first, second = heads(lambda x: x.sum(0), (1000, 1000))
    assert first == "for t in 10 tasks, i in 1000 parallel:" and "tasks" not in second


def test_small_transposes_are_cut_into_short_tasks():
    (head,) = heads(jnp.transpose, (512, 512))
    assert head == "for t in 8 tasks, i in 64, j in 512 parallel:"


def test_small_work_has_enough_tasks_for_balance():
    """With five tasks, one of two threads would have three."""
    (head,) = heads(jnp.arctan, (100_000,))
    assert 16 <= int(head.split()[3]) <= 40


def test_a_loop_that_is_parallel_inside_of_a_sequential_one():
    _, head = heads(lambda x: jnp.cumsum(x, 0), (1000, 1024))
    assert head == "for t in 2 tasks, i in 1000 sequential, j in 512 parallel:"


def test_reductions_to_a_number_are_split():
    assert show(scheduled(lambda x: jnp.sqrt(x.sum()), (4096, 1000))) == """\
program(x0: f32[4096,1000]) -> (y0: f32[])
temp p0: f32[32]
for t in 32 tasks:
    p0[t] = add(k in 128, l in 1000: x0[t * 128 + k, l])
once:
    y0[] = sqrt(add(k in 32: p0[k]))"""


def test_reductions_of_one_array_are_split_together():
    first, second = heads(lambda x: (x.sum(), jnp.exp(x).max()), (1000, 1000))
    assert "tasks" in first and second == "once:"


def test_reductions_to_few_numbers_are_split():
    first, second = heads(lambda x: x.sum(0), (1 << 20, 8))
    assert first.endswith("tasks, i in 8 parallel:") and second == "for i in 8 parallel:"


def test_lines_are_sorted_in_tasks():
    text = show(scheduled(jnp.sort, (100, 1000)))
    assert "temp p0: u64[33,1000]" in text and "p0 = extern sort_lines" in text
    assert "temp t2: u64[1,70]" in show(scheduled(jnp.sort, (50, 70)))


def test_conflicting_stores_are_not_split_into_tasks():
    def rule(into, x, at):
        return [copy(into[0], x), nest(x.shape, lambda k: [
            store(into[0], [as_index(at[k])], x[k], "add")])]

    x, at = np.zeros(1 << 20, np.float32), np.zeros(1 << 20, np.int32)
    copied, scattered = in_tasks(statement_program(rule, [x, at], x), host()).statements
    assert TASKS in copied.kinds and TASKS not in scattered.kinds


def test_columns_of_a_scatter_are_split():
    index = np.arange(1000) % 7
    heads_found = heads(lambda x, y: x.at[index].add(y), (10, 4096), (1000, 4096))
    assert "tasks" in heads_found[-1]


def run_compiled(module, args):
    """Run a module's code."""
    data = [*map(np.asarray, (*module.constants, *args))]
    plan = module.plan
    code = compile_program(plan.program, offsets=plan.offsets, shared=plan.shared)
    outs = [np.zeros(b.shape, b.dtype) for b in plan.program.outputs]
    code(*data, *outs, np.full(plan.size + 64, 99, np.uint8))
    held = dict(zip((*plan.program.inputs, *plan.program.outputs), (*data, *outs)))
    return [held[b] for b in module.results]


@pytest.fixture
def tiny_tasks():
    """Split everything that can be split."""
    with settings({"tasks.grain": 1e-7}):
        yield


@pytest.fixture
def short_scans():
    """As with tiny tasks; short scans are split, too."""
    with settings({"tasks.grain": 1e-7, "tasks.scan_length": 64}):
        yield


@pytest.fixture
def tiniest_tasks():
    """Split everything that can be split, of any size."""
    with settings({"tasks.grain": 1e-9}):
        yield


@pytest.mark.parametrize("shape", [(2, 1, 0, 7), (1, 0, 4), (0,)])
def test_sums_of_nothing_have_no_parts(shape, tiniest_tasks):
    x = np.zeros(shape)
    np.testing.assert_array_equal(tanx.jit(lambda x: jnp.prod(jnp.cos(x)))(x), 1)
    np.testing.assert_array_equal(tanx.jit(lambda x: x - x.sum())(x), x)


def test_no_sums_have_no_parts(tiniest_tasks):
    scheduled(lambda x: jnp.all(x > 0, axis=(0, 2)), (5, 0, 1))


def test_many_updates_of_few_elements_are_made_apart():
    at = np.zeros(1_000_000, np.int32)
    text = show(in_tasks(build(tanx.make_jaxpr(lambda x, at, y: x.at[at].max(y))(
        np.zeros(8, np.float32), at, np.zeros(at.shape, np.float32))).program, host()))
    assert "p0[t, j] = -inf:f32" in text and "] max= max(k in " in text


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64", "uint8", "bfloat16"])
@pytest.mark.parametrize("combine", ["add", "max", "multiply", "min"])
def test_scatter_updates_of_repeated_indices(combine, dtype, tiny_tasks):
    """With negative and out-of-bounds indices; elements without updates are unchanged."""
    rng = np.random.default_rng(0)
    x = np.array([-0.0, 0.0, 1, 2, 3, 4, 5], dtype)
    at = rng.integers(-9, 5, 10_001).astype(np.int32)
    at[at % 7 == 1] = 2
    y = (1 + rng.integers(0, 3, at.shape) * (combine != "multiply")).astype(dtype)
    function = lambda x, at, y: getattr(x.at[at], combine)(y, mode="drop")
    module = build(tanx.make_jaxpr(function)(x, at, y))
    apart = {"float32": ("add", "max", "min"), "complex64": ("add",), "bfloat16": ()}
    assert ("p0[t" in show(module.program)) == (combine in apart.get(dtype, (combine,)))
    check(module.program)
    (found,) = run_compiled(module, [x, at, y])
    expected = np.asarray(function(jnp.asarray(x), at, y))
    np.testing.assert_allclose(found.astype("complex128"), expected.astype("complex128"))
    np.testing.assert_array_equal(np.signbit(found.real.astype(float)),
                                  np.signbit(expected.real.astype(float)))


@pytest.mark.parametrize("name, dtype", [
    ("cumsum", "float32"), ("cumsum", "int32"), ("cumsum", "bfloat16"), ("cumsum", "complex64"),
    ("cummax", "float32"), ("cummin", "int8"), ("cumprod", "float32")])
@pytest.mark.parametrize("n", [128, 5000, 10_007])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans_of_a_line(name, dtype, n, reverse, short_scans):
    x = (np.random.default_rng(0).normal(size=n) / 8).astype(dtype)
    if name == "cummax":
        x[n // 2] = np.nan
    function = lambda x: getattr(tanx.lax, name)(x, reverse=reverse)
    module = build(tanx.make_jaxpr(function)(x))
    check(module.program)
    assert ("parallel, k in " in show(module.program)) == (n > 128 and name != "cumprod")
    (found,) = run_compiled(module, [x])
    expected = np.asarray(function(jnp.asarray(x)))
    np.testing.assert_allclose(found.astype("complex128"), expected.astype("complex128"),
                               rtol=2e-5 if dtype != "bfloat16" else 1e-2, atol=1e-4)


def test_long_lines_are_scanned_in_rows():
    text = show(scheduled(jnp.cumsum, (16_000_000,)))
    assert text.count(" tasks, r in ") == 2 and "sequential" in text.splitlines()[-3]


# -- results ---------------------------------------------------------------------------------------


FUNCTIONS = {
    "elements": (lambda x: jnp.exp(x) + 1, (37, 501)),
    "one dimension": (lambda x: x * 2 + 1, (10_007,)),
    "transpose": (lambda x: x.T + 1, (60, 1540)),
    "softmax": (softmax, (61, 130)),
    "few rows": (softmax, (3, 5000)),
    "sum": (jnp.sum, (113, 307)),
    "sum of rows": (lambda x: x.sum(1), (7, 5000)),
    "sum of columns": (lambda x: x.sum(0), (5000, 9)),
    "max and min": (lambda x: (x.max(), x.min(0)), (700, 5)),
    "variance": (lambda x: x.var(), (90, 91)),
    "several sums": (lambda x: (x.sum(), jnp.exp(x).sum() / x.min()), (90, 91)),
    "sums of sums": (lambda x: (x * x.sum()).sum(0).max() + (x - x.mean()).min(), (93, 91)),
    "argmax": (lambda x: (x.argmax(), x.argmin(0), x.argmax(1)), (50, 301)),
    "argmax of equals": (lambda x: (jnp.round(x).argmax(), jnp.round(x).argmin()), (10_001,)),
    "cumsum": (lambda x: (x.cumsum(0), x.cumsum(1)), (70, 71)),
    "concatenate": (lambda x: jnp.concatenate([x, x[:5] + 1]), (53, 40)),
    "scatter": (lambda x: x.at[jnp.array([1, 2, 1, 3])].add(x[:4]), (9, 600)),
    "matmul": (lambda x: x @ x.T, (40, 70)),
    "sort": (lambda x: (jnp.sort(x, 0), jnp.argsort(x)), (60, 70)),
    "top": (lambda x: tanx.lax.top_k(x, 3), (5, 4000)),
    "any": (lambda x: ((x > 3).any(), (x > -9).all()), (20_000,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_do_not_depend_on_threads(name, tiny_tasks):
    function, shape = FUNCTIONS[name]
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    module = build(tanx.make_jaxpr(function)(x))
    check(module.program)
    assert "tasks" in show(module.program) or name == "matmul"  # tiles have separate tasks
    expected = tanx.tree_util.tree_leaves(function(jnp.asarray(x)))
    interpreted = interpret.run(module.program, *module.constants, x)
    results = []
    for threads in (1, 2, 3, 5):
        tanx.set_num_threads(threads)
        results.append(run_compiled(module, [x]))
    for found in results[1:]:
        for a, b in zip(results[0], found, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b, c in zip(results[0], interpreted, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-4)
        np.testing.assert_allclose(a, c, rtol=2e-5, atol=1e-4)


@pytest.mark.parametrize("position", [0, 1, 5000, 9_999, 10_000])
def test_nan_and_equals_are_found_in_any_part(position, tiny_tasks):
    x = np.zeros(10_001, np.float32)
    x[position] = np.nan
    x[-1] = np.nan
    module = build(tanx.make_jaxpr(lambda x: (x.argmax(), x.max()))(x))
    at, best = run_compiled(module, [x])
    assert at == position and np.isnan(best)


def test_tasks_of_several_loops():
    x = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
    program = element_program(lambda at, x: op("neg", x[at]), [x], x)
    (loop,) = program.statements
    program = replace(program, statements=(replace(loop, kinds=(TASKS, TASKS, PARALLEL)),))
    np.testing.assert_array_equal(compiled.run(program, x)[0], -x)


def test_python_threads_run_one_program_at_once(tiny_tasks):
    tanx.set_num_threads(3)
    x = np.random.default_rng(0).normal(size=(200, 300)).astype(np.float32)
    module = build(tanx.make_jaxpr(lambda x: softmax(x).sum(0))(x))
    (expected,) = run_compiled(module, [x])
    wrong = []

    def caller():
        for _ in range(20):
            (found,) = run_compiled(module, [x])
            if not np.array_equal(found, expected):
                wrong.append(found)

    callers = [threading.Thread(target=caller) for _ in range(4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed, tiny_tasks):
    source = programs.make(7000 + seed)
    assert source.fails() is None, programs.smaller(source).script()
