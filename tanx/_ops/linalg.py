"""Factorisations of matrices that end after a known number of steps: Cholesky, LU, QR.

Matrices are in the last two dimensions, all others are a batch. ``eval`` and compiled code call the
same routines of LAPACK, which ``_loops/lapack.py`` describes; if one fails, as Cholesky's does on a
matrix that is not positive definite, the factors of that matrix are NaN. Derivatives follow
Murray (2016) for Cholesky's factor and Giles (2008) for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .._core.explicit import whole
from .._core.linear import Zero, is_linear, never
from .._core.primitive import Kind, Primitive
from .._core.types import ShapedArray, typeof
from .._loops import build
from .._loops.lapack import Each, Routine, prefix
from .._loops.small.calls import is_small, on_small
from ..errors import explain
from .arith import add, div, mul, neg, sub
from .base import batch_size, materialize
from .batched_matrices import (
    adjoint,
    eye_like,
    matrix_product,
    matrix_type,
    on_diagonal,
    square_type,
    swapped,
    tril,
    triu,
)
from .complex_parts import complex as complex_
from .complex_parts import conj, imag
from .derive import sum_cotangents
from .gather_geometry import GatherDimensionNumbers, GatherScatterMode
from .gather_scatter import gather
from .layout import expand_dims, squeeze
from .operands import letter, like
from .slicing import concatenate, pad, slice_in_dim

__all__ = ["cholesky", "cholesky_p", "geqrf", "geqrf_p", "householder_product",
           "householder_product_p", "lu", "lu_p", "lu_pivots_to_permutation",
           "lu_pivots_to_permutation_p", "qr", "qr_p", "triangular_solve", "triangular_solve_p"]

_INT32 = np.dtype(np.int32)
_BLOCK = 64
"""Rows of workspace for each column, which blocked routines need."""
_MOST_WRITTEN_OUT, _LEAST_SIDES = 16, 256
"""Unknowns at most, and right-hand sides at least, of systems that loops solve."""


# -- shared by factorisations ----------------------------------------------------------------------


class Factorization(Primitive):
    """A primitive that calls routines on each matrix of a batch."""

    kind = Kind.STATEMENT
    transpose = never("factors of matrices are not linear in them")

    def divided(self, *types, **params):
        """The division of the result; batches may be divided, matrices not."""
        for t in types:
            whole(self, [t], range(t.ndim)[-2:], "matrices must not be divided.")
        entries = types[0].entries[:-2]
        return [entries] * len(self.infer(*types, **params)) if self.multiple_results else entries

    def batch(self, args, dims, **params):
        size = batch_size(args, dims)
        outs = self.bind(*(materialize(x, d, size) for x, d in zip(args, dims)), **params)
        return (outs, [0] * len(outs)) if self.multiple_results else (outs, 0)


def in_memory(name: str, x, swap: bool = False) -> tuple[list, build.Buffer]:
    """An operand as a buffer, optionally transposed, and the statements that fill it."""
    if isinstance(x, build.Buffer) and not swap:
        return [], x
    shape = (*x.shape[:-2], x.shape[-1], x.shape[-2]) if swap else x.shape
    buffer = build.temp(name, shape, x.dtype)
    return [store_swapped(buffer, x) if swap else build.copy(buffer, x)], buffer


def store_swapped(into, x):
    """Store transposed matrices."""
    return build.nest(into.shape, lambda k: [build.store(into, k, x[(*k[:-2], k[-1], k[-2])])])


def store_where_done(into, info, element: Callable):
    """Store elements of results; NaN if the routine failed."""
    def stores(k):
        done = build.eq(info[k[:info.ndim]], 0)
        return [build.store(into, k, build.select(done, element(k), _nan(into.dtype)))]
    return build.nest(into.shape, stores)


def nan_where_failed(out: np.ndarray, info: np.ndarray) -> np.ndarray:
    """Results, with NaN for matrices on which the routine failed."""
    out[info != 0] = _nan(out.dtype)
    return out


def _nan(dtype: np.dtype) -> complex:
    """NaN in all parts of a number."""
    return complex(np.nan, np.nan) if letter(dtype) == "c" else np.nan


def by_rows(x: np.ndarray) -> np.ndarray:
    """Transposed matrices in new memory."""
    return np.ascontiguousarray(np.swapaxes(x, -1, -2))


# -- Cholesky --------------------------------------------------------------------------------------


class Cholesky(Factorization):
    """The lower triangular factor of Hermitian matrices, with any values above the diagonal."""

    name = "cholesky"

    def infer(self, x):
        return square_type("cholesky", x).update(weak_type=False)

    def routine(self, x) -> Routine:
        """A lower triangle in row-major order is an upper one in column-major order."""
        *lead, n, _ = x.shape
        return Routine(f"{prefix(x.dtype)}potrf", prod(lead),
                       ("U", n, Each(0, n * n), max(n, 1), Each(1, 1)),
                       ((tuple(x.shape), x.dtype), (tuple(lead), _INT32)), ((0, 0),))

    def eval(self, x):
        return nan_where_failed(*self.routine(x).run(x))

    def jvp(self, primals, tangents):
        (x,), (dx,) = primals, tangents
        factor = tril(self.bind(x))
        inner = triangular_solve(factor, dx, lower=True, transpose_a=True, conjugate_a=True)
        inner = triangular_solve(factor, inner, left_side=True, lower=True)
        half = sub(tril(inner), div(on_diagonal(inner), like(inner, 2)))
        return factor, matrix_product(factor, half)

    def lower(self, into, x):
        filled, x = in_memory("operand", x)
        if is_small(x.dtype, x.shape):
            return [*filled, on_small("cholesky", into, [x])]
        call, (made, info) = self.routine(x).call("made", [x])
        return [*filled, call, store_where_done(into[0], info, lambda k: made[k])]


# -- triangular systems ----------------------------------------------------------------------------


class TriangularSolve(Factorization):
    """Solves ``op(a) x = b`` or ``x op(a) = b`` for triangular matrices."""

    name = "triangular_solve"

    def infer(self, a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
        square_type("triangular_solve", a)
        matrix_type("triangular_solve", b)
        side = -2 if left_side else -1
        if a.dtype != b.dtype or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[side]:
            raise TypeError(explain(
                "tanx.lax.linalg.triangular_solve",
                "a and b must have equal batch dimensions, one dtype and matching sizes.",
                f"a: {a}", f"b: {b}", f"left_side: {left_side}"))
        return b.update(weak_type=False)

    def routine(self, a, b, left_side, lower, transpose_a, conjugate_a, unit_diagonal) -> Routine:
        """In column-major order everything is transposed: the other side, the other triangle."""
        *lead, m, n = b.shape
        size = a.shape[-1]
        return Routine(
            f"{prefix(b.dtype)}trsm", prod(lead),
            ("R" if left_side else "L", "U" if lower else "L",
             "N" if not transpose_a else "C" if conjugate_a else "T",
             "U" if unit_diagonal else "N", n, m, 1.0, Each(1, size * size), max(size, 1),
             Each(0, m * n), max(n, 1)), ((tuple(b.shape), b.dtype),), ((0, 1),))

    def eval(self, a, b, **params):
        return self.routine(a, b, **params).run(a, b)[0]

    def jvp(self, primals, tangents, **params):
        (a, b), (da, db) = primals, tangents
        x = self.bind(a, b, **params)
        if type(da) is not Zero:
            move = neg(_times(_in_triangle(da, **params), x, **params))
            db = sum_cotangents(move, db)
        return x, Zero.tangent_of(x) if type(db) is Zero else self.bind(a, db, **params)

    def transpose(self, ct, a, b, **params):
        assert is_linear(b) and not is_linear(a)
        return [None, triangular_solve(a, ct, **dict(
            params, transpose_a=not params["transpose_a"]))]

    def lower(self, into, a, b, **params):
        filled_a, a = in_memory("a", a)
        filled_b, b = in_memory("b", b)
        real = {name: x for name, x in params.items() if name != "conjugate_a"}
        if is_small(b.dtype, b.shape):
            return [*filled_a, *filled_b, on_small("triangular_solve", into, [a, b], **real)]
        if _is_written_out(a, b, params["left_side"]):
            return [*filled_a, *filled_b, *_written_out(into[0], a, b, **real)]
        call, _ = self.routine(a, b, **params).call("made", [a, b], into)
        return [*filled_a, *filled_b, call]


def _is_written_out(a, b, left_side: bool) -> bool:
    """Whether to solve one small system for many right-hand sides by loops instead of a routine.

    For 100k float32 right-hand sides in rows, 16 unknowns take 3.4 ms instead of 24, and 2 unknowns
    0.12 instead of 1.3; in columns 0.9 instead of 20 (one core of Cascade Lake). The formulas of 16
    unknowns take 0.3 s to compile, and those of 32 would take 1.4.
    """
    count = b.shape[-1 if left_side else -2]
    return a.dtype.char in "fd" and prod(a.shape[:-2]) == 1 and (
        0 < a.shape[-1] <= _MOST_WRITTEN_OUT and count >= _LEAST_SIDES)


def _written_out(into, a, b, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool):
    """Statements that solve a system for each right-hand side, by substitution in registers."""
    *lead, n, _ = a.shape
    first = (build.const(0),) * len(lead)
    turned = transpose_a == left_side  # the triangle to use has its rows in columns of ``a``
    inverses = build.temp("inverses", (n,), a.dtype)

    def element(i: int, k: int):
        return a[(*first, *map(build.const, (k, i) if turned else (i, k)))]

    def each(at):
        def place(i: int):
            return (*first, *((build.const(i), *at) if left_side else (*at, build.const(i))))
        known: dict[int, Any] = {}
        for i in range(n) if lower != turned else reversed(range(n)):
            x = b[place(i)]
            for k, earlier in known.items():
                x = x - element(i, k) * earlier
            known[i] = x if unit_diagonal else x * inverses[build.const(i),]
        return [build.store(into, place(i), x) for i, x in known.items()]
    solve = build.nest((into.shape[-1 if left_side else -2],), each)
    return [solve] if unit_diagonal else [build.nest((n,), lambda k: [
        build.store(inverses, k, 1 / a[(*first, *k, *k)])]), solve]


def _in_triangle(a, lower, unit_diagonal, **params):
    """The triangle of a matrix that is used."""
    return tril(a, unit_diagonal) if lower else triu(a, unit_diagonal)


def _times(a, x, left_side, transpose_a, conjugate_a, **params):
    """``op(a) x``, or ``x op(a)``."""
    a = swapped(a) if transpose_a else a
    a = conj(a) if conjugate_a and letter(typeof(a).dtype) == "c" else a
    return matrix_product(a, x) if left_side else matrix_product(x, a)


# -- LU --------------------------------------------------------------------------------------------


class LU(Factorization):
    """The factors of matrices with their rows permuted, in one matrix; the rows' exchanges."""

    name = "lu"
    multiple_results = True

    def infer(self, x):
        *lead, m, n = matrix_type("lu", x).shape
        return [x.update(weak_type=False), ShapedArray((*lead, min(m, n)), _INT32),
                ShapedArray((*lead, m), _INT32)]

    def routine(self, x) -> Routine:
        *lead, n, m = x.shape
        return Routine(
            f"{prefix(x.dtype)}getrf", prod(lead),
            (m, n, Each(0, m * n), max(m, 1), Each(1, min(m, n)), Each(2, 1)),
            ((tuple(x.shape), x.dtype), ((*lead, min(m, n)), _INT32), (tuple(lead), _INT32)),
            ((0, 0),))

    def eval(self, x):
        x = by_rows(x)
        factors, pivots, _ = self.routine(x).run(x)
        return [by_rows(factors), pivots - 1, _permutation(pivots - 1, x.shape[-1])]

    def jvp(self, primals, tangents):
        """As in Giles, with both factors extended to square matrices by ones on the diagonal."""
        (x,), (dx,) = primals, tangents
        factors, pivots, permutation = self.bind(x)
        *_, m, n = typeof(x).shape
        lower = _squared(tril(factors, strictly=True), m, n, rows=True)
        upper = _squared(triu(factors), m, n, rows=False)
        inner = triangular_solve(lower, permuted(dx, permutation), left_side=True, lower=True,
                                 unit_diagonal=True)
        inner = triangular_solve(upper, inner)
        lower = add(tril(lower, strictly=True), eye_like(lower))
        moved = add(matrix_product(lower, tril(inner, strictly=True)),
                    matrix_product(triu(inner), upper))
        return [factors, pivots, permutation], [
            moved, Zero.tangent_of(pivots), Zero.tangent_of(permutation)]

    def lower(self, into, x):
        factors, pivots, permutation = into
        if is_small(x.dtype, x.shape):
            filled, x = in_memory("operand", x)
            return [*filled, on_small("lu", into, [x])]
        filled, x = in_memory("operand", x, swap=True)
        call, (made, exchanged, _) = self.routine(x).call("made", [x])
        return [*filled, call, store_swapped(factors, made),
                build.nest(pivots.shape, lambda k: [build.store(pivots, k, exchanged[k] - 1)]),
                *lu_pivots_to_permutation_p.lower([permutation], pivots,
                                                  permutation_size=permutation.shape[-1])]


def _squared(x, m: int, n: int, rows: bool):
    """A factor extended to a square matrix; ones fill the rest of the diagonal."""
    size, other, axis = (m, n, typeof(x).ndim - 1) if rows else (n, m, typeof(x).ndim - 2)
    if size <= other:
        return slice_in_dim(x, 0, size, axis=axis)
    beside = [(0, 0, 0)] * typeof(x).ndim
    beside[axis] = (0, size - other, 0)
    x = pad(x, like(x, 0), beside)
    ones = slice_in_dim(eye_like(x), other, size, axis=axis)
    return concatenate([slice_in_dim(x, 0, other, axis=axis), ones], axis)


def permuted(x, permutation):
    """Matrices with their rows in another order: row ``permutation[i]`` in place ``i``."""
    *lead, _, n = typeof(x).shape
    if 0 in typeof(x).shape:
        return x
    batch = tuple(range(len(lead)))
    rank = len(lead)
    numbers = GatherDimensionNumbers(
        offset_dims=(rank + 1,), collapsed_slice_dims=(rank,), start_index_map=(rank,),
        operand_batching_dims=batch, start_indices_batching_dims=batch)
    return gather(x, expand_dims(permutation, (rank + 1,)), numbers, (*(1 for _ in lead), 1, n),
                  mode=GatherScatterMode.PROMISE_IN_BOUNDS)


def _permutation(pivots: np.ndarray, size: int) -> np.ndarray:
    """The order of rows after exchanging row ``i`` with row ``pivots[i]``, in turn."""
    order = np.broadcast_to(np.arange(size, dtype=np.int32), (*pivots.shape[:-1], size)).copy()
    for i in range(pivots.shape[-1]):
        place = pivots[..., i:i + 1].astype(np.intp)
        other = np.take_along_axis(order, place, -1)
        np.put_along_axis(order, place, order[..., i:i + 1], -1)
        order[..., i:i + 1] = other
    return order


class LuPivotsToPermutation(Primitive):
    """The order of rows after exchanges in turn."""

    name = "lu_pivots_to_permutation"
    kind = Kind.STATEMENT
    jvp = never("orders are integers")
    transpose = never("orders are integers")

    def infer(self, pivots, *, permutation_size):
        if letter(pivots.dtype) not in "iu" or pivots.ndim < 1 or (
                pivots.shape[-1] > permutation_size):
            raise ValueError(explain(
                "tanx.lax.linalg.lu_pivots_to_permutation",
                "pivots must be integers, at most one for each row.",
                f"pivots: {pivots}", f"permutation_size: {permutation_size}"))
        return ShapedArray((*pivots.shape[:-1], permutation_size), _INT32)

    def eval(self, pivots, *, permutation_size):
        return _permutation(pivots, permutation_size)

    def batch(self, args, dims, *, permutation_size):
        return self.bind(materialize(args[0], dims[0], 0), permutation_size=permutation_size), 0

    def lower(self, into, pivots, *, permutation_size):
        """Go back through the exchanges to find the origin of each row."""
        count = pivots.shape[-1]

        def source(k):
            def step(back, state):
                (place,), i = state, count - 1 - back[0]
                other = build.as_index(pivots[(*k[:-1], i)])
                return [build.select(build.eq(place, i), other, build.select(
                    build.eq(place, other), i, place))]
            return build.fold([count], [k[-1] + 0], step)[0]
        return [build.nest(into[0].shape, lambda k: [
            build.store(into[0], k, build.convert(source(k), _INT32))])]


# -- QR --------------------------------------------------------------------------------------------


class HouseholderProduct(Factorization):
    """The product of reflections, given by vectors in the columns of ``a`` and factors."""

    name = "householder_product"
    jvp = never("qr is differentiated as a whole")

    def infer(self, a, taus):
        *lead, m, n = matrix_type("householder_product", a).shape
        if m < n or a.dtype != taus.dtype or taus.ndim != a.ndim - 1 or (
                taus.shape[:-1] != tuple(lead) or taus.shape[-1] > n):
            raise ValueError(explain(
                "tanx.lax.linalg.householder_product",
                "a must have no more columns than rows, and a column for each factor.",
                f"a:    {a}", f"taus: {taus}"))
        return a.update(weak_type=False)

    def routine(self, a, taus) -> Routine:
        *lead, n, m = a.shape
        k = taus.shape[-1]
        kind = "orgqr" if letter(a.dtype) == "f" else "ungqr"
        return Routine(
            f"{prefix(a.dtype)}{kind}", prod(lead),
            (m, n, k, Each(0, m * n), max(m, 1), Each(4, k), Each(1, 0), max(n, 1) * _BLOCK,
             Each(2, 1)),
            ((tuple(a.shape), a.dtype), ((max(n, 1) * _BLOCK,), a.dtype), (tuple(lead), _INT32)),
            ((0, 0),))

    def eval(self, a, taus):
        a = by_rows(a)
        return by_rows(self.routine(a, taus).run(a, taus)[0])

    def lower(self, into, a, taus):
        if is_small(a.dtype, a.shape) and taus.shape[-1]:
            filled, a = in_memory("a", a)
            filled_taus, taus = in_memory("taus", taus)
            return [*filled, *filled_taus, on_small("householder_product", into, [a, taus])]
        filled, a = in_memory("a", a, swap=True)
        filled_taus, taus = in_memory("taus", taus)
        call, (made, *_) = self.routine(a, taus).call("made", [a, taus])
        return [*filled, *filled_taus, call, store_swapped(into[0], made)]


class Geqrf(Factorization):
    """The reflections of ``qr``: vectors below the diagonal, R above; and their factors."""

    name = "geqrf"
    multiple_results = True
    jvp = never("qr is differentiated as a whole")

    def infer(self, x):
        *lead, m, n = matrix_type("geqrf", x).shape
        return [x.update(weak_type=False), ShapedArray((*lead, min(m, n)), x.dtype)]

    def eval(self, x):
        x = by_rows(x)
        made, taus, *_ = qr_p.routine(x, False).run(x)
        return [by_rows(made), taus]

    def lower(self, into, x):
        filled, x = in_memory("operand", x, swap=True)
        call, (made, taus, *_) = qr_p.routine(x, False).call("made", [x])
        return [*filled, call, store_swapped(into[0], made), build.copy(into[1], taus)]


class QR(Factorization):
    """An orthogonal and an upper triangular factor; with pivoting, the order of columns too."""

    name = "qr"
    multiple_results = True

    def infer(self, x, *, pivoting, full_matrices, use_magma):
        *lead, m, n = matrix_type("qr", x).shape
        inner = m if full_matrices else min(m, n)
        results = [ShapedArray((*lead, m, inner), x.dtype), ShapedArray((*lead, inner, n), x.dtype)]
        return results + [ShapedArray((*lead, n), _INT32)] * pivoting

    def routine(self, x, pivoting: bool) -> Routine:
        """Vectors of reflections below the diagonal, R above; factors; and the columns' order."""
        *lead, n, m = x.shape
        k, work = min(m, n), (max(n, 1) + 1) * _BLOCK
        outputs: list = [(tuple(x.shape), x.dtype), ((*lead, k), x.dtype), ((work,), x.dtype),
                         (tuple(lead), _INT32)]
        args = [m, n, Each(0, m * n), max(m, 1)]
        tail = [Each(1, k), Each(2, 0), work, Each(3, 1)]
        if not pivoting:
            return Routine(f"{prefix(x.dtype)}geqrf", prod(lead), (*args, *tail), tuple(outputs),
                           ((0, 0),))
        outputs.append(((*lead, n), _INT32))
        if letter(x.dtype) == "c":
            outputs.append(((2 * n,), np.dtype(x.dtype.char.lower())))
            tail.insert(3, Each(5, 0))
        return Routine(f"{prefix(x.dtype)}geqp3", prod(lead), (*args, Each(4, n), *tail),
                       tuple(outputs), ((0, 0), (4, 1)))

    def eval(self, x, *, pivoting, full_matrices, use_magma):
        *lead, m, n = x.shape
        x = by_rows(x)
        free = [np.zeros((*lead, n), np.int32)] * pivoting
        made, taus, _, _, *order = self.routine(x, pivoting).run(x, *free)
        inner, k = m if full_matrices else min(m, n), min(m, n)
        q = np.zeros((*lead, inner, m), x.dtype)
        q[..., :k, :] = made[..., :k, :]
        q = by_rows(householder_product_p.routine(q, taus).run(q, taus)[0])
        r = np.triu(by_rows(made)[..., :inner, :])
        return [q, r, *(columns - 1 for columns in order[:1])]

    def jvp(self, primals, tangents, *, pivoting, full_matrices, use_magma):
        """The derivative of the first columns, at most as many as rows: they determine ``q``.

        Vectors that only complete ``q`` rotate with the others, and not among themselves.
        """
        (x,), (dx,) = primals, tangents
        q, r, *order = self.bind(x, pivoting=pivoting, full_matrices=full_matrices,
                                 use_magma=use_magma)
        if pivoting:
            dx = swapped(permuted(swapped(dx), order[0]))
        *lead, m, n = typeof(x).shape
        k, rank = min(m, n), len(lead)
        own = slice_in_dim(q, 0, k, axis=rank + 1)
        square = slice_in_dim(slice_in_dim(r, 0, k, axis=rank), 0, k, axis=rank + 1)
        moved = triangular_solve(square, slice_in_dim(dx, 0, k, axis=rank + 1))
        inner = matrix_product(adjoint(own), moved)
        below = tril(inner, strictly=True)
        turn = sub(below, adjoint(below))
        if letter(typeof(x).dtype) == "c":  # R has a real diagonal
            angle = imag(on_diagonal(inner))
            turn = add(turn, complex_(mul(angle, like(angle, 0)), angle))
        dq = add(matrix_product(own, sub(turn, inner)), moved)
        dr = matrix_product(sub(inner, turn), square)
        if n > k:
            rest, drest = (slice_in_dim(y, k, n, axis=rank + 1) for y in (r, dx))
            dr = concatenate([dr, sub(matrix_product(adjoint(own), drest),
                                      matrix_product(turn, rest))], rank + 1)
        inside = typeof(q).shape[-1]
        if inside > k:
            others = slice_in_dim(q, k, inside, axis=rank + 1)
            filling = matrix_product(own, matrix_product(adjoint(moved), others))
            dq = concatenate([dq, neg(filling)], rank + 1)
            dr = pad(dr, like(dr, 0), [(0, 0, 0)] * rank + [(0, inside - k, 0), (0, 0, 0)])
        return [q, r, *order], [dq, dr, *(Zero.tangent_of(p) for p in order)]

    def lower(self, into, x, *, pivoting, full_matrices, use_magma):
        q, r = into[:2]
        if is_small(x.dtype, x.shape) and not pivoting:
            filled, x = in_memory("operand", x)
            return [*filled, on_small("qr", into, [x], inner=q.shape[-1])]
        filled, x = in_memory("operand", x, swap=True)
        free = [build.temp("free", (*x.shape[:-2], x.shape[-2]), _INT32)] * pivoting
        filled += [build.nest(b.shape, lambda k, b=b: [build.store(b, k, 0)]) for b in free]
        call, (made, taus, _, _, *order) = self.routine(x, pivoting).call("made", [x, *free])
        vectors = build.temp("vectors", (*q.shape[:-2], q.shape[-1], q.shape[-2]), x.dtype)
        count = taus.shape[-1]
        product, (turned, *_) = householder_product_p.routine(vectors, taus).call(
            "turned", [vectors, taus])
        return [
            *filled, call,
            build.nest(vectors.shape, lambda k: [build.store(vectors, k, build.select(
                k[-2] < count, made[(*k[:-2], build.op("min", k[-2], build.const(
                    max(made.shape[-2] - 1, 0))), k[-1])], 0))] if count else [
                build.store(vectors, k, 0)]),
            product, store_swapped(q, turned),
            build.nest(r.shape, lambda k: [build.store(r, k, build.select(
                k[-2] <= k[-1], made[(*k[:-2], k[-1], k[-2])], 0))]),
            *(build.nest(b.shape, lambda k, b=b: [
                build.store(into[2], k, b[k] - 1)])
              for b in order[:1])]


cholesky_p, triangular_solve_p, lu_p, qr_p = Cholesky(), TriangularSolve(), LU(), QR()
lu_pivots_to_permutation_p = LuPivotsToPermutation()
householder_product_p, geqrf_p = HouseholderProduct(), Geqrf()


# -- functions -------------------------------------------------------------------------------------


def symmetrized(x):
    """The Hermitian part of matrices."""
    return div(add(x, adjoint(x)), like(x, 2))


def cholesky(x, *, symmetrize_input: bool = True):
    """The lower triangular factors ``L`` of positive definite matrices ``x = L @ L.mH``.

    Only the lower triangle of ``x`` is read, of its Hermitian part unless ``symmetrize_input`` is
    False. If a matrix is not positive definite, its factor is NaN.

    >>> lax.linalg.cholesky(jnp.array([[4., 2.], [2., 5.]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    square_type("cholesky", typeof(x))
    return tril(cholesky_p.bind(symmetrized(x) if symmetrize_input else x))


def triangular_solve(a, b, *, left_side: bool = False, lower: bool = False,
                     transpose_a: bool = False, conjugate_a: bool = False,
                     unit_diagonal: bool = False):
    """Solve ``x @ op(a) = b``, or ``op(a) @ x = b`` if ``left_side``, for triangular matrices.

    ``op(a)`` is ``a``, transposed and conjugated as requested; only one triangle of it is read, the
    lower one if ``lower``, and the diagonal is taken as ones if ``unit_diagonal``. ``b`` may be a
    single vector for each matrix.

    >>> a, b = jnp.array([[2., 0.], [1., 4.]]), jnp.array([[2.], [9.]])
    >>> lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    Array([[1.],
           [2.]], dtype=float32)
    """
    is_complex = letter(typeof(a).dtype) == "c"
    if is_complex and conjugate_a and not transpose_a:  # LAPACK has no routine for that
        a, conjugate_a = conj(a), False
    vectors = typeof(b).ndim == typeof(a).ndim - 1
    if vectors:
        b = expand_dims(b, (typeof(b).ndim if left_side else typeof(b).ndim - 1,))
    out = triangular_solve_p.bind(
        a, b, left_side=bool(left_side), lower=bool(lower), transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a) and is_complex, unit_diagonal=bool(unit_diagonal))
    if not vectors:
        return out
    return squeeze(out, (typeof(out).ndim - (1 if left_side else 2),))


def lu(x):
    """The factors of ``x`` with its rows permuted: lower with ones on its diagonal, times upper.

    Three results: both factors in one matrix, the row that each row was exchanged with in turn, and
    the resulting order of rows.

    >>> factors, pivots, order = lax.linalg.lu(jnp.array([[1., 2.], [4., 4.]]))
    >>> factors
    Array([[4.  , 4.  ],
           [0.25, 1.  ]], dtype=float32)
    >>> order
    Array([1, 0], dtype=int32)
    """
    return lu_p.bind(x)


def solve_by_lu(a, b):
    """Solve ``a @ x = b`` for square matrices."""
    factors, _, order = lu_p.bind(a)
    x = triangular_solve(factors, permuted(b, order), left_side=True, lower=True,
                         unit_diagonal=True)
    return triangular_solve(factors, x, left_side=True)


def lu_pivots_to_permutation(pivots, permutation_size: int):
    """The order of rows after exchanging row ``i`` with row ``pivots[i]``, for each ``i`` in turn.

    >>> lax.linalg.lu_pivots_to_permutation(jnp.array([2, 2]), 3)
    Array([2, 0, 1], dtype=int32)
    """
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=int(permutation_size))


def geqrf(a):
    """The reflections that turn a matrix into its triangular factor, and their factors.

    The vectors of the reflections are below the diagonal of the first result, the triangular factor
    on it and above; :func:`householder_product` computes the orthogonal factor from both.

    >>> jnp.abs(lax.linalg.geqrf(jnp.array([[3.], [4.]]))[0][0])
    Array([5.], dtype=float32)
    """
    return tuple(geqrf_p.bind(a))


def householder_product(a, taus):
    """The product of reflections: vectors in the columns of ``a``, factors in ``taus``.

    >>> lax.linalg.householder_product(jnp.array([[1.], [1.]]), jnp.array([1.]))
    Array([[ 0.],
           [-1.]], dtype=float32)
    """
    return householder_product_p.bind(a, taus)


def qr(x, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None):
    """Orthogonal and upper triangular factors of ``x``; with ``pivoting``, the columns' order too.

    With ``full_matrices`` the orthogonal factor is square. ``use_magma`` is for other devices.

    >>> q, r = lax.linalg.qr(jnp.array([[0., 2.], [3., 4.]]))
    >>> jnp.abs(r)
    Array([[3., 4.],
           [0., 2.]], dtype=float32)
    """
    return tuple(qr_p.bind(x, pivoting=bool(pivoting), full_matrices=bool(full_matrices),
                           use_magma=use_magma))
