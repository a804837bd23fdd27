"""Eigenvalues and eigenvectors of tridiagonal Hermitian matrices, by LAPACK."""

from __future__ import annotations

import operator

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._ops.matrix_forms import eigh_tridiagonal_p
from ...numpy._promotion import as_operand, typeof
from ._operands import error

__all__ = ["eigh_tridiagonal"]


def eigh_tridiagonal(d, e, *, eigvals_only: bool = False, select: str = "a", select_range=None,
                     tol: float | None = None, key=None):
    """The ascending eigenvalues, and the eigenvectors in columns, of a Hermitian matrix.

    ``d`` is its diagonal and ``e`` the one above; elsewhere it is zero. With ``eigvals_only``, only
    the values are returned. ``select="i"`` selects those from the first to the last index of
    ``select_range``, both included. Results have the precision of the dtype: ``tol`` and ``key``
    (for random starts) have no effect. Batches are supported.

    >>> d, e = jnp.array([2., 2., 2.]), jnp.array([1., 0.])
    >>> tanx.scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True)
    Array([1., 2., 3.], dtype=float32)
    """
    d, e = (as_operand("scipy.linalg.eigh_tridiagonal", x) for x in (d, e))
    if d.dtype != e.dtype or d.dtype.char not in "fdFD":
        raise error("eigh_tridiagonal", "d and e must be floats or complex numbers of 32 or 64 "
                    "bits, of one dtype.", f"d: {typeof(d)}", f"e: {typeof(e)}", kind=TypeError)
    if d.ndim < 1 or e.shape != (*d.shape[:-1], max(d.shape[-1] - 1, 0)):
        raise error("eigh_tridiagonal", "e must have one element fewer than d.",
                    f"d: {typeof(d)}", f"e: {typeof(e)}", kind=TypeError)
    first, last = _selected(select, select_range, d.shape[-1])
    return _selected_of(d, e, bool(eigvals_only), first, last)


def _selected(select: str, select_range, size: int) -> tuple[int, int]:
    """The first and one past the last of the selected values."""
    if select not in ("a", "i", "v"):
        raise error("eigh_tridiagonal", "there is no such selection.", f"select: {select!r}",
                    "known: 'a', 'i'")
    if select == "v":
        raise error("eigh_tridiagonal", "the number of values between two numbers is not known "
                    "while tracing.", "select: 'v'", kind=NotImplementedError,
                    hint="select='i', or a comparison of all values.")
    if select == "a":
        return 0, size
    if select_range is None:
        raise error("eigh_tridiagonal", "select='i' needs a select_range.")
    first, last = map(operator.index, select_range)
    if not 0 <= first <= last < size:
        raise error("eigh_tridiagonal", "select_range must be two indices of values, in order.",
                    f"select_range: {select_range}", f"values: {size}")
    return first, last + 1


@library_jit(static_argnames=("eigvals_only", "first", "last"))
def _selected_of(d, e, eigvals_only: bool, first: int, last: int):
    is_complex = d.dtype.kind == "c"
    sizes = (d.real, jnp.abs(e)) if is_complex else (d, e)
    values, *vectors = eigh_tridiagonal_p.bind(*sizes, vectors=not eigvals_only)
    if eigvals_only:
        return values[..., first:last]
    v = vectors[0][..., first:last]
    if is_complex:  # similar to the matrix with absolute values, by a diagonal unitary matrix
        turns = jnp.where(sizes[1] == 0, 1, e.conj() / jnp.where(sizes[1] == 0, 1, sizes[1]))
        phases = jnp.concatenate([jnp.ones_like(d[..., :1]), jnp.cumprod(turns, -1)], -1)
        v = v * phases[..., :, None]
    return values[..., first:last], v
