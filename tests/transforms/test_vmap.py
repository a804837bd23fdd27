"""Batching: the mapped axis at any position."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._core.array import Array
from tanx._transforms.vmap import Axis, BatchTracer, batch, batch_jaxpr, to_axis
from tanx.errors import (
    ConcretizationTypeError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)

X = Array(np.arange(6, dtype=np.float32).reshape(3, 2))


def test_values_and_where_their_axis_ended_up():
    outs, dims = batch(lambda x, y: [lax.neg(x), lax.mul(y, 2.0), x, y, 5], Axis(None, 3),
                       [X, Array(np.ones((), np.float32))], [0, None])
    assert dims == [0, None, 0, None, None]
    assert outs[2] is X and outs[4] == 5
    outs, dims = batch(lambda x: [lax.neg(x)], Axis(None, 2), [X], [1])
    assert dims == [1]


def test_unmapped_operations_are_not_batched():
    seen = []
    tanx.vmap(lambda x: seen.append(lax.sin(2.0)) or x)(X)
    assert type(seen[0]) is Array and seen[0].shape == ()


def test_the_axis_is_out_of_sight():
    def look(x):
        assert isinstance(x, BatchTracer) and isinstance(x, tanx.Array)
        assert (x.shape, x.ndim, x.size, len(x)) == ((2,), 1, 2, 2)
        assert repr(x) == "VmapTracer(aval=float32[2], batched=float32[3,2])"
        return x

    tanx.vmap(look)(X)


@pytest.mark.parametrize("use, error", [
    (bool, TracerBoolConversionError), (lambda x: [1, 2][x], TracerIntegerConversionError),
    (float, ConcretizationTypeError), (int, ConcretizationTypeError)])
def test_converting_batched_values_raises(use, error):
    with pytest.raises(error, match="origin: batched by vmap"):
        tanx.vmap(lambda x: (use(x), x)[1])(jnp.arange(3))


@pytest.mark.parametrize("source", [0, 1, 2, -1])
@pytest.mark.parametrize("target", [0, 1, 2, -1])
def test_axes_anywhere(source, target):
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    out = tanx.vmap(lambda x: x * 2, source, target)(x)
    np.testing.assert_array_equal(out, np.moveaxis(2 * x, source, target))


def test_nesting():
    x, y, z = np.arange(2), np.arange(3), np.arange(12).reshape(3, 2, 2)
    fun = lambda x, y, z: x - 10 * y + 100 * z
    out = tanx.vmap(tanx.vmap(fun, (None, 0, 0)), (0, None, 1), -1)(x, y, z)
    np.testing.assert_array_equal(out, np.moveaxis(
        [[fun(x[i], y[j], z[j, i]) for j in range(3)] for i in range(2)], 0, -1))


def test_lanes_of_equal_size_do_not_mix():
    outer = lambda x: tanx.vmap(lambda y: x - y)(jnp.arange(3.0))
    np.testing.assert_array_equal(tanx.vmap(outer)(jnp.arange(3.0)),
                                  np.subtract.outer(np.arange(3.0), np.arange(3.0)))


def test_an_outer_lane_inside_an_inner_call():
    def outer(x):
        scaled = tanx.jit(lambda y: x * y)
        return tanx.vmap(scaled)(jnp.arange(3.0)), scaled(2.0)

    rows, twice = tanx.vmap(outer)(jnp.arange(3.0))
    np.testing.assert_array_equal(rows, np.outer(np.arange(3.0), np.arange(3.0)))
    np.testing.assert_array_equal(twice, [0, 2, 4])


def test_tracers_of_a_function_that_has_returned():
    kept = []
    tanx.vmap(lambda x: kept.append(x) or x)(X)
    with pytest.raises(UnexpectedTracerError):
        lax.neg(kept[0])
    with pytest.raises(UnexpectedTracerError):
        tanx.vmap(lambda x: lax.add(x, kept[0]))(X)


def test_a_tracer_leaked_from_another_vmap_raises():
    kept = []
    with pytest.raises(UnexpectedTracerError):
        tanx.make_jaxpr(lambda x: tanx.vmap(lambda y: kept.append(y) or y)(x) + kept[0])(X)


def test_to_axis():
    assert to_axis(X, 0, 3, 1).shape == (2, 3)
    assert to_axis(X, 0, 3, -1).shape == (2, 3)
    assert to_axis(X, None, 5, 0).shape == (5, 3, 2)
    assert to_axis(X, None, 5, -1).shape == (3, 2, 5)
    assert to_axis(X, None, 5, None) is X
    with pytest.raises(ValueError) as caught:
        to_axis(X, 1, 2, None)
    assert str(caught.value) == (
        "tanx.vmap: out_axes is None for an output that depends on the mapped axis.\n"
        "  output: float32[3,2], mapped at axis 1\n"
        "  Hint: give an integer in out_axes.")


# --- Jaxprs ---------------------------------------------------------------------------------------


def test_batch_of_a_jaxpr():
    closed = tanx.make_jaxpr(lambda x, y: (lax.mul(x, y), lax.neg(y)))(1.0, 2.0)
    batched, dims = batch_jaxpr(closed, Axis(None, 3), [0, None])
    assert dims == [0, None]
    assert str(batched) == (
        "{ lambda ; a:f32[3] b:f32[]. let c:f32[3] = mul a b; d:f32[] = neg b in (c, d) }")
    batched, dims = batch_jaxpr(closed, Axis(None, 3), [0, None], True)
    assert dims == [0, 0] and [str(a) for a in batched.out_avals] == ["~float32[3]", "~float32[3]"]
    batched, dims = batch_jaxpr(closed, Axis(None, 3), [None, None], [False, True])
    assert dims == [None, 0]


def test_bodies_of_calls_are_batched_once():
    inner = tanx.jit(lambda x: lax.sin(x))
    both = tanx.make_jaxpr(tanx.vmap(lambda x: inner(x) + inner(inner(x))))(jnp.ones(3))
    bodies = [e.params["jaxpr"] for e in both.eqns if e.primitive.name == "jit"]
    assert len(bodies) == 3 and len(set(map(id, bodies))) == 1
    again = tanx.make_jaxpr(tanx.vmap(inner))(jnp.ones(3))  # another axis, equal to the first
    assert again.eqns[0].params["jaxpr"] is bodies[0]


def test_batched_bodies_of_custom_rules_may_be_batched_again():
    @tanx.custom_jvp
    def scale(x, y):
        return x * y

    scale.defjvp(lambda primals, tangents: (scale(*primals), tangents[0] * primals[1] * 10))
    inner = tanx.jit(scale)

    def outer(x):
        first = inner(x, x)  # the body is batched for the outer axis here,
        return first + tanx.vmap(inner, (0, None))(jnp.arange(3.0), x).sum()  # and reused here

    x = jnp.arange(3.0)
    np.testing.assert_array_equal(tanx.vmap(outer)(x), x * x + 3 * x)
    np.testing.assert_array_equal(tanx.vmap(tanx.grad(lambda y: tanx.vmap(
        inner, (0, None))(y * x, y).sum()))(x), 10 * 3 * x)


def test_tracers_show_the_batch_by_the_names_of_jax():
    seen = []
    tanx.vmap(lambda x: seen.append((x.val, x.batch_dim)), in_axes=1)(jnp.ones((2, 3)))
    assert seen[0][0].shape == (2, 3) and seen[0][1] == 1
