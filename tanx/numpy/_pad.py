"""``pad``: values added around an array, in one of many modes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from ..errors import explain
from ..lax import _functions as lax
from ._assemble import concatenate, flip
from ._creation import asarray, linspace
from ._edit import apply_along_axis
from ._promotion import as_operand, convert
from ._quantile import median
from ._reduce import amax, amin, mean
from ._rounding import round
from ._shape import broadcast_to, squeeze

__all__ = ["pad"]

# The modes, and the option that each of them takes.
_OPTIONS = {"constant": {"constant_values"}, "edge": set(), "empty": set(),
            "linear_ramp": {"end_values"}, "maximum": {"stat_length"}, "mean": {"stat_length"},
            "median": {"stat_length"}, "minimum": {"stat_length"}, "reflect": {"reflect_type"},
            "symmetric": {"reflect_type"}, "wrap": set()}


def pad(array, pad_width, mode="constant", **kwargs):
    """``array`` with values added before and after, along each dimension.

    ``pad_width`` is a number, a pair (before, after), or a pair for each dimension. ``mode`` says
    what is added:

    - ``"constant"``: ``constant_values``, zeros by default;
    - ``"edge"``: the outermost element;
    - ``"reflect"``, ``"symmetric"``: a mirror image, without or with the outermost element; with
      ``reflect_type="odd"`` also reflected in value at it;
    - ``"wrap"``: the array, repeated periodically;
    - ``"linear_ramp"``: numbers between the outermost element and ``end_values``;
    - ``"maximum"``, ``"mean"``, ``"median"``, ``"minimum"``: that of the vector, or of the
      ``stat_length`` elements next to the edge;
    - ``"empty"``: arbitrary values;
    - a function: ``mode(vector, (before, after), axis, kwargs)`` of each vector, padded with
      zeros, returns the new vector.

    >>> jnp.pad(jnp.array([1, 2, 3]), (2, 1), mode="reflect")
    Array([3, 2, 1, 2, 3, 2], dtype=int32)
    """
    array = as_operand("pad", array)
    widths = _pairs("pad_width", pad_width, array.ndim)
    if any(n < 0 for pair in widths for n in pair):
        raise ValueError(explain("tanx.numpy.pad", "pad_width must not be negative.",
                                 f"pad_width: {pad_width}"))
    if callable(mode):
        return _by_function(array, widths, mode, kwargs)
    if mode not in _OPTIONS:
        raise NotImplementedError(explain(
            "tanx.numpy.pad", "there is no such mode.", f"mode:  {mode!r}",
            f"modes: {', '.join(_OPTIONS)}"))
    if not kwargs.keys() <= _OPTIONS[mode]:
        raise ValueError(explain(
            "tanx.numpy.pad", f"mode {mode!r} does not take these options.",
            f"given:   {', '.join(sorted(kwargs))}",
            f"options: {', '.join(_OPTIONS[mode]) or 'none'}"))
    if not array.ndim:
        return array
    values = kwargs.get("constant_values", kwargs.get("end_values", 0))
    lengths = kwargs.get("stat_length")
    lengths = None if lengths is None else _pairs("stat_length", lengths, array.ndim)
    return _pad(array, values, widths, mode, lengths, kwargs.get("reflect_type", "even"))


def _pairs(name: str, given, rank: int) -> tuple[tuple[int, int], ...]:
    """Integers for both sides of each dimension."""
    try:
        numbers = np.asarray(given)
    except ValueError:
        numbers = np.asarray(None)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise TypeError(explain("tanx.numpy.pad", f"{name} must hold integers, pairs of one shape.",
                                f"{name}: {given}"))
    try:
        pairs = np.broadcast_to(numbers, (rank, 2))
    except ValueError:
        raise ValueError(explain(
            "tanx.numpy.pad", f"{name} must be a number, a pair, or a pair for each dimension.",
            f"{name}: {given}", f"dimensions: {rank}")) from None
    return tuple((int(before), int(after)) for before, after in pairs)


@library_jit(static_argnums=(2, 3, 4, 5))
def _pad(array, values, widths, mode, lengths, reflect_type):
    if mode == "constant":
        return _constant(array, values, widths)
    if reflect_type not in ("even", "odd"):
        raise ValueError(explain("tanx.numpy.pad", "reflect_type must be 'even' or 'odd'.",
                                 f"reflect_type: {reflect_type!r}"))
    for axis, width in enumerate(widths):
        if width == (0, 0):
            continue
        if not array.shape[axis] and mode not in ("empty", *_STATISTICS):
            raise ValueError(explain(
                "tanx.numpy.pad", f"mode {mode!r} needs elements along the dimension to pad.",
                f"array: {array.aval}", f"axis:  {axis}", hint="mode='constant' needs none."))
        if mode == "wrap":
            array = _wrapped(array, axis, *width)
        elif mode in ("reflect", "symmetric"):
            array = _mirrored(array, axis, width, mode, reflect_type)
        else:
            front, back = _pieces(array, axis, width, mode, values, lengths)
            array = concatenate([front, array, back], axis)
    return array


def _pieces(array, axis: int, width: tuple[int, int], mode: str, values, lengths) -> list:
    """The padding before the array and after it, for a mode that computes them independently."""
    single: Iterable
    if mode == "linear_ramp":
        return _ramps(array, axis, width, asarray(values))
    if mode == "empty":
        return [lax.empty((*array.shape[:axis], n, *array.shape[axis + 1:]), array.dtype)
                for n in width]
    if mode == "edge":
        single = (_slice(array, axis, at, at + 1) for at in (0, array.shape[axis] - 1))
    else:
        single = _statistics(array, axis, mode, None if lengths is None else lengths[axis])
    return [_stretched(x, axis, n) for x, n in zip(single, width)]


def _stretched(x, axis: int, n: int):
    """``x``, of size 1 along ``axis``, repeated ``n`` times."""
    sizes = (*x.shape[:axis + 1], n, *x.shape[axis + 1:])
    copies = lax.broadcast_in_dim(x, sizes, [d for d in range(len(sizes)) if d != axis + 1])
    return lax.collapse(copies, axis, axis + 2)


def _slice(array, axis: int, start: int, stop: int):
    return lax.slice_in_dim(array, start, stop, axis=axis)


def _ends(array, axis: int, sizes: tuple[int, int]) -> list:
    """The first and the last slices along ``axis``, ``sizes`` of them."""
    n = array.shape[axis]
    return [_slice(array, axis, 0, sizes[0]), _slice(array, axis, n - sizes[1], n)]


def _constant(array, values, widths):
    values = convert(asarray(values), array.dtype, array.weak_type)
    if not values.ndim:
        return lax.pad(array, values, [(before, after, 0) for before, after in widths])
    values = broadcast_to(values, (array.ndim, 2))
    for axis, (before, after) in enumerate(widths):
        for side, amounts in enumerate(((before, 0, 0), (0, after, 0))):
            config = [(0, 0, 0)] * array.ndim
            config[axis] = amounts
            array = lax.pad(array, values[axis, side], config)
    return array


def _wrapped(array, axis: int, before: int, after: int):
    """The array repeated periodically and cut to fit."""
    n = array.shape[axis]
    (whole_before, part_before), (whole_after, part_after) = divmod(before, n), divmod(after, n)
    parts = [array] * (whole_before + 1 + whole_after)
    if part_before:
        parts.insert(0, _slice(array, axis, n - part_before, n))
    if part_after:
        parts.append(_slice(array, axis, 0, part_after))
    return concatenate(parts, axis)


def _mirrored(array, axis: int, width: tuple[int, int], mode: str, reflect_type: str):
    """Mirror images at both ends; if the array is too short, images of images."""
    skip = 1 if mode == "reflect" else 0  # the outermost element is not in the image
    most = array.shape[axis] - skip
    if not most:  # a single element reflects to itself
        front, back = (_stretched(array, axis, n) for n in width)
        return concatenate([front, array, back], axis)
    for at_back, amount in enumerate(width):
        for start in range(0, amount, most):
            size, n = min(most, amount - start), array.shape[axis]
            edge, near = (n - 1, n - skip - size) if at_back else (0, skip)
            image = flip(_slice(array, axis, near, near + size), axis)
            if reflect_type == "odd":
                image = 2 * _slice(array, axis, edge, edge + 1) - image
            array = concatenate([array, image] if at_back else [image, array], axis)
    return array


def _ramps(array, axis: int, width: tuple[int, int], values) -> list:
    """Evenly spaced numbers from the end values to the edges, and back."""
    values = broadcast_to(values, (array.ndim, 2)) if values.ndim else values
    ramps = []
    for side, (edge, n) in enumerate(zip(_ends(array, axis, (1, 1)), width)):
        end = values[axis, side] if values.ndim else values
        ramp = linspace(end, squeeze(edge, axis), n, False, dtype=array.dtype, axis=axis)
        ramps.append(flip(ramp, axis) if side else ramp)
    return ramps


_STATISTICS: dict[str, Callable] = {
    "maximum": amax, "mean": mean, "median": median, "minimum": amin}


def _statistics(array, axis: int, mode: str, lengths: tuple[int, int] | None) -> list:
    """The statistic before and the one after."""
    n = array.shape[axis]
    if lengths is not None and min(lengths) < 1:
        raise ValueError(explain("tanx.numpy.pad", "stat_length must be positive.",
                                 f"stat_length: {lengths}"))
    statistic = functools.partial(_STATISTICS[mode], axis=axis, keepdims=True)
    if lengths is None:
        found = [statistic(array)] * 2
    else:
        front, back = lengths
        found = [statistic(x) for x in _ends(array, axis, (min(n, front), min(n, back)))]
    if mode in ("mean", "median") and dtypes.issubdtype(array.dtype, np.integer):
        found = [round(x) for x in found]
    return [convert(x, array.dtype) for x in found]


def _by_function(array, widths, function, kwargs):
    zero = convert(0, array.dtype)
    array = lax.pad(array, zero, [(before, after, 0) for before, after in widths])
    for axis, pair in enumerate(widths):
        array = apply_along_axis(function, axis, array, pair, axis, kwargs)
        if array is None:
            raise TypeError(explain(
                "tanx.numpy.pad", "the function must return the vector it is given, padded.",
                "returned: None", hint="arrays are immutable: use x.at[...].set(...)."))
    return array
