"""Devices: where arrays live and programs run."""

from __future__ import annotations

import numpy as np

from .._base.config import default_device as default_device_flag
from .._core.array import Array, live_arrays
from .._core.buffer import Buffer
from .._core.origins import LARGE, outside
from .._core.sharding import MEMORIES, Sharding
from ..errors import JaxRuntimeError, explain

__all__ = ["Client", "Device", "Memory", "buffers_of", "default_device", "device_of", "devices_of",
           "host_device"]


class Device:
    """A processor with its memory."""

    __slots__ = ("id", "platform", "device_kind", "process_index", "local_hardware_id")

    def __init__(self, platform: str, id: int, device_kind: str):
        self.platform = platform
        self.id = id
        self.device_kind = device_kind
        self.process_index = 0
        self.local_hardware_id = id

    host_id = task_id = property(lambda self: self.process_index)

    @property
    def client(self) -> Client:
        """The client that has the devices of this platform."""
        return _client

    def memory_stats(self) -> dict[str, int]:
        """Bytes in use, their peak, the limit, and other counters.

        Data of all arrays and temporaries of running programs count as in use. Large ones are
        counted when they are allocated and freed, and so is the peak; for arrays of less than a
        mebibyte that single operations made, this visits live arrays. Memory that is kept for the
        next array of its size is in ``bytes_reserved``, not in ``bytes_in_use``.
        """
        from .host import statistics  # late: it takes the allocator
        counts, small = statistics(), _small_arrays()
        for name, more in (("bytes_in_use", small), ("bytes_reserved", small + outside.nbytes)):
            peak = f"peak_{name}"
            counts[name] += more
            _peaks[peak] = counts[peak] = max(_peaks.get(peak, 0), counts[name], counts[peak])
        return counts

    def live_buffers(self) -> list[Array]:
        """The arrays alive on this device."""
        return [x for x in live_arrays() if device_of(x) is self]

    def addressable_memories(self) -> list[Memory]:
        """The memories that programs on this device can use."""
        return [Memory(self, kind) for kind in MEMORIES]

    def default_memory(self) -> Memory:
        """The memory that holds arrays by default."""
        return Memory(self, "device")

    def memory(self, kind: str) -> Memory:
        """The memory of a kind: ``"device"``, ``"pinned_host"`` or ``"unpinned_host"``."""
        if kind not in MEMORIES:
            raise JaxRuntimeError(explain(
                "tanx.Device.memory", "the device has no memory of that kind.",
                f"kind:      {kind!r}", f"there are: {', '.join(MEMORIES)}"))
        return Memory(self, kind)

    def get_stream_for_external_ready_events(self) -> int:
        """Streams belong to GPUs; the CPU has none."""
        raise JaxRuntimeError(explain(
            "tanx.Device.get_stream_for_external_ready_events", "the device has no streams.",
            f"device: {self}"))

    def poison_execution(self, launch_id: int, error: str) -> bool:
        """Fail a computation that was started; False if no computation has that number.

        There never is one: work on the CPU has no public numbers.
        """
        if not isinstance(launch_id, int) or not isinstance(error, str | Exception):
            raise TypeError(explain(
                "tanx.Device.poison_execution", "it takes a number and an error.",
                f"got: {type(launch_id).__name__}, {type(error).__name__}"))
        return False

    def __reduce__(self):
        """Pickled as its platform and number: another process has a device of that name."""
        return _numbered, (self.platform, self.id)

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"


class Memory:
    """A memory that a device can address. Those of the CPU are all the memory of the machine."""

    __slots__ = ("_device", "kind")

    _NAMES = dict(zip(MEMORIES, ("CpuDeviceMemory", "PinnedHostMemory",
                                 "UnpinnedHostMemorySpace")))

    def __init__(self, device: Device, kind: str):
        self._device, self.kind = device, kind

    platform = property(lambda self: self._device.platform)
    process_index = property(lambda self: self._device.process_index)

    def addressable_by_devices(self) -> list[Device]:
        """The devices whose programs can use this memory."""
        return [self._device]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory) and (self._device, self.kind) == (
            other._device, other.kind)

    def __hash__(self) -> int:
        return hash((self._device, self.kind))

    def __repr__(self) -> str:
        platform = f"{self.platform}_" if self.kind == "device" else ""
        return f"{platform}{self.kind}_{MEMORIES.index(self.kind)}".upper()

    def __str__(self) -> str:
        return (f"{self._NAMES[self.kind]}(id={MEMORIES.index(self.kind)}, "
                f"process_index={self.process_index}, client={self.platform})")


class Client:
    """The client of a platform: its devices and arrays."""

    platform = platform_version = "cpu"
    runtime_type = "tanx"

    def devices(self) -> list[Device]:
        """All devices."""
        return list(_cpu)

    local_devices = devices

    def device_count(self) -> int:
        """How many devices there are."""
        return len(_cpu)

    local_device_count = device_count

    def process_index(self) -> int:
        """The number of this process among the processes that compute together."""
        return 0

    host_id = process_index

    def live_arrays(self) -> list[Array]:
        """The arrays that are alive."""
        return live_arrays()

    live_buffers = live_arrays

    def __repr__(self) -> str:
        return f"<tanx client for {self.platform}>"


_client = Client()
_cpu = [Device("cpu", 0, "cpu")]


_peaks: dict[str, int] = {}  # the largest counts that were reported


def _small_arrays() -> int:
    """Bytes of the data of small arrays that the allocator did not allocate."""
    from numpy._core.multiarray import get_handler_name
    owners = {id(buffer.owner): buffer.owner for x in live_arrays() for buffer in buffers_of(x)
              if buffer.view is not None}
    return sum(owner.nbytes for owner in owners.values() if isinstance(owner, np.ndarray)
               and owner.nbytes < LARGE and get_handler_name(owner) != "tanx")


def devices_of(platform: str | None = None) -> list[Device]:
    """The devices of a platform, or of the default one."""
    if platform in (None, "cpu"):
        return list(_cpu)
    raise RuntimeError(explain(
        "tanx.devices", f"Unknown backend: there are no devices of the platform {platform!r}.",
        "platforms present: cpu"))


def _numbered(platform: str, number: int) -> Device:
    return devices_of(platform)[number]


def default_device() -> Device:
    """The device of new arrays."""
    chosen = default_device_flag.value
    if chosen is None:
        return _cpu[0]
    return devices_of(chosen)[0] if isinstance(chosen, str) else chosen


def host_device() -> Device:
    """The device whose memory NumPy's arrays are in."""
    return _cpu[0]


def device_of(x: Array) -> Device:
    """The device that holds an array."""
    place = x._device
    if isinstance(place, Sharding):
        (place,) = place.device_set
    return place or next((buffer.device for buffer in x._held), None) or default_device()


def buffers_of(x: Array) -> tuple[Buffer, ...]:
    """The buffers of an array, one for each device; none if it was deleted. Does not wait.

    >>> x = jnp.ones((2, 3))
    >>> (buffer,) = buffers_of(x)
    >>> buffer.nbytes, buffer.device, buffer.is_ready()
    (24, CpuDevice(id=0), True)
    """
    data = x._data
    return x._held if data is None else (Buffer.of_host(data, device_of(x)),)
