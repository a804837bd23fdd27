"""The memory of an interpreted program. It detects three kinds of mistakes:

an index out of range, an element that is read before it is stored, and conflicting iterations of a
parallel loop: one reads or overwrites what another one stores, or two store the same element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from .expr import Load
from .instructions import apply
from .nest import Buffer, Program, Store
from .show import show_expr, show_statement

__all__ = ["Meeting", "Memory"]

_NOBODY, _SEVERAL = -1, -2  # instead of the number of the iteration that accessed an element

_MEETS = {"load": ("store", "combine"),
          "store": ("load", "store", "combine"),
          "combine": ("load", "store")}
"""For each kind of access, the accesses of another iteration that it conflicts with."""


class Memory:
    """The arrays behind buffers, which of their elements are stored, and who accessed them."""

    def __init__(self, program: Program, inputs: Iterable):
        self._arrays: dict[Buffer, np.ndarray] = {}
        self._stored: dict[Buffer, np.ndarray] = {}
        self._meetings: list[Meeting] = []
        for buffer, given in zip(program.inputs, map(np.asarray, inputs), strict=True):
            if given.shape != buffer.shape or given.dtype != buffer.dtype:
                raise TypeError(f"input {buffer!r} was given {given.dtype}{list(given.shape)}.")
            self.put(buffer, given)
        for buffer in (*program.outputs, *program.temps):
            self._arrays[buffer] = np.zeros(buffer.shape, buffer.dtype)
            self._stored[buffer] = np.zeros(buffer.shape, bool)

    def put(self, buffer: Buffer, array: np.ndarray) -> None:
        """Fill a buffer."""
        self._arrays[buffer] = np.array(array, buffer.dtype).reshape(buffer.shape)
        self._stored[buffer] = np.ones(buffer.shape, bool)

    def take(self, buffer: Buffer) -> np.ndarray:
        """All of a buffer."""
        missing = np.argwhere(~self._stored[buffer])
        if len(missing):
            raise ValueError(f"{buffer!r} is read whole, but {len(missing)} of its elements were "
                             f"never stored; the first is at {missing[0].tolist()}.")
        return self._arrays[buffer]

    @contextmanager
    def parallel(self, numbers: np.ndarray, buffers: Iterable[Buffer],
                 apart: bool) -> Iterator[Meeting]:
        """Inside, iterations of these numbers run at once and store to these buffers.

        Iterations that are ``apart`` do not combine with the same element either. If only some of
        them run at a time, the meeting is told which.
        """
        meeting = Meeting(numbers, buffers, apart)
        self._meetings.append(meeting)
        yield meeting
        self._meetings.pop()

    def load(self, load: Load, index: list[np.ndarray], live: np.ndarray | None) -> np.ndarray:
        """The elements at an index, in as few axes as the index has; arbitrary in dead lanes."""
        index = _checked(load, index, live)
        if 0 in load.buffer.shape:
            return np.zeros((), load.buffer.dtype)
        if load.buffer not in self._arrays:
            raise NameError(f"{show_expr(load)} reads a buffer that is not part of the program.")
        flat = _flat(load.buffer, index)
        stored = self._stored[load.buffer].reshape(-1)[flat]
        if not np.all(stored if live is None else stored | ~live):
            raise ValueError(f"{show_expr(load)} reads an element before it is stored.")
        for meeting in self._meetings:
            meeting.touch("load", load, flat, live)
        return np.asarray(self._arrays[load.buffer].reshape(-1)[flat])

    def store(self, store: Store, index: list[np.ndarray], value: np.ndarray,
              live: np.ndarray | None, lanes: tuple[int, ...]) -> None:
        """Store or combine a value in each live lane."""
        flat = _flat(store.buffer, _checked(store, index, live))
        flat, value = (np.broadcast_to(a, lanes) for a in (flat, value))
        for meeting in self._meetings:
            meeting.touch("store" if store.combine is None else "combine", store, flat, live)
        if live is not None:
            flat, value = (a[np.broadcast_to(live, lanes)] for a in (flat, value))
        array, stored = (a[store.buffer].reshape(-1) for a in (self._arrays, self._stored))
        if store.combine is not None:
            if not stored[flat].all():
                raise ValueError(f"{show_statement(store)}: combines with an element before it is "
                                 "stored.")
            _combine(store.combine, array, flat.ravel(), value.ravel())
        else:
            array[flat], stored[flat] = value, True


class Meeting:
    """Which iteration of a parallel loop accessed an element, and how."""

    def __init__(self, numbers: np.ndarray, buffers: Iterable[Buffer], apart: bool):
        self.numbers, self.apart = numbers, apart
        self.marks = {buffer: {how: np.full(int(np.prod(buffer.shape)), _NOBODY) for how in _MEETS}
                      for buffer in buffers}

    def touch(self, how: str, access: Load | Store, flat: np.ndarray, live) -> None:
        marks = self.marks.get(access.buffer)
        if marks is None:
            return
        if self.apart and how == "combine":
            how = "store"
        flat, me, live = np.broadcast_arrays(flat, self.numbers, True if live is None else live)
        flat, me = flat[live], me[live]
        for other in _MEETS[how]:
            owner = marks[other][flat]
            if np.any((owner != _NOBODY) & (owner != me)):
                self.clash(how, access)
        before = marks[how][flat]
        claim = np.where((before == _NOBODY) | (before == me), me, _SEVERAL)
        marks[how][flat] = claim
        lost = marks[how][flat] != claim
        if how == "store" and lost.any():
            self.clash(how, access)
        marks[how][flat[lost]] = _SEVERAL

    def clash(self, how: str, access: Load | Store) -> None:
        text = show_expr(access) if isinstance(access, Load) else show_statement(access)
        raise ValueError(f"{text}: iterations of a parallel loop conflict; one does a {how} "
                         "where another one reads or stores.")


def _checked(access: Load | Store, index: list[np.ndarray], live) -> list[np.ndarray]:
    """The index, with an error if it is out of range in a live lane; clipped in dead ones."""
    for axis, (i, n) in enumerate(zip(index, access.buffer.shape, strict=True)):
        outside = (i < 0) | (i >= n) if live is None else ((i < 0) | (i >= n)) & live
        if outside.any():
            value = np.broadcast_to(i, outside.shape)[outside].flat[0]
            text = show_expr(access) if isinstance(access, Load) else show_statement(access)
            raise IndexError(f"{text}: index {value} is out of range for dimension {axis} of "
                             f"{access.buffer!r}.")
    if live is None:
        return index
    return [np.clip(i, 0, max(n - 1, 0)) for i, n in zip(index, access.buffer.shape)]


def _flat(buffer: Buffer, index: list[np.ndarray]) -> np.ndarray:
    flat = np.asarray(0)
    for i, n in zip(index, buffer.shape):
        flat = flat * n + i
    return flat


def _combine(name: str, array: np.ndarray, flat: np.ndarray, value: np.ndarray) -> None:
    """Combine values into elements; several values for one element combine in order."""
    order = np.argsort(flat, kind="stable")
    heads = np.searchsorted(flat[order], flat[order])
    turn = np.arange(len(flat)) - heads
    rounds = np.split(order[np.argsort(turn, kind="stable")], np.cumsum(np.bincount(turn))[:-1])
    for lanes in rounds if len(flat) else ():
        element = flat[lanes]
        array[element] = apply(name, [array[element], value[lanes]], array.dtype)
