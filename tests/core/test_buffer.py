"""Buffers: the memory of arrays, on the host and on a device."""

import copy
import ctypes
import gc
import pickle

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._core.array import Array, live_arrays
from tanx._core.buffer import Buffer, is_alone, may_overwrite, owner_of
from tanx._core.sharding import Sharding
from tanx._core.types import ShapedArray
from tanx._runtime.device import buffers_of, device_of, host_device
from tanx.errors import JaxRuntimeError


class Gpu:
    """A device whose memory NumPy cannot read: it makes copies and counts them."""

    platform, dlpack_device = "toy", (2, 3)

    def __init__(self):
        self.copies = 0

    def put(self, data, ready=None) -> Buffer:
        memory = np.array(data, order="C")
        return Buffer(self, memory.ctypes.data, memory.nbytes, memory, ready)

    def copy_to_host(self, buffer, shape, dtype):
        self.copies += 1
        words = ctypes.string_at(buffer.pointer, buffer.nbytes)
        return np.frombuffer(words, dtype).reshape(shape)

    def copy(self, buffer):
        return self.put(buffer.owner)

    def dlpack(self, buffer, shape, dtype, **options):
        return "capsule", buffer.pointer, shape, dtype, options


class Event:
    """Work that is done when something waits for it."""

    queue = None

    def __init__(self, error=None):
        self.done, self.error, self.waits = False, error, 0

    def wait(self):
        self.waits += 1
        self.done = True
        if self.error is not None:
            raise self.error

    def holds(self, memory):
        return 0


DATA = np.arange(6, dtype=np.float32).reshape(2, 3)
TYPE = ShapedArray((2, 3), np.dtype(np.float32))


def on_gpu(data=DATA, aval=TYPE, ready=None, gpu=None):
    gpu = gpu or Gpu()
    return Array._of_buffers((gpu.put(data, ready),), aval, gpu), gpu


def on_host(ready):
    return Array._of_buffers((Buffer.of_host(DATA.copy(), host_device(), ready),), TYPE)


# -- the memory of the host ------------------------------------------------------------------------


@pytest.mark.parametrize("data", [
    np.float32(2.5), np.zeros((0, 3), np.int8), DATA, DATA.astype(jnp.bfloat16), DATA > 2,
    DATA.astype(np.complex64)])
def test_fields_of_a_host_buffer(data):
    x = jnp.array(data)
    (buffer,) = buffers_of(x)
    assert (buffer.device, buffer.nbytes, buffer.ready) == (tanx.devices()[0], x.nbytes, None)
    assert buffer.pointer == x.unsafe_buffer_pointer() == np.asarray(x).ctypes.data
    assert buffer.is_ready() and buffer.numpy(x.shape, x.dtype) is x._data
    assert buffer.owner is owner_of(x._data) and buffer.dlpack_device == (1, 0)
    assert "ready" in repr(buffer) and f"{x.nbytes} bytes" in repr(buffer)


def test_a_buffer_keeps_the_memory_and_owns_it_with_the_array():
    x = jnp.arange(4.0) + 1
    assert is_alone(x)
    (buffer,) = buffers_of(x)
    assert not is_alone(x)
    x.delete()
    assert x.is_deleted() and buffers_of(x) == ()
    assert ctypes.string_at(buffer.pointer, 16) == np.arange(1, 5, dtype=np.float32).tobytes()
    assert buffer.is_alone()
    other = buffer.shared()
    assert not buffer.is_alone() and other.pointer == buffer.pointer
    assert buffer.copy().pointer != buffer.pointer


def test_pointers_are_to_elements_in_row_major_order():
    x = jnp.array(DATA).T  # a view, until its pointer is needed
    assert not x._data.flags.c_contiguous
    here = ctypes.string_at(x.unsafe_buffer_pointer(), x.nbytes)
    assert here == np.ascontiguousarray(DATA.T).tobytes()
    assert x.unsafe_buffer_pointer() == x.unsafe_raw_buffer().ptr == x._data.ctypes.data
    assert jnp.array(DATA).T.addressable_data(0).unsafe_buffer_pointer()
    with pytest.raises(TypeError, match="key"):
        tanx.random.key(0).unsafe_buffer_pointer()


def test_a_raw_buffer_keeps_its_memory_from_being_overwritten():
    f = tanx.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(5):
        x = jnp.ones(1000) * 1
        raw = x.unsafe_raw_buffer()
        f(x)
        assert ctypes.c_float.from_address(raw.ptr).value == 1


def test_programs_overwrite_donated_buffers():
    f = tanx.jit(lambda x: x + 1, donate_argnums=0)
    for n in range(5):
        x = jnp.ones(1000) * 1
        where = x.unsafe_buffer_pointer()
        y = f(x)
        assert x.is_deleted() and y[0] == 2 and y.dtype == np.float32
        assert n < 1 or y.unsafe_buffer_pointer() == where


@pytest.mark.parametrize("data, may", [
    (np.ones(3), True), (np.ones(3)[1:], False), (np.frombuffer(b"12345678"), False)])
def test_memory_that_may_be_overwritten(data, may):
    assert may_overwrite(data) == may


# -- readiness -------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [
    np.asarray, lambda x: x + 0, lambda x: x.block_until_ready()._data, copy.copy,
    lambda x: pickle.loads(pickle.dumps(x)), lambda x: np.from_dlpack(x),
    lambda x: tanx.device_put(x, tanx.devices()[0]), lambda x: tanx.jit(lambda y: y * 1)(x)])
def test_reading_pending_data_waits_for_its_event(read):
    event = Event()
    x = on_host(event)
    assert not x.is_ready() and not x.is_deleted() and x.shape == (2, 3)
    assert buffers_of(x)[0].ready is event and "pending" in repr(buffers_of(x)[0])
    np.testing.assert_array_equal(read(x), DATA)
    assert event.waits == 1 and x.is_ready()


def test_arrays_release_their_buffer_after_waiting():
    x = on_host(Event())
    view = buffers_of(x)[0].view
    assert x.block_until_ready() is x and x._data is view and x._held == ()
    del view
    assert is_alone(x)


def test_sharing_pending_data_does_not_wait():
    event = Event()
    x = on_host(event)
    y = x._shared(TYPE)
    assert event.waits == 0 and not is_alone(x) and not y.is_ready()
    np.testing.assert_array_equal(y, DATA)
    assert x.is_ready()


def test_errors_of_events_are_raised_by_every_reader():
    x = on_host(Event(JaxRuntimeError("the work failed")))
    for read in (np.asarray, str, Array.block_until_ready, lambda x: x + 1):
        with pytest.raises(JaxRuntimeError, match="the work failed"):
            read(x)
    assert not x.is_deleted()


def test_deleting_pending_data():
    x = on_host(Event())
    x.delete()
    assert x.is_deleted() and not is_alone(x) and repr(x).startswith("Array(deleted")
    for read in (np.asarray, Array.is_ready, Array.block_until_ready, Array.__dlpack__):
        with pytest.raises(RuntimeError, match="deleted or donated"):
            read(x)


# -- another memory --------------------------------------------------------------------------------


def test_numpy_copies_from_another_memory_and_waiting_does_not():
    x, gpu = on_gpu()
    assert x.is_ready() and x.block_until_ready() is x and x._data is None and gpu.copies == 0
    np.testing.assert_array_equal(np.asarray(x), DATA)
    assert gpu.copies == 1 and x._data is None and device_of(x) is gpu
    assert float(x[1, 2]) == 5 and x.tolist() == DATA.tolist() and "5." in repr(x)


@pytest.mark.parametrize("compute", [lambda x: x * 2, tanx.jit(lambda x: x * 2)])
def test_computing_reads_another_memory(compute):
    x, _ = on_gpu()
    for _ in range(4):
        y = compute(x)
        np.testing.assert_array_equal(y, DATA * 2)
        assert (y.shape, y.dtype, y.weak_type) == ((2, 3), np.float32, False)


def test_pointers_copies_and_capsules_of_another_memory():
    x, gpu = on_gpu()
    (buffer,) = buffers_of(x)
    assert x.unsafe_buffer_pointer() == buffer.pointer == buffer.owner.ctypes.data
    y = x.copy()
    assert buffers_of(y)[0].device is gpu and buffers_of(y)[0].pointer != buffer.pointer
    assert x.__dlpack_device__() == (2, 3) and x.on_device_size_in_bytes() == 24
    assert x.__dlpack__(stream=7)[:3] == ("capsule", buffer.pointer, (2, 3))
    with pytest.raises(BufferError, match="another device"):
        x.__dlpack__(dl_device=(1, 0))
    assert gpu.copies == 0


def test_ownership_and_life_in_another_memory():
    x, gpu = on_gpu()
    assert is_alone(x) and any(y is x for y in live_arrays("toy"))
    assert not any(y is x for y in live_arrays("cpu"))
    y = x._shared(TYPE, gpu)
    assert not is_alone(x) and not is_alone(y)
    del y
    gc.collect()
    assert is_alone(x)
    tanx.devices()[0].memory_stats()  # counts memory of the host only
    x.delete()
    assert x.is_deleted() and not any(y is x for y in live_arrays())


class Halves(Sharding):
    """The first dimension is divided over the devices."""

    def __init__(self, devices):
        self.devices = devices

    def devices_indices_map(self, global_shape):
        n = global_shape[0] // len(self.devices)
        return {d: (slice(n * i, n * i + n),) for i, d in enumerate(self.devices)}


def test_an_array_in_the_memories_of_two_devices():
    devices, event = (Gpu(), Gpu()), Event()
    parts = tuple(d.put(part, event) for d, part in zip(devices, (DATA[:1], DATA[1:])))
    x = Array._of_buffers(parts, TYPE, Halves(devices))
    assert not x.is_ready() and len(buffers_of(x)) == 2
    np.testing.assert_array_equal(np.asarray(x), DATA)
    assert [d.copies for d in devices] == [1, 1] and x.is_ready()
