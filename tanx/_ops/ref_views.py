"""Views of references: the same elements in another shape, order, dtype or memory space.

A view is an entry of the transforms that lead from a reference to the accessed part, like
:class:`~tanx._ops.ref_index.NDIndexer`, with the same methods. Views are known while tracing, so
they are pytrees without leaves.
"""

from __future__ import annotations

import dataclasses
from math import prod
from typing import Any

import numpy as np

from .. import dtypes
from .._core.refs import AbstractRef
from ..errors import explain
from ..tree_util import register_pytree_node
from .base import reshape, transpose
from .convert import bitcast_convert_type

__all__ = ["BitcastTransform", "MemorySpaceCast", "ReshapeTransform", "TransposeTransform"]


class _View:
    """The methods of views; see those of ``NDIndexer``."""

    int_indexer_shape: tuple[int, ...] = ()

    def part_type(self, aval):
        raise NotImplementedError(f"{type(self).__name__}.part_type")

    def taken(self, value):
        raise NotImplementedError(f"{type(self).__name__}.taken")

    def replaced(self, value, new):
        raise NotImplementedError(f"{type(self).__name__}.replaced")

    def __init_subclass__(cls):
        register_pytree_node(cls, lambda view: ((), view), lambda view, _: view)


@dataclasses.dataclass(frozen=True)
class ReshapeTransform(_View):
    """The elements in another shape, in row-major order."""

    shape: tuple[int, ...]

    @classmethod
    def of(cls, ref: AbstractRef, shape: tuple) -> ReshapeTransform:
        """The view for ``ref.reshape(*shape)``."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        sizes = tuple(map(int, sizes))
        rest = prod(n for n in sizes if n != -1)
        if sizes.count(-1) == 1 and rest and ref.size % rest == 0:
            sizes = tuple(ref.size // rest if n == -1 else n for n in sizes)
        if prod(sizes) != ref.size or min(sizes, default=0) < 0:
            raise ValueError(explain(
                "tanx.ref: reshape", "the new shape must have the same number of elements.",
                f"reference: {ref}", f"shape:     {shape}"))
        return cls(sizes)

    def part_type(self, aval):
        return aval.update(shape=self.shape)

    def taken(self, value):
        return reshape(value, self.shape)

    def replaced(self, value, new):
        return reshape(new, value.shape)

    def text(self, show) -> str:
        return f"{{reshape({list(self.shape)})}}"


@dataclasses.dataclass(frozen=True)
class TransposeTransform(_View):
    """The dimensions in another order."""

    permutation: tuple[int, ...]

    @classmethod
    def of(cls, ref: AbstractRef, permutation) -> TransposeTransform:
        """The view for ``ref.transpose(permutation)``."""
        order = tuple(map(int, permutation))
        if sorted(order) != list(range(ref.ndim)):
            raise ValueError(explain(
                "tanx.ref: transpose", "needs every dimension once.", f"reference:   {ref}",
                f"permutation: {order}"))
        return cls(order)

    def part_type(self, aval):
        return aval.update(shape=tuple(aval.shape[d] for d in self.permutation))

    def taken(self, value):
        return transpose(value, self.permutation)

    def replaced(self, value, new):
        return transpose(new, tuple(int(d) for d in np.argsort(self.permutation)))

    def text(self, show) -> str:
        return f"{{transpose({list(self.permutation)})}}"


@dataclasses.dataclass(frozen=True)
class BitcastTransform(_View):
    """The bits of the elements as another dtype of the same width."""

    dtype: Any

    @classmethod
    def of(cls, ref: AbstractRef, dtype) -> BitcastTransform:
        """The view for ``ref.bitcast(dtype)``."""
        new = dtypes.canonicalize_dtype(dtype)
        if new.itemsize != ref.dtype.itemsize or bool in (new, ref.dtype):
            raise NotImplementedError(explain(
                "tanx.ref: bitcast", "takes a dtype of the same width.", f"reference: {ref}",
                f"dtype:     {new}"))
        return cls(new)

    def part_type(self, aval):
        return aval.update(dtype=self.dtype)

    def taken(self, value):
        return bitcast_convert_type(value, self.dtype)

    def replaced(self, value, new):
        return bitcast_convert_type(new, value.dtype)

    def text(self, show) -> str:
        return f"{{bitcast({self.dtype})}}"


@dataclasses.dataclass(frozen=True)
class MemorySpaceCast(_View):
    """The reference in another memory space; there is only one, so only the name changes."""

    memory_space: Any

    def part_type(self, aval):
        return aval

    def taken(self, value):
        return value

    def replaced(self, value, new):
        return new

    def text(self, show) -> str:
        return f"{{memory_space_cast({self.memory_space})}}"
