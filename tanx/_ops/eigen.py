"""Eigenvalues and singular values of matrices, with their vectors.

As in ``linalg.py``, matrices are in the last two dimensions. LAPACK factorises them, or for many
small matrices tanx's own code; without convergence, results are NaN. Vectors are unique up to a
factor of absolute value 1 (for real ones it is fixed, see ``NOT_SMALL``), and derivatives of
vectors exist if the values are distinct (Giles 2008).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from math import prod

import numpy as np

from .._core.primitive import parameter
from .._core.types import ShapedArray, typeof
from .._loops import build
from .._loops.lapack import Each, Routine, prefix
from .._loops.small.calls import NOT_SMALL, is_small, on_small
from ..errors import explain
from .arith import add, div, mul, sub
from .base import broadcast_in_dim, reduce_sum
from .batched_matrices import (
    adjoint,
    diagonal,
    eye_like,
    matrix_product,
    matrix_type,
    square_type,
)
from .compare import eq, select_n
from .complex_parts import complex as complex_
from .complex_parts import complex_dtype, conj, imag, real, real_dtype
from .convert import convert
from .create import full_like
from .linalg import (
    Factorization,
    by_rows,
    in_memory,
    nan_where_failed,
    solve_by_lu,
    store_where_done,
    symmetrized,
)
from .operands import letter, like
from .reduce import reduce_max
from .slicing import slice_in_dim

__all__ = ["EigImplementation", "EighImplementation", "SvdAlgorithm", "eig", "eig_p", "eigh",
           "eigh_p", "svd", "svd_p"]

_INT32 = np.dtype(np.int32)
_BLOCK = 64
"""Columns of the blocks for which LAPACK gets memory."""


def gaps(values):
    """``1 / (values[j] - values[i])`` at ``[i, j]``, and zeros on the diagonal."""
    *lead, n = typeof(values).shape
    rank = len(lead)
    row = broadcast_in_dim(values, (*lead, n, n), (*range(rank), rank + 1))
    column = broadcast_in_dim(values, (*lead, n, n), (*range(rank), rank))
    eye = eye_like(row)
    return sub(div(like(row, 1), add(sub(row, column), eye)), eye)


def times_columns(x, factors):
    """Matrices with each column times a number."""
    shape = typeof(x).shape
    rank = len(shape) - 2
    return mul(x, convert(broadcast_in_dim(factors, shape, (*range(rank), rank + 1)),
                          typeof(x).dtype))


def _times_rows(x, factors):
    """Matrices with each row times a number."""
    shape = typeof(x).shape
    rank = len(shape) - 2
    return mul(x, convert(broadcast_in_dim(factors, shape, (*range(rank), rank)),
                          typeof(x).dtype))


def _product_of_real(x, factors):
    """Matrices times real ones, element by element."""
    return mul(x, convert(factors, typeof(x).dtype))


def _chosen(function: str, subset, size: int) -> tuple[int, int]:
    """The first and last of the requested values."""
    if subset is None:
        return 0, size
    first, last = map(int, subset)
    if not 0 <= first < last <= size:
        raise ValueError(explain(
            f"tanx.lax.linalg.{function}", "subset_by_index must be a range of the values.",
            f"subset_by_index: {subset}", f"values: {size}"))
    return first, last


# -- signs of vectors ------------------------------------------------------------------------------


def column_signs(vectors: np.ndarray, count: int) -> np.ndarray:
    """The signs that make the first columns of matrices canonical."""
    columns = vectors[..., :count]
    if not columns.size:
        return np.ones((*columns.shape[:-2], count), vectors.dtype)
    sizes = np.abs(columns)
    first = np.argmax(sizes > NOT_SMALL * sizes.max(-2, keepdims=True), -2)
    found = np.take_along_axis(columns, first[..., None, :], -2)[..., 0, :]
    return np.copysign(vectors.dtype.type(1), found)


def store_signs(into, rows: int, element: Callable):
    """As :func:`column_signs`, as a statement; ``element`` returns an element of a column."""
    def sign(k):
        def size(i):
            return build.op("abs", element(k, i))
        most = build.reduce("max", rows, lambda i: size(i[0]), 0)
        first = build.reduce("min", rows, lambda i: build.select(
            size(i[0]) > most * NOT_SMALL, i[0], build.const(rows - 1)), rows - 1)
        return build.select(element(k, first) < 0, build.const(-1, into.dtype),
                            build.const(1, into.dtype))
    return build.nest(into.shape, lambda k: [build.store(into, k, sign(k))])


# -- Hermitian matrices ----------------------------------------------------------------------------


@parameter
class EighImplementation(enum.Enum):
    """How eigenvalues are found: ``QR`` keeps LAPACK's signs, the others have no effect."""

    QR = "QR"
    JACOBI = "Jacobi"
    QDWH = "QDWH"


class Eigh(Factorization):
    """The eigenvectors, in columns, and the ascending eigenvalues of Hermitian matrices."""

    name = "eigh"
    multiple_results = True

    def infer(self, x, *, lower, sort_eigenvalues, subset_by_index, algorithm):
        shape = square_type("eigh", x).shape
        return [x.update(weak_type=False), ShapedArray(shape[:-1], real_dtype(x.dtype))]

    def routine(self, x, lower: bool) -> Routine:
        """In column-major order this is the conjugate matrix, with conjugate eigenvectors."""
        *lead, n, _ = x.shape
        is_complex = letter(x.dtype) == "c"
        room = 1 + 5 * n + 2 * n * n, 3 + 5 * n
        work = 2 * n + n * n + _BLOCK * n + 1 if is_complex else 1 + 6 * n + 2 * n * n + _BLOCK * n
        outputs = [(tuple(x.shape), x.dtype), ((*lead, n), real_dtype(x.dtype)),
                   ((work,), x.dtype), ((room[1],), _INT32), (tuple(lead), _INT32)]
        args = ["V", "U" if lower else "L", n, Each(0, n * n), max(n, 1), Each(1, n), Each(2, 0),
                work]
        if is_complex:
            outputs.append(((room[0],), real_dtype(x.dtype)))
            args += [Each(5, 0), room[0]]
        return Routine(f"{prefix(x.dtype)}{'heevd' if is_complex else 'syevd'}", prod(lead),
                       (*args, Each(3, 0), room[1], Each(4, 1)), tuple(outputs), ((0, 0),))

    def eval(self, x, *, lower, sort_eigenvalues, subset_by_index, algorithm):
        vectors, values, _, _, info, *_ = self.routine(x, lower).run(x)
        vectors = np.conj(by_rows(vectors))
        if letter(x.dtype) == "f" and algorithm is not EighImplementation.QR:
            vectors *= column_signs(vectors, x.shape[-1])[..., None, :]
        return [nan_where_failed(vectors, info), nan_where_failed(values, info)]

    def jvp(self, primals, tangents, **params):
        (x,), (dx,) = primals, tangents
        vectors, values = self.bind(x, **params)
        moved = matrix_product(matrix_product(adjoint(vectors), dx), vectors)
        turn = _product_of_real(moved, gaps(values))
        steps = diagonal(moved)
        return [vectors, values], [matrix_product(vectors, turn),
                                   real(steps) if letter(typeof(x).dtype) == "c" else steps]

    def lower(self, into, x, *, lower, algorithm, **params):
        filled, x = in_memory("operand", x)
        settled = letter(x.dtype) == "f" and algorithm is not EighImplementation.QR
        if settled and is_small(x.dtype, x.shape):
            return [*filled, on_small("eigh", into, [x], lower=lower)]
        call, (made, values, _, _, info, *_) = self.routine(x, lower).call("made", [x])
        signs = build.temp("signs", values.shape, values.dtype)
        filled_signs = ([store_signs(signs, x.shape[-1], lambda k, i: made[(*k, i)])] if settled
                        else [])

        def vector(k):
            element = made[(*k[:-2], k[-1], k[-2])]
            if settled:
                return element * signs[(*k[:-2], k[-1])]
            return build.op("conj", element) if letter(x.dtype) == "c" else element
        return [*filled, call, *filled_signs, store_where_done(into[0], info, vector),
                store_where_done(into[1], info, lambda k: values[k])]


def eigh(x, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True,
         subset_by_index: tuple[int, int] | None = None,
         implementation: EighImplementation | None = None):
    """The eigenvectors, in columns, and the eigenvalues of Hermitian matrices, ascending.

    One triangle of ``x`` is read, of its Hermitian part if ``symmetrize_input``.
    ``subset_by_index`` holds the first and one past the last index of the requested values.
    ``implementation`` can request LAPACK's signs, see :class:`EighImplementation`;
    ``sort_eigenvalues`` has no effect.

    >>> v, w = lax.linalg.eigh(jnp.array([[2., 1.], [1., 2.]]))
    >>> w
    Array([1., 3.], dtype=float32)
    """
    n = square_type("eigh", typeof(x)).shape[-1]
    first, last = _chosen("eigh", subset_by_index, n)
    vectors, values = eigh_p.bind(
        symmetrized(x) if symmetrize_input else x, lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues), subset_by_index=None, algorithm=implementation)
    if (first, last) == (0, n):
        return vectors, values
    return (slice_in_dim(vectors, first, last, axis=typeof(vectors).ndim - 1),
            slice_in_dim(values, first, last, axis=typeof(values).ndim - 1))


# -- singular values -------------------------------------------------------------------------------


@parameter
class SvdAlgorithm(enum.Enum):
    """How singular values are found.

    ``DIVIDE_AND_CONQUER`` keeps LAPACK's signs of vectors; the others have no effect.
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


class SVD(Factorization):
    """The descending singular values of matrices, and with ``compute_uv`` both vectors."""

    name = "svd"
    multiple_results = True

    def infer(self, x, *, full_matrices, compute_uv, subset_by_index, algorithm):
        *lead, m, n = matrix_type("svd", x).shape
        k = min(m, n)
        values = [ShapedArray((*lead, k), real_dtype(x.dtype))]
        if not compute_uv:
            return values
        rows, columns = (m, n) if full_matrices else (k, k)
        return [*values, ShapedArray((*lead, m, rows), x.dtype),
                ShapedArray((*lead, columns, n), x.dtype)]

    def routine(self, x, full_matrices: bool, compute_uv: bool) -> Routine:
        """In column-major order this is the transposed matrix, with vectors swapped."""
        *lead, m, n = x.shape
        k, most = min(m, n), max(m, n)
        rows, columns = (m, n) if full_matrices else (k, k)
        floats = real_dtype(x.dtype)
        work = 4 * k * k + 7 * k + most + _BLOCK * (m + n) + 1
        outputs = [(tuple(x.shape), x.dtype), ((*lead, k), floats),
                   ((*lead, m, rows) if compute_uv else (1,), x.dtype),
                   ((*lead, columns, n) if compute_uv else (1,), x.dtype),
                   ((work,), x.dtype), ((8 * k + 1,), _INT32), (tuple(lead), _INT32)]
        args = ["N" if not compute_uv else "A" if full_matrices else "S", n, m, Each(0, m * n),
                max(n, 1), Each(1, k), Each(3, columns * n * compute_uv), max(n, 1),
                Each(2, m * rows * compute_uv), max(rows, 1), Each(4, 0), work]
        if letter(x.dtype) == "c":
            outputs.append(((max(5 * k * k + 7 * k, 2 * most * k + 2 * k * k + k) + 1,), floats))
            args.append(Each(7, 0))
        return Routine(f"{prefix(x.dtype)}gesdd", prod(lead), (*args, Each(5, 0), Each(6, 1)),
                       tuple(outputs), ((0, 0),))

    def eval(self, x, *, full_matrices, compute_uv, subset_by_index, algorithm):
        is_tall = x.shape[-2] > x.shape[-1]  # faster in LAPACK, in column-major order
        x = by_rows(x) if is_tall else x
        _, *results, _, _, info = self.routine(x, full_matrices, compute_uv).run(x)[:7]
        if compute_uv and is_tall:
            results[1:] = by_rows(results[2]), by_rows(results[1])
        if compute_uv and letter(x.dtype) == "f" and not _as_found(algorithm):
            values, left, right = results
            count = values.shape[-1]
            signs = column_signs(left, count)
            left[..., :count] *= signs[..., None, :]
            right[..., :count, :] *= signs[..., None]
        return [nan_where_failed(y, info) for y in results[:3 if compute_uv else 1]]

    def jvp(self, primals, tangents, *, full_matrices, compute_uv, **params):
        (x,), (dx,) = primals, tangents
        *_, m, n = typeof(x).shape
        if compute_uv and full_matrices and m != n:
            raise NotImplementedError(explain(
                "tanx.lax.linalg.svd", "full matrices of vectors have no derivative if the "
                "matrix is not square.", f"operand: {typeof(x)}", hint="full_matrices=False."))
        s, u, vt = self.bind(x, full_matrices=False, compute_uv=True, **params)
        v, ut = adjoint(vt), adjoint(u)
        inner = matrix_product(matrix_product(ut, dx), v)
        steps = diagonal(inner)
        is_complex = letter(typeof(x).dtype) == "c"
        ds = real(steps) if is_complex else steps
        if not compute_uv:
            return [s], [ds]
        differences = gaps(mul(s, s))
        left, right = times_columns(inner, s), _times_rows(inner, s)
        du = _product_of_real(add(left, adjoint(left)), differences)
        dv = matrix_product(v, _product_of_real(add(right, adjoint(right)), differences))
        inverse = div(like(s, 1), s)
        if is_complex:  # the free phase of both vectors is assigned to the left one
            angle = mul(imag(steps), inverse)
            turn = complex_(mul(angle, like(angle, 0)), angle)
            du = add(du, times_columns(eye_like(du), turn))
        du = matrix_product(u, du)
        if m > n:
            moved = times_columns(matrix_product(dx, v), inverse)
            du = add(du, sub(moved, matrix_product(u, matrix_product(ut, moved))))
        if n > m:
            moved = times_columns(matrix_product(adjoint(dx), u), inverse)
            dv = add(dv, sub(moved, matrix_product(v, matrix_product(vt, moved))))
        return [s, u, vt], [ds, du, adjoint(dv)]

    def lower(self, into, x, *, full_matrices, compute_uv, algorithm, **params):
        *lead, m, n = x.shape
        if (is_small(x.dtype, x.shape) and not _as_found(algorithm)
                and not (compute_uv and full_matrices and m != n)):
            filled, x = in_memory("operand", x)
            return [*filled, on_small("svd", into, [x], compute_uv=compute_uv)]
        is_tall, count = m > n, min(m, n)
        filled, x = in_memory("operand", x, swap=is_tall)
        call, (_, values, *vectors, _, _, info) = _first(
            7, self.routine(x, full_matrices, compute_uv).call("made", [x]))
        statements = [*filled, call, store_where_done(into[0], info, lambda k: values[k])]
        if not compute_uv:
            return statements
        left, right = (vectors[1], vectors[0]) if is_tall else vectors
        signs = build.temp("signs", (*lead, count), values.dtype)
        has_signs = letter(x.dtype) == "f" and count > 0 and not _as_found(algorithm)

        def element(made, k):
            return made[(*k[:-2], k[-1], k[-2]) if is_tall else k]

        def settled(made, axis):
            def value(k):
                if not has_signs:
                    return element(made, k)
                sign = signs[(*k[:-2], build.clamp_index(k[axis], count))]
                return element(made, k) * build.select(k[axis] < count, sign, 1)
            return value
        if has_signs:
            statements.append(store_signs(signs, m, lambda k, i: element(
                left, (*k[:-1], i, k[-1]))))
        return [*statements, store_where_done(into[1], info, settled(left, -1)),
                store_where_done(into[2], info, settled(right, -2))]


def _as_found(algorithm: SvdAlgorithm | None) -> bool:
    return algorithm is SvdAlgorithm.DIVIDE_AND_CONQUER


def _first(count: int, made):
    """A call and the first of its outputs."""
    call, outputs = made
    return call, outputs[:count]


def svd(x, *, full_matrices: bool = True, compute_uv: bool = True,
        subset_by_index: tuple[int, int] | None = None, algorithm: SvdAlgorithm | None = None):
    """Left vectors, singular values in descending order, and right vectors: ``(u * s) @ vt``.

    ``full_matrices`` makes the matrices of vectors square; without ``compute_uv`` only the values
    are returned. ``subset_by_index`` holds the first and one past the last index of the requested
    values. ``algorithm`` can request LAPACK's signs, see :class:`SvdAlgorithm`.

    >>> u, s, vt = lax.linalg.svd(jnp.array([[3., 0.], [0., 4.]]))
    >>> s
    Array([4., 3.], dtype=float32)
    """
    aval = matrix_type("svd", typeof(x))
    *lead, m, n = aval.shape
    k, rank = min(m, n), len(lead)
    first, last = _chosen("svd", subset_by_index, k)
    if compute_uv and full_matrices and last - first < k:
        raise ValueError(explain(
            "tanx.lax.linalg.svd", "a subset of the values does not allow full_matrices=True.",
            f"subset_by_index: {subset_by_index}", hint="full_matrices=False."))
    outs = svd_p.bind(x, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv),
                      subset_by_index=None, algorithm=algorithm)
    if last - first < k:
        outs = [slice_in_dim(y, first, last, axis=axis)
                for y, axis in zip(outs, (rank, rank + 1, rank))]
    if not compute_uv:
        return outs[0]
    s, u, vt = outs
    if full_matrices and k == 0:  # no routine fills these
        u, vt = eye_like(u), eye_like(vt)
    return u, s, vt


# -- matrices of any kind --------------------------------------------------------------------------


@parameter
class EigImplementation(enum.Enum):
    """The library that finds eigenvalues on other devices."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class Eig(Factorization):
    """The eigenvalues of matrices, and the requested left and right eigenvectors."""

    name = "eig"
    multiple_results = True

    def infer(self, x, *, compute_left_eigenvectors, compute_right_eigenvectors,
              enable_eigvec_derivs, implementation):
        shape, dtype = square_type("eig", x).shape, complex_dtype(x.dtype)
        count = compute_left_eigenvectors + compute_right_eigenvectors
        return [ShapedArray(shape[:-1], dtype), *[ShapedArray(shape, dtype)] * count]

    def routine(self, x, left: bool, right: bool) -> Routine:
        *lead, n, _ = x.shape
        is_complex, work = letter(x.dtype) == "c", (4 + _BLOCK) * n + 1
        vectors = (tuple(x.shape), x.dtype)
        values = ((*lead, n), x.dtype)
        outputs = [vectors, values, values, vectors, vectors, ((work,), x.dtype),
                   (tuple(lead), _INT32), ((2 * n + 1,), real_dtype(x.dtype))]
        return Routine(
            f"{prefix(x.dtype)}geev", prod(lead),
            ("V" if left else "N", "V" if right else "N", n, Each(0, n * n), max(n, 1), Each(1, n),
             *[Each(2, n)] * (not is_complex), Each(3, n * n), max(n, 1), Each(4, n * n),
             max(n, 1), Each(5, 0), work, *[Each(7, 0)] * is_complex, Each(6, 1)),
            tuple(outputs), ((0, 0),))

    def eval(self, x, *, compute_left_eigenvectors, compute_right_eigenvectors, **params):
        wanted = compute_left_eigenvectors, compute_right_eigenvectors
        # LAPACK prints messages about matrices that are not finite, so they are replaced.
        infinite = ~np.isfinite(x).all((-2, -1))
        given = np.where(infinite[..., None, None], x.dtype.type(0), x)
        parts = given.view(real_dtype(x.dtype)) if given.size else given.real
        scale = _scale(abs(parts).max((-2, -1), initial=0))[..., None]
        _, w, wi, *sides, _, info, _ = self.routine(x, *wanted).run(
            by_rows(given * scale[..., None]))
        w, wi = w / scale, wi / scale
        info = np.where(infinite, 1, info)
        sides = [by_rows(v) for v, want in zip(sides, wanted) if want]
        if letter(x.dtype) != "c":
            sides = [_complex_vectors(v, wi) for v in sides]
            w = w + 1j * wi.astype(complex_dtype(x.dtype))
        return [nan_where_failed(y, info) for y in (w, *sides)]

    def jvp(self, primals, tangents, *, compute_left_eigenvectors, compute_right_eigenvectors,
            **params):
        (x,), (dx,) = primals, tangents
        wanted = compute_left_eigenvectors, compute_right_eigenvectors
        if any(wanted) and not params["enable_eigvec_derivs"]:
            raise NotImplementedError(explain(
                "tanx.lax.linalg.eig", "eigenvectors have derivatives only with "
                "enable_eigvec_derivs=True.", f"operand: {typeof(x)}",
                hint="their scale is a convention: check what depends on it. "
                "Eigenvalues alone have derivatives, and so has tanx.numpy.linalg.eigh."))
        left, right = wanted if any(wanted) else (False, True)
        w, *sides = self.bind(x, compute_left_eigenvectors=left, compute_right_eigenvectors=right,
                              **params)
        dx = convert(dx, typeof(w).dtype)
        moved = [_moved_vectors(w, v, dx) for v in sides[left:]]
        if left:  # these are the right ones of the adjoint matrix
            dw, dv = _moved_vectors(conj(w), sides[0], adjoint(dx))
            moved.insert(0, (conj(dw), dv))
        if not any(wanted):
            return [w], [moved[-1][0]]
        return [w, *sides], [moved[-1][0], *(dv for _, dv in moved)]

    def lower(self, into, x, *, compute_left_eigenvectors, compute_right_eigenvectors, **params):
        wanted = compute_left_eigenvectors, compute_right_eigenvectors
        is_complex, n = letter(x.dtype) == "c", x.shape[-1]
        if not compute_left_eigenvectors and is_small(x.dtype, x.shape) and prod(x.shape[:-2]) > 3:
            return _eig_of_small(into, x)
        seen, x, greatest = _scaled(x)
        filled, x = in_memory("operand", x, swap=True)
        call, (_, w, wi, *sides, _, info, _) = self.routine(x, *wanted).call("made", [x])
        failed = build.Operand(info.shape, _INT32, lambda k: build.select(
            build.op("is_finite", greatest[k]), info[k], build.const(1, _INT32)))

        def value(k):
            scale = _scale(greatest[k[:-1]], build.select, build.const)
            parts = _parts(w[k]) if is_complex else [w[k], wi[k]]
            return build.op("complex", *(part / scale for part in parts))

        def vector(k, made):
            """Pairs of conjugate values have the real and the imaginary part of one vector."""
            *batch, i, j = k
            if is_complex:
                return made[(*batch, j, i)]
            angle = wi[(*batch, j)]
            first = build.select(angle < 0, build.clamp_index(j - 1, n), j)
            part = made[(*batch, build.clamp_index(first + 1, n), i)]
            part = build.select(build.eq(angle, 0), 0, build.select(angle < 0, -part, part))
            return build.op("complex", made[(*batch, first, i)], part)
        chosen = [v for v, want in zip(sides, wanted) if want]
        return [*seen, *filled, call, store_where_done(into[0], failed, value), *(
            store_where_done(out, failed, lambda k, made=made: vector(k, made))
            for out, made in zip(into[1:], chosen))]


_SCALES = {4: ((39, -50), (89, -100), (-39, 50), (-89, 110)), 8: ((450, -700), (-450, 700))}
"""For floats of some bytes: a power of two that the greatest element of a matrix is above, or
below if it is negative, and the power by which the matrix is multiplied then."""


def _scale(greatest, choose=np.where, const=np.asarray):
    """A power of two by which a matrix is multiplied, given the size of its greatest element.

    LAPACK scales matrices with elements above 1e12 or below 1e-12 in float32 (1e138 in float64)
    itself, but the one that SciPy 1.17 contains returns eigenvalues of the scaled matrix.
    """
    dtype = greatest.dtype
    power = const(1, dtype)
    for limit, factor in _SCALES[dtype.itemsize]:
        end = const(2.0 ** limit, dtype)
        power = choose(greatest > end if limit > 0 else greatest < end,
                       const(2.0 ** factor, dtype), power)
    return power


def _parts(value) -> list[build.Expr]:
    """The real numbers of a value."""
    return [build.op(part, value) for part in ("real", "imag")] if (
        letter(value.dtype) == "c") else [value]


def _scaled(x) -> tuple[list, build.Operand, build.Buffer]:
    """Matrices for LAPACK, scaled, and the sizes of their greatest elements before.

    LAPACK prints messages about matrices that are not finite, so these are replaced by zeros.
    """
    greatest = build.temp("greatest", x.shape[:-2], real_dtype(x.dtype))

    def size(value):
        first, *rest = [build.op("abs", part) for part in _parts(value)]
        return build.op("max", first, *rest) if rest else first

    measured = build.nest(greatest.shape, lambda k: [build.store(greatest, k, build.reduce(
        "max", x.shape[-2:], lambda i: size(x[(*k, *i)]), 0))])

    def element(k):
        seen = greatest[k[:-2]]
        first, *rest = [part * _scale(seen, build.select, build.const) for part in _parts(x[k])]
        value = build.op("complex", first, *rest) if rest else first
        return build.select(build.op("is_finite", seen), value, build.const(0, x.dtype))
    return [measured], build.Operand(x.shape, x.dtype, element), greatest


def _eig_of_small(into, x):
    """Statements for eigenvalues of many small matrices, and for requested right eigenvectors."""
    filled, x = in_memory("operand", x)
    parts = [[build.temp(name, out.shape, x.dtype) for name in ("real", "imaginary")]
             for out in into]
    return [*filled, on_small("eig", [b for pair in parts for b in pair], [x],
                              vectors=len(into) > 1),
            *(build.nest(out.shape, lambda k, out=out, pair=pair: [
                build.store(out, k, build.op("complex", *(b[k] for b in pair)))])
              for out, pair in zip(into, parts))]


def _moved_vectors(w, v, dx):
    """Tangents of eigenvalues and eigenvectors, which keep length 1 and a largest real element."""
    inner = solve_by_lu(v, matrix_product(dx, v))
    dv = matrix_product(v, mul(inner, gaps(w)))
    along, size, rank = mul(conj(v), dv), real(mul(conj(v), v)), typeof(v).ndim
    most = broadcast_in_dim(reduce_max(size, (rank - 2,)), typeof(size).shape,
                            (*range(rank - 2), rank - 1))
    angle, weight = (reduce_sum(select_n(eq(size, most), full_like(size, 0), part), (rank - 2,))
                     for part in (imag(along), size))
    turned = complex_(reduce_sum(real(along), (rank - 2,)), div(angle, weight))
    return diagonal(inner), sub(dv, times_columns(v, turned))


def _complex_vectors(v: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Vectors in columns; those of conjugate pairs from real and imaginary parts."""
    out = v.astype(complex_dtype(v.dtype))
    before, after = np.roll(v, 1, -1), np.roll(v, -1, -1)
    angles = angles[..., None, :]
    out = np.where(angles > 0, v + 1j * after, out)
    return np.where(angles < 0, before - 1j * v, out).astype(complex_dtype(v.dtype))


eigh_p, svd_p, eig_p = Eigh(), SVD(), Eig()


def eig(x, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True,
        enable_eigvec_derivs: bool = False, implementation: EigImplementation | None = None,
        use_magma: bool | None = None):
    """The eigenvalues of matrices, then the requested left and right eigenvectors.

    Vectors are columns of length 1: ``x @ right = right * w`` and ``left.mH @ x = w * left.mH``.
    The largest element of a vector is real. Values have derivatives, and vectors too, if
    ``enable_eigvec_derivs``. ``implementation`` and ``use_magma`` are for other devices.

    >>> w, = lax.linalg.eig(jnp.array([[0., 1.], [-1., 0.]]), compute_left_eigenvectors=False,
    ...                     compute_right_eigenvectors=False)
    >>> jnp.abs(w)
    Array([1., 1.], dtype=float32)
    """
    square_type("eig", typeof(x))
    return list(eig_p.bind(x, compute_left_eigenvectors=bool(compute_left_eigenvectors),
                           compute_right_eigenvectors=bool(compute_right_eigenvectors),
                           enable_eigvec_derivs=bool(enable_eigvec_derivs),
                           implementation=implementation))
