"""Products of matrices that are stored by compressed rows, each row a loop over its entries."""

from __future__ import annotations

import numpy as np

from .._core.linear import never
from .._core.primitive import Kind, Primitive
from .._core.types import ShapedArray
from .._loops import build
from ..errors import explain
from .base import batch_size, materialize
from .operands import INEXACT, INT, accumulator, letter

__all__ = ["csr_matmat_p", "csr_matvec_p"]

_BLOCK = 64


class _RowsProduct(Primitive):
    """A matrix by compressed rows times a dense one.

    Operands are the entries, their columns, where the entries of each row begin, and the dense
    array; all have the same batch dimensions in front. Columns out of range count for nothing.
    """

    rank: int  # of the dense array, without batch dimensions

    def infer(self, data, indices, indptr, rhs):
        n = indptr.ndim - 1
        fits = (data.shape == indices.shape and data.ndim == n + 1 and rhs.ndim == n + self.rank
                and data.shape[:n] == rhs.shape[:n] == indptr.shape[:n] and indptr.shape[n] > 0)
        integers = letter(indices.dtype) in INT and letter(indptr.dtype) in INT
        if not fits or not integers or data.dtype != rhs.dtype or letter(
                data.dtype) not in INEXACT | INT:
            raise TypeError(explain(
                f"tanx.experimental.sparse.{self.name}", "operands do not go together.",
                f"data: {data}", f"indices: {indices}", f"indptr: {indptr}", f"array: {rhs}"))
        return ShapedArray((*indptr.shape[:n], indptr.shape[n] - 1, *rhs.shape[n + 1:]), data.dtype)

    def eval(self, data, indices, indptr, rhs):
        n = indptr.ndim - 1
        shape = (*indptr.shape[:n], indptr.shape[n] - 1, *rhs.shape[n + 1:])
        out = np.zeros(shape, accumulator(data.dtype))
        for b in np.ndindex(indptr.shape[:n]):
            counts = np.diff(np.clip(indptr[b], 0, data.shape[-1]).astype(np.int64))
            first = int(np.clip(indptr[b][0], 0, data.shape[-1]))
            lines = np.repeat(np.arange(shape[n]), np.maximum(counts, 0))
            entries = slice(first, first + len(lines))
            places = indices[b][entries]
            inside = (places >= 0) & (places < rhs.shape[n])
            values = np.asarray(data[b][entries], out.dtype)[inside]
            found = np.asarray(rhs[b], out.dtype)[places[inside]]
            np.add.at(out[b], lines[inside], (values.T * found.T).T)
        return out.astype(data.dtype)

    jvp = never("its derivative is written with gather and scatter, where it is called")
    transpose = never("its derivative is written with gather and scatter, where it is called")

    def batch(self, args, dims):
        size = batch_size(args, dims)
        return self.bind(*(materialize(x, d, size) for x, d in zip(args, dims))), 0

    def element(self, at, data, indices, indptr, rhs):
        """The sum over the entries of a row."""
        n = indptr.ndim - 1
        lead, row, rest = at[:n], at[n], at[n + 1:]
        dtype = accumulator(data.dtype)
        nothing = build.const(0, rhs.dtype)

        def end(i):
            bound = build.as_index(indptr[(*lead, i)])
            return build.op("min", build.op("max", bound, 0), data.shape[-1])
        stop = end(row + 1)

        def step(state):
            k, total = state
            column = indices[(*lead, k)]
            if column.dtype.itemsize <= 4:  # negative numbers are large ones then: one comparison
                column = build.convert(column, np.dtype(f"uint{8 * column.dtype.itemsize}"))
            column = build.as_index(column)
            found = build.load_guarded(rhs, (*lead, column, *rest), nothing)
            term = build.convert(data[(*lead, k)], dtype) * build.convert(found, dtype)
            return k + 1, total + term
        _, total = build.while_loop((end(row), build.const(0, dtype)),
                                    lambda state: state[0] < stop, step)
        return build.convert(total, data.dtype)


class CsrMatvec(_RowsProduct):
    """A matrix by compressed rows times a vector."""

    name = "csr_matvec"
    kind = Kind.STATEMENT
    rank = 1

    def lower(self, into, *operands):
        """Blocks of rows may go to threads; rows of a block one after the other.

        Rows in the lanes of a vector would read entries from as many places: twice the time, for
        rows of ten entries (AVX-512).
        """
        (out,) = into
        *lead, rows = out.shape

        def store(k):
            at = (*k[:-2], k[-2] * _BLOCK + k[-1])
            return [build.store(out, at, self.element(at, *operands), guard=at[-1] < rows)]
        return [build.nest((*lead, -(-rows // _BLOCK), _BLOCK), store,
                           sequential=(*[False] * len(lead), False, True))]


class CsrMatmat(_RowsProduct):
    """A matrix by compressed rows times a matrix."""

    name = "csr_matmat"
    kind = Kind.REDUCTION
    rank = 2

    def lower(self, at, *operands):
        return self.element(at, *operands)


csr_matvec_p, csr_matmat_p = CsrMatvec(), CsrMatmat()
