"""Bring convolutions into the form that matrix products compute: pad and order the operand.

The zeros of the padding are stored, so that windows need no bounds checks; the dimension that is
adjacent in memory is one that is summed over, or one of the result; and numbers have the dtype in
which they are summed. One copy of the operand does all of that, fused with the operations before.
"""

from __future__ import annotations

from math import prod

import numpy as np

from .._core.jaxpr import Atom, JaxprEqn, Literal
from .._core.types import ShapedArray
from .._ops.base import transpose_p
from .._ops.conv import Plan, plan_of, whole_padding
from .._ops.conv_shapes import ConvDimensionNumbers
from .._ops.convert import convert_element_type_p
from .._ops.operands import letter
from .._ops.slicing import pad_p
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
    x, w = converted(x, steps.dtype), converted(w, steps.dtype)
    lhs = _order(steps, params, write.tuning)
    if lhs != steps.lhs_spec:
        order = [steps.lhs_spec[lhs.index(d)] for d in range(len(lhs))]
        x = write.apply(eqn, transpose_p, x, permutation=tuple(order))
    x, padding = _padded(write, eqn, x, lhs)
    if (x, w) == before:
        return None
    params.update(padding=padding, preferred_element_type=steps.dtype,
                  dimension_numbers=ConvDimensionNumbers(lhs, steps.rhs_spec, steps.out_spec))
    return [converted(write.apply(eqn, eqn.primitive, x, w, **params), steps.out.dtype)]


def _order(steps: Plan, params, tuning: DecomposeTuning) -> tuple[int, ...]:
    """The order of the operand's dimensions: features last, if space is last now."""
    spec, last = steps.lhs_spec, len(steps.lhs_spec) - 1
    if prod(steps.window) == 1 or spec[-1] != last or steps.features == 1 < steps.groups:
        return spec
    if steps.window[-1] >= max(tuning.window, steps.features) and params["rhs_dilation"][-1] == 1:
        return spec
    space = tuple(range(1, last))
    if steps.features < tuning.features and steps.images > steps.features:
        return (last, 0, *space)
    return (0, last, *space)


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
