"""Shardings in XLA's terms, for one device: replicated data, or data on one numbered device."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from .._core.sharding import Sharding, SingleDeviceSharding
from ..errors import explain

__all__ = ["GSPMDSharding", "HloSharding", "OpSharding", "get_hlo_sharding_from_serialized_proto",
           "get_op_sharding_from_serialized_proto", "get_serialized_proto_from_hlo_sharding"]


class OpSharding:
    """The message that describes a sharding, as far as it is needed for one device.

    On the wire, field 1 is the type; fields 3 and 4 list the tiles and the devices that hold them.
    """

    class Type(enum.IntEnum):
        """How data is divided."""

        REPLICATED = 0
        MAXIMAL = 1
        TUPLE = 2
        OTHER = 3
        MANUAL = 4
        UNKNOWN = 5

    def __init__(self) -> None:
        self.type = OpSharding.Type.REPLICATED
        self.tile_assignment_dimensions: list[int] = []
        self.tile_assignment_devices: list[int] = []

    def SerializeToString(self) -> bytes:
        """The message as bytes."""
        parts = [] if self.type is OpSharding.Type.REPLICATED else [bytes((1 << 3, self.type))]
        for field, numbers in ((3, self.tile_assignment_dimensions),
                               (4, self.tile_assignment_devices)):
            if numbers:
                packed = b"".join(map(_varint, numbers))
                parts.append(bytes((field << 3 | 2,)) + _varint(len(packed)) + packed)
        return b"".join(parts)

    def ParseFromString(self, data: bytes) -> None:
        """Take the fields from bytes."""
        self.__init__()
        at = 0
        while at < len(data):
            tag, at = _read(data, at)
            field, wire = tag >> 3, tag & 7
            if field == 1 and wire == 0:
                number, at = _read(data, at)
                self.type = OpSharding.Type(number)
            elif field in (3, 4) and wire == 2:
                size, at = _read(data, at)
                end, numbers = at + size, []
                while at < end:
                    number, at = _read(data, at)
                    numbers.append(number)
                (self.tile_assignment_dimensions if field == 3
                 else self.tile_assignment_devices).extend(numbers)
            else:
                raise NotImplementedError(_several(f"field: {field} of the message"))

    def clone(self) -> OpSharding:
        """A copy."""
        other = OpSharding()
        other.ParseFromString(self.SerializeToString())
        return other

    def __repr__(self) -> str:
        return f"OpSharding(type={self.type.name})"


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def _read(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(data):
        byte = data[at]
        number, shift, at = number | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return number, at
    raise ValueError(explain("tanx.extend.sharding", "the message of a sharding is incomplete.",
                             f"bytes: {len(data)}"))


def _several(fact: str) -> str:
    return explain("tanx.extend.sharding", "shardings over several devices are not supported yet.",
                   fact)


class HloSharding:
    """How data is divided, by the positions of devices in a list: replicated, or on one of them."""

    __slots__ = ("_device",)

    def __init__(self, device: int | None = None):
        self._device = device

    @staticmethod
    def replicate() -> HloSharding:
        """Each device has all of the data."""
        return HloSharding()

    @staticmethod
    def from_proto(proto: OpSharding) -> HloSharding:
        """The sharding that a message describes."""
        if proto.type is OpSharding.Type.REPLICATED:
            return HloSharding()
        if proto.type is OpSharding.Type.MAXIMAL:
            return HloSharding(proto.tile_assignment_devices[0])
        raise NotImplementedError(_several(f"type: {proto.type.name}"))

    def to_proto(self) -> OpSharding:
        """The message that describes it."""
        proto = OpSharding()
        if self._device is not None:
            proto.type = OpSharding.Type.MAXIMAL
            proto.tile_assignment_dimensions = [1]
            proto.tile_assignment_devices = [self._device]
        return proto

    def is_replicated(self) -> bool:
        """Whether each device has all of the data."""
        return self._device is None

    def is_maximal(self) -> bool:
        """Whether one device has all of the data."""
        return self._device is not None

    def is_manual(self) -> bool:
        """Whether the code itself places the data."""
        return False

    is_tiled = is_unknown = is_manual

    def num_devices(self) -> int:
        """How many devices it covers."""
        return 0 if self._device is None else 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HloSharding) and self._device == other._device

    def __hash__(self) -> int:
        return hash((HloSharding, self._device))

    def __repr__(self) -> str:
        return "{replicated}" if self._device is None else f"{{maximal device={self._device}}}"


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> HloSharding:
    """The sharding that the bytes of a message describe.

    >>> tanx.extend.sharding.get_hlo_sharding_from_serialized_proto(b"")
    {replicated}
    """
    return HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_op_sharding_from_serialized_proto(sharding: bytes) -> OpSharding:
    """Parse the message of a sharding from bytes.

    >>> tanx.extend.sharding.get_op_sharding_from_serialized_proto(b"").type.name
    'REPLICATED'
    """
    proto = OpSharding()
    proto.ParseFromString(sharding)
    return proto


def get_serialized_proto_from_hlo_sharding(sharding: HloSharding) -> bytes:
    """The bytes of the message that describes a sharding.

    >>> info = tanx.extend.sharding
    >>> replicated = info.get_hlo_sharding_from_serialized_proto(b"")
    >>> info.get_serialized_proto_from_hlo_sharding(replicated)
    b''
    """
    return sharding.to_proto().SerializeToString()


class GSPMDSharding(Sharding):
    """The data divided over a list of devices in XLA's terms.

    >>> tanx.extend.sharding.GSPMDSharding.get_replicated(tanx.devices())
    GSPMDSharding({replicated}, memory_kind=device)
    """

    def __init__(self, devices: Sequence, op_sharding: HloSharding | OpSharding, *,
                 memory_kind: str | None = None):
        self._devices = tuple(devices)
        self._hlo_sharding = (HloSharding.from_proto(op_sharding)
                              if isinstance(op_sharding, OpSharding) else op_sharding)
        self.memory_kind = SingleDeviceSharding(
            self._devices[0], memory_kind=memory_kind).memory_kind

    @classmethod
    def get_replicated(cls, device_assignment, *, memory_kind: str | None = None) -> GSPMDSharding:
        """All of the data on each device."""
        return cls(device_assignment, HloSharding.replicate(), memory_kind=memory_kind)

    @property
    def device_set(self) -> set:
        return set(self._devices)

    @property
    def is_fully_replicated(self) -> bool:
        return self._hlo_sharding.is_replicated() or len(self._devices) == 1

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(global_shape)

    def with_memory_kind(self, kind: str) -> GSPMDSharding:
        return GSPMDSharding(self._devices, self._hlo_sharding, memory_kind=kind)

    def _key(self) -> tuple:
        return self._devices, self._hlo_sharding, self.memory_kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GSPMDSharding) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"GSPMDSharding({self._hlo_sharding!r}, memory_kind={self.memory_kind})"
