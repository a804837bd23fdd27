"""``jax._src.interpreters.pxla``: flax makes arrays of its dtype from buffers of compiled code.

Here, compiled code returns arrays of such dtypes without help, so these handlers run only where a
library calls one.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .... import make_array_from_single_device_arrays
from ....core import ShapedArray

__all__ = ["global_result_handlers"]


class ResultHandler:
    """Makes a result from the arrays that devices have of it."""

    def __init__(self, make: Callable[[Sequence[Any]], Any]):
        self.make = make

    def __call__(self, parts: Sequence[Any]):
        return self.make(parts)

    def wrap(self, convert: Callable[[Any], Any]) -> "ResultHandler":
        """The handler that converts the result."""
        return ResultHandler(lambda parts: convert(self.make(parts)))


def _array_handler(aval: ShapedArray, sharding, committed: bool) -> ResultHandler:
    return ResultHandler(
        lambda parts: make_array_from_single_device_arrays(aval.shape, sharding, list(parts)))


global_result_handlers = {ShapedArray: _array_handler}
