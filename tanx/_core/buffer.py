"""``Buffer``: the memory of an array on one device, between ``Array`` and NumPy.

An :class:`~tanx._core.array.Array` is a type (``aval``), a sharding, and its buffers, one for each
device of the sharding. A buffer has five fields:

    device    the device whose memory it is
    pointer   the address of the first element there
    nbytes    the size of its elements
        owner     the object that frees the memory when it is deleted
    ready     None, or the event after which the elements may be read

Memory of the host has a sixth, ``view``: a NumPy array over it. Eager code computes with that view,
so an array whose elements are in the memory of the host *and ready* keeps the view alone, in
``Array._data``, and :func:`tanx._runtime.device.buffers_of` creates its buffer on demand. (Creating
one with each array takes 0.3 microseconds, where an eager addition takes 4 and a compiled call
0.4.) All other arrays have buffers, in ``Array._buffers``, and ``_data`` is None:

    ready, host       _data: the view        np.asarray(x) shares the memory
    pending, host     _buffers: one          reading x waits; the view then moves to _data
    another memory    _buffers               np.asarray(x) copies; _data stays None
    deleted           neither                reading x raises

A device with its own memory adds no case. Its runtime creates ``Buffer(device, pointer, nbytes,
owner, ready)``; the device has ``copy_to_host(buffer, shape, dtype)`` for NumPy, ``copy(buffer)``,
and ``dlpack`` and ``dlpack_device`` for other libraries. Deleting an array drops its buffers, so
``owner`` is freed with the last reference to it. A program may overwrite a donated buffer that no
other array and no work refers to (:func:`is_alone`), so arrays that share memory share the owner,
never a buffer.


Elements are in row-major order, except in views that eager layouts such as a transpose make;
:meth:`Array._row_major <tanx._core.array.Array._row_major>` orders these.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

import numpy as np

__all__ = ["DLPACK_CPU", "Buffer", "Event", "is_alone", "may_overwrite", "owner_of"]


class Event(Protocol):
    """Work that writes a buffer, or the reason why nothing will."""

    @property
    def done(self) -> bool:
        """Whether waiting would return or raise at once."""

    @property
    def queue(self) -> Any:
        """The queue of the work: later work of this queue may read the buffer without waiting."""

    def wait(self) -> None:
        """Return when the elements are written; raise if they never will be."""

    def holds(self, memory: object) -> int:
        """How many references to the owner or the view of a buffer belong to pending work."""


class Buffer:
    """Memory of one device that holds the elements of an array, or a device's part of them."""

    __slots__ = ("device", "pointer", "nbytes", "owner", "ready", "view")

    def __init__(self, device: Any, pointer: int, nbytes: int, owner: object,
                 ready: Event | None = None, view: np.ndarray | None = None):
        self.device, self.pointer, self.nbytes = device, pointer, nbytes
        self.owner, self.ready, self.view = owner, ready, view

    @staticmethod
    def of_host(view: np.ndarray, device: Any, ready: Event | None = None) -> Buffer:
        """The buffer of elements that NumPy can read."""
        return Buffer(device, view.ctypes.data, view.nbytes, owner_of(view), ready, view)

    def is_ready(self) -> bool:
        """Whether reading the elements neither waits nor depends on a wait."""
        return self.ready is None or self.ready.done

    def wait(self) -> None:
        """Return when the elements may be read; raises the error of the work, if it failed."""
        if self.ready is not None:
            self.ready.wait()

    def numpy(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """The elements as a NumPy array: a view of host memory, a copy of any other memory."""
        self.wait()
        return self.device.copy_to_host(self, shape, dtype) if self.view is None else self.view

    def copy(self) -> Buffer:
        """The same elements in separate memory on the same device."""
        self.wait()
        return (self.device.copy(self) if self.view is None
                else Buffer.of_host(self.view.copy(), self.device))

    def shared(self) -> Buffer:
        """The same memory, for another array."""
        return Buffer(self.device, self.pointer, self.nbytes, self.owner, self.ready, self.view)

    def is_alone(self) -> bool:
        """Whether only this buffer, and pending work, refer to the memory."""
        if self.view is None:
            return sys.getrefcount(self.owner) - self._held_by_work(self.owner) <= _ALONE
        mine = 1 if self.view is self.owner else 0
        return sys.getrefcount(self.view) - mine - self._held_by_work(self.view) <= _ALONE

    def _held_by_work(self, memory: object) -> int:
        return 0 if self.ready is None else self.ready.holds(memory)

    @property
    def dlpack_device(self) -> tuple[int, int]:
        """The kind and number of the device, as DLPack counts them."""
        return self.device.dlpack_device if self.view is None else DLPACK_CPU

    def dlpack(self, shape: tuple[int, ...], dtype: np.dtype, *, copy: bool | None = None,
               **options: Any) -> Any:
        """A DLPack capsule of the elements; it holds the owner."""
        if self.view is None:
            return self.device.dlpack(self, shape, dtype, copy=copy, **options)
        self.wait()
        options.pop("stream", None)  # work on the CPU is not in a stream
        return (self.view.copy() if copy else self.view).__dlpack__(**options)

    def __repr__(self) -> str:
        state = "ready" if self.is_ready() else "pending"
        return f"<Buffer {self.pointer:#x} of {self.nbytes} bytes on {self.device}, {state}>"


DLPACK_CPU = (1, 0)
"""DLPack's number of the kind of device, and which of them."""


def owner_of(data: np.ndarray) -> np.ndarray:
    """The NumPy array that a view is part of, or the array itself."""
    while type(data.base) is np.ndarray:
        data = data.base
    return data


def is_alone(x: Any) -> bool:
    """Whether no other array and no NumPy object refers to the memory of an ``Array``."""
    if x._data is not None:
        return sys.getrefcount(x._data) <= _ALONE
    buffers = x._held
    return bool(buffers) and all(buffer.is_alone() for buffer in buffers)


def may_overwrite(data: np.ndarray) -> bool:
    """Whether data that has one holder is all of its memory, and not read-only."""
    return data.base is None and data.flags.owndata and data.flags.writeable


def _references() -> int:
    """Python's reference count of an object that one slot refers to."""
    holder = Buffer(None, 0, 0, object())
    return sys.getrefcount(holder.owner)


_ALONE = _references()
