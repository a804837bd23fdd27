"""Distributed processes: only one is supported so far."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..errors import explain

__all__ = ["initialize", "is_initialized", "shutdown"]


class _Processes:
    """Whether the distributed processes are set up."""

    initialized = False


def initialize(coordinator_address: str | None = None, num_processes: int | None = None,
               process_id: int | None = None, local_device_ids: int | Sequence[int] | None = None,
               cluster_detection_method: str | None = None, initialization_timeout: int = 300,
               heartbeat_timeout_seconds: int = 100, shutdown_timeout_seconds: int = 300,
               coordinator_bind_address: str | None = None, slice_index: int | None = None,
               partition_index: int | None = None, mtls_cert_file: str | None = None,
               mtls_key_file: str | None = None, mtls_ca_file: str | None = None,
               mtls_peer_uri_prefix: str | None = None,
               verify_secure_credentials: bool | None = None) -> None:
    """Set up the distributed processes: only one is supported, which ignores other parameters.

    ``num_processes`` may come from the environment, as ``JAX_NUM_PROCESSES``.

    >>> tanx.distributed.initialize(num_processes=1)
    >>> tanx.distributed.is_initialized()
    True
    >>> tanx.distributed.shutdown()
    """
    name = "tanx.distributed.initialize"
    if _Processes.initialized:
        raise RuntimeError(explain(name, "it was called before.",
                                   hint="tanx.distributed.shutdown() undoes it."))
    if num_processes is None:
        num_processes = int(os.environ.get("JAX_NUM_PROCESSES", "1"))
    if num_processes != 1:
        raise NotImplementedError(explain(
            name, "several processes that compute together are not supported yet.",
            f"num_processes: {num_processes}"))
    if process_id not in (None, 0):
        raise ValueError(explain(name, "process_id must be less than num_processes.",
                                 f"process_id:    {process_id}", "num_processes: 1"))
    ids = [local_device_ids] if isinstance(local_device_ids, int) else local_device_ids
    if ids is not None and list(ids) != [0]:
        raise NotImplementedError(explain(
            name, "there is one device, number 0.", f"local_device_ids: {local_device_ids}"))
    _Processes.initialized = True


def is_initialized() -> bool:
    """Whether :func:`initialize` was called.

    >>> tanx.distributed.is_initialized()
    False
    """
    return _Processes.initialized


def shutdown() -> None:
    """Undo :func:`initialize`; does nothing if it was not called.

    >>> tanx.distributed.shutdown()
    """
    _Processes.initialized = False
