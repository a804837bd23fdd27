"""Devices: where arrays live and programs run."""

from __future__ import annotations

from .._config import default_device as default_device_flag
from .._core.array import Array
from .._core.sharding import Sharding
from ..errors import explain

__all__ = ["Device", "default_device", "device_of", "devices_of"]


class Device:
    """A processor with its memory."""

    __slots__ = ("id", "platform", "device_kind", "process_index", "local_hardware_id")

    def __init__(self, platform: str, id: int, device_kind: str):
        self.platform = platform
        self.id = id
        self.device_kind = device_kind
        self.process_index = 0
        self.local_hardware_id = id

    host_id = property(lambda self: self.process_index)

    def memory_stats(self) -> dict[str, int]:
        """Bytes in use and kin, as counted by the allocator of compiled functions.

        Memory that nobody uses is kept for the next array of its size: it is in
        ``bytes_reserved``, not in ``bytes_in_use``.
        """
        from .host import statistics  # late: it takes the allocator
        return statistics()

    def live_buffers(self) -> list:
        """The arrays alive on this device."""
        from .._core.array import live_arrays
        return [x for x in live_arrays() if device_of(x) is self]

    def __reduce__(self):
        """Pickled as its platform and number: another process has a device of that name."""
        return _numbered, (self.platform, self.id)

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"


_cpu = [Device("cpu", 0, "cpu")]


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
    """The device that new arrays go to."""
    chosen = default_device_flag.value
    if chosen is None:
        return _cpu[0]
    return devices_of(chosen)[0] if isinstance(chosen, str) else chosen


def device_of(x: Array) -> Device:
    """The device that holds an array."""
    place = x._device
    if isinstance(place, Sharding):
        (place,) = place.device_set
    return place or default_device()
