"""Ways to write ``batch`` rules: moving the batch axis and giving one to operands without."""

from __future__ import annotations

from .._core.types import typeof
from .layout import broadcast_in_dim, transpose

__all__ = ["batch_size", "batch_together", "materialize", "move_axis", "to_front"]


def move_axis(x, source: int, destination: int):
    """Move one axis, keeping the order of the others."""
    if source == destination:
        return x
    order = [i for i in range(typeof(x).ndim) if i != source]
    order.insert(destination, source)
    return transpose(x, order)


def to_front(x, dim: int | None):
    """The operand with its batch axis first; as it is where it has none."""
    return x if dim is None else move_axis(x, dim, 0)


def batch_size(args, dims) -> int:
    """The size of the batch axis."""
    return next(typeof(x).shape[d] for x, d in zip(args, dims) if d is not None)


def materialize(x, dim: int | None, size: int, position: int = 0):
    """The operand with a batch axis at ``position``, repeated along it where it had none."""
    if dim is not None:
        return move_axis(x, dim, position)
    shape = list(typeof(x).shape)
    shape.insert(position, size)
    return broadcast_in_dim(x, shape, [i for i in range(len(shape)) if i != position])


def batch_together(args, dims):
    """All operands with a batch axis at one position, and that position."""
    position = next(d for d in dims if d is not None)
    size = batch_size(args, dims)
    return [materialize(x, d, size, position) for x, d in zip(args, dims)], position
