"""``vmap`` some lanes at a time: a loop over chunks of the batch, so that memory is bounded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._control.loops import scan
from .._core.refs import is_ref
from .._core.types import NUMBERS, ShapeDtypeStruct, is_arraylike, typeof
from .._ops.base import materialize, reshape
from .._ops.convert import optimization_barrier
from .._ops.create import iota
from .._ops.slicing import concatenate, slice_in_dim
from .._runtime.memory import in_words
from .._transforms.vmap import Axis, batch
from ..errors import explain

__all__ = ["Chunks"]

Batch = tuple[list, list]
"""Outputs, and the batch axis of each, or None."""


class Chunks:
    """The number of lanes that run at once: a given number, or as a budget of bytes allows."""

    def __init__(self, size: int | None, budget: int | None, axis_name: Any):
        for name, value in (("chunk_size", size), ("memory_budget", budget)):
            if value is not None and (type(value) is not int or value < 1):
                raise ValueError(explain("tanx.vmap", f"{name} must be a positive int.",
                                         f"{name}: {value!r}"))
        if size is not None and budget is not None:
            raise ValueError(explain(
                "tanx.vmap", "chunk_size and memory_budget exclude each other.",
                f"chunk_size:    {size}", f"memory_budget: {budget}", hint="give one of them."))
        if (size is not None or budget is not None) and axis_name is not None:
            raise ValueError(explain(
                "tanx.vmap", "an axis mapped in chunks cannot have a name: collectives need all "
                "lanes at once.", f"axis_name: {axis_name!r}",
                hint="leave out chunk_size and memory_budget, or reduce outside of vmap."))
        self.size, self.budget = size, budget
        self.known: dict[tuple, int] = {}  # sizes that fit the budget, by types of arguments

    def batch(self, flat: Callable, axis: Axis, leaves: Sequence, dims: Sequence) -> Batch:
        """As ``batch`` of transformations, for which ``flat`` is a function of lists."""
        if self.size is None and self.budget is None:
            return batch(flat, axis, leaves, dims)
        if any(map(is_ref, leaves)):
            raise NotImplementedError(explain(
                "tanx.vmap", "references cannot be mapped in chunks.",
                hint="pass their contents, and return what replaces them."))
        if self.size is None:
            return _run(flat, axis.size, leaves, dims, self._fitting(flat, axis, leaves, dims))
        if self.size >= axis.size:
            return batch(flat, axis, leaves, dims)
        return _run(flat, axis.size, leaves, dims, self.size)

    def _fitting(self, flat: Callable, axis: Axis, leaves: Sequence, dims: Sequence) -> int:
        """The largest chunks found whose intermediate values fit the budget."""
        key = (axis.size, *dims, *(typeof(x) if _is_array(x) else id(x) for x in leaves))
        if key not in self.known:
            self.known[key] = self._search(flat, axis.size, leaves, dims)
        return self.known[key]

    def _search(self, flat: Callable, size: int, leaves: Sequence, dims: Sequence) -> int:
        assert self.budget is not None
        chunk = max(size, 1)
        while True:
            needed = _temporaries(flat, size, leaves, dims, chunk)
            if needed <= self.budget:
                return chunk
            if chunk == 1:
                raise ValueError(explain(
                    "tanx.vmap", "the intermediate values of a single lane exceed the budget.",
                    f"memory_budget: {in_words(self.budget)}", f"one lane:      {in_words(needed)}",
                    hint="tanx.checkpoint and loops such as tanx.lax.map keep fewer of them."))
            # Bytes grow almost linearly with the lanes: few guesses are needed.
            chunk = max(1, min(chunk // 2, chunk * self.budget // needed))


def _is_array(x: Any) -> bool:
    return type(x) not in NUMBERS and is_arraylike(x)


def _temporaries(flat: Callable, size: int, leaves: Sequence, dims: Sequence, chunk: int) -> int:
    """Bytes that a compiled run holds besides its arguments and results."""
    from .jit import jit  # late: it is above
    arrays = [i for i, x in enumerate(leaves) if _is_array(x)]

    def mapped(*values):
        given = list(leaves)
        for i, value in zip(arrays, values):
            given[i] = value
        return _run(flat, size, given, dims, chunk)[0]

    avals = [typeof(leaves[i]) for i in arrays]
    types = [ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in avals]
    return jit(mapped).lower(*types)._program.module.plan.size


def _run(flat: Callable, size: int, leaves: Sequence, dims: Sequence, chunk: int) -> Batch:
    """Run ``flat`` on chunks of the lanes in a loop, and on the remaining lanes after it."""
    places = [i for i, d in enumerate(dims) if d is not None]
    # If nothing is mapped, the numbers of the lanes are mapped instead.
    moved = [materialize(leaves[i], dims[i], size) for i in places] or [iota("int32", size)]
    out_dims: list[int | None] = []

    def some(lanes: Sequence) -> list:
        """The outputs for some lanes; those without a batch axis are unchanged."""
        nonlocal out_dims
        given, width = list(leaves), typeof(lanes[0]).shape[0]
        for i, x in zip(places, lanes):
            given[i] = x
        outs, found = batch(flat, Axis(None, width), given,
                            [None if d is None else 0 for d in dims])
        out_dims = [None if d is None else 0 for d in found]
        return [x if d is None else materialize(x, d, width) for x, d in zip(outs, found)]

    def step(number, lanes):
        # The compiler runs independent steps in parallel, if they are small.
        number, lanes = optimization_barrier((number, lanes))
        return number + 1, some(lanes)

    count, rest = divmod(size, chunk)
    parts = []
    if count:
        whole = [reshape(slice_in_dim(x, 0, count * chunk), (count, chunk, *typeof(x).shape[1:]))
                 for x in moved]
        outs = scan(step, 0, whole)[1]
        parts.append([y[0] if d is None else reshape(y, (count * chunk, *y.shape[2:]))
                      for y, d in zip(outs, out_dims)])
    if rest or not count:
        parts.append(some([slice_in_dim(x, count * chunk, size) for x in moved]))
    outs = parts[0] if len(parts) == 1 else [
        first if d is None else concatenate([first, last], 0)
        for first, last, d in zip(*parts, out_dims)]
    return outs, out_dims
