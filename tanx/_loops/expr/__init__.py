"""Expressions: how one element is computed. Immutable, typed, and equal only to themselves.

Expressions are interned: building one twice gives the same object, so ``==`` and ``hash`` compare
structures at the cost of a pointer, and repeated subexpressions are shared. ``==`` therefore builds
nothing; comparisons that compute are ``op("eq", a, b)`` and ``<``.

From the bottom up: ``interned`` (one object for one structure), ``nodes`` (constants, variables,
loads, instructions, folds; sums as linear forms), ``intervals`` (bounds of integers) and
``simplify``, whose rules :func:`op` applies whenever an expression is built.
"""

from . import simplify
from .interned import *
from .intervals import *
from .nodes import *
