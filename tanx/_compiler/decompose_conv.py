"""Bring convolutions into the form that matrix products compute: pad and order the operand.

The zeros of the padding are stored, so that windows need no bounds checks; the dimension that is
adjacent in memory is one that is summed over, or one of the result; and numbers have the dtype in
which they are summed, except for matrix registers, which multiply narrow ones. One copy of the
operand does all of that, fused with the operations before.
"""

from __future__ import annotations

from math import prod

import numpy as np
from ml_dtypes import bfloat16

from .._core.jaxpr import Atom, JaxprEqn, Literal
from .._core.types import ShapedArray
from .._ops.base import transpose_p
from .._ops.conv import Plan, plan_of, whole_padding
from .._ops.conv_shapes import ConvDimensionNumbers
from .._ops.convert import convert_element_type_p
from .._ops.operands import letter
from .._ops.slicing import pad_p
from .machine import Machine
from .matrix_registers import SIZE
from .tuning import DecomposeTuning

__all__ = ["convolution"]


def convolution(write, eqn: JaxprEqn) -> list[Atom] | None:
    """A convolution of a padded operand; None if it is that already."""
    (x, w), params = eqn.invars, dict(eqn.params)
    steps = plan_of(x.aval, w.aval, params)
    if letter(steps.dtype) == "b" or not prod((*steps.out.shape, *x.aval.shape)):
        return None

    def converted(atom: Atom, dtype: np.dtype) -> Atom:
        return atom if atom.aval.dtype == dtype else write.apply(
            eqn, convert_element_type_p, atom, new_dtype=dtype, weak_type=False, sharding=None)

    before = x, w
    lhs, out = _order(steps, params, write.tuning), steps.out_spec
    if _in_words(steps, lhs, x.aval.dtype, params, write.machine):
        out = _features_last(out) if prod(steps.window) > 1 else out
    else:
        x, w = converted(x, steps.dtype), converted(w, steps.dtype)
    if lhs != steps.lhs_spec:
        order = [steps.lhs_spec[lhs.index(d)] for d in range(len(lhs))]
        x = write.apply(eqn, transpose_p, x, permutation=tuple(order))
    x, padding = _padded(write, eqn, x, lhs)
    if (x, w) == before and out == steps.out_spec:
        return None
    params.update(padding=padding, preferred_element_type=steps.dtype,
                  dimension_numbers=ConvDimensionNumbers(lhs, steps.rhs_spec, out))
    y = converted(write.apply(eqn, eqn.primitive, x, w, **params), steps.out.dtype)
    if out != steps.out_spec:
        y = write.apply(eqn, transpose_p, y, permutation=tuple(
            out[steps.out_spec.index(d)] for d in range(len(out))))
    return [y]


def _features_last(spec: tuple[int, ...]) -> tuple[int, ...]:
    """The order of dimensions with features last in memory."""
    last = len(spec) - 1
    return (0, last, *range(1, last))


def _in_words(steps: Plan, lhs: tuple[int, ...], dtype: np.dtype, params, machine: Machine) -> bool:
    """Whether matrix registers multiply narrow numbers as they are (``contraction.py``).

    Windows are copied for that, by rows of the product: in bands, or all at once if that takes
    little memory. So numbers that are adjacent in memory must be terms. A 3 x 3 convolution of
    4 x 28 x 28 x 64 takes 0.3 of the time on two cores of Emerald Rapids, that of 4 x 14 x 14 x 256
    0.27, gradients to images 0.35; a gradient to a kernel would take 1.3.
    """
    if dtype != bfloat16 or steps.dtype != np.float32 or not machine.has_matrix_registers or (
            steps.groups > 1 or max(params["lhs_dilation"], default=1) > 1) or (
            lhs[1] != len(lhs) - 1 and prod(steps.window) > 1):
        return False
    columns = steps.out.shape[steps.out_spec[1]]
    rows, terms = prod(steps.out.shape) // columns, prod(steps.window) * steps.features
    tuning, band = machine.tuning, 2 * SIZE
    in_bands = rows % band == 0 and band * (terms + band) * dtype.itemsize <= tuning.memory.own
    return rows >= tuning.contract.rows_of_pairs and min(columns, terms) >= SIZE and (
        rows * columns * terms >= tuning.contract.many_narrow) and (
        in_bands or rows * terms <= tuning.decompose.copied)


def _order(steps: Plan, params, tuning: DecomposeTuning) -> tuple[int, ...]:
    """The order of the operand's dimensions: features last, if space is last now."""
    spec, last = steps.lhs_spec, len(steps.lhs_spec) - 1
    if prod(steps.window) == 1 or spec[-1] != last or steps.features == 1 < steps.groups:
        return spec
    if steps.window[-1] >= max(tuning.window, steps.features) and params["rhs_dilation"][-1] == 1:
        return spec
    if steps.features < tuning.features and steps.images > steps.features:
        return (last, 0, *range(1, last))
    return _features_last(spec)


def _padded(write, eqn: JaxprEqn, x: Atom, lhs: tuple[int, ...]) -> tuple[Atom, tuple]:
    """The padded operand, and the padding that remains."""
    holes, given = eqn.params["lhs_dilation"], eqn.params["padding"]
    added, rest = whole_padding(given, holes)
    if any(map(any, added)):
        amounts = {d: (low, high, 0) for d, (low, high) in zip(lhs[2:], added)}
        dtype = x.aval.dtype
        zero = Literal(np.zeros((), dtype), ShapedArray((), dtype))
        x = write.apply(eqn, pad_p, x, zero, padding_config=tuple(
            amounts.get(d, (0, 0, 0)) for d in range(x.aval.ndim)))
    return x, rest
