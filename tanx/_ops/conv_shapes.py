"""Dimension numbers and sizes of convolutions: plain Python on shapes."""

from __future__ import annotations

from collections.abc import Sequence

from .._base.symbolic import index, largest
from .._base.tuples import NamedTuple
from .._core.primitive import parameter
from ..errors import explain

__all__ = ["ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "conv_dimension_numbers",
           "conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple",
           "conv_transpose_shape_tuple", "padtype_to_pads"]


@parameter
class ConvDimensionNumbers(NamedTuple):
    """Where the dimensions of a convolution are.

    ``lhs_spec`` and ``out_spec`` are the positions of the batch, of the features, and of the
    dimensions of space in order; ``rhs_spec`` those of the features of the result, of the features
    of the operand, and of space.

    >>> lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 16), ("NHWC", "HWIO", "NHWC")).lhs_spec
    (0, 3, 1, 2)
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None
"""How dimension numbers may be given: three strings, a ConvDimensionNumbers, or None."""


# -- dimensions ------------------------------------------------------------------------------------


def conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers) -> ConvDimensionNumbers:
    """Dimension numbers of a convolution of arrays of two shapes, from any of their forms.

    ``dimension_numbers`` is None for batch and features first, and for a kernel with its features
    first (``("NCHW", "OIHW", "NCHW")`` in two dimensions); or three strings such as these; or a
    :class:`ConvDimensionNumbers`, which is returned.

    >>> lax.conv_dimension_numbers((1, 3, 8), (16, 3, 3), None)
    ConvDimensionNumbers(lhs_spec=(0, 1, 2), rhs_spec=(0, 1, 2), out_spec=(0, 1, 2))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    rank = len(lhs_shape)
    if rank != len(rhs_shape):
        raise TypeError(explain(
            "tanx.lax.conv_dimension_numbers", "lhs and rhs must have the same rank.",
            f"lhs shape: {tuple(lhs_shape)}", f"rhs shape: {tuple(rhs_shape)}"))
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(rank))] * 3)
    specs = conv_general_permutations(dimension_numbers)
    if any(len(spec) != rank for spec in specs):
        raise _refused("each string must have a letter for each dimension of the operands.",
                       dimension_numbers, f"lhs shape: {tuple(lhs_shape)}",
                       f"rhs shape: {tuple(rhs_shape)}")
    return ConvDimensionNumbers(*specs)


def conv_general_permutations(dimension_numbers) -> tuple[tuple[int, ...], ...]:
    """Three strings of dimension numbers as positions: batch, features, then space.

    The order of space is that of the kernel's string.

    >>> lax.conv_general_permutations(("NHWC", "HWIO", "NCHW"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 1, 2, 3))
    """
    if not isinstance(dimension_numbers, (tuple, list)) or len(dimension_numbers) != 3 or not all(
            isinstance(spec, str) for spec in dimension_numbers):
        raise _refused("must be None, a ConvDimensionNumbers, or three strings.",
                       dimension_numbers)
    leads = (("N", "C"), ("O", "I"), ("N", "C"))
    for spec, (first, second) in zip(dimension_numbers, leads):
        if len(set(spec)) < len(spec):
            raise _refused("a letter can stand for one dimension only.", dimension_numbers)
        if first not in spec or second not in spec:
            raise _refused("strings for operand and result must have N and C, the kernel's O and "
                           "I.", dimension_numbers)
    space = [[c for c in spec if c not in lead] for spec, lead in zip(dimension_numbers, leads)]
    if not set(space[0]) == set(space[1]) == set(space[2]):
        raise _refused("the three strings must have the same letters for space.",
                       dimension_numbers)
    return tuple(tuple(spec.index(c) for c in (*lead, *space[1]))
                 for spec, lead in zip(dimension_numbers, leads))


def _refused(rule: str, dimension_numbers, *facts: str) -> TypeError:
    return TypeError(explain("tanx.lax.conv_dimension_numbers", rule,
                             f"dimension_numbers: {dimension_numbers!r}", *facts))


# -- sizes -----------------------------------------------------------------------------------------


def dilated(sizes: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Sizes with ``dilation - 1`` holes between neighbours."""
    return tuple([max(n - 1, 0) * d + 1 if n else 0 for n, d in zip(sizes, dilation)])


def window_counts(sizes, window, strides) -> tuple[int, ...]:
    """How many places windows have, along each dimension."""
    return tuple([max((n - w) // s + 1, 0) for n, w, s in zip(sizes, window, strides)])


def padtype_to_pads(in_shape, window_shape, window_strides, padding) -> list[tuple[int, int]]:
    """Padding given by name, as pairs of elements before and after each dimension.

    ``"VALID"`` adds nothing; ``"SAME"`` adds enough for a window at each stride, an odd element
    after the array, ``"SAME_LOWER"`` before it.

    >>> lax.padtype_to_pads((8, 9), (3, 4), (2, 2), "SAME")
    [(0, 1), (1, 2)]
    """
    if not isinstance(padding, str) or padding.upper() not in ("VALID", "SAME", "SAME_LOWER"):
        error = RuntimeError if isinstance(padding, str) else TypeError
        raise error(explain(
            "tanx.lax.padtype_to_pads", "padding must be 'VALID', 'SAME' or 'SAME_LOWER'.",
            f"padding: {padding!r}"))
    padding = padding.upper()
    if padding == "VALID":
        return [(0, 0)] * len(in_shape)
    pads = []
    for n, window, stride in zip(in_shape, window_shape, window_strides):
        total = largest(index(((n + stride - 1) // stride - 1) * stride + window - n), 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if padding == "SAME" else (more, less))
    return pads


def conv_shape_tuple(lhs_shape, rhs_shape, strides, pads, batch_group_count=1) -> tuple[int, ...]:
    """The shape of a convolution of shapes with batch and features first.

    >>> lax.conv_shape_tuple((2, 4, 8, 9), (6, 4, 3, 3), (2, 2), [(1, 1), (0, 0)])
    (2, 6, 4, 4)
    """
    space, window = lhs_shape[2:], rhs_shape[2:]
    if isinstance(pads, str):
        pads = padtype_to_pads(space, window, strides, pads)
    if len(pads) != len(space):
        raise TypeError(explain(
            "tanx.lax.conv_shape_tuple", "there must be a padding pair for each dimension of "
            "space.", f"pads:      {pads}", f"lhs shape: {tuple(lhs_shape)}"))
    padded = [n + low + high for n, (low, high) in zip(space, pads)]
    if any(n < 0 for n in padded):
        raise ValueError(explain(
            "tanx.lax.conv_general_dilated",
            "negative padding removes more elements than the dimension has.",
            f"padding: {tuple(pads)}", f"space:   {tuple(space)}"))
    return (lhs_shape[0] // batch_group_count, rhs_shape[0],
            *window_counts(padded, window, strides))


def conv_general_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers,
                             ) -> tuple[int, ...]:
    """The shape of a convolution whose dimensions are in the order of ``dimension_numbers``.

    >>> layout = ("NHWC", "HWIO", "NHWC")
    >>> lax.conv_general_shape_tuple((2, 8, 9, 4), (3, 3, 4, 6), (2, 2), "SAME", layout)
    (2, 4, 5, 6)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple([lhs_shape[d] for d in lhs], [rhs_shape[d] for d in rhs],
                             window_strides, padding)
    return tuple(shape[out.index(d)] for d in range(len(out)))


def conv_transpose_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers,
                               ) -> tuple[int, ...]:
    """The shape of a transposed convolution.

    >>> layout = ("NHWC", "HWIO", "NHWC")
    >>> lax.conv_transpose_shape_tuple((2, 8, 9, 4), (3, 3, 4, 6), (2, 2), "SAME", layout)
    (2, 16, 18, 6)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    lhs_shape, rhs_shape = [lhs_shape[d] for d in lhs], [rhs_shape[d] for d in rhs]
    window = rhs_shape[2:]
    if isinstance(padding, str):
        padding = [transposed_padding(k, s, padding) for k, s in zip(window, window_strides)]
    space = dilated(lhs_shape[2:], window_strides)
    shape = conv_shape_tuple([lhs_shape[0], lhs_shape[1], *space], rhs_shape, [1] * len(window),
                             padding)
    return tuple(shape[out.index(d)] for d in range(len(out)))


def transposed_padding(window: int, stride: int, padding) -> tuple[int, int]:
    """The padding of a dimension of a transposed convolution, from that of the other direction.

    ``padding`` is a name, or the pair of the convolution's padding before and after.
    """
    if isinstance(padding, str):
        if padding not in ("SAME", "VALID"):
            raise ValueError(explain(
                "tanx.lax.conv_transpose", "padding must be 'SAME', 'VALID', or pairs of numbers.",
                f"padding: {padding!r}"))
        if padding == "VALID":
            return window - 1, max(stride - 1, window - 1)
        total = window + stride - 2
        low = window - 1 if stride > window - 1 else -(-total // 2)
        return low, total - low
    low, high = padding
    return window - 1 - low, window - 1 - high
