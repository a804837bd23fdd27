"""Data that comes from outside: what ``transfer_guard_host_to_device`` watches.

On the CPU arrays are in the memory of the host, and nothing is copied to a device. But a number or
an array of NumPy that becomes an operand would be, on a device that has a memory of its own; the
guard finds these places in a program before it goes there. Staged operations are no transfers.
"""

from __future__ import annotations

from .._base.config import transfer_guard_host_to_device
from .._base.flags import strict
from .._base.logger import logger
from ..errors import JaxRuntimeError, explain
from .source import user_source
from .trace import context

__all__ = ["watch_transfer"]


def watch_transfer(aval, explicit: bool = False) -> None:
    """Data of a type comes in; ``explicit`` if that is what the user asked for."""
    if not strict.value or context.trace.staging:
        return
    guard = transfer_guard_host_to_device.value
    if guard in (None, "allow") or explicit and not guard.endswith("_explicit"):
        return
    source = user_source()
    message = explain(
        "tanx.transfer_guard",
        f"{aval.str_short(True)} would be copied from the host to the device.",
        f"guard: {guard}", f"at:    {source}" + (f": {source.text}" if source.text else ""),
        hint=None if explicit else "tanx.device_put is an explicit transfer.")
    if guard.startswith("disallow"):
        raise JaxRuntimeError(message)
    logger().warning("%s", message)
