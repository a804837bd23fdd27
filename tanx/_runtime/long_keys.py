"""Programs of long keys, run on their words; see ``_compiler/long_keys.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._compiler.long_keys import has_long_keys, is_long, on_words, words_type
from .._core.array import Array
from .._core.jaxpr import ClosedJaxpr, cached_by_jaxpr
from ..dtypes import stored
from .executable import executable_of

__all__ = ["OnWords", "has_long_keys", "run_on_words"]


class OnWords:
    """An executable whose arguments and results may be long keys; Python calls it."""

    calls_python = True  # which leaves its calls to Python
    without_data = False

    def __init__(self, closed: ClosedJaxpr, donated: tuple[bool, ...] = ()):
        program = on_words(closed)
        self.closed = closed
        self.executable = executable_of(program, donated) if any(donated) else (
            executable_of(program))

    def run(self, operands: Sequence[Any]) -> list[Array]:
        """The results, given the arguments."""
        given = [_words(x) if is_long(aval) else x
                 for x, aval in zip(operands, self.closed.in_avals, strict=True)]
        return [_keys(y, aval) if is_long(aval) else y
                for y, aval in zip(self.executable.run(given), self.closed.out_avals, strict=True)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.executable, name)


def _words(keys: Array) -> Array:
    data = np.asarray(keys._value, order="C")
    return Array(data.reshape(*data.shape, 1).view(np.uint32), False, words_type(keys.aval))


def _keys(words: Array, aval) -> Array:
    data = np.ascontiguousarray(words._value)
    return Array(data.view(stored(aval.dtype)).reshape(aval.shape), False, aval)


run_on_words = cached_by_jaxpr(OnWords)
