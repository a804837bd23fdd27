"""Universal functions: functions of elements that also reduce, accumulate and update."""

from __future__ import annotations

from ._logic import logical_and, logical_or, logical_xor
from ._math import (
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    logaddexp,
    logaddexp2,
    maximum,
    minimum,
    multiply,
    negative,
    subtract,
)

__all__ = ["add", "bitwise_and", "bitwise_or", "bitwise_xor", "logaddexp", "logaddexp2",
           "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply",
           "negative", "subtract"]
