"""Gathers and scatters: windows of an array at computed places."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..._core.jaxpr import ClosedJaxpr
from ..._ops.compressed import csr_matvec_p
from ..._ops.gather_geometry import GatherScatterMode, geometry
from ..._ops.gather_scatter import fill_of, window_of
from .block import Block, Type, Value
from .elementwise import by_elements
from .layout import as_index
from .reductions import Region, combining, region_of
from .rules import rule
from .text import listed

__all__: list[str] = []


@rule("gather")
def _gather(block: Block, out: Type, x: Value, indices: Value, *, dimension_numbers, slice_sizes,
            indices_are_sorted, mode, fill_value, **_):
    fill = fill_of(mode, fill_value, x.dtype)
    if not prod(out.shape) or not prod(x.shape):
        return block.constant(0 if fill is None else fill, out)
    geo = geometry(x.shape, indices.shape, dimension_numbers, slice_sizes)
    places = as_index(block, indices)
    offset, collapsed, start_map, batching, index_batching = dimension_numbers
    numbers = _numbers("gather", places.ndim - 1, offset_dims=offset,
                       collapsed_slice_dims=collapsed, operand_batching_dims=batching,
                       start_indices_batching_dims=index_batching, start_index_map=start_map)
    (found,) = block.generic("gather", [x, places], [out], {
        "dimension_numbers": numbers, "indices_are_sorted": str(indices_are_sorted).lower(),
        "slice_sizes": block.integers(slice_sizes)})
    if fill is None:
        return found  # StableHLO moves windows inside
    inside = _inside(block, places, geo.room)
    mask = block.broadcast(inside, out.shape, geo.batch_dims)
    return block.select(mask, found, block.constant(fill, out))


def _numbers(name: str, index_vector_dim: int, **dimensions: Sequence[int]) -> str:
    """Dimension numbers as an attribute; empty lists are omitted."""
    parts = [f"{key} = {listed(value)}" for key, value in dimensions.items() if value]
    return f"#stablehlo.{name}<{', '.join([*parts, f'index_vector_dim = {index_vector_dim}'])}>"


def _inside(block: Block, places: Value, room: np.ndarray) -> Value:
    """For each index, whether its window is inside of the operand."""
    least = block.constant(0, places.type)
    valid = block.same("and", block.compare("GE", places, least),
                       block.compare("LE", places, block.constant(room, places.type)))
    yes, out = block.constant(True, Type((), valid.dtype)), Type(valid.shape[:-1], valid.dtype)
    return block.write(
        f"stablehlo.reduce({valid} init: {yes}) applies stablehlo.and across dimensions = "
        f"[{valid.ndim - 1}] : ({valid.type}, {yes.type}) -> {out}", out)[0]


# -- scatters --------------------------------------------------------------------------------------


def _scatter(reducer: str | None):
    def write(block: Block, out: Type, x: Value, indices: Value, updates: Value, *,
              dimension_numbers, update_jaxpr, update_consts, unique_indices,
              indices_are_sorted, mode):
        if not prod(updates.shape) or not prod(x.shape):
            return x
        geo, _ = window_of(x.shape, indices.shape, updates.shape, dimension_numbers)
        places = as_index(block, indices)
        if mode is GatherScatterMode.CLIP:
            places = block.same("clamp", block.constant(0, places.type), places,
                                block.constant(geo.room, places.type))
        window, inserted, start_map, batching, index_batching = dimension_numbers
        numbers = _numbers("scatter", places.ndim - 1, update_window_dims=window,
                           inserted_window_dims=inserted, input_batching_dims=batching,
                           scatter_indices_batching_dims=index_batching,
                           scatter_dims_to_operand_dims=start_map)
        return block.generic("scatter", [x, places, updates], [out], {
            "scatter_dimension_numbers": numbers,
            "indices_are_sorted": str(indices_are_sorted).lower(),
            "unique_indices": str(unique_indices).lower()},
            [_update(block, reducer, x.dtype, update_jaxpr, update_consts)])[0]
    return write


def _update(block: Block, reducer: str | None, dtype: np.dtype, jaxpr, consts) -> Region:
    """The region that computes an element from the stored one and an update."""
    if reducer is not None:
        return combining(block, reducer, dtype)
    if jaxpr is not None:
        return region_of(block, ClosedJaxpr(jaxpr, consts))
    inner = block.region(isolated=True)
    pair = [inner.argument(Type((), dtype)) for _ in range(2)]
    inner.end(pair[1])
    return pair, inner


for _name, _reducer in (("scatter", None), ("scatter-add", "add"), ("scatter-sub", "sub"),
                        ("scatter-mul", "mul"), ("scatter-min", "min"), ("scatter-max", "max")):
    rule(_name)(_scatter(_reducer))


# -- sparse matrices -------------------------------------------------------------------------------


@rule("csr_matvec")
def _csr_matvec(block: Block, out: Type, *operands: Value):
    """Row by row: the elements of all rows are summed in one loop."""
    return by_elements(block, csr_matvec_p.element, [out], operands, {})[0]
