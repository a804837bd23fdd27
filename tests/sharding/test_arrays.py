"""Arrays with shardings: put, constrained, made of parts, and returned by compiled functions."""

import pickle

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import P, lax
from tanx.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    SingleDeviceSharding,
    auto_axes,
    explicit_axes,
)

DEVICE = tanx.devices()[0]
AUTO = Mesh([[DEVICE]], ("x", "y"))
EXPLICIT = tanx.make_mesh((1, 1), ("x", "y"))
BOTH = NamedSharding(AUTO, P("x", "y"))
FIRM = NamedSharding(EXPLICIT, P("x", None))
HERE = SingleDeviceSharding(DEVICE)
X = np.arange(6, dtype=np.float32).reshape(2, 3)

MADE = {
    "device_put": lambda s: tanx.device_put(X, s),
    "device_put of an array": lambda s: tanx.device_put(jnp.array(X), s),
    "asarray": lambda s: jnp.asarray(X, device=s),
    "callback": lambda s: tanx.make_array_from_callback(X.shape, s, lambda i: X[i]),
    "parts": lambda s: tanx.make_array_from_single_device_arrays(X.shape, s, [jnp.array(X)]),
    "local": lambda s: tanx.make_array_from_process_local_data(s, X, X.shape),
    "jit": lambda s: tanx.jit(lambda x: x, out_shardings=s)(X),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("sharding", [BOTH, FIRM, HERE, NamedSharding(AUTO, P()),
                                      HERE.with_memory_kind("pinned_host")], ids=str)
def test_an_array_has_the_sharding_it_was_given(make, sharding):
    x = make(sharding)
    assert x.sharding == sharding and x.device == DEVICE and x.devices() == {DEVICE}
    assert x.committed and x.is_fully_addressable and x.is_fully_replicated
    assert x.dtype == np.float32 and not x.weak_type
    np.testing.assert_array_equal(x, X)
    (shard,) = x.addressable_shards
    assert shard.device == DEVICE and shard.replica_id == 0 and shard.index == (slice(None),) * 2
    np.testing.assert_array_equal(shard.data, X)
    assert any(x is y for y in DEVICE.live_buffers())
    assert (x + 1).sharding.is_equivalent_to(sharding, 2) or sharding.memory_kind != "device"
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), X)


def test_a_spec_means_the_mesh_in_scope():
    with tanx.set_mesh(EXPLICIT):
        assert tanx.device_put(X, P("x")).sharding == NamedSharding(EXPLICIT, P("x"))
        assert tanx.reshard({"a": X}, P("x"))["a"].sharding == FIRM
        assert jnp.zeros((2, 3), out_sharding=P("x")).sharding.spec == P("x")
        out = auto_axes(lambda x: x + 1, out_sharding=P("x"))(X)
        assert out.sharding == FIRM
        np.testing.assert_array_equal(out, X + 1)
        np.testing.assert_array_equal(auto_axes(axes="x")(lambda x: x)(X, out_sharding=P()), X)
    with tanx.set_mesh(AUTO):
        out = lax.with_sharding_constraint(X, P("x"))
        assert out.sharding == NamedSharding(AUTO, P("x"))
        seen = []

        def body(x):
            seen.append((x.sharding, tanx.sharding.get_abstract_mesh().axis_types))
            return x + 1

        np.testing.assert_array_equal(explicit_axes(body, in_sharding=P("x"))(X), X + 1)
        assert seen[0][0].spec == P("x", None) and set(seen[0][1]) == {AxisType.Explicit}


@pytest.mark.parametrize("mark", [
    lambda x: lax.with_sharding_constraint(x, BOTH),
    lambda x: lax.with_sharding_constraint(x, NamedSharding(AUTO, P(P.UNCONSTRAINED, "y"))),
    lambda x: tanx.reshard(x, FIRM)], ids=["constraint", "unconstrained", "reshard"])
def test_marks_compose(mark):
    f = tanx.jit(lambda x: mark(x * 2) + 1)
    for _ in range(4):
        out = f(X)
        assert out.shape == X.shape and out.dtype == X.dtype and not out.weak_type
        np.testing.assert_array_equal(out, 2 * X + 1)
    np.testing.assert_array_equal(tanx.grad(lambda x: (mark(x) ** 2).sum())(X), 2 * X)
    np.testing.assert_array_equal(tanx.jvp(mark, (X,), (X,))[1], X)
    np.testing.assert_array_equal(tanx.vmap(mark)(np.stack([X, X])), np.stack([X, X]))
    carry, _ = lax.scan(lambda c, _: (mark(c + 1), None), mark(X), None, length=3)
    np.testing.assert_array_equal(carry, X + 3)
    np.testing.assert_array_equal(mark(np.zeros((0, 3), np.float32)), np.zeros((0, 3)))


def test_constraints_of_an_abstract_mesh():
    abstract = AbstractMesh((1, 1), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    target = NamedSharding(abstract, P("x"))
    placed = tanx.device_put(X, NamedSharding(AUTO, P("y")))
    assert lax.with_sharding_constraint(placed, target).sharding == NamedSharding(AUTO, P("x"))
    f = tanx.jit(lambda x: lax.with_sharding_constraint(2 * x, target))
    for _ in range(4):
        np.testing.assert_array_equal(f(placed), 2 * X)
        np.testing.assert_array_equal(f(X), 2 * X)
    with tanx.sharding.use_abstract_mesh(abstract):
        f = tanx.jit(lambda x: lax.with_sharding_constraint(3 * x, P("x", "y")))
        for _ in range(4):
            np.testing.assert_array_equal(f(X), 3 * X)
        assert tanx.eval_shape(f, X).shape == X.shape
    plain = tanx.numpy.asarray(X)
    with tanx.set_mesh(AUTO):  # flax does this for parameters
        assert lax.with_sharding_constraint(plain, target).sharding == NamedSharding(AUTO, P("x"))
    with pytest.raises(TypeError, match="needs an array on a mesh"):
        lax.with_sharding_constraint(plain, target)


def test_a_spec_over_explicit_axes_is_an_assertion():
    with tanx.set_mesh(EXPLICIT):
        placed = tanx.device_put(X, P("x"))
        assert lax.with_sharding_constraint(placed, P("x", None)) is placed
        with pytest.raises(AssertionError, match="another sharding"):
            lax.with_sharding_constraint(placed, P("y"))


def test_the_constraint_is_in_the_jaxpr():
    text = str(tanx.make_jaxpr(lambda x: lax.with_sharding_constraint(x, BOTH))(X))
    assert f"sharding={BOTH}" in text and "context_mesh=Mesh()" in text
    assert "reshard[" in str(tanx.make_jaxpr(lambda x: tanx.reshard(x, FIRM))(X))


def test_jit_with_shardings():
    @tanx.jit(in_shardings=(BOTH, {"b": None}), out_shardings=(BOTH, None), donate_argnums=())
    def f(a, tree):
        return a + tree["b"], a * 2

    for _ in range(5):
        total, twice = f(jnp.array(X), {"b": 1.0})
        assert total.sharding == BOTH and total.dtype == np.float32 and not total.weak_type
        np.testing.assert_array_equal(total, X + 1)
        np.testing.assert_array_equal(twice, X * 2)
    assert f._cache_size() == 1
    assert f.lower(X, {"b": 1.0}).compile()(X, {"b": 1.0})[1].shape == (2, 3)
    gradient = tanx.grad(lambda x: f(x, {"b": 1.0})[0].sum())(X)
    np.testing.assert_array_equal(gradient, np.ones((2, 3)))
    np.testing.assert_array_equal(tanx.jit(lambda x: f(x, {"b": x})[0])(X), 2 * X)

    @tanx.jit(static_argnums=0, in_shardings=BOTH, out_shardings=BOTH)
    def g(n, x):
        return n * x

    for _ in range(4):
        assert g(3, X).sharding == BOTH

    with tanx.set_mesh(AUTO):
        h = tanx.jit(lambda x: x + 1, in_shardings=P("x"), out_shardings=P("x"))
        for _ in range(4):
            assert h(X).sharding == NamedSharding(AUTO, P("x"))


@pytest.mark.parametrize("call, error, text", [
    (lambda: tanx.device_put(X[0], BOTH), ValueError, "more entries"),
    (lambda: tanx.device_put(X, P("x")), ValueError, "mesh in scope"),
    (lambda: tanx.device_put(X, "cpu"), ValueError, "must be a device"),
    (lambda: lax.with_sharding_constraint(X, P("x")), RuntimeError, "mesh in scope"),
    (lambda: lax.with_sharding_constraint(X, FIRM), ValueError, "Explicit"),
    (lambda: lax.with_sharding_constraint(X[0], BOTH), ValueError, "more entries"),
    (lambda: lax.with_sharding_constraint(X, 3), TypeError, "needs a sharding"),
    (lambda: tanx.reshard(X, BOTH), ValueError, "Auto"),
    (lambda: tanx.reshard(X, P("x")), ValueError, "mesh in scope"),
    (lambda: tanx.reshard(X, HERE), ValueError, "NamedSharding"),
    (lambda: tanx.jit(lambda x: x, in_shardings=P("x"))(X), RuntimeError, "mesh in scope"),
    (lambda: tanx.jit(lambda x: x, in_shardings=(BOTH, BOTH))(X), ValueError, "one entry"),
    (lambda: tanx.jit(lambda x: x, out_shardings=(BOTH, BOTH))(X), ValueError, "prefix"),
    (lambda: tanx.jit(lambda x: x, in_shardings=BOTH)(X[0]), ValueError, "more entries"),
    (lambda: tanx.jit(lambda x: x, out_shardings=BOTH)(X[0]), ValueError, "more entries"),
    (lambda: tanx.jit(lambda x: x, in_shardings=3)(X), TypeError, "PartitionSpecs"),
    (lambda: tanx.jit(lambda x: x, in_shardings=BOTH)(x=X), ValueError, "keywords"),
    (lambda: tanx.make_array_from_callback((2, 3), BOTH, lambda i: X[:1]), ValueError, "shape"),
    (lambda: tanx.make_array_from_callback((2, 3), BOTH, lambda i: X, jnp.bfloat16), ValueError,
     "dtype"),
    (lambda: tanx.make_array_from_single_device_arrays((2, 3), BOTH, [jnp.array(X)] * 2),
     ValueError, "one array for each device"),
    (lambda: tanx.make_array_from_single_device_arrays((2, 3), BOTH, [X]), TypeError, "tanx"),
    (lambda: tanx.make_array_from_single_device_arrays((2, 3), BOTH, jnp.array(X)), TypeError,
     "list"),
    (lambda: tanx.make_array_from_process_local_data(BOTH, X, (3, 3)), ValueError, "global_shape"),
    (lambda: auto_axes(lambda x: x)(X), TypeError, "out_sharding"),
    (lambda: explicit_axes(lambda x: x)(X), TypeError, "in_sharding"),
    (lambda: auto_axes(lambda x: x, out_sharding=P())(X), ValueError, "mesh in scope"),
])
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()
