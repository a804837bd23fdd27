"""Universal functions: functions of elements that also reduce, accumulate and update."""

from __future__ import annotations

from ._math import *
from ._math import (
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    maximum,
    minimum,
    multiply,
    negative,
    subtract,
)
from ._logic import logical_and, logical_or, logical_xor

__all__ = ["add", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or",
           "logical_xor", "maximum", "minimum", "multiply", "negative", "subtract"]
