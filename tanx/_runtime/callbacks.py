"""Python functions that programs call: from native code to a function of arrays, and its errors.

Programs that call Python run at once, in the thread that calls them, without its lock; the
functions take it. What a function raises ends the run: no further function is called, and the
exception is raised where the program was called, with the user's own frames in its traceback.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .._loops.library import CALLBACK
from .._loops.nest import Buffer, Extern
from .load import Library

__all__ = ["LIBRARIES", "run_watched"]

_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


class _Run:
    """One run of a program; ``error`` is what a function raised."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: BaseException | None = None


class _Runs(threading.local):
    """The runs in this thread, innermost last: a function may run programs itself."""

    def __init__(self) -> None:
        self.stack: list[_Run] = []


_runs = _Runs()


def run_watched(run: Callable[..., None], *args) -> None:
    """Run a program that calls Python; raises what the functions it calls raise."""
    current = _Run()
    _runs.stack.append(current)
    try:
        run(*args)
    finally:
        _runs.stack.pop()
    if current.error is not None:
        raise current.error


def _callback(call: Extern) -> tuple[int, int, Any]:
    """The C function for a call of Python, which copies arrays in and out of memory."""
    function = dict(call.params)["call"]
    results = len(call.outputs)
    views = [_view(buffer) for buffer in (*call.outputs, *call.inputs)]

    def enter(context, addresses) -> None:
        run = _runs.stack[-1]
        if run.error is not None:
            return
        try:
            outs = function([view(addresses[n]).copy()
                             for n, view in enumerate(views[results:], results)])
            for n, out in enumerate(outs):
                np.copyto(views[n](addresses[n]), out)
        except BaseException as error:  # KeyboardInterrupt too: nothing may pass native code
            run.error = error

    entry = _Function(enter)
    return ctypes.cast(entry, ctypes.c_void_p).value or 0, 1, entry


def _view(buffer: Buffer) -> Callable[[int], np.ndarray]:
    """A function that gives the array at an address, of the type of a buffer."""
    shape, dtype, count = buffer.shape, buffer.dtype, prod(buffer.shape)
    if count == 0:
        return lambda address: np.empty(shape, dtype)
    memory = ctypes.c_char * (count * dtype.itemsize)
    return lambda address: np.frombuffer(  # type: ignore[call-overload]
        memory.from_address(address), dtype).reshape(shape)


LIBRARIES: dict[str, Library] = {CALLBACK: _callback}
"""The functions of the runtime's library that programs may call, by name."""
