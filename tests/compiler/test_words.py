"""Products of words: one instruction multiplies pairs of bfloat16 or groups of four bytes.

Few machines have all these instructions. Plans for other machines run here with kernels that use
plain arithmetic instead; the code for those machines is assembled and inspected.
"""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from llvmlite import binding as llvm

import tanx
import tanx.numpy as jnp
from tanx._compiler.emit.cpu.module import instructions
from tanx._compiler.emit.operations import apply
from tanx._compiler.emit.values import F32, I32
from tanx._compiler.kernels.gemm import amx, micro
from tanx._compiler.machine import Machine, as_host, host
from tanx._compiler.matrix_registers import is_permitted
from tanx._compiler.pipeline import build
from tanx._compiler.schedule.tiles import best_tile
from tests.compiler.agreement import run_module

SERVER = Machine("x86_64-unknown-linux-gnu", "sapphirerapids",
                "+avx512bf16,+avx512vnni,+amx-tile,+amx-bf16,+amx-int8", 512)
INT32 = np.dtype(np.int32)


class SignedBytes(micro._Kernel):
    """A kernel of words of four signed bytes, by plain arithmetic."""

    def plus(self, x, y, total):
        return total + apply("dot4", (x, y), (INT32, INT32), INT32, {})


@pytest.fixture(params=["pairs", "matrix registers"])
def server(request, monkeypatch):
    """Let the compiler plan for a processor with instructions that this one does not have."""
    if host().multiplies_pairs or host().multiplies_by_lane or host().vector_bits < 256:
        pytest.skip("kernels of this processor would be replaced")
    matrices = request.param == "matrix registers"

    def write(writer, tile, times, adds):
        kind, element = (micro._Halves, F32) if times == "dot2" else (SignedBytes, I32)
        kind(writer, tile, element, False, adds).write()

    monkeypatch.setattr(Machine, "multiplies_pairs", property(lambda self: True))
    monkeypatch.setattr(Machine, "has_matrix_registers", property(lambda self: matrices))
    monkeypatch.setattr(micro, "_Pairs", micro._Halves)
    monkeypatch.setattr(amx, "write_kernel", write)
    return request.param


def times_of(fun, *args):
    """The instruction with which a function multiplies words."""
    text = tanx.jit(fun).lower(*args).as_text("loops")
    return next((name for name in ("dot2", "dot4u", "dot4") if f"{name}(" in text), None)


FUNCTIONS = [lambda x, y: x @ y, lambda x, y: jnp.maximum(x @ y + 1, 0),
             lambda x, y: jnp.matmul(x, y, preferred_element_type=jnp.float32),
             lambda x, y: (y.T @ jnp.abs(x).T).T, lambda x, y: jnp.stack([x, -x]) @ y]


@pytest.mark.parametrize("rows, terms, columns", [
    (64, 64, 64), (100, 101, 40), (129, 1300, 65)])
@pytest.mark.parametrize("fun", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_products_of_bfloat16(server, fun, rows, terms, columns):
    random = np.random.default_rng([rows, terms])
    x, y = (jnp.asarray(random.standard_normal(shape), jnp.bfloat16)
            for shape in ((rows, terms), (terms, columns)))
    assert times_of(fun, x, y) == "dot2"
    want = fun(x.astype(jnp.float32), y.astype(jnp.float32))
    compiled = tanx.jit(fun)
    for _ in range(4):
        got = compiled(x, y)
        assert got.dtype == fun(x, y).dtype and got.shape == want.shape and not got.weak_type
        np.testing.assert_allclose(np.asarray(got, np.float32), want, rtol=1 / 128,
                                   atol=float(np.abs(want).max()) / 1000)


@pytest.mark.parametrize("rows, terms, columns", [(64, 64, 64), (20, 301, 100), (129, 1300, 33)])
def test_products_of_bytes(server, rows, terms, columns):
    random = np.random.default_rng([rows, terms])
    x, y = (random.integers(-128, 128, shape, dtype=np.int8)
            for shape in ((rows, terms), (terms, columns)))
    fun = lambda x, y: jnp.matmul(x, y, preferred_element_type=jnp.int32)
    if host().multiplies_bytes:
        assert times_of(fun, x, y) == ("dot4" if server == "matrix registers" else "dot4u")
    compiled = tanx.jit(fun)
    for _ in range(4):
        got = compiled(x, y)
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, x.astype(np.int32) @ y.astype(np.int32))


@pytest.mark.parametrize("terms, in_place", [(64, True), (96, True), (60, False), (1024, False)])
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.int8])
def test_rows_of_words_are_read_in_place(terms, in_place, dtype):
    """Neighbours in a row are the bits of a word, unless words are padded or rows conflict."""
    terms *= 1 if dtype == ml_dtypes.bfloat16 else 2
    random = np.random.default_rng(terms)
    x, y = (random.integers(-9, 9, shape).astype(dtype) for shape in ((64, terms), (terms, 48)))
    wide = jnp.float32 if dtype == ml_dtypes.bfloat16 else jnp.int32
    fun = lambda x, y: jnp.matmul(x[1:], y, preferred_element_type=wide)
    module = build(tanx.make_jaxpr(fun)(x, y), machine=SERVER)
    assert len(module.program.temps) == (1 if in_place else 2)
    for data in (x, -x):
        (got,) = run_module(module, [data, y])
        np.testing.assert_array_equal(got, data[1:].astype(wide) @ y.astype(wide))


@pytest.mark.parametrize("cores", [2, 16])
def test_products_of_any_number_of_rows_are_planned(cores):
    """Pieces of 169 rows, in whole tiles of 32, cannot be halved: looking for them never ended."""
    machine = replace(SERVER, cores=cores)
    for rows in (*range(2, 40, 3), *range(40, 400, 31), 169, 1001):
        x, y = (tanx.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in ((rows, 576), (576, 64)))
        module = build(tanx.make_jaxpr(lambda x, y: x @ y)(x, y), machine=machine)
        assert "tiled" in str(module.program)


LAST, FIRST = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")
CONVOLUTIONS = {
    "features last": ((2, 8, 16, 32), (3, 3, 32, 16), LAST, {}),
    "features first": ((2, 32, 8, 16), (16, 32, 3, 3), FIRST, {}),
    "one pixel": ((2, 40, 16, 16), (48, 40, 1, 1), FIRST, {}),
    "strides": ((2, 16, 32, 32), (3, 3, 32, 16), LAST, {"window_strides": (2, 1)}),
    "distant": ((2, 16, 16, 24), (3, 2, 24, 32), LAST, {"rhs_dilation": (2, 3)}),
    "no padding": ((3, 13, 13, 20), (3, 3, 20, 17), LAST, {"padding": "VALID"}),
    "one dimension": ((2, 100, 24), (5, 24, 16), ("NWC", "WIO", "NWC"), {}),
    "three dimensions": ((1, 6, 8, 8, 16), (3, 3, 3, 16, 16), ("NDHWC", "DHWIO", "NDHWC"), {}),
    "many images": ((8, 16, 32, 32), (3, 3, 32, 64), LAST, {})}


def convolution(shape, shape_of_kernel, numbers, options):
    """A convolution, and its operands in bfloat16."""
    options = {"window_strides": (1,) * (len(shape) - 2), "padding": "SAME", **options}
    random = np.random.default_rng(shape)
    x, w = (jnp.asarray(random.standard_normal(s), jnp.bfloat16) for s in (shape, shape_of_kernel))
    return lambda x, w: tanx.lax.conv_general_dilated(
        x, w, dimension_numbers=numbers, **options), x, w


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("of", ["result", "gradient"])
def test_convolutions_of_bfloat16(server, name, of):
    conv, x, w = convolution(*CONVOLUTIONS[name])
    fun = conv
    if of == "gradient":
        change = jnp.asarray(np.random.default_rng(0).standard_normal(conv(x, w).shape), x.dtype)
        fun = lambda x, w: tanx.vjp(conv, x, w)[1](change.astype(x.dtype))
    if of == "result":
        assert times_of(fun, x, w) == ("dot2" if server == "matrix registers" else None)
    wants = tanx.tree.leaves(fun(x.astype(jnp.float32), w.astype(jnp.float32)))
    compiled = tanx.jit(fun)
    for _ in range(4):
        for got, want in zip(tanx.tree.leaves(compiled(x, w)), wants, strict=True):
            assert got.dtype == jnp.bfloat16 and got.shape == want.shape and not got.weak_type
            np.testing.assert_allclose(np.asarray(got, np.float32), want, rtol=1 / 100,
                                       atol=float(np.abs(want).max()) / 300)


@pytest.mark.parametrize("layout", ["features last", "features first"])
def test_windows_are_copied_in_bands(layout):
    """Memory for all windows, nine times that of the images, would take longer than products."""
    size, features = 64, 32
    shape = (4, size, size, features) if layout == "features last" else (4, features, size, size)
    kernel = (3, 3, features, features) if layout == "features last" else (
        features, features, 3, 3)
    conv, x, w = convolution(shape, kernel, LAST if layout == "features last" else FIRST, {})
    module = build(tanx.make_jaxpr(conv)(x, w), machine=SERVER)
    windows = 4 * size * size * 9 * features * 2
    assert module.plan.size < windows / 2
    (got,) = run_module(module, [x, w])
    np.testing.assert_allclose(got.astype(np.float32), conv(x, w).astype(jnp.float32), rtol=1 / 100,
                               atol=0.1)


class TwoRows(micro._TwoRows):
    """A kernel of two rows by two columns, by plain arithmetic."""

    def plus(self, x, y, total):
        for n in range(2):
            a, b = x.shuffled((n, n, n + 2, n + 2)), y.shuffled((n, n + 2, n, n + 2))
            total = (micro._Halves.plus(self, a, b, total) if self.element.is_float
                     else SignedBytes.plus(self, a, b, total))
        return total


@pytest.fixture
def newer_arm(monkeypatch):
    """A processor of ARM with instructions for two rows: this one, or one to plan for."""
    if host().multiplies_two_rows("dot2") and host().multiplies_two_rows("dot4"):
        yield
        return
    if host().is_arm:
        pytest.skip("kernels of this processor would be replaced")
    for name in ("multiplies_bytes", "multiplies_signed_bytes", "multiplies_by_lane",
                 "multiplies_pairs"):
        monkeypatch.setattr(Machine, name, property(lambda self: True))
    monkeypatch.setattr(Machine, "has_matrix_registers", property(lambda self: False))
    monkeypatch.setattr(Machine, "multiplies_two_rows", lambda self, times: times.startswith("dot"))
    monkeypatch.setattr(micro, "_TwoRows", TwoRows)
    with as_host(replace(host(), vector_bits=128)):
        yield


@pytest.mark.parametrize("rows, terms, columns", [
    (64, 64, 64), (100, 101, 40), (129, 1300, 65), (65, 7, 120), (40, 5000, 48), (64, 1, 700)])
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.int8])
@pytest.mark.parametrize("turned", ["", "left", "right"])
def test_products_of_two_rows_by_two_columns(newer_arm, rows, terms, columns, dtype, turned):
    """Squares of sums are made and undone, with any number of words, in both forms of tiles."""
    random = np.random.default_rng([rows, terms])
    x, y = (random.integers(-128, 128, shape).astype(dtype)
            for shape in ((rows, terms), (terms, columns)))
    wide = jnp.int32 if dtype == np.int8 else jnp.float32

    def product(x, y):
        x, y = x.T if turned == "left" else x, y.T if turned == "right" else y
        return jnp.matmul(x, y, preferred_element_type=wide)

    given = np.copy(x.T) if turned == "left" else x, np.copy(y.T) if turned == "right" else y
    if terms > 1:
        assert times_of(product, *given) == ("dot4" if dtype == np.int8 else "dot2")
    compiled = tanx.jit(product)
    want = x.astype(np.float64) @ y.astype(np.float64)
    for _ in range(4):
        np.testing.assert_allclose(compiled(*given), want, rtol=1e-5, atol=0.5)


def test_few_rows_are_not_worth_copies_of_the_other_factor(server):
    x, y = (np.ones(shape, ml_dtypes.bfloat16) for shape in ((8, 1000), (1000, 1000)))
    assert times_of(lambda x, y: x @ y, x, y) is None


@pytest.mark.parametrize("times, rows, instruction", [
    ("dot2", 1000, "tdpbf16ps"), ("dot4", 1000, "tdpbssd"), ("dot4", 16, "tdpbssd"),
    ("dot2", 8, "vdpbf16ps"), ("dot4u", 1000, "vpdpbusd")])
@pytest.mark.parametrize("adds", [False, True])
def test_code_for_a_server(times, rows, instruction, adds):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    dtype = np.dtype(np.float32 if times == "dot2" else np.int32)
    tile = best_tile("k", rows, 1000, 1000, dtype, SERVER, times=times)
    text = micro.kernel_text(micro.kernel_symbol(tile, dtype, adds, times), SERVER)
    lines = instructions(text, SERVER).split("\n")
    places = [n for n, line in enumerate(lines) if f"\t{instruction}\t" in line]
    in_tiles = instruction.startswith("t")
    assert len(places) == tile.rows * tile.vectors // (16 if in_tiles else 1)
    assert not [line for line in lines[places[0]:places[-1]] if "(%rsp" in line]
    assert in_tiles == any("ldtilecfg" in line for line in lines) == any(
        "tilerelease" in line for line in lines)


def test_permission_is_requested_once():
    assert is_permitted() is is_permitted()
    assert not host().has_matrix_registers or is_permitted()
