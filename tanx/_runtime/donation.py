"""Donation: arguments whose memory a program may use for its results.

An argument that is as large as a result is consumed: the call deletes its array. If the compiler
lets a result overwrite it, that happens in place if the memory has no other owner, and in a copy
otherwise. An array of which NumPy or another array has a view is not changed.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence

from .._core.array import Array
from .._core.buffer import is_alone
from .._core.jaxpr import ClosedJaxpr, Literal
from .._core.source import user_source
from .._core.types import ShapedArray
from ..errors import explain

__all__ = ["given_away", "takers", "warn_of_unusable"]


def takers(closed: ClosedJaxpr, donated: Sequence[bool]) -> tuple[tuple[int, ...], list]:
    """Which donated arguments end with a call, by number, and the types of the others.

    Results take arguments of their size, at most one each; arguments that are not used stay.
    """
    if not any(donated):
        return (), []
    jaxpr = closed.jaxpr
    used = {v for eqn in jaxpr.eqns for v in eqn.invars if type(v) is not Literal}
    used.update(v for v in jaxpr.outvars if type(v) is not Literal)
    wanted = Counter(aval.nbytes for aval in closed.out_avals)
    taken, unusable = [], []
    for number, (var, given) in enumerate(zip(jaxpr.invars, donated)):
        if given and var in used:
            if wanted[var.aval.nbytes]:
                wanted[var.aval.nbytes] -= 1
                taken.append(number)
            else:
                unusable.append(var.aval)
    return tuple(taken), unusable


def warn_of_unusable(types: Sequence[ShapedArray]) -> None:
    """Warn at the user's line that donating arguments was of no use."""
    source = user_source()
    # Programs filter this warning by its first words.
    text = explain("Some donated buffers were not usable", "tanx.jit reuses donated arguments that "
                   "are as large as a result.", f"arguments: {', '.join(map(str, types))}",
                   hint="do not donate them: they keep their data.")
    warnings.warn_explicit(text, UserWarning, source.file, source.line)


def given_away(operands: Sequence, taken: Sequence[int]) -> frozenset[int]:
    """Which of the arguments in ``taken`` end with a call, because their data has no other
    owner."""
    if not taken:
        return frozenset()
    arrays = [i for i in taken if type(operands[i]) is Array]
    if len(set(map(id, operands))) < len(operands):
        times = Counter(map(id, operands))
        donated = Counter(id(operands[i]) for i in arrays)
        for i in arrays:
            if donated[id(operands[i])] > 1:
                raise RuntimeError(explain(
                    "tanx.jit", "the same array is donated twice in one call.",
                    f"array: {operands[i].aval}",
                    hint="pass a copy as one of the two arguments: x.copy()."))
        arrays = [i for i in arrays if times[id(operands[i])] == 1]
    return frozenset(i for i in arrays if is_alone(operands[i]))
