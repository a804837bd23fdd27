"""The parts of a row of the table of cases.

    Case("rev", lambda x: lax.rev(x, (0,)), f(3, 4))
    Case("gather", lambda x, i: x_at(x, i), f(5, 2), i(3, high=5), grad=(0,))
    Case("argmax", lambda x: lax.argmax(x, 0, np.int32), f(3, 4), grad=())
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Arg:
    """Random data of one shape and dtype, between ``low`` and ``high``."""

    shape: tuple[int, ...]
    dtype: np.dtype
    low: float = -2.0
    high: float = 2.0
    distinct: bool = False  # no two elements alike, for sorting and maxima

    def make(self, rng: np.random.Generator, lead: tuple[int, ...] = ()) -> np.ndarray:
        shape = lead + self.shape
        if self.dtype == np.bool_:
            return rng.integers(0, 2, shape).astype(bool)
        if self.dtype.kind in "iu" or self.dtype in (ml_dtypes.int4, ml_dtypes.uint4):
            return rng.integers(int(self.low), int(self.high), shape).astype(self.dtype)
        if self.distinct:
            count = max(1, int(np.prod(shape)))
            values = self.low + (self.high - self.low) * (rng.permutation(count) + 0.5) / count
            values = values[:int(np.prod(shape))].reshape(shape)
        else:
            values = rng.uniform(self.low, self.high, shape)
        if self.dtype.kind == "c":
            values = values + 1j * rng.uniform(self.low, self.high, shape)
        return values.astype(self.dtype)


def f(*shape, low=-2.0, high=2.0, dtype=np.float64, distinct=False) -> Arg:
    """Floats; float64 by default, so that finite differences are sharp."""
    return Arg(shape, np.dtype(dtype), low, high, distinct)


def pos(*shape, low=0.3, high=3.0, dtype=np.float64) -> Arg:
    """Positive floats away from zero."""
    return Arg(shape, np.dtype(dtype), low, high)


def c(*shape, low=-2.0, high=2.0, dtype=np.complex128) -> Arg:
    """Complex numbers."""
    return Arg(shape, np.dtype(dtype), low, high)


def i(*shape, low=-5, high=6, dtype=np.int32) -> Arg:
    """Integers from ``low`` up to, not including, ``high``."""
    return Arg(shape, np.dtype(dtype), low, high)


def b(*shape) -> Arg:
    """Booleans."""
    return Arg(shape, np.dtype(bool))


class Case:
    """One way to call one primitive."""

    def __init__(self, primitive: str, fun: Callable, *args: Arg,
                 grad: tuple[int, ...] | None = None, name: str = "", rtol: float = 1e-5,
                 lower: bool = True, batch: bool = True, modes: str = "fwd rev",
                 rewritten: bool = False):
        self.primitive = primitive
        self.fun = fun
        self.args = args
        # Arguments to differentiate: the inexact ones unless given; () for no derivative.
        self.grad = grad if grad is not None else tuple(
            k for k, a in enumerate(args) if a.dtype.kind in "fc")
        self.rtol = rtol
        self.lower, self.batch, self.modes = lower, batch, modes
        self.rewritten = rewritten  # by a map around it, so that jaxprs show other primitives
        described = ", ".join(f"{a.dtype}{list(a.shape)}".replace(" ", "") for a in args)
        self.id = f"{primitive}{'-' + name if name else ''}({described})"

    def arguments(self, lead: tuple[int, ...] = (), seed: int = 0,
                  batched: tuple[bool, ...] | None = None) -> list[np.ndarray]:
        """The same random data for the same case in every run."""
        rng = np.random.default_rng([zlib.crc32(self.id.encode()), seed])
        batched = batched if batched is not None else (True,) * len(self.args)
        return [a.make(rng, lead if is_batched else ())
                for a, is_batched in zip(self.args, batched)]

    def __repr__(self) -> str:
        return self.id
