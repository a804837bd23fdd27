"""Convolutions as machine code: layouts, sizes around tiles, gradients, and what is stored."""

import re
from math import prod

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.kernels.gemm.micro import kernel_symbol, kernel_text
from tanx._compiler.machine import Machine, host
from tanx._compiler.pipeline import build
from tanx._compiler.schedule.tiles import best_tile, tiling
from tanx._loops.show import show_plan
from tests.compiler.agreement import check_function
from tests.compiler.programs import settings
from tests.compiler.test_contraction import check, numbers

LAST, FIRST = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")


def conv(strides=(1, 1), padding="SAME", numbers=LAST, **options):
    return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=numbers,
                                                 **options)


def gradients(f):
    """The cotangents of both operands, given that of the result."""
    return lambda x, w, y: tanx.vjp(f, x, w)[1](y)


def program(fun, *args):
    return build(tanx.make_jaxpr(fun)(*args)).program


def tilings(fun, *args):
    """The products of a compiled function that are computed by tiles."""
    found = (tiling(statement, host()) for statement in program(fun, *args).statements)
    return [t for t in found if t is not None]


def operands(numbers_of, n, s, c, o, k, dtype=np.float32):
    """An operand and a kernel in a layout; sizes may be pairs."""
    height, width = s if isinstance(s, tuple) else (s, s)
    sizes = {"N": n, "H": height, "W": width, "C": c}
    window = {"H": k, "W": k, "I": c, "O": o}
    return (numbers(*(sizes[d] for d in numbers_of[0]), dtype=dtype),
            numbers(*(window[d] for d in numbers_of[1]), dtype=dtype, seed=1))


@pytest.mark.parametrize("layout", [LAST, FIRST, ("HWNC", "OIHW", "NHWC"),
                                    ("NHWC", "OIHW", "CNHW")], ids=str)
@pytest.mark.parametrize("strides, padding, dilation", [
    ((1, 1), "SAME", (1, 1)), ((2, 1), "VALID", (1, 1)), ((1, 2), [(1, 2), (3, -1)], (2, 3))])
def test_layouts(layout, strides, padding, dilation):
    f = conv(strides, padding, layout, rhs_dilation=dilation)
    x, w = operands(layout, 2, (9, 11), 8, 20, 3)
    check(f, x, w)
    y = numbers(*tanx.eval_shape(f, x, w).shape, seed=2)
    check(gradients(f), x, w, y, interpret=False)


@pytest.mark.parametrize("layout", [LAST, FIRST], ids=str)
@pytest.mark.parametrize("c", [1, 3, 4, 9])
@pytest.mark.parametrize("o", [1, 5, 16, 33])
def test_numbers_of_features_around_tiles(layout, c, o):
    f = conv(numbers=layout)
    x, w = operands(layout, 2, (6, 7), c, o, 3)
    y = numbers(*tanx.eval_shape(f, x, w).shape, seed=2)
    check(lambda x, w, y: (f(x, w), *gradients(f)(x, w, y)), x, w, y, interpret=False)


@pytest.mark.parametrize("n, s, c, o, k", [
    (1, 3, 8, 16, 3), (3, 1, 16, 8, 3), (1, (4, 50), 4, 8, 5), (2, 13, 70, 30, 1),
    (1, 8, 500, 40, 3)])
@pytest.mark.parametrize("layout", [LAST, FIRST], ids=str)
def test_shapes_of_images(layout, n, s, c, o, k):
    check(conv(numbers=layout), *operands(layout, n, s, c, o, k), interpret=False)


@pytest.mark.parametrize("groups", [2, 4, 16])
@pytest.mark.parametrize("layout", [LAST, FIRST], ids=str)
def test_groups(layout, groups):
    f = conv(numbers=layout, feature_group_count=groups)
    x, _ = operands(layout, 2, (7, 9), 16, 32, 3)
    _, w = operands(layout, 2, (7, 9), 16 // groups, 32, 3)
    y = numbers(*tanx.eval_shape(f, x, w).shape, seed=2)
    check(lambda x, w, y: (f(x, w), *gradients(f)(x, w, y)), x, w, y, interpret=False)


@pytest.mark.parametrize("stride, k", [(2, 2), (2, 3), (2, 4), (3, 2), (4, 6)])
@pytest.mark.parametrize("padding, layout", [("SAME", LAST), ("VALID", LAST), ("SAME", FIRST)],
                         ids=str)
def test_transposed(stride, k, padding, layout):
    x, w = operands(layout, 2, (5, 6), 8, 16, k)

    def f(x, w):
        return lax.conv_transpose(x, w, (stride, stride), padding, dimension_numbers=layout)
    check(f, x, w)
    assert len(tilings(f, x, w)) == min(stride, k) ** 2


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int8, np.float16, np.complex64])
def test_dtypes(dtype):
    with tanx.enable_x64(True):
        check(conv(), *operands(LAST, 2, 6, 8, 12, 3, dtype), interpret=False)


def test_other_ranks():
    for layout, space in ((("NHC", "HIO", "NHC"), (30,)), (("NDHWC", "DHWIO", "NDHWC"), (4, 5, 6))):
        x, w = numbers(2, *space, 8), numbers(*(3,) * len(space), 8, 12, seed=1)
        check(conv((1,) * len(space), "SAME", layout), x, w, interpret=False)


def test_epilogues_are_fused_into_convolutions():
    x, w = operands(LAST, 2, 6, 8, 24, 3)
    b = numbers(24, seed=2)

    def f(x, w, b):
        return jnp.maximum(conv()(x, w) + b, 0)
    check(f, x, w, b)
    assert [len(t.stores) for t in tilings(f, x, w, b)] == [1]
    first = (numbers(2, 8, 6, 6), numbers(24, 8, 3, 3, seed=1), numbers(24, 1, 1, seed=2))
    check(lambda x, w, b: jnp.maximum(conv(numbers=FIRST)(x, w) + b, 0), *first)


@pytest.mark.parametrize("layout", [LAST, FIRST], ids=str)
def test_patches_are_not_stored(layout):
    x, w = operands(layout, 2, 20, 16, 32, 3)
    f = conv(numbers=layout)
    (found,) = tilings(f, x, w)
    assert found.in_runs and len(found.starts) == 3
    padded = 2 * 22 * 22 * 16
    assert sum(prod(b.shape) for b in program(f, x, w).temps) <= padded + w.size
    y = numbers(*f(x, w).shape, seed=2)
    assert all(prod(b.shape) <= 2 * 22 * 22 * 32 for b in program(gradients(f), x, w, y).temps)


def test_zeros_between_elements_are_not_multiplied():
    x, w = operands(LAST, 2, 7, 16, 32, 4)
    found = tilings(lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), x, w)
    assert sum(len(t.starts) * t.term.extent for t in found) == 4 * 4 * 16


def test_a_sum_for_some_lanes_may_run_in_lanes_of_its_own():
    def loss(x):
        rows = x.reshape(1, -1, 8)
        taps = jnp.tile(x.reshape(-1)[:3], (rows.shape[1], 1))[None]
        y = lax.conv_general_dilated(rows, taps, (1,), [(2, 3)])
        y = lax.reduce_window(y, jnp.ones((), x.dtype), lax.mul, (2, 3, 1), (2, 1, 1),
                              ((0, 1), (1, 2), (2, 1)))
        return jnp.sum(jnp.tanh(y).astype("float64"))

    x = np.random.default_rng(0).integers(-12, 13, (3, 8, 8)).astype(np.float32) / 4
    with tanx.enable_x64(True), settings({"fuse.store": -1000.0, "fuse.small": 0,
                                          "fuse.rows": 1}):
        check_function(tanx.grad(loss), x)


@pytest.mark.parametrize("bits, form", [(256, "k"), (512, "k"), (256, "m"), (512, "m")])
def test_kernels_in_runs_can_be_written_for_other_processors(bits, form):
    target = Machine("x86_64-unknown-linux-gnu", "", "", bits)
    tile = best_tile(form, 100, 100, 100, np.dtype(np.float32), target)
    text = kernel_text(kernel_symbol(tile, np.dtype(np.float32), runs=True), target)
    assert "ptr %runs, i64 %count" in text


@pytest.mark.parametrize("channels, cache, most", [(128, 32, 7), (128, 48, 11), (96, 32, 16)])
def test_rows_whole_pages_apart_do_not_evict_each_other(channels, cache, most):
    """The first-level cache holds as many such rows as it has ways; here each has 4 KB."""
    def fun(x, w):
        return lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    target = Machine("x86_64-unknown-linux-gnu", "", "+fma,+avx512f", 512,
                     caches=(cache << 10, 1 << 20, 1 << 25), ways=cache // 4)
    closed = tanx.make_jaxpr(fun)(np.ones((4, 14, 14, channels), np.float32),
                                  np.ones((4, 4, channels, 64), np.float32))
    text = show_plan(build(closed, (), target).schedule)
    rows = [int(n) for n in re.findall(r"tiles\((\d+) x", text)]
    assert rows and max(rows) <= most and (most < 16 or max(rows) > 8)


def test_gathers_next_to_interleaved_loads():
    """Lanes that are off read the first element, which an interleaved load reads as well."""
    def fun(x, y, z):
        x = (x + y).reshape(1, 1, -1)
        out = lax.conv_general_dilated(x, x[..., :5], (1,), [(3, 1)], lhs_dilation=(2,))
        z = lax.rsqrt(1 + z * z)
        return lax.integer_pow(1 + z * z, -2), jnp.cumsum(out, axis=0)

    x = np.array([4, 4, 12, 5, 4, 2, 9, 8], np.uint8)
    with tanx.enable_x64(True), settings({"fuse.nodes": 8}):
        check_function(tanx.vmap(fun, in_axes=None, axis_size=2), x, np.float64(-2.75),
                       np.float64(-2.75))
