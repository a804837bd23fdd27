"""``jax._src.xla_bridge``: chex asks which backends have been started."""

from ... import default_backend, devices, local_devices, process_count, process_index

__all__ = ["default_backend", "devices", "local_devices", "process_count", "process_index"]

_backends: dict = {}
"""tanx starts none: devices are there from the beginning."""
