"""tanx.experimental.transfer: arrays of other processes.

There is one process, so nothing is transferred; only arrays that represent a failure exist.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.traceback import boundary
from .._core.array import Array
from .._core.buffer import Buffer
from .._core.types import ShapedArray
from .._runtime.device import host_device
from ..errors import JaxRuntimeError, explain

__all__ = ["make_error_array"]


class _Failure:
    """The event of a buffer that is never written, because of an error."""

    done, queue = True, None

    def __init__(self, message: str):
        self.message = message

    def wait(self) -> None:
        raise JaxRuntimeError(self.message)

    def holds(self, owner: object) -> int:
        return 0


@boundary
def make_error_array(aval: Any, message: str) -> Array:
    """An array without data: reading it raises an error.

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
    buffer = Buffer(host_device(), 0, 0, None, _Failure(message))
    return Array._of_buffers((buffer,), ShapedArray(tuple(aval.shape), np.dtype(aval.dtype)))
