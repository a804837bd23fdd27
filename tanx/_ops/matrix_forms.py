"""Matrix forms by unitary transformations: Hessenberg, tridiagonal, Schur; and tridiagonal systems.

They are written as in ``linalg.py``. The forms have no derivatives, as in JAX; systems of equations
do.
"""

from __future__ import annotations

from math import prod

import numpy as np

from .._core.linear import Zero, instantiate, is_linear, never
from .._core.types import ShapedArray, typeof
from .._loops import build
from .._loops.lapack import Each, Routine, prefix
from ..errors import explain
from .arith import add, mul, neg
from .base import broadcast_in_dim, reduce_sum
from .batched_matrices import matrix_product, matrix_type, square_type, swapped
from .bisection import bisected, is_bisected
from .complex_parts import real_dtype
from .derive import sum_cotangents
from .eigen import column_signs, gaps, store_signs
from .linalg import (
    Factorization,
    by_rows,
    in_memory,
    nan_where_failed,
    store_swapped,
    store_where_done,
)
from .operands import letter, like
from .slicing import concatenate, pad, slice_in_dim

__all__ = ["hessenberg", "hessenberg_p", "ormqr", "ormqr_p", "schur", "schur_p", "tridiagonal",
           "tridiagonal_p", "tridiagonal_solve", "tridiagonal_solve_p"]

_INT32 = np.dtype(np.int32)
_BLOCK = 64
"""Columns of the blocks for which LAPACK gets memory."""


class Hessenberg(Factorization):
    """The Hessenberg form of matrices, with reflections in place of its zeros."""

    name = "hessenberg"
    multiple_results = True
    jvp = never("the reflections are not unique enough to be differentiated")

    def infer(self, a):
        *lead, n, _ = square_type("hessenberg", a).shape
        return [a.update(weak_type=False), ShapedArray((*lead, max(n - 1, 0)), a.dtype)]

    def routine(self, a) -> Routine:
        *lead, n, _ = a.shape
        work, less = (n + 1) * _BLOCK, max(n - 1, 0)
        return Routine(
            f"{prefix(a.dtype)}gehrd", prod(lead),
            (n, 1, n, Each(0, n * n), max(n, 1), Each(1, less), Each(2, 0), work, Each(3, 1)),
            ((tuple(a.shape), a.dtype), ((*lead, less), a.dtype), ((work,), a.dtype),
             (tuple(lead), _INT32)), ((0, 0),))

    def eval(self, a):
        made, taus, _, info = self.routine(a).run(by_rows(a))
        return [nan_where_failed(by_rows(made), info), nan_where_failed(taus, info)]

    def lower(self, into, a):
        filled, a = in_memory("operand", a, swap=True)
        call, (made, taus, _, info) = self.routine(a).call("made", [a])
        return [*filled, call,
                store_where_done(into[0], info, lambda k: made[(*k[:-2], k[-1], k[-2])]),
                store_where_done(into[1], info, lambda k: taus[k])]


class Tridiagonal(Factorization):
    """The tridiagonal form of Hermitian matrices: with reflections, two diagonals, and factors."""

    name = "tridiagonal"
    multiple_results = True
    jvp = never("the reflections are not unique enough to be differentiated")

    def infer(self, a, *, lower):
        *lead, n, _ = square_type("tridiagonal", a).shape
        less, parts = (*lead, max(n - 1, 0)), real_dtype(a.dtype)
        return [a.update(weak_type=False), ShapedArray((*lead, n), parts),
                ShapedArray(less, parts), ShapedArray(less, a.dtype)]

    def routine(self, a, lower: bool) -> Routine:
        *lead, n, _ = a.shape
        work, less, parts = (n + 1) * _BLOCK, max(n - 1, 0), real_dtype(a.dtype)
        return Routine(
            f"{prefix(a.dtype)}{'he' if letter(a.dtype) == 'c' else 'sy'}trd", prod(lead),
            ("L" if lower else "U", n, Each(0, n * n), max(n, 1), Each(1, n), Each(2, less),
             Each(3, less), Each(4, 0), work, Each(5, 1)),
            ((tuple(a.shape), a.dtype), ((*lead, n), parts), ((*lead, less), parts),
             ((*lead, less), a.dtype), ((work,), a.dtype), (tuple(lead), _INT32)), ((0, 0),))

    def eval(self, a, *, lower):
        made, *vectors, _, info = self.routine(a, lower).run(by_rows(a))
        return [nan_where_failed(x, info) for x in (by_rows(made), *vectors)]

    def lower(self, into, a, *, lower):
        filled, a = in_memory("operand", a, swap=True)
        call, (made, *vectors, _, info) = self.routine(a, lower).call("made", [a])
        return [*filled, call,
                store_where_done(into[0], info, lambda k: made[(*k[:-2], k[-1], k[-2])]),
                *(store_where_done(out, info, lambda k, x=x: x[k])
                  for out, x in zip(into[1:], vectors))]


class Schur(Factorization):
    """The Schur form: upper triangular, or block triangular for real matrices."""

    name = "schur"
    multiple_results = True
    jvp = never("the form is not unique enough to be differentiated")

    def infer(self, x, *, compute_schur_vectors, sort_eig_vals, select_callable):
        return [square_type("schur", x).update(weak_type=False)] * (1 + compute_schur_vectors)

    def routine(self, x, vectors: bool) -> Routine:
        *lead, n, _ = x.shape
        work, is_complex = (n + 1) * _BLOCK, letter(x.dtype) == "c"
        matrix, values = (tuple(x.shape), x.dtype), ((n + 1,), x.dtype)
        return Routine(
            f"{prefix(x.dtype)}gees", prod(lead),
            ("V" if vectors else "N", "N", 0, n, Each(0, n * n), max(n, 1), Each(2, 0), Each(3, 0),
             *[Each(4, 0)] * (not is_complex), Each(1, n * n), max(n, 1), Each(5, 0), work,
             *[Each(6, 0)] * is_complex, Each(2, 0), Each(7, 1)),
            (matrix, matrix, ((n + 1,), _INT32), values, values, ((work,), x.dtype),
             ((n + 1,), real_dtype(x.dtype)), (tuple(lead), _INT32)), ((0, 0),))

    def eval(self, x, *, compute_schur_vectors, sort_eig_vals, select_callable):
        *made, info = self.routine(x, compute_schur_vectors).run(by_rows(x))
        return [nan_where_failed(by_rows(y), info) for y in made[:1 + compute_schur_vectors]]

    def lower(self, into, x, *, compute_schur_vectors, **params):
        filled, x = in_memory("operand", x, swap=True)
        call, (*made, info) = self.routine(x, compute_schur_vectors).call("made", [x])
        return [*filled, call, *(
            store_where_done(out, info, lambda k, y=y: y[(*k[:-2], k[-1], k[-2])])
            for out, y in zip(into, made))]


class Ormqr(Factorization):
    """Products of matrices with the orthogonal matrix of given reflections."""

    name = "ormqr"
    jvp = never("qr is differentiated as a whole")

    def infer(self, a, taus, c, *, left, transpose):
        *lead, m, _ = matrix_type("ormqr", a).shape
        matrix_type("ormqr", c)
        side = c.shape[-2 if left else -1]
        if a.dtype != c.dtype or c.shape[:-2] != tuple(lead) or side != m or (
                taus.shape[:-1] != tuple(lead) or taus.shape[-1] > m):
            raise ValueError(explain(
                "tanx.lax.linalg.ormqr", "batch dimensions and matrix sizes must match.",
                f"a:    {a}", f"taus: {taus}", f"c:    {c}", f"left: {left}"))
        return c.update(weak_type=False)

    def routine(self, a, taus, c, left: bool, transpose: bool) -> Routine:
        *lead, n, m = c.shape
        k, rows, columns = taus.shape[-1], a.shape[-1], a.shape[-2]
        work, is_complex = (m + n + 1) * _BLOCK, letter(c.dtype) == "c"
        return Routine(
            f"{prefix(c.dtype)}{'unmqr' if is_complex else 'ormqr'}", prod(lead),
            ("L" if left else "R", ("C" if is_complex else "T") if transpose else "N", m, n, k,
             Each(3, rows * columns), max(rows, 1), Each(4, k), Each(0, m * n), max(m, 1),
             Each(1, 0), work + 65 * _BLOCK, Each(2, 1)),
            ((tuple(c.shape), c.dtype), ((work + 65 * _BLOCK,), c.dtype), (tuple(lead), _INT32)),
            ((0, 2),))

    def eval(self, a, taus, c, **params):
        a, c = by_rows(a), by_rows(c)
        return by_rows(self.routine(a, taus, c, **params).run(a, taus, c)[0])

    def lower(self, into, a, taus, c, **params):
        filled_a, a = in_memory("a", a, swap=True)
        filled_c, c = in_memory("c", c, swap=True)
        filled, taus = in_memory("taus", taus)
        call, (made, *_) = self.routine(a, taus, c, **params).call("made", [a, taus, c])
        return [*filled_a, *filled_c, *filled, call, store_swapped(into[0], made)]


# -- tridiagonal systems ---------------------------------------------------------------------------


class TridiagonalSolve(Factorization):
    """Solves tridiagonal systems; the first lower and the last upper element are unused."""

    name = "tridiagonal_solve"

    def infer(self, dl, d, du, b, *, perturb_singular):
        matrix_type("tridiagonal_solve", b)
        if any(x.shape != b.shape[:-1] or x.dtype != b.dtype for x in (dl, d, du)):
            raise ValueError(explain(
                "tanx.lax.linalg.tridiagonal_solve",
                "diagonals must have the dtype of b, and its shape without the columns.",
                f"dl: {dl}", f"d:  {d}", f"du: {du}", f"b:  {b}"))
        return b.update(weak_type=False)

    def routine(self, b) -> Routine:
        *lead, k, n = b.shape
        line = ((*lead, n), b.dtype)
        return Routine(
            f"{prefix(b.dtype)}gtsv", prod(lead),
            (n, k, Each(1, n), Each(2, n), Each(3, n), Each(0, k * n), max(n, 1), Each(4, 1)),
            ((tuple(b.shape), b.dtype), line, line, line, (tuple(lead), _INT32)),
            ((0, 3), (1, 0), (2, 1), (3, 2)))

    def eval(self, dl, d, du, b, *, perturb_singular):
        made, *_, info = self.routine(by_rows(b)).run(np.roll(dl, -1, -1), d, du, by_rows(b))
        return nan_where_failed(by_rows(made), info)

    def jvp(self, primals, tangents, **params):
        *diagonals, b = primals
        *moves, db = tangents
        x = self.bind(*diagonals, b, **params)
        if any(type(t) is not Zero for t in moves):
            dl, d, du = map(instantiate, moves)
            db = sum_cotangents(neg(_times(dl, d, du, x)), db)
        return x, Zero.tangent_of(x) if type(db) is Zero else self.bind(*diagonals, db, **params)

    def transpose(self, ct, dl, d, du, b, **params):
        """The transposed system has the outer diagonals exchanged."""
        assert is_linear(b)
        return [None, None, None, self.bind(_later(du), d, _earlier(dl), ct, **params)]

    def lower(self, into, dl, d, du, b, *, perturb_singular):
        filled, b = in_memory("b", b, swap=True)
        n = b.shape[-1]
        shifted = build.temp("shifted", dl.shape, dl.dtype)
        lines = [in_memory(name, x) for name, x in (("d", d), ("du", du))]
        call, (made, *_, info) = self.routine(b).call(
            "made", [shifted, *(line for _, line in lines), b])
        return [*filled, *(s for before, _ in lines for s in before),
                build.nest(shifted.shape, lambda k: [build.store(
                    shifted, k, dl[(*k[:-1], build.clamp_index(k[-1] + 1, n))])]), call,
                store_where_done(into[0], info, lambda k: made[(*k[:-2], k[-1], k[-2])])]


def _later(x, axis: int = -1):
    """Elements one place later along an axis, after a zero."""
    axis %= typeof(x).ndim
    first = slice_in_dim(x, 0, 1, axis=axis)
    return concatenate([mul(first, like(x, 0)),
                        slice_in_dim(x, 0, typeof(x).shape[axis] - 1, axis=axis)], axis)


def _earlier(x, axis: int = -1):
    """Elements one place earlier along an axis, followed by a zero."""
    axis %= typeof(x).ndim
    last = slice_in_dim(x, 0, 1, axis=axis)
    return concatenate([slice_in_dim(x, 1, typeof(x).shape[axis], axis=axis),
                        mul(last, like(x, 0))], axis)


def _times(dl, d, du, x):
    """The product with a tridiagonal matrix."""
    shape = typeof(x).shape
    dl, d, du = (broadcast_in_dim(y, shape, range(len(shape) - 1)) for y in (dl, d, du))
    return add(add(mul(dl, _later(x, -2)), mul(d, x)), mul(du, _earlier(x, -2)))


class EighTridiagonal(Factorization):
    """The ascending eigenvalues of real symmetric matrices with diagonals ``d`` and, twice, ``e``.

    With ``vectors``, the eigenvectors in columns are a second result.
    """

    name = "eigh_tridiagonal"
    multiple_results = True

    def infer(self, d, e, *, vectors):
        *lead, n = d.shape or (0,)
        if d.ndim < 1 or np.dtype(d.dtype).char not in "fd" or d.dtype != e.dtype or (
                e.shape != (*lead, max(n - 1, 0))):
            raise ValueError(explain(
                "tanx.scipy.linalg.eigh_tridiagonal",
                "e must have the dtype of d, floats of 32 or 64 bits, and one element fewer.",
                f"d: {d}", f"e: {e}"))
        values = d.update(weak_type=False)
        return [values, ShapedArray((*lead, n, n), d.dtype)] if vectors else [values]

    def routine(self, d, e, vectors: bool) -> Routine:
        *lead, n = d.shape
        outputs: list = [(tuple(d.shape), d.dtype), (tuple(e.shape), d.dtype),
                         (tuple(lead), _INT32)]
        both = (n, Each(0, n), Each(1, max(n - 1, 0)))
        if not vectors:
            return Routine(f"{prefix(d.dtype)}sterf", prod(lead), (*both, Each(2, 1)),
                           tuple(outputs), ((0, 0), (1, 1)))
        work, indices = 1 + 4 * n + n * n, 3 + 5 * n
        outputs += [((*lead, n, n), d.dtype), ((work,), d.dtype), ((indices,), _INT32)]
        return Routine(
            f"{prefix(d.dtype)}stevd", prod(lead),
            ("V", *both, Each(3, n * n), max(n, 1), Each(4, 0), work, Each(5, 0), indices,
             Each(2, 1)), tuple(outputs), ((0, 0), (1, 1)))

    def eval(self, d, e, *, vectors):
        values, _, info, *made = self.routine(d, e, vectors).run(d, e)
        if not vectors:
            return [nan_where_failed(values, info)]
        v = by_rows(made[0])
        v *= column_signs(v, v.shape[-1])[..., None, :]
        return [nan_where_failed(values, info), nan_where_failed(v, info)]

    def jvp(self, primals, tangents, *, vectors):
        values, v = self.bind(*primals, vectors=True)
        dd, de = map(instantiate, tangents)
        sides = [pad(de, like(de, 0), [*[(0, 0, 0)] * (typeof(de).ndim - 1), beside])
                 for beside in ((1, 0, 0), (0, 1, 0))] if typeof(dd).shape[-1] else [dd, dd]
        moved = _times(sides[0], dd, sides[1], v)
        steps = reduce_sum(mul(v, moved), (typeof(v).ndim - 2,))
        if not vectors:
            return [values], [steps]
        turn = mul(matrix_product(swapped(v), moved), gaps(values))
        return [values, v], [steps, matrix_product(v, turn)]

    def lower(self, into, d, e, *, vectors):
        filled = [in_memory(name, x) for name, x in (("d", d), ("e", e))]
        (before, d), (more, e) = filled
        if not vectors and is_bisected(d.dtype, d.shape[-1]):
            return [*before, *more, *bisected(into[0], d, e)]
        call, (values, _, info, *made) = self.routine(d, e, vectors).call("made", [d, e])
        statements = [*before, *more, call, store_where_done(into[0], info, lambda k: values[k])]
        if not vectors:
            return statements
        rows = made[0]  # one vector after the other
        signs = build.temp("signs", values.shape, values.dtype)
        return [*statements, store_signs(signs, d.shape[-1], lambda k, i: rows[(*k, i)]),
                store_where_done(into[1], info, lambda k: rows[(*k[:-2], k[-1], k[-2])] * signs[
                    (*k[:-2], k[-1])])]


hessenberg_p, tridiagonal_p, schur_p, ormqr_p = Hessenberg(), Tridiagonal(), Schur(), Ormqr()
tridiagonal_solve_p, eigh_tridiagonal_p = TridiagonalSolve(), EighTridiagonal()


# -- functions -------------------------------------------------------------------------------------


def hessenberg(a):
    """The Hessenberg form of square matrices, by reflections.

    Two results: the form, with the vectors of the reflections in place of its zeros, and their
    factors; :func:`householder_product` computes the orthogonal matrix from them.

    >>> h, taus = lax.linalg.hessenberg(jnp.array([[1., 2.], [3., 4.]]))
    >>> h
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return hessenberg_p.bind(a)


def tridiagonal(a, *, lower: bool = True):
    """The tridiagonal form of Hermitian matrices, by reflections.

    Four results: the form with the vectors of the reflections, its diagonal, the diagonal beside
    it, and the factors of the reflections. One triangle of ``a`` is read.

    >>> _, d, e, _ = lax.linalg.tridiagonal(jnp.array([[1., 2.], [2., 4.]]))
    >>> d
    Array([1., 4.], dtype=float32)
    """
    return tridiagonal_p.bind(a, lower=bool(lower))


def schur(x, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False,
          select_callable=None):
    """Schur's form ``t`` of square matrices, and the unitary ``z`` with ``x = z @ t @ z.mH``.

    The form is upper triangular; for real matrices it has two by two blocks for pairs of complex
    eigenvalues. Sorted forms are not supported.

    >>> t, z = lax.linalg.schur(jnp.array([[1., 2.], [0., 3.]]))
    >>> t
    Array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError(explain(
            "tanx.lax.linalg.schur", "eigenvalues cannot be sorted.",
            f"sort_eig_vals: {sort_eig_vals}"))
    return schur_p.bind(x, compute_schur_vectors=bool(compute_schur_vectors), sort_eig_vals=False,
                        select_callable=None)


def ormqr(a, taus, c, *, left: bool = True, transpose: bool = False):
    """``q @ c``, or ``c @ q`` unless ``left``, for the orthogonal ``q`` of given reflections.

    Vectors are in the columns of ``a`` and factors in ``taus``, as for :func:`householder_product`;
    with ``transpose``, the adjoint of ``q`` is used.

    >>> lax.linalg.ormqr(jnp.array([[1.], [1.]]), jnp.array([1.]), jnp.eye(2))
    Array([[ 0., -1.],
           [-1.,  0.]], dtype=float32)
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))


def tridiagonal_solve(dl, d, du, b, *, perturb_singular: bool = False):
    """Solve tridiagonal systems; ``dl``, ``d`` and ``du`` are the lower, main and upper diagonal.

    All three have the length of ``d``: the first element of ``dl`` and the last of ``du`` are
    ignored. ``b`` holds matrices. ``perturb_singular`` is for other devices.

    >>> one, b = jnp.ones(2), jnp.array([[3.], [3.]])
    >>> lax.linalg.tridiagonal_solve(one, 2 * one, one, b)
    Array([[1.],
           [1.]], dtype=float32)
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=bool(perturb_singular))
