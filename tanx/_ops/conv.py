"""Convolution: windows of an array times a kernel, with strides, holes and groups; any layout."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import gcd, prod

import numpy as np

from .. import dtypes
from .._base.tuples import NamedTuple
from .._core.linear import is_linear
from .._core.primitive import Kind, Primitive
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from .arith import bilinear
from .base import reshape
from .conv_shapes import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    conv_shape_tuple,
    dilated,
    padtype_to_pads,
)
from .convert import cast, convert
from .derive import partials, zeros_of
from .dot import highest, matmul
from .layout import rev
from .operands import accumulator, letter
from .precision import PrecisionLike, canonical_precision
from .slicing import pad_p

__all__ = ["conv", "conv_general_dilated", "conv_general_dilated_p", "conv_with_general_padding"]


WINDOWS = 1 << 28
"""Bytes of windows stored as one matrix. Eager convolutions of 100 to 500 MB of windows take 15 %
longer in parts of 64 MiB, and twice as long in parts of 4 MiB, on two cores."""


class ConvGeneralDilated(Primitive):
    """Sums products of a kernel with windows of an array, over the window and the features.

    There are holes between the elements of the array (``lhs_dilation``) and of the kernel
    (``rhs_dilation``); windows are ``window_strides`` apart. The features of the array and of the
    result fall into ``feature_group_count`` groups, or the batch of the array and the features of
    the result into ``batch_group_count`` groups, which are independent.
    """

    name = "conv_general_dilated"
    kind = Kind.CONTRACTION
    sharding_parameter = "out_sharding"

    def infer(self, x, w, *, window_strides, padding, lhs_dilation, rhs_dilation,
              dimension_numbers, feature_group_count, batch_group_count, precision,
              preferred_element_type, out_sharding):
        steps = plan(x.shape, x.dtype, w.shape, w.dtype, window_strides, padding, lhs_dilation,
                     rhs_dilation, dimension_numbers, feature_group_count, batch_group_count,
                     preferred_element_type)
        if x.weak_type and w.weak_type:
            return steps.out.update(weak_type=True)
        return steps.out

    def divided(self, x, w, *, out_sharding, **params):
        steps = plan_of(x, w, params)
        entries = [None] * x.ndim
        for k, (source, target) in enumerate(zip(steps.lhs_spec, steps.out_spec)):
            entries[target] = None if k == 1 else x.entries[source]
        return tuple(entries)

    def eval(self, x, w, **params):
        steps = plan_of(x, w, params)
        if not x.size:
            return np.zeros(steps.out.shape, steps.out.dtype)
        x = np.moveaxis(x, steps.lhs_spec, range(x.ndim))
        w = np.moveaxis(w, steps.rhs_spec, range(w.ndim))
        added, rest = whole_padding(params["padding"], params["lhs_dilation"])
        x = _grouped(_padded(x, added), steps, params["batch_group_count"] > 1)
        classes = list(_classes(steps, params, rest))
        if len(classes) == 1:
            total = _part(x, w, steps, classes[0])
        else:
            total = np.zeros([steps.out.shape[d] for d in steps.out_spec], steps.dtype)
            for chosen in classes:
                total[:, :, *(slice(c.first, None, c.period) for c in chosen)] = _part(
                    x, w, steps, chosen)
        total = np.ascontiguousarray(np.moveaxis(total, range(total.ndim), steps.out_spec))
        return total if total.dtype == steps.out.dtype else cast(total, steps.out.dtype)

    jvp = partials(lambda t, out, x, w, **params: conv_general_dilated_p.bind(t, w, **params),
                   lambda t, out, x, w, **params: conv_general_dilated_p.bind(x, t, **params))
    taylor = bilinear

    def transpose(self, ct, x, w, **params):
        steps = plan_of(x, w, params)
        if is_linear(x):
            return [_as(_to_operand(ct, w, x, steps, params), x.dtype), None]
        return [None, _as(_to_kernel(ct, x, w, steps, params), w.dtype)]

    def batch(self, args, dims, *, dimension_numbers, feature_group_count, batch_group_count,
              **params):
        """Batches become part of the operand's batch, of groups, or of the result's features."""
        (x, w), (dx, dw) = args, dims
        lhs, rhs, out = dimension_numbers
        size = typeof(x).shape[dx] if dx is not None else typeof(w).shape[dw]
        groups = max(feature_group_count, batch_group_count)
        if dx is not None and dw is not None:
            if batch_group_count > 1:
                x, batch_group_count = _joined(x, dx, lhs[0]), batch_group_count * size
            else:
                x, feature_group_count = _joined(x, dx, lhs[1]), feature_group_count * size
            w = _joined(w, dw, rhs[0])
        elif dx is not None:
            x = _joined_inside(x, dx, lhs[0], batch_group_count)
        else:
            w = _joined_inside(w, dw, rhs[0], groups)
        result = self.bind(x, w, dimension_numbers=dimension_numbers,
                           feature_group_count=feature_group_count,
                           batch_group_count=batch_group_count, **params)
        if dw is None:
            return _parted(result, out[0], size), out[0]
        if dx is None and groups > 1:
            result = _parted(_parted(result, out[1], groups), out[1] + 1, size)
            return _joined(result, out[1], out[1] + 1), out[1]
        return _parted(result, out[1], size), out[1]

    def lower(self, at, x, w, **params):
        steps = plan_of(x, w, params)
        zero = build.const(0, steps.dtype)

        def patch(places, taps):
            """The place of an element of a window, and whether it exists."""
            where, inside = [], []
            for n, place, tap, stride, (low, _), holes, step in zip(
                    (x.shape[d] for d in steps.lhs_spec[2:]), places, taps,
                    params["window_strides"], params["padding"], params["lhs_dilation"],
                    params["rhs_dilation"]):
                t = place * stride + tap * step - low
                where.append(t // holes)
                inside.append(build.in_range(where[-1:], (n,)))
                if holes > 1:
                    inside.append(build.eq(t % holes, 0))
            return where, build.all_of(*inside)

        def element(index, taps, channel):
            where, inside = patch(index[2:], taps)
            return build.select(inside, build.convert(read(index, where, channel), steps.dtype),
                                zero)

        read = _reader(x, w, steps, params["batch_group_count"] > 1)
        return _total([at[d] for d in steps.out_spec], w, steps, steps.window, element,
                      lambda taps: taps)

    def fill(self, into, x, w, **params):
        """For an operand with holes, one nest for each class of places with the same taps.

        So no zeros are multiplied. The padding of the operand must be stored.
        """
        (out,), holes = into, params["lhs_dilation"]
        if max(holes, default=1) == 1 or 0 in (*out.shape, *x.shape) or any(
                end >= d for ends, d in zip(params["padding"], holes) for end in ends):
            return None
        steps = plan_of(x, w, params)
        read = _reader(x, w, steps, params["batch_group_count"] > 1)

        def nest(chosen: Sequence[Residue]):
            def body(index):
                def element(index, taps, channel):
                    where = [place * c.stride + tap * c.step + c.base
                             for c, place, tap in zip(chosen, index[2:], taps)]
                    return build.convert(read(index, where, channel), steps.dtype)

                total = _total(index, w, steps, [c.taps for c in chosen], element, lambda taps: [
                    c.tap + tap * c.apart for c, tap in zip(chosen, taps)])
                places = [c.first + place * c.period for c, place in zip(chosen, index[2:])]
                return [build.store(out, _placed((*index[:2], *places), steps.out_spec), total)]
            lead = [out.shape[d] for d in steps.out_spec[:2]]
            return build.nest([*lead, *(c.places for c in chosen)], body)
        return [nest(chosen) for chosen in _classes(steps, params, params["padding"])]


conv_general_dilated_p: ConvGeneralDilated = ConvGeneralDilated()


def _placed(index, spec) -> list:
    """An index in the order of the dimensions of an array."""
    return [index[spec.index(d)] for d in range(len(spec))]


def _reader(x, w, steps: Plan, by_batch: bool):
    """A function that reads the operand at a place, for a feature of a group."""
    size = w.shape[steps.rhs_spec[0]] // steps.groups

    def read(index, where, channel):
        image, feature, *_ = index
        group = feature // size
        lead = ((group * steps.images + image, channel) if by_batch else
                (image, group * steps.features + channel))
        return x[_placed((*lead, *where), steps.lhs_spec)]
    return read


def _total(index, w, steps: Plan, window, element, tap_of):
    """An element of the result, at an index of image, feature and place."""
    is_bool = letter(steps.dtype) == "b"

    extents = [*window, steps.features]

    def term(k):
        given = iter(k)  # loops of length 1 have no index
        *taps, channel = (build.const(0) if n == 1 else next(given) for n in extents)
        b = w[_placed((index[1], channel, *tap_of(taps)), steps.rhs_spec)]
        return build.op("and" if is_bool else "mul", element(index, taps, channel),
                        build.convert(b, steps.dtype))
    total = build.reduce("or" if is_bool else "add", [n for n in extents if n != 1], term)
    return build.convert(total, steps.out.dtype)


class Residue(NamedTuple):
    """Places ``first``, ``first + period``, …, whose windows use the same elements of a kernel.

    These are ``taps`` elements: ``tap``, ``tap + apart``, …. The first one is multiplied by the
    operand's element ``base + stride * place``, each of the others by the one ``step`` further on.
    """

    first: int
    period: int
    places: int
    tap: int
    apart: int
    taps: int
    base: int
    stride: int
    step: int


def residues(places: int, window: int, stride: int, low: int, holes: int, dilation: int,
             ) -> list[Residue]:
    """The classes of places along a dimension of an operand with holes.

    >>> [(r.first, r.tap, r.taps) for r in residues(8, 3, 1, 1, 2, 1)]
    [(0, 1, 1), (1, 0, 2)]
    """
    period, apart = holes // gcd(stride, holes), holes // gcd(dilation, holes)
    found = []
    for first in range(min(period, places)):
        tap = next((k for k in range(min(apart, window))
                    if (first * stride + k * dilation - low) % holes == 0), None)
        taps = 0 if tap is None else -(-(window - tap) // apart)
        base = 0 if tap is None else (first * stride + tap * dilation - low) // holes
        found.append(Residue(first, period, -(-(places - first) // period), tap or 0, apart, taps,
                             base, period * stride // holes, apart * dilation // holes))
    return found


def _classes(steps: Plan, params, padding) -> Iterator[tuple[Residue, ...]]:
    """The classes of places, one for each dimension of space; padding is less than the holes."""
    return product(*(residues(*numbers) for numbers in zip(
        (steps.out.shape[d] for d in steps.out_spec[2:]), steps.window, params["window_strides"],
        (low for low, _ in padding), params["lhs_dilation"], params["rhs_dilation"])))


def whole_padding(padding, holes) -> tuple[list[list[int]], tuple[tuple[int, int], ...]]:
    """Padding as elements to add at both ends of an operand with holes, and what remains of it.

    >>> whole_padding([(5, -1)], (2,))
    ([[2, 0]], ((1, -1),))
    """
    added = [[max(0, n // d) for n in ends] for ends, d in zip(padding, holes)]
    return added, tuple((low - d * a, high - d * b)
                        for (low, high), (a, b), d in zip(padding, added, holes))


# -- types -----------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """The type and the geometry of a convolution with checked operands."""

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]
    window: tuple[int, ...]
    images: int  # in the batch of the result
    features: int  # of the operand, in each group
    groups: int
    out: ShapedArray
    dtype: np.dtype  # in which products are summed


def plan_of(x, w, params) -> Plan:
    """The plan for operands that have shapes and dtypes."""
    return plan(x.shape, x.dtype, w.shape, w.dtype, *(params[name] for name in (
        "window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers",
        "feature_group_count", "batch_group_count", "preferred_element_type")))


@lru_cache(maxsize=1024)
def plan(x_shape, x_dtype, w_shape, w_dtype, strides, padding, lhs_dilation, rhs_dilation, numbers,
         feature_groups, batch_groups, preferred) -> Plan:
    """Check the operands of a convolution, and compute its plan."""
    x, w = ShapedArray(x_shape, x_dtype), ShapedArray(w_shape, w_dtype)
    facts = [f"lhs: {x}", f"rhs: {w}"]
    if x_dtype != w_dtype:
        raise TypeError(_message("operands must have the same dtype.", *facts))
    _check_numbers(x, w, numbers, facts)
    lhs, rhs, out = map(tuple, numbers)
    images, features, *space = (x_shape[d] for d in lhs)
    kernels, depth, *window = (w_shape[d] for d in rhs)
    if 0 in window:
        raise ValueError(_message("the window must have elements.", *facts))
    _check_options(len(space), facts, window_strides=strides, padding=padding,
                   lhs_dilation=lhs_dilation, rhs_dilation=rhs_dilation)
    _check_groups(images, features, kernels, depth, feature_groups, batch_groups, facts)
    shape = conv_shape_tuple((images, features, *dilated(space, lhs_dilation)),
                             (kernels, depth, *dilated(window, rhs_dilation)), strides, padding,
                             batch_groups)
    natural = x_dtype
    if preferred is not None:
        _check_preferred(natural, preferred, facts)
    result = ShapedArray(tuple(shape[out.index(d)] for d in range(len(out))), preferred or natural)
    return Plan(lhs, rhs, out, tuple(window), shape[0], depth, max(feature_groups, batch_groups),
                result, accumulator(highest(natural, result.dtype)))


def _message(rule: str, *facts: str, hint: str | None = None) -> str:
    return explain("tanx.lax.conv_general_dilated", rule, *facts, hint=hint)


def _check_numbers(x, w, numbers, facts) -> None:
    for what, spec, operand in zip(("lhs_spec", "rhs_spec", "out_spec"), numbers, (x, w, x)):
        if sorted(spec) != list(range(operand.ndim)) or operand.ndim < 2:
            raise TypeError(_message(
                f"{what} must name each dimension once, and there must be two or more.", *facts,
                f"dimension_numbers: {numbers}"))


def _check_options(rank: int, facts, *, padding, **options) -> None:
    """Check that each option has a positive number per dimension of space, and padding a pair."""
    for name, values in options.items():
        if len(values) != rank:
            raise ValueError(_message(f"{name} must have a number for each dimension of space.",
                                      *facts, f"{name}: {values}"))
        if any(v < 1 for v in values):
            raise (ValueError if name == "window_strides" else TypeError)(
                _message(f"{name} must be above zero.", *facts, f"{name}: {values}"))
    if len(padding) != rank:
        raise TypeError(_message("padding must have a pair for each dimension of space.", *facts,
                                 f"padding: {padding}"))


def _check_groups(images, features, kernels, depth, feature_groups, batch_groups, facts) -> None:
    facts = [*facts, f"feature_group_count: {feature_groups}",
             f"batch_group_count:   {batch_groups}"]
    if feature_groups < 1 or batch_groups < 1:
        raise ValueError(_message("counts of groups must be above zero.", *facts))
    if feature_groups > 1 and batch_groups > 1:
        raise ValueError(_message("either features or the batch can have groups, not both.",
                                  *facts))
    if features % feature_groups or features // feature_groups != depth:
        raise ValueError(_message("the kernel must have the input features of a group of the "
                                  "operand.", *facts))
    if images % batch_groups:
        raise ValueError(_message("the batch must be divisible into groups of equal size.", *facts))
    if kernels % feature_groups or kernels % batch_groups:
        raise ValueError(_message("the features of the result must fall into groups of equal size.",
                                  *facts))


def _check_preferred(natural, preferred, facts) -> None:
    facts = [*facts, f"preferred_element_type: {preferred}"]
    kinds = letter(natural), letter(preferred)
    if kinds[0] != kinds[1] and not (kinds[0] in "iu" and kinds[1] in "iuf"):
        raise TypeError(_message("cannot have a result of that kind.", *facts))
    if dtypes.itemsize_bits(preferred) < dtypes.itemsize_bits(natural):
        raise TypeError(_message("preferred_element_type must not be narrower than the operands.",
                                 *facts))


# -- NumPy -----------------------------------------------------------------------------------------


def _padded(x: np.ndarray, padding) -> np.ndarray:
    """An array with zeros around its elements."""
    config = ((0, 0, 0), (0, 0, 0), *((low, high, 0) for low, high in padding))
    return x if not any(map(any, config)) else pad_p.eval(
        x, np.zeros((), x.dtype), padding_config=config)


def _grouped(x: np.ndarray, steps: Plan, by_batch: bool) -> np.ndarray:
    """An array as batch, group, features, space."""
    if by_batch:
        return x.reshape(steps.groups, steps.images, *x.shape[1:]).swapaxes(0, 1)
    return x.reshape(steps.images, steps.groups, steps.features, *x.shape[2:])


def _part(x: np.ndarray, w: np.ndarray, steps: Plan, chosen: Sequence[Residue]) -> np.ndarray:
    """The result at the places of a class: batch, kernels, places. Holes are not multiplied."""
    places = [c.places for c in chosen]
    w = w[:, :, *(slice(c.tap, c.tap + c.taps * c.apart, c.apart) for c in chosen)]
    if 0 in w.shape or 0 in places:
        return np.zeros((steps.images, len(w), *places), steps.dtype)
    kernel = w.reshape(steps.groups, len(w) // steps.groups, -1).swapaxes(1, 2)
    total = _products(_windows(x, chosen), kernel, steps.dtype)
    return np.moveaxis(total, [0, -1], [1, 2]).reshape(steps.images, len(w), *places)


def _windows(x: np.ndarray, chosen: Sequence[Residue]) -> np.ndarray:
    """The windows of a grouped array, as a view: batch, group, features, places, window."""
    x = x[:, :, :, *(slice(c.base, None) for c in chosen)]
    strides = x.strides[3:]
    return np.lib.stride_tricks.as_strided(
        x, (*x.shape[:3], *(c.places for c in chosen), *(c.taps for c in chosen)),
        (*x.strides[:3], *(s * c.stride for s, c in zip(strides, chosen)),
         *(s * c.step for s, c in zip(strides, chosen))), writeable=False)


def _products(windows: np.ndarray, kernel: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Windows times the kernel: group, batch, places, kernels.

    As a matrix, windows take the bytes of the array times the elements of a window: if that is
    much, images or places are computed in parts.
    """
    axis = 0 if len(windows) > 1 else 3
    if windows.nbytes > WINDOWS and windows.ndim > 3 and windows.shape[axis] > 1:
        parts = np.split(windows, [windows.shape[axis] // 2], axis)
        return np.concatenate([_products(part, kernel, dtype) for part in parts],
                              1 if axis == 0 else 2)
    images, groups, _, *sizes = windows.shape
    places = sizes[:len(sizes) // 2]
    columns = np.moveaxis(windows, [1, 2], [0, len(places) + 2]).reshape(
        groups, images * prod(places), kernel.shape[1])
    return matmul(columns, kernel, dtype).reshape(groups, images, *places, kernel.shape[2])


# -- derivatives -----------------------------------------------------------------------------------


def _to_operand(ct, w, x, steps: Plan, params):
    """The cotangent of the operand: that of the result, convolved with the reversed kernel."""
    lhs, rhs, out = params["dimension_numbers"]
    space = [x.shape[d] for d in lhs[2:]]
    places = [typeof(ct).shape[d] for d in out[2:]]
    if steps.groups > 1:
        w = _joined(_parted(w, rhs[0], steps.groups), rhs[0], rhs[1])
    window = dilated(steps.window, params["rhs_dilation"])
    padding = []
    for n, k, m, (low, _) in zip(dilated(space, params["lhs_dilation"]), window,
                                 dilated(places, params["window_strides"]), params["padding"]):
        before = k - low - 1
        padding.append((before, n + k - 1 - m - before))
    result = conv_general_dilated_p.bind(ct, _as(rev(w, rhs[2:]), typeof(ct).dtype), **dict(
        params, window_strides=params["lhs_dilation"], lhs_dilation=params["window_strides"],
        padding=tuple(padding), feature_group_count=steps.groups, batch_group_count=1,
        dimension_numbers=ConvDimensionNumbers(out, _swapped(rhs), lhs)))
    if params["batch_group_count"] > 1:
        result = _joined(_parted(result, lhs[1], steps.groups), lhs[1], lhs[0])
    return result


def _to_kernel(ct, x, w, steps: Plan, params):
    """The cotangent of the kernel: the operand, convolved with the cotangent of the result."""
    lhs, rhs, out = params["dimension_numbers"]
    shape = typeof(x).shape
    if 0 in typeof(ct).shape:
        return zeros_of(w.aval)
    padding = []
    for n, k, m, (low, _) in zip(dilated([shape[d] for d in lhs[2:]], params["lhs_dilation"]),
                                 dilated(steps.window, params["rhs_dilation"]),
                                 dilated([typeof(ct).shape[d] for d in out[2:]],
                                         params["window_strides"]), params["padding"]):
        padding.append((low, m + k - n - 1 - low))
    return conv_general_dilated_p.bind(_as(x, typeof(ct).dtype), ct, **dict(
        params, window_strides=params["rhs_dilation"], rhs_dilation=params["window_strides"],
        padding=tuple(padding), feature_group_count=params["batch_group_count"],
        batch_group_count=params["feature_group_count"],
        dimension_numbers=ConvDimensionNumbers(_swapped(lhs), _swapped(out), _swapped(rhs))))


def _as(x, dtype: np.dtype):
    return x if typeof(x).dtype == dtype else convert(x, dtype)


def _swapped(spec: Sequence[int]) -> tuple[int, ...]:
    return spec[1], spec[0], *spec[2:]


# -- batches ---------------------------------------------------------------------------------------


def _joined(x, source: int, target: int):
    """Merge dimension ``source`` into ``target`` (counted without it), as the slower part."""
    shape = list(typeof(x).shape)
    order = [d for d in range(len(shape)) if d != source]
    order.insert(target, source)
    size = shape.pop(source)
    shape[target] *= size
    return reshape(x, shape, None if order == sorted(order) else order)


def _parted(x, axis: int, size: int):
    """Split an axis in two, the first of the given size."""
    shape = list(typeof(x).shape)
    shape[axis:axis + 1] = [size, shape[axis] // size]
    return reshape(x, shape)


def _joined_inside(x, source: int, target: int, groups: int):
    """As ``_joined``, but inside each group of the target."""
    if groups == 1:
        return _joined(x, source, target)
    x = _parted(x, target + (source <= target), groups)
    x = _joined(x, source + (target < source), target + 1)
    return _joined(x, target, target)


# -- functions -------------------------------------------------------------------------------------


def conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation=None, rhs_dilation=None,
                         dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
                         feature_group_count: int = 1, batch_group_count: int = 1,
                         precision: PrecisionLike = None, preferred_element_type=None,
                         out_sharding=None):
    """Convolve ``lhs``, a batch of arrays with features, with the kernel ``rhs``.

    As in neural networks, the kernel is not reversed: each element of the result is the sum of
    products of the kernel with a window, over all features.

    - ``window_strides``: the distance of windows in each dimension of space.
    - ``padding``: a pair for each dimension, the number of zeros before and after (negative numbers
      remove elements); or ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"``.
    - ``lhs_dilation``, ``rhs_dilation``: distances of neighbours in operand and kernel, 1 if there
        are no holes between them.
      - ``dimension_numbers``: the order of dimensions, such as ``("NHWC", "HWIO", "NHWC")``; batch
      and features first by default. See :class:`ConvDimensionNumbers`.
    - ``feature_group_count``, ``batch_group_count``: groups of features, or of the batch, each with
      its own part of the kernel and of the result's features.
    - ``preferred_element_type``: the dtype of the result.

    >>> x, w = jnp.arange(5.).reshape(1, 1, 5), jnp.array([[[1., 0., -1.]]])
    >>> lax.conv_general_dilated(x, w, (1,), "SAME")
    Array([[[-1., -2., -2., -2.,  3.]]], dtype=float32)
    """
    x, w = typeof(lhs), typeof(rhs)
    numbers = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    rank = len(numbers.lhs_spec) - 2
    strides = _numbers(window_strides)
    lhs_dilation = _numbers(lhs_dilation, rank)
    rhs_dilation = _numbers(rhs_dilation, rank)
    space = [x.shape[d] for d in numbers.lhs_spec[2:]]
    window = [w.shape[d] for d in numbers.rhs_spec[2:]]
    pads = _pads(padding, space, window, strides, lhs_dilation, rhs_dilation)
    if preferred_element_type is not None:
        preferred_element_type = dtypes.requested_dtype(
            preferred_element_type, "tanx.lax.conv_general_dilated")
    return conv_general_dilated_p.bind(
        lhs, rhs, window_strides=strides, padding=pads, lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation, dimension_numbers=numbers,
        feature_group_count=operator.index(feature_group_count),
        batch_group_count=operator.index(batch_group_count),
        precision=canonical_precision(precision, "tanx.lax.conv_general_dilated"),
        preferred_element_type=preferred_element_type, out_sharding=out_sharding)


def conv_with_general_padding(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
                              precision: PrecisionLike = None, preferred_element_type=None):
    """:func:`conv_general_dilated` of arrays with batch and features first, without groups.

    >>> x, w = jnp.ones((1, 2, 6)), jnp.ones((3, 2, 2))
    >>> lax.conv_with_general_padding(x, w, (1,), [(1, 0)], None, (2,)).shape
    (1, 3, 5)
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
                                precision=precision, preferred_element_type=preferred_element_type)


def conv(lhs, rhs, window_strides, padding, precision: PrecisionLike = None,
         preferred_element_type=None):
    """:func:`conv_general_dilated` of arrays with batch and features first, without holes.

    >>> lax.conv(jnp.ones((1, 2, 6, 6)), jnp.ones((3, 2, 3, 3)), (1, 1), "VALID").shape
    (1, 3, 4, 4)
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, precision=precision,
                                preferred_element_type=preferred_element_type)


def _numbers(values, rank: int = 0) -> tuple[int, ...]:
    return (1,) * rank if values is None else tuple(map(operator.index, values))


def _pads(padding, space, window, strides, lhs_dilation, rhs_dilation):
    """Padding as pairs of numbers."""
    if isinstance(padding, str):
        if any(d != 1 for d in lhs_dilation):
            raise ValueError(_message(
                "padding must be given in numbers if lhs_dilation is not 1.",
                f"padding: {padding!r}", f"lhs_dilation: {lhs_dilation}",
                hint="tanx.lax.conv_transpose computes the padding."))
        if len(strides) != len(space) or 0 in strides:
            return ((0, 0),) * len(space)  # the caller reports the error
        return tuple(padtype_to_pads(space, dilated(window, rhs_dilation), strides, padding))
    try:
        return tuple((operator.index(low), operator.index(high)) for low, high in padding)
    except (TypeError, ValueError):
        raise ValueError(_message("padding must be a name, or a pair of numbers for each "
                                  "dimension of space.", f"padding: {padding!r}")) from None
