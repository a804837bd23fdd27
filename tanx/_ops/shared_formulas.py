"""Formulas written once, for NumPy's arrays (``eval``) and for expressions (``lower``).

A primitive computed by a loop, such as a series that runs until it has converged, needs the same
formula in both rules. The functions here take either kind of operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._loops import build
from .families import by_own_loop
from .special import digamma_p, erf_inv_p, lgamma_p

__all__ = ["State", "apply", "constant", "converted", "equal", "where", "while_loop"]

State = tuple[Any, ...]


def while_loop(init: State, condition: Callable[[State], Any],
               step: Callable[[State], State]) -> State:
    """The state of each element, updated while the condition holds for it."""
    if isinstance(init[0], build.Expr):
        return build.while_loop(init, condition, step)
    state = [np.array(x) for x in np.broadcast_arrays(*init)]
    active = np.flatnonzero(condition(tuple(state)))
    while active.size:
        moved = step(tuple(x[active] for x in state))
        for x, new in zip(state, moved, strict=True):
            x[active] = new
        active = active[condition(tuple(x[active] for x in state))]
    return tuple(state)


_FUNCTIONS: dict[str, Callable] = {
    "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "abs": np.abs, "pow": np.power,
    "exp": np.exp, "erf_inv": erf_inv_p.eval, "lgamma": lgamma_p.eval, "digamma": digamma_p.eval}


_OWN = {"log", "log1p", "pow", "exp"}
"""Functions for which tanx has its own loops, so that compiled code gives the same bits."""


def apply(name: str, *args):
    """A function of one of the instructions."""
    if any(isinstance(x, build.Expr) for x in args):
        return build.op(name, *args)
    out = by_own_loop(name, *args) if name in _OWN else None
    return _FUNCTIONS[name](*args) if out is None else out


def where(condition, a, b):
    """``a`` where the condition holds, else ``b``."""
    if isinstance(condition, build.Expr):
        return build.select(condition, a, b)
    like = a if hasattr(a, "dtype") else b
    return np.where(condition, a, b).astype(like.dtype)


def converted(x, dtype):
    """Elements of another dtype."""
    return build.convert(x, dtype) if isinstance(x, build.Expr) else x.astype(dtype)


def equal(a, b):
    """Whether two elements are equal."""
    return build.eq(a, b) if isinstance(a, build.Expr) else a == b


def constant(value: float, like):
    """A number of the dtype of ``like``, and for arrays of its shape."""
    return (build.const(value, like.dtype) if isinstance(like, build.Expr)
            else np.full_like(like, value))
