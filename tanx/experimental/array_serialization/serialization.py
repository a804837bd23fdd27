"""The base class of asynchronous checkpoint managers."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["GlobalAsyncCheckpointManagerBase"]


class GlobalAsyncCheckpointManagerBase(abc.ABC):
    """Writes arrays to files of TensorStore in the background; libraries derive from it."""

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raise the error of the background work, if any; does not wait."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Wait until all is written."""

    @abc.abstractmethod
    def serialize(self, arrays, tensorstore_specs, *, on_commit_callback: Callable[[], None]):
        """Begin to write arrays to the places in the specs."""

    @abc.abstractmethod
    def deserialize(self, shardings: Sequence, tensorstore_specs: Sequence[dict[str, Any]],
                    global_shapes: Sequence | None = None, dtypes: Sequence | None = None):
        """Read arrays."""
