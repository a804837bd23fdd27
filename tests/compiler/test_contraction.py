"""Products of matrices as machine code: layouts, dtypes, sizes around tiles, fusion."""

import itertools
from dataclasses import replace
from math import ceil, prod

import ml_dtypes
import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax, tree_util
from tanx._compiler.emit.cpu.module import instructions
from tanx._compiler.kernels.gemm.micro import kernel_symbol, kernel_text
from tanx._compiler.machine import Machine, as_host, host
from tanx._compiler.pipeline import build
from tanx._compiler.schedule.tiles import best_tile, tiling
from tanx._runtime.executable import Executable
from tests.compiler.agreement import assert_close, check_jaxpr_agrees, evaluated, uncertainty
from tests.compiler.assembly import loops
from tests.compiler.programs import settings


def numbers(*shape, dtype=np.float32, seed=0):
    """Random numbers of any dtype; small enough that sums of integers mean something."""
    random = np.random.default_rng([seed, *shape])
    if np.dtype(dtype).kind in "iu":
        return random.integers(0 if np.dtype(dtype).kind == "u" else -9, 10, shape).astype(dtype)
    values = random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * random.standard_normal(shape)
    return values.astype(dtype)


def check(fun, *args, interpret=True):
    """Compare machine code and, where that is quick, the interpreter with ``eval``."""
    closed = tanx.make_jaxpr(fun)(*args)
    leaves = [np.asarray(x) for x in tree_util.tree_leaves(args)]
    if interpret:
        check_jaxpr_agrees(closed, leaves)
    with tanx._base.config.enable_checks(True):
        got = Executable(closed).run(leaves)
    for mine, expected in zip(got, evaluated(closed, leaves), strict=True):
        assert_close(np.asarray(mine), expected, uncertainty(closed, leaves))


def products(fun, *args):
    """How many statements of a compiled function are computed by tiles."""
    program = build(tanx.make_jaxpr(fun)(*args)).program
    return sum(tiling(statement, host()) is not None for statement in program.statements)


# -- layouts ---------------------------------------------------------------------------------------

LAYOUTS = [(x, y, out) for x in itertools.permutations("bik") for y in itertools.permutations("bkj")
           for out in ("bij", "bji", "ibj", "jib")]


@pytest.mark.parametrize("x, y, out", LAYOUTS, ids=lambda letters: "".join(letters))
def test_every_order_of_dimensions(x, y, out):
    sizes = {"b": 3, "i": 17, "j": 21, "k": 19}
    spec = f"{''.join(x)},{''.join(y)}->{out}"
    args = (numbers(*(sizes[c] for c in x)), numbers(*(sizes[c] for c in y), seed=1))
    check(lambda x, y: jnp.einsum(spec, x, y), *args, interpret=False)


@pytest.mark.parametrize("spec", [
    "ik,kj->ij", "ki,kj->ij", "ik,jk->ij", "ki,jk->ij", "ik,kj->ji", "ki,jk->ji",
    "aik,akj->aij", "iak,kaj->aij", "abik,abkj->abij", "baik,abkj->iabj",
    "bihd,bjhd->bhij", "bhij,bjhd->bihd", "ikl,klj->ij", "ikl,lkj->ij", "kil,ljk->ij",
    "iak,kj->iaj", "iak,kbj->iajb", "iak,bkj->aibj", "ika,kjb->ijab", "ik,kbj->bij",
    "abcd,cdef->abef", "abcd,dcfe->efab", "ij,ji->ij", "bk,bkj->bj", "bik,bk->bi", "ik,k->i",
    "k,kj->j", "i,j->ij"])
@pytest.mark.parametrize("size", [5, 16])
def test_contractions(spec, size):
    sizes = {c: size + n for n, c in enumerate("ijkabcdefhl")} | {"a": 2, "b": 3, "h": 4}
    left, right = spec.split("->")[0].split(",")
    args = (numbers(*(sizes[c] for c in left)), numbers(*(sizes[c] for c in right), seed=1))
    check(lambda x, y: jnp.einsum(spec, x, y), *args, interpret=size == 5)


def test_views_of_operands():
    x, y = numbers(40, 33), numbers(70, 48, seed=1)
    check(lambda x, y: x[3:20, ::2] @ y[5:56:3], x, y)
    check(lambda x, y: x[::-1] @ y[:33], x, y)
    check(lambda x, y: x @ jnp.concatenate([y[:13], y[50:]]), x, y)
    check(lambda x, y: (x.reshape(8, 5, 33) @ y[:33]).transpose(1, 0, 2), x, y)
    check(lambda x, y: (x @ y[:33]).reshape(40, 4, 12).transpose(1, 0, 2), x, y)


# -- sizes and dtypes ------------------------------------------------------------------------------

EDGES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 31, 33]


@pytest.mark.parametrize("rows", EDGES)
def test_sizes_around_tiles(rows):
    for columns, terms in itertools.product(EDGES, (1, 3, 4, 6, 9, 40)):  # a part of them
        x, y = numbers(rows, terms), numbers(terms, columns, seed=1)
        for fun in (lambda x, y: x @ y, lambda x, y: x @ y + 1):
            if (rows + columns + terms) % 9 == 0:
                check(fun, x, y, interpret=False)


@pytest.mark.parametrize("rows, columns, terms", [
    (70, 300, 400), (300, 130, 70), (129, 1100, 40), (9, 700, 300), (700, 9, 300), (64, 64, 64),
    (3, 301, 200), (1, 300, 257), (300, 1, 257), (5, 7, 9000), (150, 130, 5000), (16, 16, 20001)])
def test_large_products(rows, columns, terms):
    x, y = numbers(rows, terms), numbers(terms, columns, seed=1)
    check(lambda x, y: x @ y, x, y, interpret=False)
    check(lambda x, y: jnp.tanh(x.T @ y), np.ascontiguousarray(x.T), y, interpret=False)
    check(lambda x, y: (y.T @ x.T) * 2, x, y, interpret=False)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_do_not_depend_on_threads(threads):
    x, y = numbers(6, 200, 150), numbers(6, 150, 130, seed=1)
    before = tanx.get_num_threads()
    run = tanx.jit(lambda x, y: jnp.sin(x @ y))
    expected = np.asarray(run(x, y))
    tanx.set_num_threads(threads)
    try:
        np.testing.assert_array_equal(run(x, y), expected)
    finally:
        tanx.set_num_threads(before)


def test_empty_products():
    check(lambda x, y: x @ y, numbers(0, 8), numbers(8, 9))
    check(lambda x, y: x @ y, numbers(8, 0), numbers(0, 9))
    check(lambda x, y: x @ y, numbers(0, 8, 9), numbers(0, 9, 8))


DTYPES = [np.float32, np.float64, np.complex64, np.complex128, np.float16, ml_dtypes.bfloat16,
          ml_dtypes.float8_e4m3fn, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64,
          np.uint64, np.bool_]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_dtypes(dtype):
    with tanx.enable_x64(True):
        x, y = (np.abs(x * 3).astype(dtype) for x in (numbers(37, 26), numbers(26, 29, seed=1)))
        check(lambda x, y: x @ y, x, y)
        check(lambda x, y: (y.T @ x.T) + y.T[:, :1], x, y)


@pytest.mark.parametrize("given, preferred", [
    (np.int8, np.int32), (np.uint8, np.int32), (np.int16, np.float32), (np.float16, np.float32),
    (ml_dtypes.bfloat16, np.float32), (np.int8, np.int16), (np.float32, np.float64),
    (np.float32, ml_dtypes.bfloat16)], ids=lambda d: np.dtype(d).name)
def test_preferred_element_types(given, preferred):
    x, y = numbers(37, 26).astype(given), numbers(26, 29, seed=1).astype(given)
    numbers_of_dot = (((1,), (0,)), ((), ()))
    with tanx.enable_x64(True):
        check(lambda x, y: lax.dot_general(
            x, y, numbers_of_dot, preferred_element_type=preferred), x, y)


def test_mixed_operands():
    x, y = numbers(37, 26), numbers(26, 29, seed=1)
    dims = (((1,), (0,)), ((), ()))
    check(lambda x, y: lax.dot_general(x.astype(jnp.bfloat16), y, dims), x, y)
    check(lambda x, y: lax.dot_general(x.astype(jnp.int32), y, dims), x, y)


# -- what comes before and after -------------------------------------------------------------------


@pytest.mark.parametrize("fun", [
    lambda x, w, b, r: jnp.maximum(x @ w + b, 0),
    lambda x, w, b, r: jnp.tanh(x @ w + b) + r,
    lambda x, w, b, r: (x @ w + r).T,
    lambda x, w, b, r: ((x @ w) * b, jnp.exp(x @ w)),
    lambda x, w, b, r: (x @ w).astype(jnp.bfloat16) + b.astype(jnp.bfloat16),
    lambda x, w, b, r: jnp.where(x @ w > 0, r, b),
    lambda x, w, b, r: x @ w + jnp.arange(w.shape[1]),
    lambda x, w, b, r: x @ w + r.T.reshape(r.shape),
    lambda x, w, b, r: jnp.sin(x) @ jnp.cos(w),
    lambda x, w, b, r: (x + 1) @ (w * 2).astype(jnp.bfloat16).astype(jnp.float32),
    lambda x, w, b, r: jnp.sum(jnp.tanh(x @ w + b)),
    lambda x, w, b, r: (x @ w) @ (x @ w).T,
    lambda x, w, b, r: tanx.grad(lambda w: jnp.sum(jnp.tanh(x @ w + b) @ w.T))(w),
], ids=range(13))
def test_neighbours(fun):
    args = (numbers(38, 27), numbers(27, 45, seed=1), numbers(45, seed=2), numbers(38, 45, seed=3))
    check(fun, *args)


PROLOGUES = [
    lambda x, y, s, m: jnp.maximum(x, 0) @ y,
    lambda x, y, s, m: x @ jnp.tanh(y),
    lambda x, y, s, m: (x * s) @ (y - y.mean(0)),
    lambda x, y, s, m: jnp.where(m, x, 0) @ y,
    lambda x, y, s, m: m.astype(jnp.int8).astype(jnp.float32) @ y + s.sum(),
    lambda x, y, s, m: ((x * m) @ y, x.T @ (x * m)),
    lambda x, y, s, m: jnp.exp(-x) @ jnp.exp(-x).T,
    lambda x, y, s, m: (x[::-1, ::2] * s[::2]) @ y[1::2],
    lambda x, y, s, m: ((x * s).astype(jnp.bfloat16) @ y.astype(jnp.bfloat16)).T,
    lambda x, y, s, m: (1j * x + s) @ y.astype(jnp.complex64),
    lambda x, y, s, m: tanx.grad(lambda x: jnp.sum(jnp.maximum(x * s, 0) @ y * x[:, :1]))(x),
    lambda x, y, s, m: jnp.einsum("aik,kj->iaj", x.reshape(4, -1, x.shape[1]) * s, y + 1),
]


@pytest.mark.parametrize("rows, terms, columns", [
    (16, 8, 20), (52, 22, 35), (260, 26, 210), (8, 64, 301), (152, 300, 19),
    (16, 20, 602), (4, 18, 700)])
@pytest.mark.parametrize("fun", PROLOGUES, ids=range(len(PROLOGUES)))
def test_operand_prologues(fun, rows, terms, columns):
    x, y, s = numbers(rows, terms), numbers(terms, columns, seed=1), numbers(terms, seed=2)
    check(fun, x, y, s, x > s, interpret=rows < 100)


@pytest.mark.parametrize("fun", [
    lambda x, y, s: jnp.maximum(x, 0) @ y, lambda x, y, s: jnp.exp(x) @ y,
    lambda x, y, s: (x * s) @ jnp.abs(y), lambda x, y, s: x @ (y.astype(jnp.float32) * 2)])
def test_operand_prologues_are_not_stored(fun):
    x, y, s = numbers(512, 256), numbers(256, 384, seed=1), numbers(256, seed=2)
    plain, memory = (tanx.jit(f).lower(x, y, s).compile().memory_analysis().temp_size_in_bytes
                     for f in (lambda x, y, s: x @ y, fun))
    # Where rows are read as they are, a product of x alone has no copy of it: one is allowed here.
    assert memory <= plain + (0 if host().multiplies_by_lane else x.nbytes)


@pytest.mark.parametrize("fun", [
    lambda x, y: jnp.abs(x) @ y, lambda x, y: (x * 2).T @ y, lambda x, y: x[:256].T @ y[:256],
    lambda x, y: jnp.tanh(jnp.abs(x) @ y[:, :9] + 1), lambda x, y: x[:8] @ jnp.exp(y / 9),
    lambda x, y: x[:8] @ (y * y[0]) + y[:8]], ids=range(6))
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32], ids=lambda d: d.__name__)
def test_tasks_compute_their_part_of_an_operand(fun, dtype):
    with tanx.enable_x64(True):
        x, y = numbers(512, 512, dtype=dtype), numbers(512, 60, dtype=dtype, seed=1)
        program = build(tanx.make_jaxpr(fun)(x, y)).program
        (found,) = filter(None, (tiling(statement, host()) for statement in program.statements))
        assert found.left.room or found.right.room
        check(fun, x, y, interpret=False)
        batched = tanx.vmap(fun)
        check(batched, np.stack([x, x + 1]), np.stack([y, y - 1]), interpret=False)


@pytest.mark.parametrize("rows, terms, columns, dtype", [
    (17, 64, 1030, np.float32), (100, 300, 700, np.float64), (67, 1100, 515, np.float32),
    (40, 1031, 512, np.int32)])
def test_few_rows_by_a_large_matrix(rows, terms, columns, dtype):
    """Where tasks copy the columns that they are about to use, and where they do not."""
    with tanx.enable_x64(True):
        x, y = numbers(rows, terms, dtype=dtype), numbers(terms, columns, dtype=dtype, seed=1)
        program = build(tanx.make_jaxpr(lambda x, y: x @ y)(x, y)).program
        (found,) = filter(None, (tiling(statement, host()) for statement in program.statements))
        assert (found.right.room is not None) == (terms != 1031 and not host().multiplies_by_lane)
        for fun in (lambda x, y: x @ y, lambda x, y: jnp.maximum(x @ y + y[0], 0)):
            check(fun, x, y, interpret=False)
        check(lambda x, y: x.T @ y, x.T.copy(), y, interpret=False)
        check(lambda x, y: tanx.vmap(lambda z: x @ z)(y), x, np.stack([y, -y]), interpret=False)


@pytest.mark.parametrize("sizes", [(16, 20, 60, 70), (9, 33, 129, 64)])
def test_batches_of_right_operands_that_tasks_copy(sizes):
    batch, rows, terms, columns = sizes
    x, y = numbers(batch, rows, terms), numbers(batch, terms, columns, seed=1)
    for fun in (lambda x, y: x @ y, lambda x, y: jnp.tanh(x @ y), lambda x, y: x[0] @ y,
                lambda x, y: x[:, None] @ jnp.stack([y, -y], 1)):
        check(fun, x, y, interpret=False)


@pytest.mark.parametrize("fun, parts", [
    (lambda x, y: x @ y, True), (lambda x, y: jnp.tanh(x @ y + y[0]), True),
    (lambda x, y: x[:, :100] @ y[:100], False)], ids=["product", "followed", "few terms"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda d: d.__name__)
def test_parts_of_long_sums_stay_in_the_second_level_cache(fun, parts, dtype):
    small = replace(host(), caches=(1 << 13, 1 << 17, 1 << 20))
    with tanx.enable_x64(True), as_host(small):
        x, y = numbers(70, 700, dtype=dtype), numbers(700, 130, dtype=dtype, seed=1)
        program = build(tanx.make_jaxpr(fun)(x, y)).program
        (found,) = filter(None, (tiling(statement, small) for statement in program.statements))
        assert (found.depth < found.term.extent) == (parts and not small.multiplies_by_lane)
        check_jaxpr_agrees(tanx.make_jaxpr(fun)(x, y), [x, y], interpreted=False)


def test_results_may_overwrite_their_addend():
    fun = tanx.jit(lambda x, w, r: jnp.tanh(x @ w) + r, donate_argnums=2)
    x, w, r = numbers(70, 50), numbers(50, 61, seed=1), numbers(70, 61, seed=2)
    np.testing.assert_allclose(fun(x, w, jnp.array(r)), np.tanh(x @ w) + r, atol=1e-5)


def test_products_are_computed_by_tiles():
    x, w = numbers(64, 64), numbers(64, 64, seed=1)
    assert products(lambda x, w: x @ w, x, w) == 1
    assert products(lambda x, w: jnp.tanh(x.T @ w.T + 1).T, x, w) == 1
    assert products(lambda x, w: jnp.einsum("ik,kj->ji", x, w), x, w) == 1
    assert products(lambda x, w: x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16), x, w) == 1
    assert products(lambda x, w: x @ w, numbers(5, 16, 16), numbers(5, 16, 16)) == 1
    assert products(lambda x, w: x * w, x, w) == 0
    assert products(lambda x, w: x @ w, numbers(1000), numbers(1000, 100)) == 1
    assert products(lambda x, w: x @ w, numbers(8, 8000), numbers(8000, 9)) == 2  # in parts
    assert products(lambda x, w: x.astype(jnp.complex64) @ w, x, w) == 1


# -- kernels of other processors -------------------------------------------------------------------


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("form", ["k", "m"])
def test_kernels_can_be_written_for_other_processors(bits, form):
    target = Machine("x86_64-unknown-linux-gnu", "generic", "", bits)
    for dtype in map(np.dtype, (np.float32, np.float64, np.int32)):
        tile = best_tile(form, 1000, 1000, 1000, dtype, target)
        assert tile.rows * tile.vectors >= 8
        text = kernel_text(kernel_symbol(tile, dtype), target)
        assert f"<{tile.lanes} x " in text


@pytest.mark.parametrize("cpu, bits", [("haswell", 256), ("skylake-avx512", 512)])
@pytest.mark.parametrize("form", ["k", "m"])
@pytest.mark.parametrize("rows", [4, 5, 6, 1000])
def test_sums_stay_in_registers(cpu, bits, form, rows):
    """Loops spill nothing, and move no vector from one register to another."""
    target = Machine("x86_64-unknown-linux-gnu", cpu, "+fma", bits)
    for dtype in map(np.dtype, (np.float32, np.float64)):
        tile = best_tile(form, rows, 1000, 1000, dtype, target)
        text = instructions(kernel_text(kernel_symbol(tile, dtype), target), target)
        found = [loop for loop in loops(text) if loop.fmas]
        # With 16 registers, a loop over four terms comes before the one over the last terms.
        assert [len(loop.fmas) for loop in found] == [
            terms * tile.rows * tile.vectors for terms in ((4, 1) if bits == 256 else (1,))]
        for loop in found:
            assert not loop.spills and not loop.matching("vmovap")


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_code_for_two_processors_in_one_process(dtype, first):
    """Kernels are shared by programs, but not by vectors of different lengths."""
    machines = [host(), host().without_masks()]
    for rows, columns in [(4, 20), (4, 40), (5, 33), (6, 70)]:
        x, w = numbers(rows, 30, dtype=dtype), numbers(30, columns, dtype=dtype)
        for machine in (machines[first], machines[1 - first]) * 2:
            with as_host(machine), tanx.enable_x64(True):
                product = tanx.jit(lambda x, w: jnp.tanh(x @ w))
                for _ in range(4):
                    np.testing.assert_allclose(product(x, w), np.tanh(x @ w), 1e-4, 1e-5)


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 8, 16])
def test_tiles_of_few_rows_occupy_all_cores(cores):
    """Each task computes the columns of one tile, and no core has much more of them than others."""
    target = Machine("x86_64-unknown-linux-gnu", "skylake-avx512", "+avx512f,+fma", 512,
                     cores=cores)
    tile = best_tile("k", 32, 512, 512, np.dtype(np.float32), target, batch=1)
    most = ceil(ceil(512 / tile.columns) / cores) * tile.columns
    assert most <= 1.15 * max(512 / cores, 32)


# -- tiny ones -------------------------------------------------------------------------------------


@pytest.mark.parametrize("terms, columns", [*itertools.product((1, 2, 3, 4), repeat=2)])
@pytest.mark.parametrize("rows", [64, 103])
def test_a_few_numbers_by_many_rows(rows, terms, columns):
    x, y = numbers(rows, terms), numbers(terms, columns, seed=1)
    check(lambda x, y: x @ y, x, y)
    check(lambda x, y: jnp.tanh(x @ y.T + y[0, 0]) * 2, x, numbers(columns, terms, seed=1))
    check(lambda x, y: x.T @ y, numbers(terms, rows), numbers(terms, columns, seed=1))


@pytest.mark.parametrize("dtype", [np.int32, np.complex64, np.float16, ml_dtypes.bfloat16, np.int8])
def test_tiny_products_of_other_dtypes(dtype):
    check(lambda x, y: x @ y, numbers(77, 3, dtype=dtype), numbers(3, 3, dtype=dtype, seed=1))


def test_tiny_products_need_no_tiles():
    x, y = numbers(1000, 3), numbers(3, 3)
    assert products(lambda x, y: x @ y, x, y) == 0
    (statement,) = build(tanx.make_jaxpr(lambda x, y: x @ y)(x, y)).program.statements
    assert [i.extent for i in statement.indices] == [1000] and len(statement.body) == 3


# -- bytes -----------------------------------------------------------------------------------------


def some_bytes(*shape, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, shape, dtype=np.int8)


@pytest.fixture
def few_bytes():
    """Products of a few bytes also use whole words."""
    with settings({"contract.many_narrow": 1}):
        yield


@pytest.mark.parametrize("terms", [1, 3, 4, 30, 64, 67, 300])
@pytest.mark.parametrize("spec", ["ik,kj->ij", "ki,jk->ij", "aik,akj->aij", "ik,akj->iaj"])
def test_products_of_bytes(spec, terms, few_bytes):
    sizes = {"i": 21, "j": 35, "k": terms, "a": 2}
    left, right = spec.split("->")[0].split(",")
    args = [some_bytes(*(sizes[c] for c in letters), seed=n)
            for n, letters in enumerate((left, right))]
    check(lambda x, y: jnp.einsum(spec, x, y, preferred_element_type=jnp.int32) * 3 + 1, *args,
          interpret=terms < 10)


def test_products_of_int8_use_dot4():
    x, y = some_bytes(64, 80), some_bytes(80, 64)
    fun = lambda x, y: jnp.matmul(x, y, preferred_element_type=jnp.int32)
    text = tanx.jit(fun).lower(x, y).as_text("loops")
    assert ("dot4" in text) == host().multiplies_bytes
    text = tanx.jit(fun).lower(x.astype(np.uint8), y.astype(np.uint8)).as_text("loops")
    assert "dot4" not in text


def test_a_factor_indexed_by_rows_and_columns_is_not_an_operand():
    """Here it is a row of the identity, whose index depends on both."""
    def second(x):
        return tanx.jacfwd(lambda p: jnp.mean(jnp.cos(p)) + p[..., :1])(x).sum()

    x = np.random.default_rng(3).standard_normal((2, 90)).astype(np.float32)
    # Of 2 results, each has the mean of 180 cosines added to it.
    np.testing.assert_allclose(tanx.jit(tanx.grad(second))(x), -np.cos(x) * 2 / 180, rtol=1e-5)


@pytest.mark.parametrize("rows, terms, copied", [(64, 64, True), (8, 64, True), (32, 512, False),
                                                 (128, 512, True)])
def test_few_rows_become_columns_if_there_are_many_terms(rows, terms, copied):
    """Panels of the columns have ``terms`` numbers each; otherwise ``rows`` sums are scattered."""
    if host().multiplies_by_lane:
        pytest.skip("such processors store many sums across rows")
    random = np.random.default_rng(rows)
    x, y = (random.normal(size=(n, terms)).astype(np.float32) for n in (rows, 1024))
    module = build(tanx.make_jaxpr(lambda x, y: x @ y.T)(x, y))
    assert copied == any(prod(b.shape) >= y.size for b in module.program.temps)
    run = tanx.jit(lambda x, y: x @ y.T)
    for _ in range(4):
        np.testing.assert_allclose(run(x, y), x @ y.T, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("columns, rows, tiled", [(2, 4, False), (2, 256, True), (16, 4, True)])
@pytest.mark.parametrize("transposed", [False, True])
def test_batches_of_few_columns_are_plain_sums(columns, rows, tiled, transposed):
    """Panels of so few columns would be padding, and each would be used by few rows."""
    if host().multiplies_by_lane:
        pytest.skip("not measured on such processors")
    random = np.random.default_rng(columns)
    x, y = (random.normal(size=(30, *shape)).astype(np.float32)
            for shape in ((rows, 64), (columns, 64) if transposed else (64, columns)))
    fun = lambda x, y: x @ (jnp.swapaxes(y, 1, 2) if transposed else y)
    module = build(tanx.make_jaxpr(fun)(x, y))
    assert tiled == ("tiled" in str(module.program))
    run, want = tanx.jit(fun), x @ (y.swapaxes(1, 2) if transposed else y)
    for _ in range(4):
        np.testing.assert_allclose(run(x, y), want, rtol=1e-4, atol=1e-4)
