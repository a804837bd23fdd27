"""Meshes, partition specs and shardings: attributes, text and errors."""

import pickle
import threading

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import P
from tanx.sharding import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    ManualAxisType,
    Mesh,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    UnreducedKind,
    get_abstract_mesh,
    make_single_device_sharding,
    use_abstract_mesh,
)

DEVICE = tanx.devices()[0]
ONE = Mesh(np.array([DEVICE]), ("x",))
TWO = Mesh([[DEVICE]], ("x", "y"))
MADE = tanx.make_mesh((1, 1), ("x", "y"))
LARGE = AbstractMesh((2, 4), ("x", "y"))
KIND = "device_kind=cpu, num_cores=None, platform=cpu"


@pytest.mark.parametrize("value, text", [
    (ONE, "Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Auto,))"),
    (str(TWO), "\"Mesh('x': 1, 'y': 1, axis_types=(Auto, Auto))\""),
    (MADE.axis_types, "(Explicit, Explicit)"),
    (tanx.get_mesh(), "Mesh(axis_sizes=(), axis_names=())"),
    (str(tanx.get_mesh()), "'Mesh()'"),
    (ONE.abstract_mesh, f"AbstractMesh('x': 1, axis_types=(Auto,), {KIND})"),
    (LARGE, "AbstractMesh('x': 2, 'y': 4, axis_types=(Explicit, Explicit))"),
    (AbstractMesh((), ()), "AbstractMesh((), axis_types=())"),
    (LARGE.update_axis_types({"x": AxisType.Manual}),
     "AbstractMesh('x': 2, 'y': 4, axis_types=(Manual, Explicit))"),
    (LARGE.update(axis_names=("a", "b")),
     "AbstractMesh('a': 2, 'b': 4, axis_types=(Explicit, Explicit))"),
    (AbstractDevice("cpu", 1, "cpu"),
     "AbstractDevice(device_kind=cpu, num_cores=1, platform=cpu)"),
    (list(AxisType), "[Auto, Explicit, Manual]"),
    (P(), "P()"), (P("x"), "P('x',)"), (P("x", None), "P('x', None)"),
    (P(("x", "y"), None), "P(('x', 'y'), None)"), (P(("x",)), "P('x',)"), (P(()), "P(None,)"),
    (P(P.UNCONSTRAINED, "x"), "P(UNCONSTRAINED, 'x')"),
    (P("x", unreduced={"y"}), "P('x', unreduced={'y'}, unreduced_kind=sum)"),
    (P("x", unreduced={"y"}, unreduced_kind=UnreducedKind.max),
     "P('x', unreduced={'y'}, unreduced_kind=max)"),
    (P("x", reduced={"y"}), "P('x', reduced={'y'})"),
    (P("x", unreduced={"y"}).to_ct_spec(), "P('x', reduced={'y'})"),
    (P("x") + ("y",), "P('x', 'y')"), (("y",) + P("x"), "P('y', 'x')"),
    (P("x").update(partitions=("y",)), "P('y',)"),
    (NamedSharding(TWO, P("x", "y")), "NamedSharding(mesh=Mesh('x': 1, 'y': 1, "
     "axis_types=(Auto, Auto)), spec=P('x', 'y'), memory_kind=device)"),
    (NamedSharding(LARGE, P("x")), "NamedSharding(mesh=AbstractMesh('x': 2, 'y': 4, "
     "axis_types=(Explicit, Explicit)), spec=P('x',))"),
    (make_single_device_sharding(DEVICE, memory_kind="pinned_host"),
     "SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=pinned_host)"),
    (ManualAxisType(varying={"x"}), "ManualAxisType(varying=frozenset({'x'}), "
     "unreduced=frozenset(), reduced=frozenset(), unreduced_kind=None)"),
    (tanx.typeof(jnp.ones((2, 3))).sharding,
     "NamedSharding(mesh=AbstractMesh((), axis_types=()), spec=P(None, None))"),
])
def test_printed_as_jax_prints(value, text):
    assert repr(value) == text


def test_properties_of_meshes():
    assert dict(TWO.shape) == {"x": 1, "y": 1} and TWO.shape_tuple == (("x", 1), ("y", 1))
    assert TWO.size == 1 and TWO.axis_sizes == (1, 1) and not TWO.empty and not TWO.is_scalar
    assert TWO.device_ids.tolist() == [[0]] and TWO.local_devices == [DEVICE]
    assert TWO.local_mesh is TWO and not TWO.is_multi_process
    assert TWO.are_all_axes_auto and TWO.auto_axes == ("x", "y") and TWO.manual_axes == ()
    assert MADE.are_all_axes_explicit and MADE.are_all_axes_explicit_or_manual
    assert MADE.explicit_axes == ("x", "y") and not MADE.are_all_axes_manual
    assert LARGE.size == 8 and dict(LARGE.shape) == {"x": 2, "y": 4}
    assert tanx.get_mesh().empty and Mesh(np.array(DEVICE), ()).is_scalar
    assert ONE == Mesh([DEVICE], "x") != TWO and hash(ONE) == hash(Mesh([DEVICE], "x"))
    assert ONE.update(axis_names=("q",)).axis_names == ("q",)


@pytest.mark.parametrize("value", [
    ONE, P("x", None), P(P.UNCONSTRAINED), P("x", unreduced={"y"}), NamedSharding(TWO, P("x")),
    LARGE, SingleDeviceSharding(DEVICE), DEVICE, ManualAxisType(varying={"x"})], ids=repr)
def test_pickled_values_are_equal(value):
    again = pickle.loads(pickle.dumps(value))
    assert again == value and hash(again) == hash(value)


def test_properties_of_partition_specs():
    spec = P("x", None, ("y", "z"))
    assert len(spec) == 3 and list(spec) == ["x", None, ("y", "z")] == list(spec.partitions)
    assert spec[0] == "x" and spec[1:] == (None, ("y", "z")) and spec.index(("y", "z")) == 2
    assert P("x", "x").count("x") == 2 and P("x") == P(("x",)) != ("x",)
    assert hash(P("x")) == hash(P(["x"])) and P("x", None) != P("x")
    assert tanx.tree.leaves(spec) == [spec] and spec.to_lo() == [spec]
    assert spec.to_tangent_spec() == spec and spec.unreduced_kind is None


def test_properties_of_named_shardings():
    s = NamedSharding(TWO, P("x", "y"))
    assert s.mesh is TWO and s.spec == P("x", "y") and s.memory_kind == "device"
    assert s.shard_shape((4, 6)) == (4, 6) and s.device_set == {DEVICE} == s.addressable_devices
    assert s.devices_indices_map((4, 6)) == {DEVICE: (slice(None), slice(None))}
    assert s.addressable_devices_indices_map((4,)) == {DEVICE: (slice(None),)}
    assert s.num_devices == 1 and s.is_fully_replicated and s.is_fully_addressable
    assert s.has_addressable_devices and s.replicated_axes == frozenset()
    assert NamedSharding(TWO, P("x")).replicated_axes == {"y"}
    assert s.update(spec=P("y")).spec == P("y")
    assert s.with_memory_kind("pinned_host").memory_kind == "pinned_host"
    assert s.is_equivalent_to(SingleDeviceSharding(DEVICE), 2)
    assert s.is_equivalent_to(NamedSharding(TWO, P()), 2) and s != NamedSharding(TWO, P())
    assert SingleDeviceSharding(DEVICE).is_equivalent_to(s, 2)
    assert not s.is_equivalent_to(s.with_memory_kind("pinned_host"), 2)
    wide = NamedSharding(LARGE, P("x", ("y",)))
    assert wide.shard_shape((4, 8, 3)) == (2, 2, 3) and wide.num_devices == 8
    assert not wide.is_fully_replicated and NamedSharding(LARGE, P()).is_fully_replicated
    assert not wide.is_equivalent_to(NamedSharding(LARGE, P("x")), 2)
    assert NamedSharding(LARGE, P("x")).is_equivalent_to(NamedSharding(LARGE, P("x", None)), 2)


@pytest.mark.parametrize("make, error, text", [
    (lambda: Mesh([DEVICE], ("x", "y")), ValueError, "needs a name"),
    (lambda: Mesh([DEVICE, DEVICE], "x"), NotImplementedError, "several devices"),
    (lambda: Mesh([1], "x"), TypeError, "array of devices"),
    (lambda: Mesh([DEVICE], "x", (AxisType.Auto,) * 2), ValueError, "entry for each axis"),
    (lambda: Mesh([DEVICE], "x", "Auto"), TypeError, "AxisType"),
    (lambda: AbstractMesh((1, 2), ("x",)), ValueError, "a size and a name"),
    (lambda: LARGE.devices, ValueError, "no devices"),
    (lambda: LARGE.is_multi_process, ValueError, "no devices"),
    (lambda: tanx.make_mesh((2,), ("x",)), ValueError, "not enough devices"),
    (lambda: tanx.set_mesh(3), ValueError, "tanx.sharding.Mesh"),
    (lambda: use_abstract_mesh(ONE), ValueError, "AbstractMesh"),
    (lambda: P("x", unreduced={"x"}), ValueError, "cannot be unreduced"),
    (lambda: P(unreduced=("y",)), TypeError, "a set of names"),
    (lambda: P(unreduced={"y"}, reduced={"y"}), ValueError, "both"),
    (lambda: P(unreduced={"y"}, unreduced_kind="max"), TypeError, "UnreducedKind"),
    (lambda: NamedSharding(TWO, P("z")), ValueError, "no axis 'z'"),
    (lambda: NamedSharding(TWO, P("x", "x")), ValueError, "two dimensions"),
    (lambda: NamedSharding(TWO, None), TypeError, "PartitionSpec"),
    (lambda: NamedSharding(TWO, P(), memory_kind="disk"), ValueError, "memory of that kind"),
    (lambda: NamedSharding(LARGE, P("x")).shard_shape((3,)), ValueError, "must be equal"),
    (lambda: NamedSharding(LARGE, P("x")).device_set, ValueError, "no devices"),
    (lambda: NamedSharding(TWO, P("x", "y")).check_compatible_aval((3,)), ValueError, "entries"),
    (lambda: Sharding().device_set, NotImplementedError, "device_set"),
    (lambda: tanx.ShapeDtypeStruct((2,), "float32", sharding=NamedSharding(TWO, P("x", "y"))),
     ValueError, "entries"),
    (lambda: tanx.ShapeDtypeStruct((2,), "float32", sharding=P("x")), TypeError, "mesh in scope"),
])
def test_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_the_mesh_in_scope():
    with tanx.set_mesh(MADE) as nothing:
        assert nothing is None and tanx.get_mesh() is MADE
        assert get_abstract_mesh() == MADE.abstract_mesh
        with use_abstract_mesh(LARGE):
            assert get_abstract_mesh() is LARGE and tanx.get_mesh() is MADE
        other = []
        thread = threading.Thread(target=lambda: other.append(tanx.get_mesh()))
        thread.start()
        thread.join()
        assert other[0].empty
        struct = tanx.ShapeDtypeStruct((2, 2), "float32", sharding=P("x"))
        assert struct.sharding == NamedSharding(MADE, P("x"))
    assert tanx.get_mesh().empty and get_abstract_mesh().empty
    before = tanx.set_mesh(ONE)
    assert tanx.get_mesh() is ONE and before.prev_mesh.empty
    before.__exit__(None, None, None)
    with TWO as same:
        assert same is TWO and tanx.get_mesh() is TWO


def test_functions_are_staged_anew_for_another_mesh():
    @tanx.jit
    def axes(x):
        return x + len(get_abstract_mesh().axis_names)

    for _ in range(2):
        for mesh, count in ((ONE, 1), (TWO, 2)):
            with tanx.set_mesh(mesh):
                assert [int(axes(1)) for _ in range(4)] == [1 + count] * 4
    with pytest.raises(ValueError, match="while a function is traced"):
        tanx.jit(lambda x: tanx.get_mesh() and x)(1)
