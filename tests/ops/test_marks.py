"""Primitives that do not change values: values, jaxprs and messages."""

import numpy as np
import pytest

import tanx
from tanx import lax
from tanx import numpy as jnp

HERE = tanx.sharding.SingleDeviceSharding(tanx.devices()[0])


def test_device_put_stands_in_jaxprs():
    text = str(tanx.make_jaxpr(lambda x: tanx.device_put((x, x), tanx.devices()[0]))(1.0))
    assert text == """\
{ lambda ; a:f32[]. let
    b:f32[] c:f32[] = device_put[
      copy_semantics=(ArrayCopySemantics.REUSE_INPUT, ArrayCopySemantics.REUSE_INPUT)
      devices=(CpuDevice(id=0), CpuDevice(id=0))
      srcs=(None, None)
    ] a a
  in (b, c) }"""
    assert tanx.jit(lambda x: tanx.device_put(x * 2))(3).tolist() == 6


def test_shardings_go_to_all_leaves():
    tree = {"a": jnp.arange(3), "b": (1.5, np.ones(2))}
    out = lax.with_sharding_constraint(tree, HERE)
    assert tanx.tree.structure(out) == tanx.tree.structure(tree)
    assert tanx.jit(lambda t: lax.with_sharding_constraint(t, {"a": HERE, "b": HERE}))(
        tree)["a"].tolist() == [0, 1, 2]


def test_with_sharding_constraint_rejects_non_shardings():
    with pytest.raises(TypeError) as caught:
        lax.with_sharding_constraint(np.zeros(3, np.float32), "here")
    assert str(caught.value) == """\
tanx.lax.with_sharding_constraint: needs a sharding for each leaf.
  leaf: float32[3]
  sharding: 'here'
  Hint: tanx.sharding.SingleDeviceSharding(tanx.devices()[0]) is one."""


def test_tokens_are_empty_and_other_operands_raise():
    token = tanx.jit(lambda x: lax.after_all(lax.create_token(x)))(1.0)
    assert token.size == 0
    with pytest.raises(TypeError) as caught:
        lax.after_all(np.zeros(3, np.float32))
    assert str(caught.value) == """\
tanx.lax.after_all: operands must be tokens.
  operand: float32[3]
  Hint: tanx.lax.create_token makes one."""


def test_dce_sink_keeps_equations_in_jaxprs():
    def fun(x):
        lax.dce_sink({"a": lax.sin(x)}, prevent_mlir_dce=True)
        return x
    jaxpr = tanx.make_jaxpr(lambda x: tanx.jit(fun)(x))(1.0)
    assert "sin" in str(jaxpr) and "dce_sink[prevent_mlir_dce=True]" in str(jaxpr)
    assert float(tanx.jit(tanx.grad(fun))(2.0)) == 1


def test_staging_needs_no_equation():
    assert str(tanx.make_jaxpr(lambda x: lax.stage(x))(1.0)) == "{ lambda ; a:f32[]. let  in (a,) }"
    assert tanx.grad(lambda x: lax.stage(x * x))(3.0) == 6


def test_arrays_have_a_format_and_a_buffer_pointer():
    x = jnp.zeros((2, 3))
    assert x.format.layout.major_to_minor == (0, 1) and x.format.sharding == HERE
    assert x.unsafe_raw_buffer().ptr == x.unsafe_buffer_pointer()


def test_numbers_without_a_key_differ_from_call_to_call():
    draw = tanx.jit(lambda a: lax.rng_uniform(a, 10.0, (50,)))
    first, second = draw(2.0), draw(2.0)
    assert first.tolist() != second.tolist()
    assert all(2 <= v <= 10 for v in (*first.tolist(), *second.tolist()))
    with pytest.raises(ValueError, match="real numbers of one dtype"):
        lax.rng_uniform(0, 10.0, (3,))


def test_composites_show_their_names_and_refuse_values_from_outside():
    named = lax.composite(lambda x, *, n: x * n, name="tests.times", version=3)
    text = str(tanx.make_jaxpr(lambda x: named(x, n=2.0))(1.0))
    assert "attributes=(('n', (2.0,), PyTreeDef(*)),)" in text and "name=tests.times" in text
    assert tanx.jit(tanx.vmap(tanx.grad(lambda x: named(x, n=2.0))))(np.ones(3)).tolist() == [2] * 3
    with pytest.raises(tanx.errors.UnexpectedTracerError, match="from outside"):
        tanx.jit(lambda x: lax.composite(lambda y: y + x, name="tests.plus")(x))(1.0)


def test_composites_are_operations_in_stablehlo():
    def text(function, *args, **attributes):
        return tanx.jit(lambda *xs: function(*xs, **attributes)).lower(*args).as_text()

    half = lax.composite(lambda x, **_: x * 0.5, "tests.half", 2)
    found = text(half, 1.0, way="up", by=3, dtype=np.dtype("float32"), no=None, on=True,
                 table=np.zeros((1, 2), np.float32), some=[1, 2.5])
    assert ('stablehlo.composite "tests.half" %arg0 {composite_attributes = {by = 3 : i64, '
            "dtype = f32, on = true, some = [1 : i64, 2.500000e+00 : f64], "
            'table = dense<0.000000e+00> : tensor<1x2xf32>, way = "up"}, '
            "decomposition = @tests.half, version = 2 : i32} : (tensor<f32>) -> tensor<f32>"
            ) in found
    assert "func.func private @tests.half(%arg0: tensor<f32>) -> tensor<f32> {" in found
    swapped = text(lax.composite(lambda x, y: (y, x), "tests.swapped"), 1.0, 2)
    assert ('"tests.swapped" %arg0, %arg1 {decomposition = @tests.swapped} : '
            "(tensor<f32>, tensor<i32>) -> (tensor<i32>, tensor<f32>)") in swapped
    one = text(lax.composite(lambda: jnp.float32(1), "tests.one"))
    assert '"tests.one" {decomposition = @tests.one} : () -> tensor<f32>' in one
    with pytest.raises(TypeError, match="attributes of a composite"):
        text(half, 1.0, by=object())
    with pytest.raises(tanx.errors.UnexpectedTracerError, match="known while tracing"):
        text(lambda x: half(x, by=x), 1.0)


def test_ragged_all_to_all_and_its_gradients():
    """A row that is sent twice, because ranges overlap, gets the sum of both cotangents."""
    starts, sizes = np.array([[0, 0], [1, 2]]), np.array([[2, 3], [1, 1]])
    firsts, received = np.array([[0, 0], [3, 3]]), np.array([[2, 1], [3, 1]])

    def total(x, y, weights):
        send = lambda *args: lax.ragged_all_to_all(*args, axis_name="i")
        out = tanx.vmap(send, axis_name="i")(x, y, starts, sizes, firsts, received)
        return (out * weights).sum(), out

    rng = np.random.default_rng(0)
    x, y, weights = (rng.normal(size=(2, 4)).astype(np.float32) for _ in range(3))
    expected, to_x, to_y = y.copy(), np.zeros_like(x), weights.copy()
    for sender, receiver in np.ndindex(2, 2):
        start, size, first = (a[sender, receiver] for a in (starts, sizes, firsts))
        expected[receiver, first:first + size] = x[sender, start:start + size]
        to_x[sender, start:start + size] += weights[receiver, first:first + size]
        to_y[receiver, first:first + size] = 0
    for run in (lambda f: f, tanx.jit):
        (_, out), (dx, dy) = run(tanx.value_and_grad(total, (0, 1), has_aux=True))(x, y, weights)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_allclose(dx, to_x, rtol=1e-6)
        np.testing.assert_array_equal(dy, to_y)
    inside = tanx.vmap(tanx.grad(lambda x, *rest: (lax.ragged_all_to_all(
        x, *rest[:-1], axis_name="i") * rest[-1]).sum(), (0, 1)), axis_name="i")
    dx, dy = inside(x, y, starts, sizes, firsts, received, weights)
    np.testing.assert_allclose(dx, to_x, rtol=1e-6)
    np.testing.assert_array_equal(dy, to_y)
