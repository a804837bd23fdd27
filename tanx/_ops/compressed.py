"""Products of matrices in compressed row storage; each row is a loop over its entries."""

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
"""The least number of rows for a thread."""
_SEVERAL = 8
"""Partial sums of long rows: within one sum, each addition waits for the one before it."""
_LONG = 48
"""Rows with fewer entries on average use one sum: the processor overlaps it with the next row.
Compared with one sum, several take 0.79 of the time for rows of 100 entries, 0.97 for 50, 1.12 for
30 and 1.3 for 10, of varying lengths (Cascade Lake). Products with matrices overlap columns."""
_FAR = 1 << 62


class _RowsProduct(Primitive):
    """A matrix in compressed rows times a dense one.

    Operands are the entries, their columns, the start of each row's entries, and the dense array;
    all have the same batch dimensions in front. Columns out of range are ignored.
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
                f"tanx.experimental.sparse.{self.name}", "shapes of the operands do not match.",
                f"data: {data}", f"indices: {indices}", f"indptr: {indptr}", f"array: {rhs}"))
        return ShapedArray((*indptr.shape[:n], indptr.shape[n] - 1, *rhs.shape[n + 1:]), data.dtype)

    def eval(self, data, indices, indptr, rhs):
        n = indptr.ndim - 1
        shape = (*indptr.shape[:n], indptr.shape[n] - 1, *rhs.shape[n + 1:])
        out = np.zeros(shape, accumulator(data.dtype))
        for b in np.ndindex(indptr.shape[:n]):
            starts, stops = (np.where(p < 0, _FAR, p) for p in (
                indptr[b][:-1].astype(np.int64), indptr[b][1:].astype(np.int64)))
            counts = np.maximum(np.minimum(stops, data.shape[-1]) - starts, 0)
            lines = np.repeat(np.arange(shape[n]), counts)
            entries = np.arange(len(lines)) + np.repeat(starts - np.cumsum(counts) + counts, counts)
            places = indices[b][entries]
            inside = (places >= 0) & (places < rhs.shape[n])
            values = np.asarray(data[b][entries], out.dtype)[inside]
            found = np.asarray(rhs[b], out.dtype)[places[inside]]
            np.add.at(out[b], lines[inside], (values.T * found.T).T)
        return out.astype(data.dtype)

    jvp = never("its callers define its derivative, with gather and scatter")
    transpose = never("its callers define its derivative, with gather and scatter")

    def batch(self, args, dims):
        size = batch_size(args, dims)
        return self.bind(*(materialize(x, d, size) for x, d in zip(args, dims))), 0

    def element(self, at, data, indices, indptr, rhs):
        """The sum over the entries of a row; with a vector, several partial sums if rows are long.

        A row that would end past the last entry ends there. That case has a separate loop: a bound
        that is the minimum of two numbers is known later, and rows of 3 entries wait for the bound
        (0.88 of the time, Cascade Lake).
        """
        n = indptr.ndim - 1
        lead, row, rest = at[:n], at[n], at[n + 1:]
        zero = build.const(0, accumulator(data.dtype))
        start, stop = (_position(indptr[(*lead, i)]) for i in (row, row + 1))
        count = data.shape[-1]

        def term(k):
            column = _position(indices[(*lead, k)])
            value = build.convert(data[(*lead, k)], zero.dtype)
            found = build.convert(rhs[(*lead, column, *rest)], zero.dtype)
            return build.select(column < rhs.shape[n], value * found, zero)

        def several(state):
            k, total = state
            terms = [term(k + j) for j in range(_SEVERAL)]
            while len(terms) > 1:
                terms = [a + b for a, b in zip(terms[::2], terms[1::2])]
            return k + _SEVERAL, total + terms[0]

        def added(stop):
            state: tuple = start, zero
            if not rest and count >= _LONG * max(indptr.shape[n] - 1, 1):
                k, total = build.while_loop(state, lambda s: s[0] < stop - (_SEVERAL - 1), several)
                state = build.op("max", k, 0), total  # k >= 0: this proves that the loop ends
            return build.while_loop(state, lambda s: s[0] < stop, lambda s: (
                s[0] + 1, s[1] + term(s[0])))[1]
        total = build.select(stop <= count, added(stop), added(build.const(count)))
        return build.convert(total, data.dtype)


def _position(number):
    """An unsigned index: negative ones become large, hence out of range."""
    bits = 8 * max(number.dtype.itemsize, 4)
    if bits == 64:
        return build.select(number >= 0, build.as_index(number), build.const(_FAR))
    return build.as_index(build.convert(number, np.dtype(f"uint{bits}")))


class CsrMatvec(_RowsProduct):
    """A matrix in compressed rows times a vector."""

    name = "csr_matvec"
    kind = Kind.STATEMENT
    rank = 1

    def lower(self, into, *operands):
        """Blocks of rows may run in threads; the rows of a block run one after another.

        Rows in vector lanes would read entries from as many places: twice the time, for rows of 3
        or of 100 entries (AVX-512). The inner nest keeps blocks out of lanes, too.
        Rows that do not fill a block have a separate nest: a test at each row whether it exists
        takes as long as a third of an entry (Neoverse N1).
        """
        (out,) = into
        *lead, rows = out.shape

        def nest(blocks: int, size: int, first: int):
            def block(k):
                def store(i):
                    at = (*k[:-1], first + k[-1] * size + i[0])
                    return [build.store(out, at, self.element(at, *operands))]
                return [build.nest(size, store, sequential=True)]
            return build.nest((*lead, blocks), block)
        blocks, left = divmod(rows, _BLOCK)
        whole = [nest(blocks, _BLOCK, 0)] if blocks else []
        return whole + ([nest(1, left, rows - left)] if left else [])


class CsrMatmat(_RowsProduct):
    """A matrix in compressed rows times a matrix."""

    name = "csr_matmat"
    kind = Kind.REDUCTION
    rank = 2

    def lower(self, at, *operands):
        return self.element(at, *operands)


csr_matvec_p, csr_matmat_p = CsrMatvec(), CsrMatmat()
