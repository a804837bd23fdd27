"""The geometry of windows over an array, and large windows combined from smaller ones."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from functools import reduce as fold_left
from typing import Any

import numpy as np

from .._base.tuples import NamedTuple
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from .base import broadcast_in_dim
from .operands import like
from .slicing import pad, pad_p, slice

FEW = 8
"""Windows of up to this many elements along an axis are not combined from smaller windows."""


class Window(NamedTuple):
    """The windows in an array; each field has an entry for each dimension.

    The array's elements are ``base_dilation`` apart, those of a window ``window_dilation``, and
    windows ``window_strides``; ``padding`` holds the places before and after the array.
    """

    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]

    @classmethod
    def undilated(cls, window_dimensions, window_strides, padding) -> Window:
        """Windows without dilation."""
        ones = (1,) * len(window_dimensions)
        return cls(window_dimensions, window_strides, padding, ones, ones)

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """How many windows fit in an array of a shape, along each dimension."""
        return tuple(
            max(0, (dilated(n, base) + low + high - dilated(size, step)) // stride + 1)
            for n, size, stride, (low, high), base, step in zip(shape, *self, strict=True))

    def check(self, function: str, x: ShapedArray) -> None:
        """Raise if windows do not match an operand."""
        facts = [f"operand: {x}", *(f"{name}: {value}" for name, value in self._asdict().items())]
        if any(len(field) != x.ndim for field in self):
            raise TypeError(explain(
                f"tanx.lax.{function}", "a window needs an entry for each operand dimension.",
                *facts))
        if any(n < 1 for field in (*self[:2], *self[3:]) for n in field):
            raise TypeError(explain(
                f"tanx.lax.{function}", "sizes, strides and dilations must be positive.", *facts))

    def batched(self, dim: int) -> Window:
        """The same windows in an array with a batch dimension at ``dim``."""
        def inserted(field, value):
            return (*field[:dim], value, *field[dim:])
        return Window(*(inserted(field, (0, 0) if name == "padding" else 1)
                        for name, field in self._asdict().items()))

    @property
    def padding_config(self) -> tuple[tuple[int, int, int], ...]:
        """The places around and between elements, as ``pad`` takes them."""
        return tuple((low, high, base - 1)
                     for (low, high), base in zip(self.padding, self.base_dilation))

    def spread(self, x: np.ndarray, fill) -> np.ndarray:
        """A NumPy array with its padding, and the places between its elements."""
        return pad_p.eval(x, fill, padding_config=self.padding_config)

    def views(self, spread: np.ndarray, shape: Sequence[int]) -> Iterator[np.ndarray]:
        """For each place in a window, in order, the elements of all windows there."""
        for offset in np.ndindex(self.window_dimensions):
            yield spread[tuple(
                builtins.slice(k * step, k * step + dilated(count, stride), stride)
                for k, step, count, stride in zip(offset, self.window_dilation, shape,
                                                  self.window_strides))]

    def read(self, x, at, offset) -> tuple[Any, Any]:
        """The index of a window's element in the array, in loops, and whether it is inside."""
        index, between = [], []
        for i, k, stride, (low, _), base, step in zip(at, offset, *self[1:]):
            place = i * stride + k * step - low
            index.append(place // base)
            if base > 1:
                between.append(build.eq(place % base, 0))
        return index, build.all_of(build.in_range(index, x.shape), *between)


def dilated(size: int, step: int) -> int:
    """The extent of ``size`` elements that are ``step`` apart."""
    return (size - 1) * step + 1 if size else 0


def can_slide(size: int, stride: int, step: int) -> bool:
    """Whether :func:`slide` needs only few elements for each result."""
    return size <= FEW or stride == 1 or step == 1 and stride <= FEW and stride < size


def slide(x, size: int, stride: int, step: int, count: int, take: Callable, combine: Callable,
          start: int = 0):
    """Combine ``size`` elements, ``step`` apart, of each of ``count`` windows along one axis.

    ``take(x, start, count, stride)`` returns elements of ``x``. A large window is combined from
    windows over parts of it, which others share: the work grows with the logarithm of the size.
    """
    if size <= FEW or not can_slide(size, stride, step):
        return fold_left(combine, [take(x, start + k * step, count, stride) for k in range(size)])
    block = FEW // stride * stride
    whole, rest = divmod(size, block)
    apart = block * step // stride
    blocks = slide(x, block, stride, step, count + (whole - 1) * apart, take, combine, start)
    out = slide(blocks, whole, 1, apart, count, take, combine)
    if not rest:
        return out
    return combine(out, slide(x, rest, stride, step, count, take, combine,
                              start + whole * block * step))


def traced_views(x, window: Window) -> Iterator:
    """For each place in a window, the elements of all windows there; zeros outside of the array."""
    shape = window.shape(typeof(x).shape)
    spread = pad(x, like(x, 0), window.padding_config)
    for offset in np.ndindex(window.window_dimensions):
        if 0 in shape:  # no window fits, and its places may be past the array's end
            yield broadcast_in_dim(like(x, 0), shape, ())
            continue
        starts = [k * step for k, step in zip(offset, window.window_dilation)]
        stops = [start + dilated(count, stride)
                 for start, count, stride in zip(starts, shape, window.window_strides)]
        yield slice(spread, starts, stops, window.window_strides)
