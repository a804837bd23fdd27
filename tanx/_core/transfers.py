"""Transfers of host data to a device, which ``transfer_guard_host_to_device`` reports.

On the CPU arrays are in host memory, and nothing is copied. But a number or a NumPy array that
becomes an operand would be copied to a device with separate memory; the guard finds these places in
a program in advance. Staged operations are not transfers.
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
    """Report a transfer of data of a type; ``explicit`` if the user requested it."""
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
