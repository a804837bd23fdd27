"""Matrices: StableHLO's own factorisations, and LAPACK's by XLA's names on CPUs.

A call of LAPACK names a function that the other compiler must have: jaxlib has those used here.
Its operands and results are in column-major order, which their layouts state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from ..._ops.arith import add, mul, sub
from ..._ops.base import broadcast_in_dim, reduce_sum, reshape
from ..._ops.batched_matrices import eye_like, matrix_product, swapped, triu
from ..._ops.compare import eq, gt, lt, select
from ..._ops.complex_parts import conj, real
from ..._ops.convert import convert
from ..._ops.create import broadcasted_iota, full, full_like
from ..._ops.eigen import NOT_SMALL, eigh
from ..._ops.linalg import lu_pivots_to_permutation, qr
from ..._ops.magnitude import abs
from ..._ops.operands import letter, like
from ..._ops.reduce import reduce_max, reduce_min
from ..._ops.slicing import concatenate, pad, slice_in_dim
from .block import Block, Type, Value
from .foreign_calls import custom_call, layout_text
from .rules import expansion, rule, staged_inline

__all__: list[str] = []

_INT32 = np.dtype(np.int32)


# -- calls of LAPACK -------------------------------------------------------------------------------


def _prefix(dtype: np.dtype) -> str:
    return {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[dtype.name]


def _layout(x: Type, batch: int) -> str:
    """The order of dimensions in memory, the fastest first: column-major."""
    inner = range(batch, x.ndim)
    order = [*inner, *reversed(range(batch))]
    return layout_text(order)


def _lapack(block: Block, routine: str, operands: Sequence[Value], outs: Sequence[Type],
            batch: int, aliases: Sequence[tuple[int, int]] = (), **options: str) -> list[Value]:
    """A call; ``aliases`` are pairs of a result and the operand whose memory it reuses."""
    name = f"lapack_{_prefix(operands[0].dtype)}{routine}_ffi"
    config = ", ".join(f"{key} = {value}" for key, value in sorted(options.items()))
    layouts = [_layout(x.type, batch) for x in operands], [_layout(t, batch) for t in outs]
    return custom_call(block, name, operands, outs, layouts, aliases, f"{{{config}}}")


def _char(letter: str) -> str:
    return f"{ord(letter)} : ui8"


def _where_done(x, info):
    """Results, with NaN for matrices on which the routine failed."""
    done = broadcast_in_dim(eq(info, like(info, 0)), x.shape, range(info.ndim))
    nan = complex(np.nan, np.nan) if letter(x.dtype) == "c" else np.nan
    return select(done, x, full_like(x, nan))


def _checked(block: Block, results: Sequence[Value], info: Value) -> list[Value]:
    return staged_inline(block, lambda info, *made: [_where_done(x, info) for x in made],
                         info, *results)


def _is_empty(*types: Type) -> bool:
    return any(not prod(t.shape) for t in types)


def _nothing(block: Block, outs: Sequence[Type]) -> list[Value]:
    """Results for matrices without elements; nonempty results are identity matrices."""
    def make():
        return [full(out.shape, 0, out.dtype) if len(out.shape) < 2 or _is_empty(out)
                else eye_like(full(out.shape, 0, out.dtype)) for out in outs]
    return staged_inline(block, make)


def _counted(block: Block, out: Type) -> Value:
    """The identity permutation of rows or columns."""
    return block.iota(out, out.ndim - 1)


# -- StableHLO's own -------------------------------------------------------------------------------


@rule("cholesky")
def _cholesky(block: Block, out: Type, x: Value):
    """The lower factor; values above the diagonal are arbitrary."""
    if _is_empty(out):
        return block.constant(0, out)
    return block.write(f"stablehlo.cholesky {x}, lower = true : {out}", out)[0]


@rule("triangular_solve")
def _triangular_solve(block: Block, out: Type, a: Value, b: Value, *, left_side, lower,
                      transpose_a, conjugate_a, unit_diagonal):
    if _is_empty(out):
        return b
    if conjugate_a and not transpose_a and letter(a.dtype) == "c":
        (a,) = staged_inline(block, lambda x: [conj(x)], a)
    kind = "NO_TRANSPOSE" if not transpose_a else "ADJOINT" if conjugate_a else "TRANSPOSE"
    flags = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal}
    return block.generic("triangular_solve", [a, b], [out], {
        "transpose_a": f"#stablehlo<transpose {kind}>",
        **{name: str(flag).lower() for name, flag in flags.items()}})[0]


# -- LU and QR -------------------------------------------------------------------------------------


@rule("lu")
def _lu(block: Block, outs: Sequence[Type], x: Value):
    factors, pivots, permutation = outs
    batch = x.ndim - 2
    if _is_empty(factors):
        return [x, block.constant(0, pivots), _counted(block, permutation)]
    info = Type(x.shape[:-2], _INT32)
    made, exchanged, _ = _lapack(block, "getrf", [x], [factors, pivots, info], batch, [(0, 0)])
    size = permutation.shape[-1]

    def finish(exchanged):
        exchanged = sub(exchanged, like(exchanged, 1))
        return [exchanged, lu_pivots_to_permutation(exchanged, size)]
    return [made, *staged_inline(block, finish, exchanged)]


@expansion("lu_pivots_to_permutation")
def _order_of_rows(pivots, *, permutation_size):
    """The permutation from exchanges in turn, each as two selections."""
    order = broadcasted_iota(_INT32, (*pivots.shape[:-1], permutation_size), pivots.ndim - 1)
    places = order
    for i in range(pivots.shape[-1]):
        target = broadcast_in_dim(slice_in_dim(pivots, i, i + 1, axis=pivots.ndim - 1),
                                  order.shape, range(pivots.ndim))
        target = target if target.dtype == _INT32 else convert(target, _INT32)
        is_target, is_own = eq(places, target), eq(places, full_like(places, i))
        zero = full_like(order, 0)
        there, own = (broadcast_in_dim(reduce_sum(select(which, order, zero), (order.ndim - 1,)),
                                       order.shape, range(order.ndim - 1))
                      for which in (is_target, is_own))
        order = select(is_own, there, select(is_target, own, order))
    return order


@rule("householder_product")
def _householder_product(block: Block, out: Type, a: Value, taus: Value):
    if _is_empty(out):
        return a
    if _is_empty(taus.type):
        return _nothing(block, [out])[0]
    routine = "ungqr" if letter(a.dtype) == "c" else "orgqr"
    return _lapack(block, routine, [a, taus], [out], a.ndim - 2, [(0, 0)])[0]


@rule("ormqr")
def _ormqr(block: Block, out: Type, a: Value, taus: Value, c: Value, *, left, transpose):
    if _is_empty(out) or _is_empty(taus.type):
        return c
    routine = "unmqr" if letter(a.dtype) == "c" else "ormqr"
    return _lapack(block, routine, [a, taus, c], [out], a.ndim - 2, [(0, 2)],
                   left=str(left).lower(), transpose=str(transpose).lower())[0]


@rule("geqrf")
def _geqrf(block: Block, outs: Sequence[Type], x: Value):
    """Reflections below the diagonal and the upper factor above it, and the factors."""
    if _is_empty(x.type):
        return [x, block.constant(0, outs[1])]
    return _lapack(block, "geqrf", [x], outs, x.ndim - 2, [(0, 0)])


@rule("qr")
def _qr(block: Block, outs: Sequence[Type], x: Value, *, pivoting, full_matrices, use_magma):
    *lead, m, n = x.shape
    if _is_empty(x.type):
        return _nothing(block, outs[:2]) + [_counted(block, out) for out in outs[2:]]
    taus = Type((*lead, min(m, n)), x.dtype)
    order: list[Value] = []
    if pivoting:
        free = block.constant(0, outs[2])
        made, columns, factors = _lapack(block, "geqp3", [x, free], [x.type, outs[2], taus],
                                         len(lead), [(0, 0), (1, 1)])
        order = staged_inline(block, lambda i: [sub(i, like(i, 1))], columns)
    else:
        made, factors = _geqrf(block, [x.type, taus], x)
    inner, k = outs[0].shape[-1], min(m, n)

    def parts(made):
        rank = len(lead) + 2
        beside = [(0, 0, 0)] * (rank - 1) + [(0, inner - k, 0)]
        vectors = pad(slice_in_dim(made, 0, k, axis=rank - 1), like(made, 0), beside)
        return [vectors, triu(slice_in_dim(made, 0, inner, axis=rank - 2))]
    vectors, upper = staged_inline(block, parts, made)
    return [_householder_product(block, outs[0], vectors, factors), upper, *order]


# -- eigenvalues and singular values ---------------------------------------------------------------


def _with_signs(columns, count: int):
    """The factors of the first columns: the sign of their first element that is not small."""
    rank = columns.ndim
    columns = slice_in_dim(columns, 0, count, axis=rank - 1)
    sizes = abs(columns)
    most = broadcast_in_dim(reduce_max(sizes, (rank - 2,)), sizes.shape,
                            [*range(rank - 2), rank - 1])
    places = broadcasted_iota(_INT32, sizes.shape, rank - 2)
    counts = gt(sizes, mul(most, like(most, NOT_SMALL)))
    last = full_like(places, sizes.shape[-2] - 1)
    first = reduce_min(select(counts, places, last), (rank - 2,))
    here = eq(places, broadcast_in_dim(first, places.shape, [*range(rank - 2), rank - 1]))
    found = reduce_sum(select(here, columns, full_like(columns, 0)), (rank - 2,))
    return select(lt(found, like(found, 0)), full_like(found, -1), full_like(found, 1))


def _times_columns(x, signs):
    return mul(x, broadcast_in_dim(signs, (*signs.shape[:-1], 1, signs.shape[-1]),
                                   [*range(signs.ndim - 1), signs.ndim]))


@rule("eigh")
def _eigh(block: Block, outs: Sequence[Type], x: Value, *, lower, algorithm, **_):
    vectors, values = outs
    if _is_empty(vectors):
        return _nothing(block, outs)
    routine = "heevd" if letter(x.dtype) == "c" else "syevd"
    info = Type(x.shape[:-2], _INT32)
    made, found, info_value = _lapack(
        block, routine, [x], [vectors, values, info], x.ndim - 2, [(0, 0)], mode=_char("V"),
        uplo=_char("L" if lower else "U"))
    if letter(x.dtype) == "f" and getattr(algorithm, "name", "") != "QR":
        (made,) = staged_inline(block, lambda v: [_times_columns(
            v, _with_signs(v, v.shape[-1]))], made)
    return _checked(block, [made, found], info_value)


@rule("svd")
def _svd(block: Block, outs: Sequence[Type], x: Value, *, full_matrices, compute_uv, algorithm,
         **params):
    *lead, m, n = x.shape
    if _is_empty(x.type):
        return _nothing(block, outs)
    k = min(m, n)
    rows, columns = (m, n) if full_matrices else (k, k)
    kinds = [x.type, outs[0], Type((*lead, m, rows), x.dtype), Type((*lead, columns, n), x.dtype),
             Type(tuple(lead), _INT32)]
    mode = "N" if not compute_uv else "A" if full_matrices else "S"
    _, values, left, right, failed = _lapack(block, "gesdd", [x], kinds, len(lead), [(0, 0)],
                                           mode=_char(mode))
    if not compute_uv:
        return _checked(block, [values], failed)
    if letter(x.dtype) == "f" and getattr(algorithm, "name", "") != "DIVIDE_AND_CONQUER":
        left, right = staged_inline(block, _signed_pair(k), left, right)
    return _checked(block, [values, left, right], failed)


def _signed_pair(count: int) -> Callable:
    """Left vectors with canonical signs, and right ones with the same signs."""
    def finish(left, right):
        signs = _with_signs(left, count)

        def filled(size: int):
            beside = [(0, 0, 0)] * (signs.ndim - 1) + [(0, size - count, 0)]
            return pad(signs, like(signs, 1), beside)
        turned = filled(right.shape[-2])
        return [_times_columns(left, filled(left.shape[-1])),
                mul(right, reshape(turned, (*turned.shape, 1)))]
    return finish


@rule("eig")
def _eig(block: Block, outs: Sequence[Type], x: Value, *, compute_left_eigenvectors,
         compute_right_eigenvectors, **params):
    if _is_empty(x.type):
        return _nothing(block, outs)
    wanted = compute_left_eigenvectors, compute_right_eigenvectors
    left_too, right_too = (_char("V" if want else "N") for want in wanted)
    is_complex = letter(x.dtype) == "c"
    values = [outs[0]] if is_complex else [outs[0].of(x.dtype)] * 2
    vectors = x.type.of(outs[0].dtype)
    *found, left, right, info = _lapack(
        block, "geev", [x], [*values, vectors, vectors, Type(x.shape[:-2], _INT32)], x.ndim - 2,
        compute_left=left_too, compute_right=right_too)
    if not is_complex:
        found = [block.apply("complex", found, outs[0])]
    sides = [v for v, want in zip((left, right), wanted) if want]
    return _checked(block, [*found, *sides], info)


# -- other forms -----------------------------------------------------------------------------------


@rule("hessenberg")
def _hessenberg(block: Block, outs: Sequence[Type], a: Value):
    if _is_empty(*outs):
        return [a, block.constant(0, outs[1])]
    size = a.shape[-1]
    *made, info = _lapack(block, "gehrd", [a], [*outs, Type(a.shape[:-2], _INT32)], a.ndim - 2,
                          [(0, 0)], low="1 : i32", high=f"{size} : i32")
    return _checked(block, made, info)


@rule("tridiagonal")
def _tridiagonal(block: Block, outs: Sequence[Type], a: Value, *, lower):
    if _is_empty(outs[0]):
        return [block.constant(0, out) for out in outs]
    if a.shape[-1] == 1:
        (diagonal,) = staged_inline(block, _real_part, block.reshape(a, outs[1].shape))
        return [a, diagonal, *(block.constant(0, out) for out in outs[2:])]
    routine = "hetrd" if letter(a.dtype) == "c" else "sytrd"
    *made, info = _lapack(block, routine, [a], [*outs, Type(a.shape[:-2], _INT32)], a.ndim - 2,
                          [(0, 0)], uplo=_char("L" if lower else "U"))
    return _checked(block, made, info)


def _real_part(x):
    return [real(x) if letter(x.dtype) == "c" else x]


@rule("schur")
def _schur(block: Block, outs: Sequence[Type], x: Value, *, compute_schur_vectors, **_):
    if _is_empty(x.type):
        return [block.constant(0, out) for out in outs]
    lead = x.shape[:-2]
    counts = Type(lead, _INT32)
    values = Type(x.shape[:-1], x.dtype)
    made = _lapack(block, "gees", [x], [
        x.type, x.type, *[values] * (1 if letter(x.dtype) == "c" else 2), counts, counts],
        len(lead), [(0, 0)], mode=_char("V" if compute_schur_vectors else "N"), sort=_char("N"))
    return _checked(block, made[:1 + compute_schur_vectors], made[-1])


@rule("tridiagonal_solve")
def _tridiagonal_solve(block: Block, out: Type, dl: Value, d: Value, du: Value, b: Value,
                       **params):
    if _is_empty(out):
        return b
    info = Type(out.shape[:-2], _INT32)
    *_, made, failed = _lapack(
        block, "gtsv", [dl, d, du, b], [dl.type, d.type, du.type, out, info], b.ndim - 2,
        [(n, n) for n in range(4)])
    return _checked(block, [made], failed)[0]


@expansion("eigh_tridiagonal")
def _eigh_tridiagonal(d, e, *, vectors):
    """From the full matrix: XLA has no names for LAPACK's tridiagonal functions."""
    rank, n = d.ndim, d.shape[-1]
    shape = (*d.shape, n)
    row, column = (broadcasted_iota(_INT32, shape, rank - 1 + k) for k in (0, 1))
    zero = full(shape, 0, d.dtype)
    below = pad(e, like(e, 0), [*[(0, 0, 0)] * (rank - 1), (0, 1, 0)])
    matrix = select(eq(row, column), broadcast_in_dim(d, shape, range(rank)), select(
        eq(row, add(column, like(column, 1))),
        broadcast_in_dim(below, shape, [*range(rank - 1), rank]), zero))
    made, values = eigh(matrix, symmetrize_input=False)
    return [values, made] if vectors else [values]


@expansion("symmetric_product")
def _symmetric_product(a, c, *, alpha, beta):
    return add(mul(matrix_product(a, swapped(a)), like(a, alpha)), mul(c, like(c, beta)))


@expansion("cholesky_update")
def _cholesky_update(r, w):
    """The upper factor of the matrix with one more row, with a positive diagonal."""
    row = reshape(w, (*w.shape[:-1], 1, w.shape[-1]))
    _, upper = qr(concatenate([r, row], r.ndim - 2), full_matrices=False)
    on_diagonal = mul(upper, eye_like(upper))
    signs = reduce_sum(on_diagonal, (r.ndim - 1,))
    signs = select(lt(signs, like(signs, 0)), full_like(signs, -1), full_like(signs, 1))
    return triu(mul(upper, reshape(signs, (*signs.shape, 1))))
