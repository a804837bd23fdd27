"""Functions of square matrices: the exponential, the square root, and any other.

The exponential follows Higham (2005): Padé's approximants after scaling, then squarings; its
derivative is that of these steps (Al-Mohy and Higham 2009). The others use the Schur form, whose
functions are computed column by column.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.autodiff import jvp
from ..._api.batching import vmap
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ..._control.custom_vmap import custom_vmap
from ...numpy._promotion import typeof
from ._operands import (
    adjoint,
    alike,
    along_diagonal,
    as_complex,
    error,
    identity_like,
    matrices,
    product,
)
from ._solve import solve_sylvester

__all__ = ["expm", "expm_frechet", "funm", "sqrtm"]


# -- the exponential -------------------------------------------------------------------------------


# The degrees of approximants, and the norms up to which each is exact to rounding.
_DEGREES = {
    4: ((3, 4.258730016922831e-1), (5, 1.880152677804762), (7, 3.925724783138660)),
    8: ((3, 1.495585217958292e-2), (5, 2.539398330063230e-1), (7, 9.504178996162932e-1),
        (9, 2.097847961257068), (13, 5.371920351148152))}


def expm(A, *, upper_triangular: bool = False, max_squarings: int = 16):
    """The exponential of square matrices.

    ``upper_triangular`` promises that they are upper triangular. Matrices that would need more than
    ``max_squarings`` squarings give NaN.

    >>> tanx.scipy.linalg.expm(jnp.array([[0., 1.], [0., 0.]]))
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    return _expm(matrices("expm", A, square=True, name="A"), bool(upper_triangular),
                 int(max_squarings))


@library_jit(static_argnames=("upper_triangular", "max_squarings"))
def _expm(a, upper_triangular: bool, max_squarings: int):
    if not a.size:
        return a
    degrees = _DEGREES[dtypes.finfo(a.dtype).bits // 8]
    norm = lax.stop_gradient(jnp.abs(a).sum(-2).max(-1))
    wanted = jnp.ceil(jnp.log2(norm / degrees[-1][1]))
    count = jnp.where(wanted > 0, jnp.minimum(wanted, max_squarings), 0).astype(np.int32)
    scale = jnp.ldexp(jnp.ones_like(norm), -count)[..., None, None]
    # One degree for a whole batch: the one that its largest matrix needs.
    most = jnp.max(jnp.where(jnp.isnan(norm), 0, norm))
    choice = sum((most > limit).astype(np.int32) for _, limit in degrees[:-1])
    u, v = lax.switch(choice, [partial(_pade, degree) for degree, _ in degrees],
                      a * scale.astype(a.dtype))
    if upper_triangular:
        out = lax.linalg.triangular_solve(v - u, v + u, left_side=True)
    else:
        out = jnp.linalg.solve(v - u, v + u)
    out = _squared(out, count, max_squarings)
    return jnp.where((wanted > max_squarings)[..., None, None], jnp.nan, out)


def _squared(x, count, most: int):
    """Each matrix squared ``count`` times, at most ``most`` times."""
    if x.ndim == 2:
        return _one_squared(most)(x, count)

    def square(i, x):
        return jnp.where((i < count)[..., None, None], product(x, x), x)
    return lax.fori_loop(0, jnp.max(count), square, x)


@cache
def _one_squared(most: int):
    """A function of a matrix and a count that squares the matrix ``count`` times, at most ``most``.

    The limit keeps its reverse pass small: 1.2 us instead of 34 us for a 4 x 4 matrix (two cores of
    x86-64). Batches have a separate loop, because a bounded loop runs all its steps in every lane.
    """
    @custom_vmap
    def squared(x, count):
        return lax.bounded_while_loop(
            lambda state: state[0] < count,
            lambda state: (state[0] + 1, product(state[1], state[1])),
            (np.int32(0), x), max_steps=most)[1]

    @squared.def_vmap
    def _(size, mapped, x, count):
        x, count = (a if is_mapped else jnp.broadcast_to(a, (size, *a.shape))
                    for a, is_mapped in zip((x, count), mapped))
        return _squared(x, count, most), True

    return squared


def _pade(degree: int, a):
    """The odd and the even part of the numerator of Padé's approximant of ``exp``."""
    factors = [math.factorial(2 * degree - j) / math.factorial(degree - j) / math.factorial(j)
               for j in range(degree + 1)]
    weights = [factor / factors[0] for factor in factors]
    square, eye = product(a, a), identity_like(a)
    powers = [eye, square]
    while len(powers) < (4 if degree == 13 else degree // 2 + 1):
        powers.append(product(powers[-1], square))

    def polynomial(odd: int):
        low = sum(w * power for w, power in zip(weights[odd::2], powers))
        if degree < 13:
            return low
        high = sum(w * power for w, power in zip(weights[8 + odd::2], powers[1:]))
        return low + product(powers[3], high)
    return product(a, polynomial(1)), polynomial(0)


def expm_frechet(A, E, *, method: str | None = None, compute_expm: bool = True):
    """The exponential of ``A``, and its derivative in the direction ``E``.

    Without ``compute_expm`` only the derivative is returned. ``method`` has no effect.

    >>> direction = jnp.array([[1., 2.], [3., 4.]])
    >>> _, moved = tanx.scipy.linalg.expm_frechet(jnp.zeros((2, 2)), direction)
    >>> moved
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    A, E = alike("expm_frechet", A, E)
    A = matrices("expm_frechet", A, square=True, name="A")
    if A.shape != E.shape:
        raise error("expm_frechet", "A and E must have the same shape.", f"A: {typeof(A)}",
                    f"E: {typeof(E)}")
    value, moved = jvp(expm, (A,), (E,))
    return (value, moved) if compute_expm else moved


# -- functions of Schur's form ---------------------------------------------------------------------


def _by_columns(first, column: Callable):
    """An upper triangular matrix, from its diagonal and a function that computes the next column.

    ``column(out, j, rows)`` returns column ``j``; only its part above the diagonal is used.
    """
    n = first.shape[-1]
    rows = jnp.arange(n, dtype=np.int32)[:, None]

    def step(j, out):
        own = lax.dynamic_index_in_dim(out, j, -1)
        return lax.dynamic_update_slice_in_dim(
            out, jnp.where(rows < j, column(out, j, rows), own), j, -1)
    return lax.fori_loop(1, n, step, jnp.eye(n, dtype=first.dtype) * first[..., None, :])


def _divided(left, right):
    """The solution of a triangular system, with 1 for each 0 on its diagonal."""
    zero = (left == 0) & (identity_like(left) != 0)
    return lax.linalg.triangular_solve(jnp.where(zero, 1, left), right, left_side=True)


def sqrtm(A, blocksize: int = 1):
    """The principal square root ``X`` of square matrices, ``X @ X = A``, as complex numbers.

    NaN if there is no such root. ``blocksize`` must be 1.

    >>> tanx.scipy.linalg.sqrtm(jnp.array([[4., 0.], [0., 9.]])).real
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    A = matrices("sqrtm", A, square=True, name="A", too_few=TypeError)
    if operator.index(blocksize) > 1:
        raise error("sqrtm", "blocks are not supported.", f"blocksize: {blocksize}",
                    kind=NotImplementedError)
    return _sqrtm(A)


@custom_jvp
@library_jit
def _sqrtm(a):
    t, z = lax.linalg.schur(as_complex(a))
    if not t.size:
        return t
    roots, eye = jnp.sqrt(along_diagonal(t)), identity_like(t)

    def column(out, j, rows):
        """``(out + r[j]) @ x = t[:, j]``, above the diagonal."""
        left = out + lax.dynamic_index_in_dim(roots, j, -1)[..., None] * eye
        left, right = (jnp.where(rows < j, x, y) for x, y in (
            (left, eye), (lax.dynamic_index_in_dim(t, j, -1), 0)))
        found = _divided(left, right)
        # If both eigenvalues are 0, any number solves the equation, or none does.
        has_none = ((along_diagonal(left)[..., None] == 0) & (found != 0)).any(-2, keepdims=True)
        return jnp.where(has_none, jnp.nan, found)
    return product(product(z, _by_columns(roots, column)), adjoint(z))


@_sqrtm.defjvp
def _moved_sqrtm(primals, tangents):
    """``X @ dX + dX @ X = dA``."""
    (a,), (da,) = primals, tangents
    x = _sqrtm(a)
    return x, solve_sylvester(x, x, as_complex(da), tol=0.0)


def funm(A, func: Callable, disp: bool = True):
    """A function of a square matrix, given as a function of a complex number.

    It uses Parlett's recurrence (Golub and Van Loan, 9.1.4), which is inaccurate if eigenvalues are
    equal or close. Without ``disp``, an estimate of the relative error is a second result. There is
    no derivative.

    >>> tanx.scipy.linalg.funm(jnp.array([[1., 1.], [0., 2.]]), lambda x: x * x).real
    Array([[1., 3.],
           [0., 4.]], dtype=float32)
    """
    A = matrices("funm", A, square=True, name="A")
    if A.ndim != 2:
        raise error("funm", "takes one matrix.", f"A: {typeof(A)}",
                    hint="tanx.vmap maps it over a batch.")
    t, z = lax.linalg.schur(as_complex(A))
    values = along_diagonal(t)
    found = vmap(func)(values).astype(t.dtype)
    eye = identity_like(t)

    def column(out, j, rows):
        """``(t - t[j, j]) @ x = out @ t[:, j] - t[:, j] * f[j]``, above the diagonal."""
        own = jnp.where(rows < j, lax.dynamic_index_in_dim(t, j, -1), 0)
        right = jnp.where(rows < j, product(out, own) - own * found[j], 0)
        return _divided(jnp.where(rows < j, t - values[j] * eye, eye), right)
    out = product(product(z, _by_columns(found, column)), adjoint(z)) if t.size else t
    return out if disp else (out, _parlett_error(t, out))


def _parlett_error(t, out):
    """An estimate of the error of the recurrence, from the closest pair of eigenvalues."""
    precision = float(dtypes.finfo(t.dtype).eps)
    values = along_diagonal(t)
    above = jnp.triu(jnp.ones(t.shape, bool), 1)
    gaps = jnp.where(above, jnp.abs(values[:, None] - values), np.inf)
    least = jnp.minimum(gaps.min(initial=np.inf), jnp.abs(values[0]))
    least = jnp.where(least == 0, precision, least)
    size = jnp.abs(jnp.triu(t, 1)).sum(0).max()
    estimate = jnp.clip(precision / least * size, precision, 1)
    return jnp.where(jnp.isfinite(out).all(), estimate, np.inf)
