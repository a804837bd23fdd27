"""Operators, methods and properties of arrays, for the socket of :mod:`tanx._core.operators`.

``METHODS`` maps each name to its function; most are functions of this room under their own name.
"""

from __future__ import annotations

import numpy as np

from ..errors import explain
from . import _at, _index, _logic, _math, _reduce
from ._promotion import Array, Tracer

__all__ = ["METHODS"]


# -- operators -------------------------------------------------------------------------------------

# What operators take by type alone. Anything else says itself what to do with arrays.
_OPERANDS = frozenset((Array, bool, int, float, complex, np.ndarray))
_FAMILIES = (Tracer, np.ndarray, np.generic, bool, int, float, complex)


def _taken(x) -> bool:
    return type(x) in _OPERANDS or isinstance(x, _FAMILIES)


def _binary(function):
    """``x.__op__(y)``; ``NotImplemented`` leaves it to ``y`` where that is no array or number."""
    def operator(self, other):
        return function(self, other) if _taken(other) else _refuse(other)
    return operator


def _reflected(function):
    """``y.__rop__(x)``: the left operand did not know what to do."""
    def operator(self, other):
        return function(other, self) if _taken(other) else _refuse(other)
    return operator


def _refuse(other):
    if isinstance(other, list | tuple):
        raise TypeError(explain(
            "tanx.Array", f"operators do not take a {type(other).__name__}.",
            f"operand: {other!r:.100}",
            hint="wrap it in tanx.numpy.array(...); lists are slow to convert, so say so."))
    return NotImplemented


_OPERATORS = {
    "add": _math.add, "sub": _math.subtract, "mul": _math.multiply, "truediv": _math.divide,
    "floordiv": _math.floor_divide, "mod": _math.remainder, "divmod": _math.divmod,
    "pow": _math.power, "and": _math.bitwise_and, "or": _math.bitwise_or,
    "xor": _math.bitwise_xor, "lshift": _math.left_shift, "rshift": _math.right_shift,
}
_COMPARISONS = {
    "eq": _logic.equal, "ne": _logic.not_equal, "lt": _logic.less, "le": _logic.less_equal,
    "gt": _logic.greater, "ge": _logic.greater_equal,
}

# Functions that are methods as they stand: the array is their first argument.
_FUNCTIONS = {
    _reduce: "all any argmax argmin max mean min prod sum",
}

METHODS = {
    "__getitem__": _index.getitem, "at": property(_at.At),
    **{f"__{name}__": _binary(function) for name, function in _OPERATORS.items()},
    **{f"__r{name}__": _reflected(function) for name, function in _OPERATORS.items()},
    **{f"__{name}__": _binary(function) for name, function in _COMPARISONS.items()},
    "__neg__": lambda self: _math.negative(self),
    "__pos__": lambda self: _math.positive(self),
    "__abs__": lambda self: _math.absolute(self),
    "__invert__": lambda self: _math.invert(self),
    "real": property(_math.real), "imag": property(_math.imag),
    **{name: getattr(module, name) for module, names in _FUNCTIONS.items()
       for name in names.split()},
    "conj": _math.conj, "conjugate": _math.conj,
}
