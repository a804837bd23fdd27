"""Memory spaces: of the device, and of its host."""

from __future__ import annotations

import enum

__all__ = ["MemorySpace"]


class MemorySpace(enum.Enum):
    """Where data is: on the device, on its host, or in either of them.

    On the CPU these are the same memory; arrays record the requested one.

    >>> tanx.device_put(1.0, tanx.memory.Space.Host).sharding.memory_kind
    'pinned_host'
    """

    Device = 1
    Host = 2
    Any = 3

    @property
    def kind(self) -> str:
        """The name of the kind of memory."""
        return "pinned_host" if self is MemorySpace.Host else "device"

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    __str__ = __repr__
