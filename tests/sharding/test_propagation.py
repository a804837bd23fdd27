"""Shardings in types propagate through operations as in JAX."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._core.explicit import bare_jaxpr
from tanx.errors import ShardingTypeError
from tanx.sharding import AxisType
from tanx.sharding import PartitionSpec as P
from tests.sharding.programs import TABLE, operands, outcome


@pytest.fixture(scope="module")
def mesh():
    mesh = tanx.make_mesh((1, 1), ("x", "y"))
    with tanx.set_mesh(mesh):
        yield mesh


@pytest.fixture(scope="module")
def names(mesh):
    return operands(tanx, jnp)


@pytest.mark.parametrize("expression, expected", TABLE, ids=[row[0] for row in TABLE])
def test_types_match_jax(names, expression, expected):
    assert outcome(tanx, expression, names, staged=False) == expected
    assert outcome(tanx, expression, names, staged=True) == expected


@pytest.mark.parametrize("function", [
    lambda a, w: jnp.tanh(a @ w).sum(0), lambda a, w: lax.scan(
        lambda c, x: (c + x @ w, c), jnp.zeros(2), tanx.reshard(a, P()))[0],
    lambda a, w: tanx.grad(lambda w: jnp.sum(jnp.sin(a @ w)))(w),
    lambda a, w: tanx.vmap(lambda row: row @ w)(a), lambda a, w: jnp.where(a > 3, a, 0) * 2,
], ids=["dot", "scan", "grad", "vmap", "where"])
def test_compiled_values_and_types(mesh, function):
    a, w = np.arange(32, dtype=np.float32).reshape(8, 4), np.ones((4, 2), np.float32)
    expected = function(jnp.asarray(a), jnp.asarray(w))
    divided = tanx.reshard(a, P("x", None))
    compiled = tanx.jit(function)
    kind = tanx.typeof(function(divided, jnp.asarray(w)))
    for x in (divided, a, divided, a, divided, divided, a, a):  # types alternate
        out = compiled(x, w)
        np.testing.assert_allclose(out, expected, rtol=1e-6)
        assert out.dtype == np.float32 and not out.weak_type
        assert tanx.typeof(out) == (kind if x is divided else tanx.typeof(expected))


def test_sharding_of_results_names_the_devices(mesh):
    x = tanx.reshard(jnp.ones((8, 4)), P("x"))
    for out in (x + 1, tanx.jit(lambda x: x + 1)(x)):
        assert out.sharding == tanx.NamedSharding(mesh, P("x", None)) == (x * 2).sharding
    assert tanx.typeof(jnp.ones(3)).sharding.mesh == mesh.abstract_mesh


@pytest.mark.parametrize("kind, spec", [(AxisType.Explicit, P(None)), (AxisType.Auto, P())])
def test_results_lie_on_the_mesh_in_scope(kind, spec):
    mesh = tanx.make_mesh((1, 1), ("x", "y"), axis_types=(kind,) * 2)
    add = tanx.jit(lambda x: x + 1)
    with tanx.set_mesh(mesh):
        for out in (jnp.ones(4), add(np.ones(4)), add(1.0 * np.ones(4)), jnp.arange(4) * 2):
            assert out.sharding == tanx.NamedSharding(mesh, spec)
        there = tanx.device_put(np.ones(4), tanx.devices()[0])
        assert type(there.sharding) is tanx.sharding.SingleDeviceSharding


def test_shardings_over_more_devices_than_there_are():
    mesh = tanx.sharding.AbstractMesh((4,), ("x",))
    x = tanx.ShapeDtypeStruct((8, 6), np.float32, sharding=tanx.NamedSharding(mesh, P("x")))
    assert str(tanx.make_jaxpr(lambda x: x.sum(1))(x).out_avals[0]) == "float32[8@x]"
    assert tanx.eval_shape(lambda x: x.T, x).sharding.spec == P(None, "x")
    with pytest.raises(ShardingTypeError, match="parts of a dimension must be equal"):
        tanx.eval_shape(lambda x: x[:6], x)


def test_compilers_see_no_shardings(mesh):
    x = tanx.reshard(jnp.ones((8, 4)), P("x"))
    closed = tanx.make_jaxpr(lambda x: lax.fori_loop(0, 2, lambda i, c: c * 2, x))(x)
    assert "8@x" in str(closed) and "@" not in str(bare_jaxpr(closed))
    plain = tanx.make_jaxpr(lambda x: x + 1)(jnp.ones(3))
    assert bare_jaxpr(plain) is plain


@pytest.mark.parametrize("wrong, error, message", [
    (lambda x: jnp.dot(x, x.T, out_sharding=P("z")), ValueError, "no axis"),
    (lambda x: jnp.dot(x, x.T, out_sharding=P(None, None, "x")), ValueError, "more entries"),
    (lambda x: jnp.dot(x, x.T, out_sharding=3), NotImplementedError, "NamedSharding"),
    (lambda x: x @ x.T, ShardingTypeError, "divide two dimensions"),
])
def test_wrong_requests(mesh, wrong, error, message):
    with pytest.raises(error, match=message):
        wrong(tanx.reshard(jnp.ones((8, 4)), P("x")))


def test_auto_axes_are_no_part_of_types():
    auto = tanx.make_mesh((1,), ("x",), axis_types=(AxisType.Auto,))
    with tanx.set_mesh(auto):
        x = tanx.device_put(jnp.ones(4), P("x"))
        assert str(tanx.typeof(x + 1)) == "float32[4]"
        with pytest.raises(ValueError, match="Explicit axes"):
            jnp.dot(x, x[:, None], out_sharding=P("x"))
