"""Pytrees as vectors."""

from __future__ import annotations

from .. import dtypes
from .._base.traceback import boundary
from .._core.types import is_arraylike, typeof
from .._ops.base import as_array, reshape
from .._ops.convert import convert
from .._ops.create import full
from .._ops.slicing import concatenate, split
from ..errors import explain
from ..tree_util import tree_flatten, tree_unflatten

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree):
    """All elements of a pytree as one vector, and the function that restores the pytree.

    Leaves are promoted to one dtype; the function restores the dtype of each.

    >>> vector, unravel = ravel_pytree({"a": jnp.ones((2, 2)), "b": 3})
    >>> vector
    Array([1., 1., 1., 1., 3.], dtype=float32)
    >>> unravel(2 * vector)["b"]
    Array(6, dtype=int32)
    """
    leaves, structure = tree_flatten(pytree)
    for leaf in leaves:
        if not is_arraylike(leaf):
            raise TypeError(explain("tanx.flatten_util.ravel_pytree", "leaves must be arrays.",
                                    f"leaf: {leaf!r:.100} of type {type(leaf).__name__}"))
    if not leaves:
        return full((0,), 0.0, dtypes.canonicalize_dtype(float)), _Unravel(structure, [])
    avals = [typeof(leaf) for leaf in leaves]
    dtype, weak = dtypes.result_type(*leaves, return_weak_type_flag=True)
    parts = [convert(reshape(as_array(leaf), (aval.size,)), dtype, weak)
             for leaf, aval in zip(leaves, avals)]
    return concatenate(parts, 0) if len(parts) > 1 else parts[0], _Unravel(structure, avals, dtype)


class _Unravel:
    """Restores a pytree from a vector; equal for equal structures, so that ``jit`` can cache it."""

    def __init__(self, structure, avals, dtype=None):
        self.structure, self.avals, self.dtype = structure, tuple(avals), dtype

    @boundary
    def __call__(self, vector):
        aval = typeof(vector)
        size = sum(a.size for a in self.avals)
        if aval.shape != (size,):
            raise ValueError(explain(
                "tanx.flatten_util.ravel_pytree", "the vector has another size than the pytree.",
                f"vector:   {aval}", f"elements: {size}"))
        if not self.avals:
            return tree_unflatten(self.structure, [])
        same = all(a.dtype == self.dtype for a in self.avals)
        if not same and aval.dtype != self.dtype:
            raise TypeError(explain(
                "tanx.flatten_util.ravel_pytree", "the vector has another dtype than the original.",
                f"vector: {aval}", f"made:   {self.dtype.name}[{size}]",
                hint="use vector.astype(...)."))
        parts = split(vector, [a.size for a in self.avals])
        return tree_unflatten(self.structure, [
            reshape(part if same else convert(part, a.dtype), a.shape)
            for part, a in zip(parts, self.avals)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unravel) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.structure, self.avals))

    def __repr__(self) -> str:
        return f"<unravel into {self.structure}>"
