"""tanx.experimental.topologies: which devices there are, and how they lie to each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .._api.placement import devices as all_devices
from .._base.traceback import boundary
from ..errors import explain
from ..sharding import Mesh
from .mesh_utils import create_device_mesh

__all__ = ["TopologyDescription", "get_attached_topology", "get_topology_desc", "make_mesh"]


class TopologyDescription:
    """Devices that belong together.

    >>> from tanx.experimental import topologies
    >>> topologies.get_attached_topology().devices
    [CpuDevice(id=0)]
    """

    def __init__(self, devices: Sequence[Any]):
        self.devices = list(devices)

    def serialize(self) -> bytes:
        """The description as bytes."""
        return json.dumps([[d.platform, d.id] for d in self.devices]).encode()

    @classmethod
    @boundary
    def deserialize(cls, serialized: bytes) -> TopologyDescription:
        """The description that :meth:`serialize` has written, of devices that are here, too."""
        try:
            return cls([all_devices(platform)[number]
                        for platform, number in json.loads(serialized)])
        except (ValueError, TypeError, IndexError) as error:
            raise ValueError(explain(
                "tanx.experimental.topologies.TopologyDescription.deserialize",
                "the bytes describe no devices that are here.", f"reason: {error}")) from None


@boundary
def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """The devices of a platform that this process has.

    >>> from tanx.experimental import topologies
    >>> len(topologies.get_attached_topology("cpu").devices)
    1
    """
    return TopologyDescription(all_devices(platform))


@boundary
def get_topology_desc(topology_name: str = "", platform: str | None = None,
                      **kwargs: Any) -> TopologyDescription:
    """Devices that are not here cannot be compiled for: there is no description of any.

    >>> from tanx.experimental import topologies
    >>> topologies.get_topology_desc("v5e:2x2", "tpu")
    Traceback (most recent call last):
    NotImplementedError: tanx.experimental.topologies.get_topology_desc: ...
    """
    raise NotImplementedError(explain(
        "tanx.experimental.topologies.get_topology_desc",
        "tanx compiles for devices that are here, and describes no others.",
        f"topology: {topology_name!r}", f"platform: {platform!r}",
        hint="get_attached_topology() describes the devices of this process."))


@boundary
def make_mesh(topo: TopologyDescription, mesh_shape: Sequence[int], axis_names: Sequence[str], *,
              contiguous_submeshes: bool = False) -> Mesh:
    """A mesh of the devices of a topology.

    >>> from tanx.experimental import topologies
    >>> topologies.make_mesh(topologies.get_attached_topology(), (1,), ("x",))
    Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Auto,))
    """
    return Mesh(create_device_mesh(mesh_shape, topo.devices,
                                   contiguous_submeshes=contiguous_submeshes), axis_names)
