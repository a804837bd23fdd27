"""Serialization of functions for other processes: there is one process, so nothing is written.

orbax names the class of lists of devices.
"""

__all__ = ["DeviceList"]


class DeviceList(tuple):
    """Devices in an order.

    >>> from tanx.experimental.colocated_python.serialization import DeviceList
    >>> len(DeviceList(tanx.devices()))
    1
    """

    __slots__ = ()
