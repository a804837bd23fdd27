"""Sums of products: of matrices, and of kernels with windows."""

from __future__ import annotations

from math import prod

import numpy as np

from ..._ops.operands import accumulator
from .block import Block, Type, Value
from .rules import rule
from .text import listed

__all__: list[str] = []

_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))
"""The narrow dtypes that XLA multiplies without converting them."""


def _precisions(precision) -> list[str]:
    """The precisions of both operands; the other compiler chooses the algorithm."""
    if isinstance(precision, tuple):
        return [getattr(p, "name", "DEFAULT") for p in precision]
    return ["DEFAULT"] * 2


def _factors(block: Block, x: Value, y: Value, out: Type) -> tuple[Value, Value, Type]:
    """Operands of one dtype, and the type to sum their products in."""
    if x.dtype == y.dtype == bool:
        dtype = np.dtype(np.int32)
        return block.convert(x, dtype), block.convert(y, dtype), out.of(dtype)
    if x.dtype == y.dtype and (x.dtype.itemsize > 1 or x.dtype in _BYTES):
        return x, y, out
    dtype = accumulator(np.result_type(*(accumulator(t) for t in (x.dtype, y.dtype, out.dtype))))
    return block.convert(x, dtype), block.convert(y, dtype), out.of(dtype)


def _finished(block: Block, total: Value, out: Type) -> Value:
    """Sums in the dtype of the result."""
    if out.dtype == bool:
        return block.compare("NE", total, block.constant(0, total.type))
    return block.convert(total, out.dtype)


@rule("dot_general")
def _dot_general(block: Block, out: Type, x: Value, y: Value, *, dimension_numbers, precision, **_):
    (cx, cy), (bx, by) = dimension_numbers
    x, y, wide = _factors(block, x, y, out)
    details = f", batching_dims = {listed(bx)} x {listed(by)}" if bx else ""
    details += f", contracting_dims = {listed(cx)} x {listed(cy)}"
    details += f", precision = [{', '.join(_precisions(precision))}]"
    return _finished(block, block.apply("dot_general", [x, y], wide, details), out)


@rule("conv_general_dilated")
def _convolution(block: Block, out: Type, x: Value, w: Value, *, window_strides, padding,
                 lhs_dilation, rhs_dilation, dimension_numbers, feature_group_count,
                 batch_group_count, precision, **_):
    if not prod(x.shape) or not prod(w.shape) or not prod(out.shape):
        return block.constant(0, out)
    x, w, wide = _factors(block, x, w, out)
    lhs, rhs, result = (_labels(spec, names) for spec, names in zip(
        dimension_numbers, ("bf", "oi", "bf")))
    pads = ", ".join(listed(pair) for pair in padding)
    enums = ", ".join(f"#stablehlo<precision {p}>" for p in _precisions(precision))
    operation = (
        f"stablehlo.convolution({x}, {w}) dim_numbers = {lhs}x{rhs}->{result}, window = "
        f"{{stride = {listed(window_strides)}, pad = [{pads}], lhs_dilate = "
        f"{listed(lhs_dilation)}, rhs_dilate = {listed(rhs_dilation)}}} "
        f"{{batch_group_count = {batch_group_count} : i64, feature_group_count = "
        f"{feature_group_count} : i64, precision_config = [{enums}]}} : "
        f"({x.type}, {w.type}) -> {wide}")
    return _finished(block, block.write(operation, wide)[0], out)


def _labels(spec, names: str) -> str:
    """The label of each dimension: batch, features, or a number of space."""
    labels = [*names, *(str(n) for n in range(len(spec) - 2))]
    return f"[{', '.join(labels[list(spec).index(d)] for d in range(len(spec)))}]"
