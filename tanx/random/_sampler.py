"""Shared by samplers: requested dtypes and shapes, and how eager code runs them."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from math import prod

import numpy as np

from .. import dtypes, lax
from .._api.jit import jit, library_jit
from ..errors import explain
from ..numpy._promotion import Tracer, canonical_shape, common_shape, staging, typeof

__all__ = ["complex_or_float", "dtype_of", "floating", "integer", "repeat", "sample_shape",
           "sampler"]

LARGE = 1 << 12
"""From this many elements of a result on, eager code compiles a sampler.

NumPy passes over the data a hundred times to make random bits; compiled code keeps them in
registers, and makes up for its compilation after about a million elements.
"""
OFTEN = 64
"""After this many calls of one kind, eager code compiles a sampler also for small results."""

MEMORY = 1024
"""Limit of kinds of calls that are counted."""


def sampler(fun: Callable | None = None, *, inline: bool = False, sums: bool = False) -> Callable:
    """A decorator for samplers: a call in jaxprs, and compiled code if that is faster.

    Keyword arguments are static; ``shape`` is one of them. With ``inline`` there is no call in
    jaxprs. With ``sums`` it is always compiled: compilation does not change the numbers, except for
    sums, whose order the compiler chooses.
    """
    if fun is None:
        return functools.partial(sampler, inline=inline, sums=sums)

    @functools.cache
    def versions(names: tuple[str, ...]):
        small = fun if inline else library_jit(fun, static_argnames=names)
        return small, jit(fun, static_argnames=names)

    calls: Counter = Counter()

    def pays(shape, options) -> bool:
        """Whether to compile."""
        if staging():
            return False
        kind = (shape, *options.values())
        if len(calls) > MEMORY:
            calls.clear()
        calls[kind] += 1
        return sums or calls[kind] > OFTEN or prod(shape) >= LARGE

    @functools.wraps(fun)
    def either(*args, shape, **options):
        small, large = versions(("shape", *options))
        return (large if pays(shape, options) else small)(*args, shape=shape, **options)
    return either


def repeat(goes_on: Callable, step: Callable, state: tuple) -> tuple:
    """``lax.while_loop``; for a few known numbers a Python loop, which needs no compiler."""
    while True:
        more = goes_on(state)
        # A traced parameter may appear in the state only after a step.
        if any(isinstance(x, Tracer) for x in (*state, more)):
            return lax.while_loop(goes_on, step, state)
        if not more:
            return state
        state = step(state)


def dtype_of(function: str, dtype, default: Callable[[], np.dtype]) -> np.dtype:
    """The requested dtype, or the default."""
    return dtypes.requested_dtype(default() if dtype is None else dtype, f"tanx.random.{function}")


def floating(function: str, dtype) -> np.dtype:
    """The requested floating-point dtype."""
    found = dtype_of(function, dtype, dtypes.default_float)
    if not dtypes.issubdtype(found, np.floating):
        raise ValueError(explain(f"tanx.random.{function}", "returns floating-point numbers.",
                                 f"dtype: {found}"))
    return found


def complex_or_float(function: str, dtype) -> np.dtype:
    """The requested floating-point or complex dtype."""
    found = dtype_of(function, dtype, dtypes.default_float)
    if not dtypes.issubdtype(found, np.inexact):
        raise ValueError(explain(
            f"tanx.random.{function}", "returns floating-point or complex numbers.",
            f"dtype: {found}"))
    return found


def integer(function: str, dtype) -> np.dtype:
    """The requested integer dtype."""
    found = dtype_of(function, dtype, dtypes.default_int)
    if not dtypes.issubdtype(found, np.integer):
        raise TypeError(explain(f"tanx.random.{function}", "gives integers.", f"dtype: {found}"))
    return found


def sample_shape(function: str, shape, **parameters) -> tuple[int, ...]:
    """The shape of the result: the requested one, or that of all parameters together.

    Parameters must broadcast to it without making it larger.
    """
    shapes = [typeof(x).shape for x in parameters.values()]
    try:
        together = common_shape(*shapes)
        if shape is None:
            return together
        shape = canonical_shape(shape, f"tanx.random.{function}")
        if common_shape(shape, together) == shape:
            return shape
    except ValueError:
        pass
    raise ValueError(explain(
        f"tanx.random.{function}", "parameters must broadcast to the shape of the result.",
        *(f"{name}: {typeof(x)}" for name, x in parameters.items()), f"shape: {shape}"))
