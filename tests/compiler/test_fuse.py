"""Which values are stored, which are computed by their readers, and which loops are shared."""

from functools import partial

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.cost import cost
from tanx._compiler.fuse import fuse, is_contraction
from tanx._compiler.lower import lower
from tanx._compiler.machine import host
from tanx._compiler.pipeline import build, inner, jaxpr_passes
from tanx._compiler.split import split
from tanx._loops.build import copy, extern
from tanx._loops.check import check
from tanx._loops.interpret import run
from tanx._loops.nest import Buffer, Nest, Program, Store
from tanx._loops.show import show
from tanx._loops.traverse import expressions, statements_in
from tests.compiler.agreement import check_function
from tests.compiler.compiled import NARROW
from tests.compiler.counting import assert_linear
from tests.compiler.programs import make

X = np.random.default_rng(0).normal(size=(256, 512)).astype(np.float32)
V = X[0]
SMALL = X[:4, :6]


def programs_of(fun, *args):
    """The program of a function before and after fusion."""
    closed = tanx.make_jaxpr(fun)(*args)
    for _, jaxpr_pass in jaxpr_passes:
        closed = jaxpr_pass(closed, NARROW)
    before = lower(closed, partial(inner, NARROW)).program
    after = fuse(before, NARROW)
    check(after)
    return before, after


def fused(fun, *args) -> str:
    """The text of the fused program, without its head."""
    text = show(programs_of(fun, *args)[1])
    return "\n".join(line for line in text.splitlines() if not line.startswith(("program", "temp")))


def softmax(x):
    m = jnp.max(x, axis=-1, keepdims=True)
    e = jnp.exp(x - lax.stop_gradient(m))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x, scale, shift):
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def test_softmax_is_one_loop_over_rows():
    assert fused(softmax, X) == """\
for i in 256 parallel:
    t0[i] = max(k in 512: x0[i, k])
    for j in 512 parallel:
        t3[i, j] = exp(x0[i, j] - t0[i])
    t4[i] = add(k in 512: t3[i, k])
    for j in 512 parallel:
        y0[i, j] = t3[i, j] / t4[i]"""


def test_masks_of_rows_and_columns_are_not_stored():
    """However often they are used; those that take several operations are."""
    def attention(q, k, v, early, late, mask):
        scores = jnp.where(mask(early[:, None], late), q @ k.mT, -1e9)
        return softmax(scores) @ v

    q = np.zeros((4, 256, 64), np.float32)
    for mask, stored in ((lambda i, j: i >= j, False),
                         (lambda i, j: (i >= j) & (i < 2 * j) & (i != 7), True)):
        _, after = programs_of(partial(attention, mask=mask), q, q, q, V[:256], V[:256])
        assert any(b.dtype == bool for b in after.temps) == stored


def test_layer_norm_is_one_loop_over_rows():
    assert fused(layer_norm, X, V, V) == """\
for i in 256 parallel:
    t0[i] = add(k in 512: x0[i, k])
    t5[i] = add(k in 512: square(x0[i, k] - t0[i] * 0.001953125:f32))
    for j in 512 parallel:
        y0[i, j] = (x0[i, j] - t0[i] * 0.001953125:f32) * rsqrt(t5[i] * 0.001953125:f32 \
+ 1e-05:f32) * x1[j] + x2[j]"""


def test_the_logarithm_of_a_sum_of_exponentials_stores_no_array():
    def logsumexp(x):
        m = jnp.max(x, axis=-1)
        return m + jnp.log(jnp.sum(jnp.exp(x - m[:, None]), axis=-1))
    assert fused(logsumexp, X) == """\
for i in 256 parallel:
    t0[i] = max(k in 512: x0[i, k])
    y0[i] = t0[i] + log(add(k in 512: exp(x0[i, k] - t0[i])))"""


def test_the_gradient_of_a_perceptron():
    def loss(params, x, y):
        w, b, u = params
        return jnp.mean((jnp.tanh(x @ w + b) @ u - y) ** 2)
    params = [X[:64, :32], V[:32], X[:32, :8]]
    assert fused(tanx.grad(loss), params, X[:128, :64], X[:128, :8]) == """\
for i in 128, j in 32 parallel:
    t0[i, j] = add(k in 64: x3[i, k] * x0[k, j])
    t3[i, j] = tanh(t0[i, j] + x1[j])
for i in 128, j in 8 parallel:
    t5[i, j] = add(k in 32: t3[i, k] * x2[k, j])
    t8[i, j] = 0.0009765625:f32 * (2.0:f32 * (t5[i, j] - x4[i, j]))
for i in 32, j in 8 parallel:
    y0[i, j] = add(k in 128: t3[k, i] * t8[k, j])
for i in 128, j in 32 parallel:
    t9[i, j] = add(k in 8: t8[i, k] * x2[j, k])
    t10[i, j] = t9[i, j] * one_minus_square(t3[i, j])
for i in 32 parallel:
    y1[i] = add(k in 128: t10[k, i])
for i in 64, j in 32 parallel:
    y2[i, j] = add(k in 128: x3[k, i] * t10[k, j])"""


@pytest.mark.parametrize(("fun", "text"), [
    (lambda x: jnp.sin(x) * 2 + 1, """\
for i in 256, j in 512 parallel:
    y0[i, j] = sin(x0[i, j]) * 2.0:f32 + 1.0:f32"""),
    (lambda x: (jnp.sin(x), jnp.cos(x)), """\
for i in 256, j in 512 parallel:
    y0[i, j] = sin(x0[i, j])
    y1[i, j] = cos(x0[i, j])"""),
    (lambda x: jnp.exp(x.T.reshape(-1)[::2]).reshape(2, -1), """\
for i in 65536 parallel:
    y0[i] = exp(x0[i % 128 * 2, i // 128])"""),
    (lambda x: jnp.sum(jnp.exp(x) * x, axis=0), """\
for i in 512 parallel:
    y0[i] = add(k in 256: exp(x0[k, i]) * x0[k, i])"""),
    (lambda x: jnp.sum(x * x), """\
once:
    y0[] = add(k in 256, l in 512: x0[k, l] * x0[k, l])"""),
    (lambda x: jnp.where(jnp.arange(512) * jnp.arange(256)[:, None] < 7, x, 0.0), """\
for i in 256, j in 512 parallel:
    y0[i, j] = select(i32(j) * i32(i) < 7:i32, x0[i, j], 0.0:f32)"""),
    (lambda x: (x @ x.T).T, """\
for i in 256, j in 256 parallel:
    y0[i, j] = add(k in 512: x0[i, k] * x0[j, k])"""),
    (lambda x: jnp.einsum("iabk,kabj->aijb", x.reshape(8, 8, 4, 512), x.reshape(512, 8, 4, 8)),
     None),
    (lambda x: jnp.argmax(jnp.abs(x), axis=1), None),
], ids=lambda p: "" if not callable(p) else None)
def test_single_nests(fun, text):
    shown = fused(fun, X)
    assert len([line for line in shown.splitlines() if not line.startswith(" ")]) == 1
    assert text is None or shown == text


def test_expensive_elements_with_two_readers_are_stored():
    def fun(x):
        e = jnp.exp(x)
        return e.sum(0), e.sum(1)
    assert fused(fun, X).count("exp") == 1
    cheap = lambda x: ((x + 1).sum(0), (x + 1).sum(1))
    assert fused(cheap, X).count("+ 1.0:f32") == 2


def test_an_expensive_number_in_a_part_of_several_arrays_is_computed_once():
    # As the slope of a pendulum is read by all later stages of a step of Runge and Kutta.
    def steps(y):
        first = jnp.stack([y[1], jnp.sin(y[0])])
        second = y + 0.5 * first
        return second, 2.0 * jnp.roll(second, 1) + first, jnp.sum(first * second)

    y = np.float32([0.5, 2.0])
    assert fused(steps, y).count("sin(") == 1
    check_function(steps, y)


def test_copied_operands_of_products_are_computed_in_the_copy():
    text = fused(lambda x, y: jnp.tanh(x) @ (y * 2), X, X.T)
    assert "add(k in 512: tanh(x0[i, k]) * (x1[k, j] * 2.0:f32))" in text
    text = fused(lambda x, y: jnp.tanh(x) @ y, X, X.T[:, :64])  # tasks compute their rows
    assert "add(k in 512: tanh(x0[i, k]) * x1[k, j])" in text
    text = fused(lambda x, y: (x * jnp.exp(y[0])) @ y.T, X, X)
    assert text.count("for") == 2 and "x0[i, k] * t2[k] * x1" in text  # exp is not for each element


def test_operands_that_products_do_not_copy_are_stored():
    text = fused(lambda x, y: x[:40] @ jnp.tanh(y), X, X.T[:, :16])  # small, and near
    assert "add(k in 512: x0[i, k] * t1[k, j])" in text
    text = fused(lambda x, y: jnp.exp(x).sum(0) + jnp.exp(x) @ y, X, X.T[:, :1].repeat(512, 1))
    assert text.count("exp") == 1  # it would be computed twice
    text = fused(lambda x, y: (jnp.maximum(x, 0) @ y, jnp.maximum(x, 0) @ y[::-1]), X, X.T)
    assert text.count("max") == 1  # so would that
    text = fused(lambda x, y: x.reshape(16, 16, 512)[:, ::2] @ y, X, X.T)
    assert text.count("for") == 1  # an affine view needs no copy
    text = fused(lambda x, y: jnp.roll(x, 5, 1) @ y, X, X.T)
    assert text.count("for") == 2  # others do


def test_work_between_products_is_fused_into_the_first():
    text = fused(lambda x, y: jnp.maximum(x @ y + 1, 0) @ x, X, X.T)
    assert "max" in text.split("for")[1] and "max" not in text.split("for")[2]


def test_a_product_with_a_vector_is_a_sum_like_any_other():
    assert fused(lambda x, v: jnp.exp(x) @ v, X, V) == """\
for i in 256 parallel:
    y0[i] = add(k in 512: exp(x0[i, k]) * x1[k])"""


def test_only_epilogues_share_the_loops_of_a_product():
    def fun(x, y):
        z = x @ y
        return softmax(jnp.maximum(z + 1, 0.0)), x * 2
    _, program = programs_of(fun, X, X.T)
    for statement in program.statements:
        found = [is_contraction(s.value, statement.indices) for s in statement.body
                 if isinstance(s, Store)]
        if any(found):
            assert found[0] and not any(found[1:])
            assert all(isinstance(s, Store) for s in statement.body)


def test_rows_are_shared_only_where_it_pays():
    assert fused(softmax, X).count("for i") == 1
    long_rows = np.zeros((4, 1 << 20), np.float32)
    assert fused(softmax, long_rows).count("for i") == 4
    columns = lambda x: softmax(x.T).T
    assert fused(columns, X).count("for i") >= 2


def test_rows_that_fill_no_vector_are_taken_several_at_a_time():
    def distances(x):
        d = x[None] - x[:, None]
        return d, 2 * d, jnp.exp(-(d ** 2).sum(-1))

    assert fused(distances, np.ones((20, 3), np.float32)) == """\
for i in 20 parallel:
    for j in 20, l in 3 parallel:
        y0[i, j, l] = x0[j, l] - x0[i, l]
        y1[i, j, l] = 2.0:f32 * y0[i, j, l]
    for j in 20 parallel:
        y2[i, j] = exp(-add(k in 3: y0[i, j, k] * y0[i, j, k]))"""
    assert fused(distances, np.ones((20, 8), np.float32)).startswith("for i in 20, j in 20")


def test_large_graphs_are_cut_into_nests_of_limited_size():
    def fun(x):
        for _ in range(1000):
            x = jnp.sin(x) * x
        return x
    _, program = programs_of(fun, V)
    assert 5 <= len(program.statements) <= 20


def test_zeros_to_be_updated_are_written_once():
    def fun(x, i):
        return jnp.zeros((1000,), "float32").at[i].add(x)
    text = fused(fun, V, np.arange(512))
    assert "y0[i] = 0.0:f32" in text and text.count("for") == 2


def test_library_functions_get_stored_arrays():
    x, t = Buffer("x", (8,), "float32"), Buffer("t", (8,), "float32", "temp")
    u, y = Buffer("u", (8,), "float32", "temp"), Buffer("y", (8,), "float32", "output")
    from tanx._compiler.nest_tools import elements
    program = Program((x,), (y,), (t, u), (
        elements(x.shape, lambda at: [Store(t, at, x[[7 - at[0]]])]),
        extern("sort", [u], [t]),
        elements(x.shape, lambda at: [Store(y, at, u[at] + t[at])])))
    after = fuse(program, host())
    check(after)
    data = np.arange(8, dtype=np.float32)[::-1].copy()
    (got,) = run(after, data, externs={"sort": np.sort})
    np.testing.assert_array_equal(got, np.sort(data) + data[::-1])
    assert isinstance(copy(y, x), Nest)


def stored_effort(program):
    return cost(program).transcendentals, cost(program).flops


@pytest.mark.parametrize("seed", range(60))
def test_no_transcendental_is_computed_more_often(seed):
    source = make(seed)
    with tanx.enable_x64(True):
        before, after = programs_of(source.function(), *(a.data for a in source.arguments))
    # Cut where choices change, a program counts no arm that is not taken.
    assert cost(split(after, 1000)).transcendentals <= cost(before).transcendentals
    assert len(after.statements) <= len(before.statements)


@pytest.mark.parametrize("fun", [
    softmax, lambda x: layer_norm(x, x[0], x[1]), tanx.vmap(lambda r: jnp.sort(r) * 2),
    tanx.grad(lambda x: jnp.sum(softmax(x) ** 2)),
    tanx.grad(lambda x: jnp.sum(layer_norm(x, x[0], x[1]) ** 3)),
    tanx.jit(lambda x: jnp.cumsum(softmax(x), 0) @ x.T), lambda x: jnp.pad(softmax(x), 1),
    lambda x: jnp.concatenate([x, softmax(x)], 1).T.reshape(2, -1).sum(0),
    lambda x: x.at[jnp.argmax(x, 0)].add(1.0)[::-1] - softmax(x), tanx.hessian(
        lambda x: jnp.sum(jnp.sin(x) * x[::-1])),
])
def test_agreement(fun):
    check_function(fun, SMALL)
    check_function(fun, np.zeros((4, 1), np.float32) + 1)


def network(layers):
    def fun(x, w):
        for _ in range(layers):
            x = softmax(jnp.tanh(x @ w) + x)
        return x.sum()
    return tanx.make_jaxpr(tanx.grad(fun))(X[:64, :64], X[:64, :64])


def test_the_work_grows_with_the_number_of_equations():
    forms = {}
    for n in (8, 16):
        closed = network(n)
        for _, jaxpr_pass in jaxpr_passes:
            closed = jaxpr_pass(closed, NARROW)
        forms[n] = lower(closed, partial(inner, NARROW)).program
    assert_linear(lambda n: lambda: fuse(forms[n], host()), 8)


def test_nests_of_deep_networks_stay_small():
    program = build(network(4)).program
    for statement in statements_in(program.statements):
        assert len(expressions(statement)) < 10
