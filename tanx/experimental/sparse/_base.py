"""The base class of sparse arrays of all formats."""

from __future__ import annotations

from math import prod
from typing import Any, Self

from ... import numpy as jnp
from ..._api.batching import vmap
from ...errors import explain

__all__ = ["JAXSparse", "over_batch"]


class JAXSparse:
    """The base class of sparse arrays. Operators work as they do on dense arrays."""

    data: Any
    shape: Any
    nse: Any = None  # the number of elements stored in each batch
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000

    def __init__(self, args, *, shape):
        self.shape = tuple(shape)

    @property
    def dtype(self):
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def T(self):
        return self.transpose()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(explain("len", "a sparse array of rank 0 has no length."))
        return self.shape[0]

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            more = "".join(f", {count}={getattr(self, count)}" for count in ("n_batch", "n_dense")
                           if getattr(self, count, 0))
            return f"{name}({self.dtype}{list(self.shape)}, nse={self.nse}{more})"
        except Exception:
            return f"<{name}>"  # placeholders of transformations have no shape

    def block_until_ready(self):
        """Wait until the stored arrays have been computed; returns the array itself."""
        for child in self.tree_flatten()[0]:
            child.block_until_ready()
        return self

    def tree_flatten(self):
        raise NotImplementedError(f"{type(self).__name__}.tree_flatten")

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        raise NotImplementedError(f"{cls.__name__}.tree_unflatten")

    def replaced(self, data) -> Self:
        """An array with the same indices and other entries."""
        children, aux = self.tree_flatten()
        return type(self).tree_unflatten(aux, (data, *children[1:]))

    def transpose(self, axes=None):
        raise NotImplementedError(f"{type(self).__name__}.transpose")

    def todense(self):
        raise NotImplementedError(f"{type(self).__name__}.todense")

    def sum(self, *args, **kwargs):
        """The sum of all elements, or along axes."""
        return self._apply(lambda x: jnp.sum(x, *args, **kwargs), self)

    @staticmethod
    def _apply(fun, *args):
        """Apply a function of dense arrays to sparse ones."""
        from .transform import sparsify
        return sparsify(fun)(*args)

    def __neg__(self):
        return self._apply(jnp.negative, self)

    def __abs__(self):
        return self._apply(jnp.abs, self)

    def __matmul__(self, other):
        return self._apply(jnp.matmul, self, other)

    def __rmatmul__(self, other):
        return self._apply(jnp.matmul, other, self)

    def __mul__(self, other):
        return self._apply(jnp.multiply, self, other)

    def __rmul__(self, other):
        return self._apply(jnp.multiply, other, self)

    def __truediv__(self, other):
        return self._apply(jnp.divide, self, other)

    def __add__(self, other):
        return self._apply(jnp.add, self, other)

    def __radd__(self, other):
        return self._apply(jnp.add, other, self)

    def __sub__(self, other):
        return self._apply(jnp.subtract, self, other)

    def __rsub__(self, other):
        return self._apply(jnp.subtract, other, self)

    def __pow__(self, power):
        return self._apply(lambda x: x ** power, self)

    def __getitem__(self, index):
        return self._apply(lambda x: x[index], self)

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def _compared(self, other):
        raise NotImplementedError(explain(
            "a comparison of sparse arrays", "its result would be dense.",
            hint="compare x.todense(), or the stored entries, x.data."))

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def __eq__(self, other):
        return self._compared(other)

    def __ne__(self, other):
        return self._compared(other)


def over_batch(fun, n_batch: int, *arrays):
    """Apply a function of arrays without batch dimensions to each element of a batch."""
    if n_batch:
        lead = jnp.broadcast_shapes(*(x.shape[:n_batch] for x in arrays))
        arrays = tuple(jnp.broadcast_to(x, lead + x.shape[n_batch:]) for x in arrays)
    for _ in range(n_batch):
        fun = vmap(fun)
    return fun(*arrays)
