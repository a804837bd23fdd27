"""Shardings: how the data of an array is laid out over devices. Plain data."""

from __future__ import annotations

from typing import Any

__all__ = ["Sharding", "SingleDeviceSharding"]


class Sharding:
    """Base of all shardings."""

    device_set: set
    memory_kind: str | None = None

    @property
    def num_devices(self) -> int:
        """How many devices hold a part of the data."""
        return len(self.device_set)

    @property
    def addressable_devices(self) -> set:
        """The devices that this process can reach."""
        return self.device_set

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process can reach all of the data."""
        return True

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds all of the data."""
        raise NotImplementedError

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the part that one device holds."""
        raise NotImplementedError

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether two shardings lay out an array of ``ndim`` dimensions alike."""
        return self == other


class SingleDeviceSharding(Sharding):
    """All of the data on one device."""

    def __init__(self, device, *, memory_kind: str | None = None):
        self._device = device
        self.memory_kind = memory_kind or "device"

    @property
    def device_set(self) -> set:
        return {self._device}

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict:
        """Which part of the data each device holds, as a tuple of slices."""
        return {self._device: (slice(None),) * len(global_shape)}

    addressable_devices_indices_map = devices_indices_map

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        """The same device, another kind of its memory."""
        return SingleDeviceSharding(self._device, memory_kind=kind)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, SingleDeviceSharding) and self._device == other._device
                and self.memory_kind == other.memory_kind)

    def __hash__(self) -> int:
        return hash((self._device, self.memory_kind))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"
