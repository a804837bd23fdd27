"""Explicit axes: types of arrays, forbidden collectives, and pictures of shardings."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._core.mesh import Explicit
from tanx.sharding import AxisType, NamedSharding, SingleDeviceSharding, no_collectives
from tanx.sharding import PartitionSpec as P


@pytest.fixture
def mesh():
    mesh = tanx.make_mesh((1, 1), ("x", "y"))
    with tanx.set_mesh(mesh):
        yield mesh


def test_types_of_arrays_say_how_they_are_divided(mesh):
    x = tanx.reshard(jnp.ones((2, 4)), P("x"))
    aval = tanx.typeof(x)
    assert str(aval) == "float32[2@x,4]" and aval.shape == (2, 4)
    assert aval.sharding == NamedSharding(mesh.abstract_mesh, P("x", None))
    assert str(tanx.typeof(tanx.reshard(x, P(None, ("x", "y"))))) == "float32[2,4@(x,y)]"
    assert str(tanx.typeof(jnp.ones((2, 4)))) == "float32[2,4]"
    assert tanx.reshard(x, aval.sharding.spec).sharding.spec == P("x", None)


def test_types_do_not_show_auto_axes():
    auto = tanx.make_mesh((1,), ("x",), axis_types=(AxisType.Auto,))
    x = tanx.device_put(jnp.ones(4), NamedSharding(auto, P("x")))
    assert str(tanx.typeof(x)) == "float32[4]"


@pytest.mark.parametrize("target, allowed", [
    (P("x", None), True), (P("x", "y"), True), (P(), False), (P(None, "x"), False),
])
def test_collectives_can_be_forbidden(mesh, target, allowed):
    x = tanx.reshard(jnp.ones((2, 4)), P("x"))
    assert tanx.reshard(x, target).shape == (2, 4)
    with no_collectives({"y"}):
        assert tanx.reshard(x, target).shape == (2, 4)
    with no_collectives({"x"}):
        if allowed:
            assert tanx.reshard(x, target).shape == (2, 4)
        else:
            with pytest.raises(Exception, match="no_collectives forbids"):
                tanx.reshard(x, target)
    with pytest.raises(TypeError, match="set of names"):
        no_collectives("x")


def test_drawings(capsys):
    place = SingleDeviceSharding(tanx.devices()[0])
    tanx.debug.visualize_sharding((4, 2), place, use_color=False, min_width=7, scale=2)
    assert capsys.readouterr().out.splitlines() == [
        "┌──────────────┐", *["│              │"] * 2, "│    CPU 0     │",
        *["│              │"] * 2, "└──────────────┘"]
    tanx.debug.visualize_array_sharding(jnp.ones(3), use_color=False, max_width=8)
    assert capsys.readouterr().out.splitlines() == ["┌───────┐", "│ CPU 0 │", "└───────┘"]
    for shape in ((), (1, 2, 3)):
        with pytest.raises(ValueError, match="one or two dimensions"):
            tanx.debug.visualize_sharding(shape, place)
    with pytest.raises(TypeError, match="needs an array"):
        tanx.debug.visualize_array_sharding(3.0)


def test_layout_constraints_do_not_change_results():
    from tanx.experimental.layout import Layout, explicit_layout, with_layout_constraint
    x = jnp.arange(6.0).reshape(2, 3)
    wish = tanx.jit(lambda x: with_layout_constraint({"a": x, "b": 2 * x}, Layout((1, 0))))
    for _ in range(4):
        assert wish(x)["b"].tolist() == (2 * x).tolist()
    assert "layout_constraint[\n      layout=Layout(major_to_minor=(1, 0)" in str(
        tanx.make_jaxpr(lambda x: with_layout_constraint(x, Layout((1, 0))))(x))
    batched = tanx.vmap(lambda y: with_layout_constraint(y, Layout((0,))), in_axes=1, out_axes=1)
    assert np.array_equal(batched(x), x)
    assert tanx.grad(lambda x: with_layout_constraint(x, Layout((1, 0))).sum())(x).sum() == 6
    assert explicit_layout(in_layouts=Layout((0, 1)))(lambda x: x + 1)(x).shape == (2, 3)
    assert Layout.for_array(x) == Layout((0, 1), ()) and repr(Layout.AUTO) == "AutoLayout"
    with pytest.raises(ValueError, match="each dimension"):
        with_layout_constraint(x, Layout((0,)))
    with pytest.raises(ValueError, match="needs a Layout"):
        with_layout_constraint(x, 1)


@pytest.mark.parametrize("call", [
    lambda x, to: tanx.random.bernoulli(tanx.random.key(0), 0.5, x.shape, out_sharding=to),
    lambda x, to: tanx.random.normal(tanx.random.key(0), x.shape, out_sharding=to),
    lambda x, to: x.at[0].set(1.0, out_sharding=to),
    lambda x, to: jnp.reshape(x, x.shape, out_sharding=to),
])
def test_the_sharding_of_a_type_without_a_mesh_says_nothing(call):
    """flax draws the mask of dropout with ``out_sharding=typeof(x).sharding``."""
    x = jnp.ones((3, 4))
    to = tanx.typeof(x).sharding
    assert to.mesh.empty
    np.testing.assert_array_equal(call(x, to), call(x, None))
    compiled = tanx.jit(lambda x: call(x, tanx.typeof(x).sharding))
    for _ in range(4):
        out = compiled(x)
        assert (out.shape, out.dtype) == (x.shape, call(x, None).dtype) and not out.weak_type
        np.testing.assert_allclose(out, call(x, None), rtol=1e-6)


@pytest.mark.parametrize("call", [
    lambda x, to: tanx.reshard(x, to),
    lambda x, to: tanx.random.normal(tanx.random.key(0), x.shape, out_sharding=to),
    lambda x, to: jnp.zeros_like(x, out_sharding=to),
    lambda x, to: jnp.dot(x, x.T, out_sharding=to),
    lambda x, to: x.at[0].set(1.0, out_sharding=to),
])
def test_the_first_sharding_of_a_process_may_be_stated_in_a_trace(call, monkeypatch):
    monkeypatch.setattr(Explicit, "seen", False)
    to = NamedSharding(tanx.make_mesh((1,), ("x",)), P("x"))
    (aval,) = tanx.make_jaxpr(lambda x: call(x, to))(jnp.ones((3, 4))).out_avals
    assert str(aval).startswith("float32[3@x,")
