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
_STEP = 4
"""Entries that are added up at a time. AVX-512 would load eight by a gather instruction: rows of 3
entries then take 3.2 times as long, of 10 twice, of 30 1.9 times (Cascade Lake). Without that
instruction, in C, they take 1.33, 1.1 and, for rows of 100 entries, 0.96 of the time."""
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
        """The sum over the entries of a row, one after another.

        A row that would end past the last entry ends there. That case has a separate loop: a bound
        that is the minimum of two numbers is known later, and rows of 3 entries wait for the bound
        (0.88 of the time, Cascade Lake).
        """
        n = indptr.ndim - 1
        lead, row, rest = at[:n], at[n], at[n + 1:]
        start, stop = _ends(indptr, lead, row)
        count = data.shape[-1]

        def added(stop):
            return _one_by_one(start, stop, lead, rest, data, indices, rhs)
        total = build.select(stop <= count, added(stop), added(build.const(count)))
        return build.convert(total, data.dtype)


def _one_by_one(start, stop, lead, rest, data, indices, rhs):
    """The sum over the entries at some positions."""
    zero = build.const(0, accumulator(data.dtype))
    size = rhs.shape[len(lead)]

    def step(state):
        k, total = state
        column = _position(indices[(*lead, k)])
        value = build.convert(data[(*lead, k)], zero.dtype)
        found = build.convert(rhs[(*lead, column, *rest)], zero.dtype)
        return k + 1, total + build.select(column < size, value * found, zero)
    return build.while_loop((start, zero), lambda s: s[0] < stop, step)[1]


def _in_steps(start, limit, stop, lead, data, indices, rhs):
    """The sum over the entries at some positions, in steps that begin before ``limit``.

    Each lane of a vector adds up one entry of each step. A step reads all its entries, also those
    from ``stop`` on, and drops these: processors predict the number of steps of a row better than
    its number of entries. Rows of 3 entries on average take 0.58 of the time of a loop over single
    ones, rows of 10 take 0.7 to 0.8 and rows of 30 take 0.92 (Cascade Lake).
    """
    zero = build.const(0, accumulator(data.dtype))
    size = rhs.shape[-1]
    narrow = np.dtype(np.int32 if data.shape[-1] < 1 << 31 else np.int64)

    def in_lane(lane):
        def step(state):
            k, total = state
            column = _unsigned(indices[(*lead, k + lane)])
            value = build.convert(data[(*lead, k + lane)], zero.dtype)
            existing = build.as_index(build.op("min", column, size - 1))
            product = value * build.convert(rhs[(*lead, existing)], zero.dtype)
            left = build.convert(stop - k, narrow)
            is_term = (column < size) & (build.convert(lane, narrow) < left)
            return k + _STEP, total + build.op("keep", is_term, product)
        return build.while_loop((start, zero), lambda s: s[0] < limit, step)[1]
    return build.reduce("add", _STEP, lambda lane: in_lane(*lane))


def _ends(indptr, lead, row):
    """The positions of the first entry of a row and of the first one after it."""
    return _position(indptr[(*lead, row)]), _position(indptr[(*lead, row + 1)])


def _unsigned(number):
    """An unsigned index: negative ones become large, hence out of range."""
    return build.convert(number, np.dtype(f"uint{8 * max(number.dtype.itemsize, 4)}"))


def _position(number):
    """The same as int64, and provably not negative."""
    number = _unsigned(number)
    return build.as_index(build.op("min", number, _FAR) if number.dtype.itemsize == 8 else number)


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
        data, *_, rhs = operands
        has_steps = data.shape[-1] >= _STEP and 0 < rhs.shape[-1] < 1 << 32
        of_row = self.in_steps if has_steps else self.element

        def nest(blocks: int, size: int, first: int):
            def block(k):
                def store(i):
                    at = (*k[:-1], first + k[-1] * size + i[0])
                    return [build.store(out, at, of_row(at, *operands))]
                return [build.nest(size, store, sequential=True)]
            return build.nest((*lead, blocks), block)
        blocks, left = divmod(rows, _BLOCK)
        whole = [nest(blocks, _BLOCK, 0)] if blocks else []
        return whole + ([nest(1, left, rows - left)] if left else [])

    def in_steps(self, at, data, indices, indptr, rhs):
        """The sum over the entries of a row, several at a time.

        Steps read no entry after the last one of the matrix. The row that ends there adds up what
        its steps leave one by one.
        """
        *lead, row = at
        start, stop = _ends(indptr, lead, row)
        count = data.shape[-1]
        limit = count - (_STEP - 1)

        def at_end():
            stepped = start + build.op("max", count - start, 0) // _STEP * _STEP
            end = build.op("min", stop, count)
            return (_in_steps(start, build.const(limit), end, lead, data, indices, rhs)
                    + _one_by_one(stepped, end, lead, (), data, indices, rhs))
        total = build.select(stop <= limit, _in_steps(start, stop, stop, lead, data, indices, rhs),
                             at_end())
        return build.convert(total, data.dtype)


class CsrMatmat(_RowsProduct):
    """A matrix in compressed rows times a matrix."""

    name = "csr_matmat"
    kind = Kind.REDUCTION
    rank = 2

    def lower(self, at, *operands):
        return self.element(at, *operands)


csr_matvec_p, csr_matmat_p = CsrMatvec(), CsrMatmat()
