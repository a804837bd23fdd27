"""Expressions: how one element is made. Immutable, typed, and equal only to themselves.

Expressions are interned: building one twice gives the same object, so ``==`` and ``hash`` are those
of the structure at the cost of a pointer, and a subexpression that is used often is shared.
``==`` therefore builds nothing; comparisons that compute are ``op("eq", a, b)`` and ``<``.

From the bottom up: ``interned`` (one object for one structure), ``nodes`` (constants, variables,
loads, instructions, folds; sums as linear forms), ``intervals`` (bounds of integers) and
``simplify``, whose rules :func:`op` asks whenever something is built.
"""

from . import simplify
from .interned import *
from .intervals import *
from .nodes import *
