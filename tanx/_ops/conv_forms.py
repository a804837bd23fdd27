"""Operations built on convolutions: transposed ones, patches, and kernels that vary by place."""

from __future__ import annotations

from math import prod

import numpy as np

from .._core.types import typeof
from ..errors import explain
from .arith import add
from .base import broadcast_in_dim, reshape, transpose
from .compare import eq
from .conv import conv_general_dilated
from .conv_shapes import ConvDimensionNumbers, conv_dimension_numbers, transposed_padding
from .convert import convert
from .create import broadcasted_iota
from .dot import dot_general
from .layout import rev
from .operands import like
from .precision import PrecisionLike

__all__ = ["conv_general_dilated_local", "conv_general_dilated_patches", "conv_transpose"]

_DEFAULTS = {1: ("NHC", "HIO", "NHC"), 2: ("NHWC", "HWIO", "NHWC"), 3: ("NHWDC", "HWDIO", "NHWDC")}


def conv_transpose(lhs, rhs, strides, padding, rhs_dilation=None, dimension_numbers=None,
                   transpose_kernel: bool = False, precision: PrecisionLike = None,
                   preferred_element_type=None, use_consistent_padding: bool = False):
    """The transposed convolution, which enlarges arrays by ``strides``.

    ``padding`` is that of a convolution in the other direction, ``"SAME"`` or ``"VALID"``; given as
    numbers it is the padding of the enlarged array, or with ``use_consistent_padding`` that of the
    convolution. Dimensions are ``("NHWC", "HWIO", "NHWC")``, or the same for other ranks, by
    default. With ``transpose_kernel`` the kernel is that of the convolution: its features are
    swapped, and it is reversed.

    >>> lax.conv_transpose(jnp.ones((1, 4, 2)), jnp.ones((3, 2, 5)), (2,), "SAME").shape
    (1, 8, 5)
    """
    x, w = typeof(lhs), typeof(rhs)
    rank = x.ndim - 2
    if dimension_numbers is None and rank not in _DEFAULTS:
        raise ValueError(explain(
            "tanx.lax.conv_transpose", "there must be one to three dimensions of space, unless "
            "dimension_numbers are given.", f"lhs: {x}", f"rhs: {w}"))
    numbers = conv_dimension_numbers(x.shape, w.shape, dimension_numbers or _DEFAULTS[rank])
    window = [w.shape[d] for d in numbers.rhs_spec[2:]]
    rhs_dilation = (1,) * rank if rhs_dilation is None else tuple(rhs_dilation)
    if isinstance(padding, str) or use_consistent_padding:
        given = [padding] * rank if isinstance(padding, str) else padding
        padding = [transposed_padding((k - 1) * d + 1, s, p)
                   for k, s, d, p in zip(window, strides, rhs_dilation, given, strict=True)]
    if transpose_kernel:
        for d in numbers.rhs_spec[2:]:
            rhs = rev(rhs, (d,))
        order = list(range(w.ndim))
        first, second = numbers.rhs_spec[:2]
        order[first], order[second] = second, first
        rhs = transpose(rhs, order)
    return conv_general_dilated(lhs, rhs, (1,) * rank, padding, tuple(strides), rhs_dilation,
                                numbers, precision=precision,
                                preferred_element_type=preferred_element_type)


def conv_general_dilated_patches(lhs, filter_shape, window_strides, padding, lhs_dilation=None,
                                 rhs_dilation=None, dimension_numbers=None,
                                 precision: PrecisionLike = None, preferred_element_type=None):
    """The windows of an array, each flattened along the dimension of features.

    The features of the result are the features of ``lhs`` times the places of the window.
    The other parameters are those of :func:`conv_general_dilated`.

    >>> lax.conv_general_dilated_patches(jnp.arange(4.).reshape(1, 1, 4), (2,), (1,), "VALID")
    Array([[[0., 1., 2.],
            [1., 2., 3.]]], dtype=float32)
    """
    x, window = typeof(lhs), tuple(filter_shape)
    numbers = conv_dimension_numbers(x.shape, x.shape, dimension_numbers)
    if len(window) != x.ndim - 2:
        raise ValueError(explain(
            "tanx.lax.conv_general_dilated_patches", "filter_shape must have a number for each "
            "dimension of space.", f"lhs: {x}", f"filter_shape: {window}"))
    features, size = x.shape[numbers.lhs_spec[1]], prod(window)
    rhs = _identity(size, x.dtype)
    rhs = broadcast_in_dim(rhs, (features, size, size), (1, 2))
    rhs = reshape(rhs, (features * size, 1, *window))
    rhs = transpose(rhs, np.argsort(numbers.rhs_spec)) if list(numbers.rhs_spec) != list(
        range(x.ndim)) else rhs
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, numbers,
        feature_group_count=features,
        precision=precision, preferred_element_type=preferred_element_type)


def _identity(size: int, dtype):
    """The identity matrix of a size."""
    rows = broadcasted_iota(np.int32, (size, size), 0)
    return convert(eq(add(rows, like(rows, 0)), broadcasted_iota(np.int32, (size, size), 1)), dtype)


def conv_general_dilated_local(lhs, rhs, window_strides, padding, filter_shape, lhs_dilation=None,
                               rhs_dilation=None, dimension_numbers=None,
                               precision: PrecisionLike = None):
    """A convolution with a different kernel for each place of the window.

    The dimensions of ``rhs`` are the result's features, the operand's features times the places of
    a window (these change fastest), and the places of windows. The other parameters are those of
    :func:`conv_general_dilated`.

    >>> x, w = jnp.ones((1, 2, 6)), jnp.ones((3, 4, 5))
    >>> lax.conv_general_dilated_local(x, w, (1,), "VALID", (2,)).shape
    (1, 3, 5)
    """
    numbers = conv_dimension_numbers(typeof(lhs).shape, typeof(rhs).shape, dimension_numbers)
    precise = precision if not isinstance(precision, (tuple, list)) else precision[0]
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation,
        ConvDimensionNumbers(numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec),
        precision=precise)
    lhs_spec, rhs_spec, out_spec = numbers
    result = dot_general(patches, rhs, (((out_spec[1],), (rhs_spec[1],)),
                                        (tuple(out_spec[2:]), tuple(rhs_spec[2:]))), precision)
    places = (*out_spec[2:], out_spec[0], out_spec[1])
    return transpose(result, np.argsort(places))
