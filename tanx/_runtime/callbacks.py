"""Python functions that programs call: from native code to a function of arrays, and its errors.

Programs that call Python run synchronously, in the calling thread, without Python's lock; the
functions take the lock. An exception of a function ends the run: no further function is called, and
the exception is raised where the program was called, with the user's own frames in its traceback.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from . import stop

if TYPE_CHECKING:
    from .._loops.nest import Buffer, Extern

__all__ = ["callback", "run_watched"]


class _Run:
    """One run of a program; ``error`` is the exception of a function."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Call no further function, and end loops."""
        self.error = error
        stop.doom(self)


_runs: dict[int, list[_Run]] = {}
"""The runs in each thread, innermost last: a function may itself run programs."""


def run_watched(run: Callable[..., None], *args) -> None:
    """Run a program that calls Python; raises what the called functions raise."""
    current = _Run()
    thread = threading.get_ident()
    running = _runs.setdefault(thread, [])
    running.append(current)
    try:
        run(*args)
    finally:
        running.pop()
        if not running:
            del _runs[thread]
        stop.spare(current)
    if current.error is not None:
        raise current.error


def _error_in(thread: int, error: BaseException | None) -> BaseException | None:
    return _runs[thread][-1].error if thread in _runs else None


stop.errors_of_threads.append(_error_in)


def _run_here() -> _Run:
    """The run that calls a function: of this thread, or of the thread whose task this is."""
    running = _runs.get(threading.get_ident()) or _runs.get(stop.owner.value)
    return running[-1] if running else _Run()


def callback(call: Extern) -> tuple[int, int, Any]:
    """The C function for a call of Python, which copies arrays from and to memory."""
    function = dict(call.params)["call"]
    views = [_view(buffer) for buffer in (*call.outputs, *call.inputs)]
    results, table = len(call.outputs), ctypes.c_size_t * max(1, len(views))

    def enter(error: BaseException | None, address: int) -> None:
        run = _run_here()
        if run.error is not None or stop.has_failed():
            return
        try:
            if error is not None:  # of a signal handler
                raise error
            places = list(table.from_address(address))
            outs = function([view(place).copy() for view, place in zip(
                views[results:], places[results:])])
            for view, place, out in zip(views, places, outs):
                np.copyto(view(place), out)
        except BaseException as error:  # KeyboardInterrupt too: nothing may pass native code
            run.fail(error)

    return stop.enter_address(), id(enter), enter


def _view(buffer: Buffer) -> Callable[[int], np.ndarray]:
    """A function that returns the array at an address, of the type of a buffer."""
    shape, dtype, count = buffer.shape, buffer.dtype, prod(buffer.shape)
    if count == 0:
        return lambda address: np.empty(shape, dtype)
    memory: Any = ctypes.c_char * (count * dtype.itemsize)
    return lambda address: np.ndarray(shape, dtype, memory.from_address(address))
