"""tanx.experimental.transfer: arrays of other processes.

There is one process, so nothing is transferred; what is left are arrays that stand for a failure.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.traceback import boundary
from .._core.array import Array
from .._core.types import ShapedArray
from ..errors import JaxRuntimeError, explain

__all__ = ["make_error_array"]


class _Failed:
    """Data that never comes, because of an error."""

    def __init__(self, data: np.ndarray, message: str):
        self.data, self.message = data, message
        self.work = self  # of no queue: whoever wants the data waits for it, and hears why not
        self.queue = None

    def ready(self) -> bool:
        return True

    def holds(self) -> int:
        return 0

    def wait(self) -> np.ndarray:
        raise JaxRuntimeError(self.message)


@boundary
def make_error_array(aval: Any, message: str) -> Array:
    """An array of a type whose data cannot be had: whoever asks for it gets an error.

    ``aval`` has a shape and a dtype, as ``tanx.ShapeDtypeStruct``.

    >>> from tanx.experimental import transfer
    >>> x = transfer.make_error_array(tanx.ShapeDtypeStruct((3,), np.float32), "lost")
    >>> x.shape
    (3,)
    >>> x.block_until_ready()
    Traceback (most recent call last):
    tanx.errors.JaxRuntimeError: lost
    """
    if not hasattr(aval, "shape") or not hasattr(aval, "dtype") or not isinstance(message, str):
        raise TypeError(explain(
            "tanx.experimental.transfer.make_error_array",
            "it takes a type with a shape and a dtype, and a text.",
            f"got: {aval!r:.100}, {message!r:.100}"))
    nothing = np.broadcast_to(np.zeros((), aval.dtype), aval.shape)
    array = Array(nothing, False, ShapedArray(tuple(aval.shape), np.dtype(aval.dtype)))
    array._buffer, array._pending = None, _Failed(nothing, message)
    return array
