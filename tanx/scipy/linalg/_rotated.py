"""Hessenberg and Schur forms, by unitary transformations."""

from __future__ import annotations

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ...numpy._promotion import common_shape, typeof
from ._operands import adjoint, alike, along_diagonal, as_complex, error, matrices, product

__all__ = ["hessenberg", "rsf2csf", "schur"]


def hessenberg(a, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True):
    """The Hessenberg form of matrices, zero below the first subdiagonal: ``a = q @ h @ q.mH``.

    The result is ``h``, or with ``calc_q`` both ``h`` and the unitary ``q``.

    >>> tanx.scipy.linalg.hessenberg(jnp.array([[1., 2.], [3., 4.]]))
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _hessenberg(matrices("hessenberg", a, square=True, too_few=TypeError), bool(calc_q))


@library_jit(static_argnames=("calc_q",))
def _hessenberg(a, calc_q: bool):
    n = a.shape[-1]
    if n < 2:
        return (a, jnp.ones_like(a)) if calc_q else a
    both, taus = lax.linalg.hessenberg(a)
    h = jnp.triu(both, -1)
    if not calc_q:
        return h
    inner = lax.linalg.householder_product(both[..., 1:, :-1], taus)
    beside = [(0, 0)] * (a.ndim - 2) + [(1, 0), (1, 0)]
    return h, jnp.pad(inner, beside) + jnp.zeros((n, n), a.dtype).at[0, 0].set(1)


def schur(a, output: str = "real"):
    """Schur's form ``t`` and the unitary ``z``: ``a = z @ t @ z.mH``.

    The form is upper triangular. For real matrices it is real and has two by two blocks for pairs
    of complex eigenvalues, unless ``output`` is ``"complex"``.

    >>> t, z = tanx.scipy.linalg.schur(jnp.array([[1., 2.], [0., 3.]]))
    >>> t
    Array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    a = matrices("schur", a, square=True, too_few=TypeError)
    if output not in ("real", "complex"):
        raise error("schur", "there is no such output.", f"output: {output!r}",
                    "known: 'real', 'complex'")
    return tuple(lax.linalg.schur(as_complex(a) if output == "complex" else a))


@library_jit(static_argnames=("check_finite",))
def rsf2csf(T, Z, check_finite: bool = True):
    """The complex Schur form and its unitary matrix, from a real Schur form.

    >>> t, z = tanx.scipy.linalg.rsf2csf(*tanx.scipy.linalg.schur(jnp.array([[0., 2.], [-2., 0.]])))
    >>> jnp.diagonal(t)
    Array([0.+2.j, 0.-2.j], dtype=complex64)
    """
    T, Z = alike("rsf2csf", T, Z)
    T, Z = matrices("rsf2csf", T, square=True, name="T"), matrices("rsf2csf", Z, name="Z")
    if T.shape[-2:] != Z.shape[-2:]:
        raise error("rsf2csf", "T and Z must have the same size.", f"T: {typeof(T)}",
                    f"Z: {typeof(Z)}")
    lead = common_shape(T.shape[:-2], Z.shape[:-2])
    T, Z = (as_complex(jnp.broadcast_to(x, (*lead, *x.shape[-2:]))) for x in (T, Z))
    if T.shape[-1] < 2:
        return T, Z
    turn = _unitary_of_blocks(T)
    return jnp.triu(product(product(adjoint(turn), T), turn)), product(Z, turn)


def _unitary_of_blocks(t):
    """The unitary matrix that makes each block of two by two on the diagonal triangular.

    Blocks do not overlap, so all are rotated at once: the first column of each is an eigenvector.
    """
    values, below = along_diagonal(t), jnp.diagonal(t, -1, axis1=-2, axis2=-1)
    above = jnp.diagonal(t, 1, axis1=-2, axis2=-1)
    first, second = values[..., :-1], values[..., 1:]
    limit = dtypes.finfo(t.dtype).eps * (jnp.abs(first) + jnp.abs(second))
    is_block = jnp.abs(below) > limit
    half = (first - second) / 2
    root = jnp.sqrt(half * half + above * below)
    root = jnp.where(root.imag < 0, -root, root)
    shift = jnp.where(is_block, half + root, 1)  # an eigenvalue minus the second diagonal element
    below = jnp.where(is_block, below, 0)
    length = jnp.hypot(jnp.abs(shift), jnp.abs(below)).astype(t.dtype)
    cosine, sine = shift / length, below / length
    one = jnp.ones((*t.shape[:-2], 1), t.dtype)
    before = jnp.concatenate([jnp.where(is_block, cosine, 1), one], -1)
    after = jnp.concatenate([one, jnp.where(is_block, jnp.conj(cosine), 1)], -1)
    return (_on_diagonal(before * after, 0) + _on_diagonal(sine, -1)
            - _on_diagonal(jnp.conj(sine), 1))


def _on_diagonal(values, k: int):
    """Matrices with ``values`` along a diagonal."""
    n = values.shape[-1] + abs(k)
    wide = jnp.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, abs(k))])
    return jnp.eye(n, k=k, dtype=values.dtype) * (
        wide[..., :, None] if k >= 0 else wide[..., None, :])
