"""Reductions: of dimensions, of windows, and running ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from ..._core.jaxpr import ClosedJaxpr
from ..._ops import scalars
from ..._ops.arith import add, mul
from ..._ops.base import Reduction, reduce_sum_p
from ..._ops.collective import AllReduce, pmax_p, pmin_p, psum_p
from ..._ops.convert import convert
from ..._ops.cumulative import log_add_exp, scan_associatively
from ..._ops.magnitude import max, min
from ..._ops.operands import accumulator, identity, letter
from ..._ops.pooling import scatter_by_places
from ..._ops.reduce import (
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_xor_p,
)
from ..._ops.window import (
    WindowReduction,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_sum_p,
)
from ..._ops.window_geometry import Window
from .block import Block, Type, Value
from .instructions import extremum
from .rules import expansion, inlined, missing, rule, staged_inline
from .text import listed

__all__ = ["combining", "region_of"]

_OPERATIONS = {"add": "add", "sub": "subtract", "mul": "multiply", "max": "maximum",
               "min": "minimum", "and": "and", "or": "or", "xor": "xor"}

Region = tuple[list[Value], Block]


def combining(block: Block, reducer: str, dtype: np.dtype) -> Region:
    """The region that combines two scalars by a reducer."""
    inner = block.region(isolated=True)
    pair = [inner.argument(Type((), dtype)) for _ in range(2)]
    inner.end(extremum(inner, reducer, *pair) if reducer in ("max", "min")
              else inner.same(_OPERATIONS[reducer], *pair))
    return pair, inner


def region_of(block: Block, closed: ClosedJaxpr) -> Region:
    """The region that applies a function of scalars."""
    inner = block.region(isolated=True)
    arguments = [inner.argument(Type((), aval.dtype)) for aval in closed.in_avals]
    inner.end(*inlined(inner, closed, arguments))
    return arguments, inner


# -- of dimensions ---------------------------------------------------------------------------------


def _reduction(primitive: Reduction):
    def write(block: Block, out: Type, x: Value, *, axes, **_):
        dtype = accumulator(x.dtype) if primitive.wide else x.dtype
        wide = block.convert(x, dtype)
        start = block.constant(identity(primitive.combine, dtype), Type((), dtype))
        return block.convert(_reduced(block, primitive.combine, wide, start, axes), x.dtype)
    return write


def _reduced(block: Block, reducer: str, x: Value, start: Value, axes: Sequence[int]) -> Value:
    """The elements along some dimensions, combined by a reducer."""
    out = Type(tuple(n for d, n in enumerate(x.shape) if d not in axes), x.dtype)
    if not axes:
        return x
    if letter(x.dtype) == "c" and reducer in ("max", "min"):
        return _general(block, [x], [start], axes, [out], combining(block, reducer, x.dtype))[0]
    return block.write(
        f"stablehlo.reduce({x} init: {start}) applies stablehlo.{_OPERATIONS[reducer]} across "
        f"dimensions = {listed(sorted(axes))} : ({x.type}, {start.type}) -> {out}", out)[0]


for _primitive in (reduce_sum_p, reduce_prod_p, reduce_max_p, reduce_min_p, reduce_and_p,
                   reduce_or_p, reduce_xor_p):
    rule(_primitive.name)(_reduction(_primitive))


def _collective(primitive: AllReduce):
    def write(block: Block, out: Type, x: Value, *, axes, **_):
        if not all(isinstance(axis, int) for axis in axes):
            raise missing(primitive.name, f"axes with names are not bound here: {axes}.")
        start = block.constant(identity(primitive.combine, x.dtype), Type((), x.dtype))
        return _reduced(block, primitive.combine, x, start, axes)
    return write


for _collect in (psum_p, pmax_p, pmin_p):
    rule(_collect.name)(_collective(_collect))


def _general(block: Block, operands: Sequence[Value], starts: Sequence[Value],
             axes: Sequence[int], outs: Sequence[Type], region: Region) -> list[Value]:
    """A reduction by any function."""
    return block.generic("reduce", [*operands, *starts], outs,
                         {"dimensions": block.integers(sorted(axes))}, [region])


@rule("reduce")
def _reduce(block: Block, outs: Sequence[Type], *operands: Value, jaxpr, dimensions, **_):
    count = len(operands) // 2
    arrays, starts = list(operands[:count]), list(operands[count:])
    if prod(arrays[0].shape[d] for d in dimensions) == 1:
        # XLA assumes neutral initial values, and drops them for a single element.
        starts = [block.broadcast(x, outs[0].shape) for x in starts]
        arrays = [block.reshape(x, outs[0].shape) for x in arrays]
        return staged_inline(block, partial(scalars.apply, jaxpr), *starts, *arrays)
    return _general(block, arrays, starts, dimensions, outs, region_of(block, jaxpr))


@rule("argmax")
def _argmax(block: Block, out: Type, x: Value, *, axes, index_dtype):
    return _position(block, out, x, axes[0], "GT", "max")


@rule("argmin")
def _argmin(block: Block, out: Type, x: Value, *, axes, index_dtype):
    return _position(block, out, x, axes[0], "LT", "min")


def _position(block: Block, out: Type, x: Value, axis: int, better: str, reducer: str) -> Value:
    """The position of the best element: NaN is best, and the first of equal ones is taken."""
    inner = block.region(isolated=True)
    kinds = (Type((), x.dtype), Type((), out.dtype))
    a, i, b, j = arguments = [inner.argument(type) for type in kinds * 2]
    first = inner.compare(better, a, b)
    tied = inner.compare("EQ", a, b)
    if letter(x.dtype) == "f":
        nan, other = inner.compare("NE", a, a), inner.compare("NE", b, b)
        first = inner.same("or", first, inner.same("and", nan, inner.same("not", other)))
        tied = inner.same("or", tied, inner.same("and", nan, other))
    first = inner.same("or", first, inner.same("and", tied, inner.compare("LT", i, j)))
    inner.end(inner.select(first, a, b), inner.select(first, i, j))
    places = block.iota(x.type.of(out.dtype), axis)
    # The start has the greatest position, so that every element wins against it.
    starts = [block.constant(identity(reducer, x.dtype), kinds[0]),
              block.constant(np.iinfo(out.dtype).max, kinds[1])]
    return _general(block, [x, places], starts, [axis], [out.of(x.dtype), out],
                    (arguments, inner))[1]


# -- of windows ------------------------------------------------------------------------------------


def _window_reduction(primitive: WindowReduction):
    def write(block: Block, out: Type, x: Value, **window):
        dtype = primitive.state(x.dtype)
        start = block.constant(identity(primitive.combine, dtype), Type((), dtype))
        (total,) = _windows(block, [block.convert(x, dtype)], [start], [out.of(dtype)],
                            combining(block, primitive.combine, dtype), **window)
        return block.convert(total, x.dtype)
    return write


for _pooling in (reduce_window_sum_p, reduce_window_max_p, reduce_window_min_p):
    rule(_pooling.name)(_window_reduction(_pooling))


@rule("reduce_window")
def _reduce_window(block: Block, outs: Sequence[Type], *operands: Value, jaxpr, consts, **window):
    count = len(operands) // 2
    return _windows(block, operands[:count], operands[count:], outs,
                    region_of(block, ClosedJaxpr(jaxpr, consts)), **window)


def _windows(block: Block, operands: Sequence[Value], starts: Sequence[Value],
             outs: Sequence[Type], region: Region, *, window_dimensions, window_strides, padding,
             base_dilation, window_dilation) -> list[Value]:
    if not prod(outs[0].shape):
        return [block.constant(0, out) for out in outs]
    if not outs[0].shape:  # the one window of a scalar has one element
        return _general(block, operands, starts, [], outs, region)
    return block.generic("reduce_window", [*operands, *starts], outs, {
        "window_dimensions": block.integers(window_dimensions),
        "window_strides": block.integers(window_strides),
        "base_dilations": block.integers(base_dilation),
        "window_dilations": block.integers(window_dilation),
        "padding": block.pairs(padding)}, [region])


@rule("select_and_scatter_add")
def _select_and_scatter_add(block: Block, out: Type, source: Value, operand: Value, *, select_prim,
                            **window):
    if source.dtype != operand.dtype:  # not supported by a single operation
        return staged_inline(block, lambda source, operand: [scatter_by_places(
            source, operand, select_prim, Window.undilated(**window))], source, operand)[0]
    inner = block.region(isolated=True)
    pair = [inner.argument(Type((), operand.dtype)) for _ in range(2)]
    inner.end(inner.compare(select_prim.name.upper(), *pair))
    zero = block.constant(0, Type((), source.dtype))
    return _scattered(block, out, operand, source, zero, (pair, inner),
                      combining(block, "add", source.dtype), **window)


@rule("select_and_scatter")
def _select_and_scatter(block: Block, out: Type, operand: Value, source: Value, start: Value, *,
                        select_jaxpr, select_consts, scatter_jaxpr, scatter_consts, **window):
    return _scattered(block, out, operand, source, start,
                      region_of(block, ClosedJaxpr(select_jaxpr, select_consts)),
                      region_of(block, ClosedJaxpr(scatter_jaxpr, scatter_consts)), **window)


def _scattered(block: Block, out: Type, operand: Value, source: Value, start: Value,
               select: Region, scatter: Region, *, window_dimensions, window_strides,
               padding) -> Value:
    if not prod(source.shape) or not prod(out.shape):
        return block.broadcast(start, out.shape)
    return block.generic("select_and_scatter", [operand, source, start], [out], {
        "window_dimensions": block.integers(window_dimensions),
        "window_strides": block.integers(window_strides), "padding": block.pairs(padding)},
        [select, scatter])[0]


# -- running ones ----------------------------------------------------------------------------------


def _running(combine):
    def expand(x, *, axis, reverse):
        dtype = accumulator(x.dtype)
        wide = x if dtype == x.dtype else convert(x, dtype)
        (out,) = scan_associatively(lambda a, b: (combine(*a, *b),), (wide,), axis, reverse)
        return out if dtype == x.dtype else convert(out, x.dtype)
    return expand


for _name, _combine in (("cumsum", add), ("cumprod", mul), ("cummax", max), ("cummin", min),
                        ("cumlogsumexp", log_add_exp)):
    expansion(_name)(_running(_combine))
