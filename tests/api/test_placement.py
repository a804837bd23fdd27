"""Devices, and arrays on them."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.sharding import SingleDeviceSharding

CPU = tanx.devices()[0]
X = jnp.arange(3.0)


def error(call, kind=ValueError) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


# --- Devices --------------------------------------------------------------------------------------


def test_devices():
    assert tanx.devices() == tanx.devices("cpu") == tanx.local_devices() == [CPU]
    assert tanx.local_devices(0, "cpu") == tanx.local_devices(process_index=0) == [CPU]
    assert (tanx.device_count(), tanx.local_device_count(), tanx.default_backend()) == (1, 1, "cpu")
    assert (CPU.platform, CPU.id, CPU.process_index, CPU.host_id) == ("cpu", 0, 0, 0)
    assert (repr(CPU), str(CPU)) == ("CpuDevice(id=0)", "cpu:0")
    assert CPU.memory_stats()["bytes_in_use"] >= 0
    assert CPU.task_id == 0 and CPU.client.devices() == [CPU] and CPU.client.platform == "cpu"
    assert CPU.client.device_count() == CPU.client.local_device_count() == 1
    assert CPU.client.process_index() == CPU.client.host_id() == 0


def test_memories():
    kinds = [memory.kind for memory in CPU.addressable_memories()]
    assert kinds == ["device", "pinned_host", "unpinned_host"]
    assert repr(CPU.addressable_memories()) == "[CPU_DEVICE_0, PINNED_HOST_1, UNPINNED_HOST_2]"
    memory = CPU.default_memory()
    assert memory == CPU.memory("device") and hash(memory) == hash(CPU.memory("device"))
    assert memory != CPU.memory("pinned_host") and memory.addressable_by_devices() == [CPU]
    assert str(memory) == "CpuDeviceMemory(id=0, process_index=0, client=cpu)"
    assert (memory.platform, memory.process_index) == ("cpu", 0)
    for what in (lambda: CPU.memory("far"), CPU.get_stream_for_external_ready_events):
        with pytest.raises(tanx.errors.JaxRuntimeError):
            what()
    assert CPU.poison_execution(3, "broken") is False
    with pytest.raises(TypeError, match="a number and an error"):
        CPU.poison_execution("3", "broken")


def test_spaces_of_memory():
    Space = tanx.memory.Space
    assert [str(s) for s in Space] == ["MemorySpace.Device", "MemorySpace.Host", "MemorySpace.Any"]
    x = jnp.arange(3.0)
    for space, kind in ((Space.Host, "pinned_host"), (Space.Device, "device")):
        moved = tanx.device_put(x, space)
        assert moved.sharding.memory_kind == kind
        np.testing.assert_array_equal(moved, x)
        f = tanx.jit(lambda x, space=space: tanx.device_put(x, space) * 2)
        for _ in range(4):
            y = f(x)
            np.testing.assert_array_equal(y, 2 * np.asarray(x))
            assert y.dtype == np.float32 and not y.weak_type
    text = str(tanx.make_jaxpr(lambda x: tanx.device_put(x, Space.Host))(x))
    assert "devices=(MemorySpace.Host,)" in text and "b:f32<host>[3] = device_put" in text
    back = tanx.make_jaxpr(tanx.grad(lambda x: tanx.device_put(
        tanx.device_put(x, Space.Host), Space.Device).sum()))(x)
    puts = [e.outvars[0].aval for e in back.eqns if e.primitive.name == "device_put"]
    assert [str(aval) for aval in puts] == ["float32<host>[3]", "float32[3]"] * 2
    assert any(y is x for y in CPU.live_buffers())


def test_processes():
    assert (tanx.process_index(), tanx.process_count(), tanx.process_indices()) == (0, 1, [0])
    assert (tanx.host_id(), tanx.host_count(), tanx.host_ids()) == (0, 1, [0])


def test_unknown_platforms_and_processes_raise():
    assert error(lambda: tanx.devices("quantum"), RuntimeError) == (
        "tanx.devices: Unknown backend: there are no devices of the platform 'quantum'.\n"
        "  platforms present: cpu")
    assert error(lambda: tanx.local_devices(1)) == (
        "tanx.local_devices: there is one process only, process 0.\n"
        "  process_index: 1")


# --- device_put and device_get --------------------------------------------------------------------


def test_device_put():
    assert tanx.device_put(1.5) == 1.5 and isinstance(tanx.device_put(1.5), tanx.Array)
    placed = tanx.device_put({"a": np.arange(3), "b": [2, None]})
    assert isinstance(placed["b"][0], tanx.Array) and placed["b"][1] is None
    assert tanx.device_put(X) is X
    moved = tanx.device_put(X, CPU)
    assert moved.devices() == {CPU} and moved.committed and not X.committed
    np.testing.assert_array_equal(moved, X)
    assert tanx.device_put(X, SingleDeviceSharding(CPU)).device == CPU
    assert tanx.device_put({"a": 1, "b": (2, 3)}, {"a": CPU, "b": None})["a"].committed


def test_data_is_copied_in():
    data = np.arange(3.0, dtype=np.float32)
    placed = tanx.device_put(data)
    data[:] = 7
    assert placed.tolist() == [0, 1, 2]


def test_device_put_deletes_donated_arrays():
    x = jnp.arange(3.0)
    moved = tanx.device_put(x, CPU, donate=True)
    assert moved.tolist() == [0, 1, 2] and x.is_deleted()


def test_device_put_inside_functions():
    assert tanx.jit(lambda x: tanx.device_put(x, CPU) + 1)(1.0) == 2.0
    assert tanx.grad(lambda x: tanx.device_put(x) ** 2)(3.0) == 6.0
    np.testing.assert_array_equal(tanx.vmap(tanx.device_put)(X), X)


def test_device_get():
    found = tanx.device_get({"a": X, "b": [1, "name", None]})
    assert type(found["a"]) is np.ndarray and found["b"] == [1, "name", None]
    np.testing.assert_array_equal(found["a"], [0, 1, 2])


def test_device_get_returns_tracers():
    f = tanx.jit(tanx.grad(lambda x: jnp.sum(tanx.device_get(x) ** 2)))
    for _ in range(4):
        np.testing.assert_array_equal(f(X), 2 * X)
    np.testing.assert_array_equal(tanx.vmap(tanx.device_get)(X), X)


@pytest.mark.parametrize("call, kind, text", [
    (lambda: tanx.device_put("a"), TypeError,
     "tanx.device_put: only arrays and numbers can be put on a device.\n"
     "  value: 'a' of type str"),
    (lambda: tanx.device_put(1.0, "cpu"), ValueError,
     "tanx.device_put: the target must be a device, a sharding, a memory space, None, or a "
     "pytree of these.\n"
     "  target: 'cpu'\n"
     "  Hint: take a device from tanx.devices()."),
])
def test_mistakes(call, kind, text):
    assert error(call, kind) == text


# --- Waiting and looking --------------------------------------------------------------------------


def test_waiting():
    tree = (X, 3, {"a": "name"})
    assert tanx.block_until_ready(tree) is tree
    assert tanx.copy_to_host_async(tree) is tree
    assert X.block_until_ready() is X and X.is_ready()
    assert tanx.effects_barrier() is None


def test_where_an_array_is():
    assert X.device == CPU and X.devices() == {CPU}
    assert X.sharding == SingleDeviceSharding(CPU)
    assert X.is_fully_addressable and X.is_fully_replicated
    (shard,) = X.addressable_shards
    assert shard.device == CPU and shard.replica_id == 0 and shard.index == (slice(None),)
    np.testing.assert_array_equal(shard.data, X)


def test_sharding():
    sharding = SingleDeviceSharding(CPU)
    assert sharding.device_set == sharding.addressable_devices == {CPU}
    assert sharding.num_devices == 1 and sharding.is_fully_addressable
    assert sharding.shard_shape((2, 3)) == (2, 3)
    assert sharding.devices_indices_map((2, 3)) == {CPU: (slice(None), slice(None))}
    assert sharding.is_equivalent_to(SingleDeviceSharding(CPU), 2)
    assert hash(sharding) == hash(SingleDeviceSharding(CPU))
    assert sharding.with_memory_kind("pinned_host") != sharding
    assert repr(sharding) == "SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)"


def test_environment_info(capsys):
    text = tanx.print_environment_info(return_string=True)
    assert "numpy:" in text and "CpuDevice(id=0)" in text
    assert tanx.print_environment_info() is None
    assert capsys.readouterr().out.strip() == text


def test_live_arrays():
    x = jnp.ones(7)
    assert any(y is x for y in tanx.live_arrays())
    x.delete()
    assert not any(y is x for y in tanx.live_arrays())


def test_numbers_and_numpy_arrays_are_put_while_tracing():
    device = tanx.devices()[0]
    put = tanx.jit(lambda x: tanx.device_put({"x": x, "n": 2.0, "a": np.ones(3)}, device))
    for _ in range(4):
        found = put(jnp.arange(2.0))
        assert found["n"] == 2.0 and found["a"].shape == (3,) and found["x"].shape == (2,)


def test_may_alias():
    device = tanx.devices()[0]
    x = tanx.device_put(jnp.arange(3.0), device)
    for where in (None, device, tanx.sharding.SingleDeviceSharding(device)):
        assert tanx.device_put(x, where) is x and tanx.device_put(x, where, may_alias=True) is x
        copy = tanx.device_put(x, where, may_alias=False)
        assert copy is not x and copy.tolist() == x.tolist()
        assert copy.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    with pytest.raises(ValueError, match="may_alias and donate cannot be True"):
        tanx.device_put(x, may_alias=True, donate=True)
