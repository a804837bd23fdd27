"""One process, one device: meshes, topologies, and communication between processes."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import distributed
from tanx.errors import JaxRuntimeError
from tanx.experimental import mesh_utils, topologies, transfer
from tanx.experimental import multihost_utils as hosts
from tanx.experimental.pjit import pjit
from tanx.experimental.profiler import get_profiled_instructions_proto

CPU = tanx.devices()[0]
X = jnp.arange(4.0)
MESH = tanx.make_mesh((1,), ("x",))
P = tanx.P


class Chip:
    """A device of a machine that has several."""

    device_kind = "chip"

    def __init__(self, number, process):
        self.id, self.process_index = number, process


CHIPS = [Chip(n, n // 2) for n in range(4)]


def test_meshes_of_devices():
    for shape in ((), (1,), (1, 1)):
        mesh = mesh_utils.create_device_mesh(shape)
        assert mesh.shape == shape and mesh.dtype == object and mesh.item() is CPU
    mesh = mesh_utils.create_device_mesh((2, 2), CHIPS)
    assert [d.id for d in mesh.ravel()] == [0, 1, 2, 3]
    mesh = mesh_utils.create_hybrid_device_mesh((2, 1), (1, 2), CHIPS, process_is_granule=True)
    assert [[d.id for d in row] for row in mesh] == [[0, 2], [1, 3]]
    mesh = mesh_utils.create_hybrid_device_mesh((1, 2), (2,), CHIPS, process_is_granule=True)
    assert [[d.id for d in row] for row in mesh] == [[0, 1], [2, 3]]
    mesh_utils.device_kind_handler_dict["chip"] = lambda shape, devices, **_: np.array(
        devices[::-1], object).reshape(shape)
    try:
        assert mesh_utils.create_device_mesh((4,), CHIPS)[0].id == 3
    finally:
        del mesh_utils.device_kind_handler_dict["chip"]


def test_topologies():
    topology = topologies.get_attached_topology()
    assert topology.devices == [CPU] == topologies.get_attached_topology("cpu").devices
    again = topologies.TopologyDescription.deserialize(topology.serialize())
    assert again.devices == [CPU]
    assert topologies.make_mesh(topology, (1,), ("x",)).axis_names == ("x",)


def test_values_of_all_processes():
    tree = {"a": X, "b": 3, "c": np.ones(2)}
    out = hosts.broadcast_one_to_all(tree)
    assert all(type(leaf) is np.ndarray for leaf in out.values())
    np.testing.assert_array_equal(out["a"], X)
    assert hosts.process_allgather(X).shape == (1, 4)
    assert hosts.process_allgather(X, tiled=True).shape == (4,)
    assert hosts.process_allgather({"a": 3.0})["a"].shape == (1,)
    assert hosts.assert_equal(tree) is None and hosts.sync_global_devices("here") is None
    assert hosts.reached_preemption_sync_point(1) is False
    error = hosts.ProcessFailureError([CPU])
    assert str(error) == "Devices failed: [CpuDevice(id=0)]" and error.failed_devices == [CPU]


def test_arrays_of_all_processes():
    whole = hosts.host_local_array_to_global_array({"a": np.ones(4)}, MESH, P("x"))["a"]
    assert whole.sharding == tanx.NamedSharding(MESH, P("x"))
    part = hosts.global_array_to_host_local_array(whole, MESH, P("x"))
    np.testing.assert_array_equal(part, np.ones(4))

    def both(x):
        return hosts.global_array_to_host_local_array(
            hosts.host_local_array_to_global_array(2 * x, MESH, P("x")), MESH, P("x"))
    f = tanx.jit(both)
    for _ in range(4):
        np.testing.assert_array_equal(f(X), [0, 2, 4, 6])
    np.testing.assert_array_equal(tanx.grad(lambda x: both(x).sum())(X), [2, 2, 2, 2])
    lanes = tanx.vmap(lambda x: hosts.host_local_array_to_global_array(x, MESH, P("x")))
    np.testing.assert_array_equal(lanes(X[None]), X[None])
    assert "pspec=P(None, 'x')" in str(tanx.make_jaxpr(lanes)(X[None]))
    aval = tanx.typeof(X)
    assert hosts.ltg_abstract_eval(aval, global_mesh=MESH, pspec=P("x")) == aval
    assert hosts.gtl_abstract_eval(aval, global_mesh=MESH, pspec=P("x")) == aval


def test_error_arrays_raise_when_used():
    x = transfer.make_error_array(tanx.ShapeDtypeStruct((3,), np.float32), "lost")
    assert x.shape == (3,) and x.dtype == np.float32 and not x.is_deleted() and x.is_ready()
    double = tanx.jit(lambda x: 2 * x)
    for _ in range(4):
        double(X[:3])
    for use in (x.block_until_ready, lambda: np.asarray(x), lambda: x + 1, lambda: double(x),
                lambda: repr(x)):
        with pytest.raises(JaxRuntimeError, match="lost"):
            use()


def test_pjit():
    f = pjit(lambda x, n: x * n, static_argnums=(1,))
    for _ in range(4):
        np.testing.assert_array_equal(f(X, 3), 3 * np.asarray(X))


@pytest.fixture
def processes():
    yield
    distributed.shutdown()


def test_distributed(processes, monkeypatch):
    assert distributed.is_initialized() is False
    distributed.shutdown()
    with pytest.raises(RuntimeError, match="not set up"), hosts.live_devices(tanx.devices()):
        pass
    distributed.initialize("localhost:1234", 1, 0)
    assert distributed.is_initialized() is True
    with pytest.raises(RuntimeError, match="called before"):
        distributed.initialize()
    with hosts.live_devices(tanx.devices()) as alive:
        assert alive == [CPU]
    distributed.shutdown()
    assert distributed.is_initialized() is False
    monkeypatch.setenv("JAX_NUM_PROCESSES", "4")
    with pytest.raises(NotImplementedError, match="several processes"):
        distributed.initialize()


@pytest.mark.parametrize("call, kind, words", [
    (lambda: distributed.initialize(num_processes=2), NotImplementedError, "several processes"),
    (lambda: distributed.initialize(num_processes=1, process_id=1), ValueError,
     "process_id must be"),
    (lambda: distributed.initialize(local_device_ids=[0, 1]), NotImplementedError, "one device"),
    (lambda: mesh_utils.create_device_mesh((2,)), ValueError, "size of the mesh"),
    (lambda: mesh_utils.create_hybrid_device_mesh((1,), (1,)), ValueError, "slice_index"),
    (lambda: mesh_utils.create_hybrid_device_mesh((1,), (2,), process_is_granule=True), ValueError,
     "granules"),
    (lambda: topologies.get_topology_desc("v5e:2x2", "tpu"), NotImplementedError, "devices that"),
    (lambda: topologies.TopologyDescription.deserialize(b"x"), ValueError, "no devices"),
    (lambda: topologies.TopologyDescription.deserialize(b'[["cpu", 7]]'), ValueError, "no devices"),
    (lambda: transfer.make_error_array(3, "lost"), TypeError, "a shape and a dtype"),
    (lambda: hosts.host_local_array_to_global_array(X, MESH, None), ValueError, "PartitionSpec"),
    (lambda: hosts.host_local_array_to_global_array(X, MESH, P("y")), ValueError, "no axis"),
    (lambda: hosts.sync_global_devices(3), AttributeError, "must be a str"),
    (lambda: get_profiled_instructions_proto("nowhere"), JaxRuntimeError, "no profiles"),
])
def test_mistakes(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
