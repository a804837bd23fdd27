"""tanx.experimental.mesh_utils: devices in the shape of a mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .._api.placement import devices as all_devices
from .._base.traceback import boundary
from ..errors import explain

__all__ = ["create_device_mesh", "create_hybrid_device_mesh", "device_kind_handler_dict"]

device_kind_handler_dict: dict[str, Callable[..., np.ndarray | None]] = {}
"""For kinds of connected devices, a function ``(mesh_shape, devices, *, contiguous_submeshes)``
that orders them. There is none for CPUs; other libraries may add functions."""


@boundary
def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, *,
                       contiguous_submeshes: bool = False,
                       allow_split_physical_axes: bool = False) -> np.ndarray:
    """The devices, or those given, as an array in the shape of a mesh.

    Neighbours in the mesh are devices that are near each other, for kinds of devices whose wiring
    is known; the other parameters are about that wiring.

    >>> from tanx.experimental import mesh_utils
    >>> tanx.sharding.Mesh(mesh_utils.create_device_mesh((1, 1)), ("x", "y"))
    Mesh(axis_sizes=(1, 1), axis_names=('x', 'y'), axis_types=(Auto, Auto))
    """
    chosen = list(all_devices() if devices is None else devices)
    shape = tuple(mesh_shape)
    if prod(shape) != len(chosen):
        raise ValueError(explain(
            "tanx.experimental.mesh_utils.create_device_mesh",
            "the size of the mesh must be the number of devices.",
            f"devices:    {len(chosen)}", f"mesh_shape: {shape}"))
    handler = device_kind_handler_dict.get(chosen[0].device_kind)
    ordered = handler and handler(shape, chosen, contiguous_submeshes=contiguous_submeshes)
    return ordered if ordered is not None else np.array(chosen, object).reshape(shape)


@boundary
def create_hybrid_device_mesh(mesh_shape: Sequence[int], dcn_mesh_shape: Sequence[int],
                              devices: Sequence[Any] | None = None, *,
                              process_is_granule: bool = False,
                              should_sort_granules_by_key: bool = True,
                              allow_split_physical_axes: bool = False) -> np.ndarray:
    """A mesh of granules: groups of devices that are near each other, by slice or by process.

    ``mesh_shape`` is that of a granule, ``dcn_mesh_shape`` that of the mesh of granules.

    >>> from tanx.experimental import mesh_utils
    >>> mesh_utils.create_hybrid_device_mesh((1,), (1,), process_is_granule=True).shape
    (1,)
    """
    name = "tanx.experimental.mesh_utils.create_hybrid_device_mesh"
    chosen = list(all_devices() if devices is None else devices)
    attribute = "process_index" if process_is_granule else "slice_index"
    granules: dict[int, list] = {}
    for device in chosen:
        if not hasattr(device, attribute):
            raise ValueError(explain(
                name, f"the device has no attribute {attribute}.", f"device: {device}",
                hint="process_is_granule=True makes a granule of each process."))
        granules.setdefault(getattr(device, attribute), []).append(device)
    keys = sorted(granules) if should_sort_granules_by_key else list(granules)
    outer, inner = tuple(dcn_mesh_shape), tuple(mesh_shape)
    rank = max(len(outer), len(inner))
    outer, inner = outer + (1,) * (rank - len(outer)), inner + (1,) * (rank - len(inner))
    if prod(outer) != len(keys):
        raise ValueError(explain(
            name, "the size of the mesh of granules must be the number of granules.",
            f"granules:       {len(keys)}", f"dcn_mesh_shape: {tuple(dcn_mesh_shape)}"))
    blocks = np.empty(len(keys), object)
    for n, key in enumerate(keys):
        blocks[n] = create_device_mesh(
            inner, granules[key], allow_split_physical_axes=allow_split_physical_axes)
    return np.block(blocks.reshape(outer).tolist()).reshape(
        tuple(a * b for a, b in zip(outer, inner)))
