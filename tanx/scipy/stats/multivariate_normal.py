"""tanx.scipy.stats.multivariate_normal: vectors that are normally distributed."""

from math import log, pi

from ... import dtypes
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ...errors import explain
from ...lax.linalg import triangular_solve
from ...numpy._promotion import check_arraylike, convert, typeof

__all__ = ["logpdf", "pdf"]


def logpdf(x, mean, cov, allow_singular: None = None):
    """The logarithm of :func:`pdf`.

    ``allow_singular`` must be None: the covariance is factorised by Cholesky, and the density is
    NaN if it is not positive definite.

    >>> tanx.scipy.stats.multivariate_normal.logpdf(jnp.ones(2), jnp.zeros(2), jnp.eye(2))
    Array(-2.837877, dtype=float32)
    """
    if allow_singular is not None:
        raise NotImplementedError(explain(
            "tanx.scipy.stats.multivariate_normal.logpdf", "covariances must not be singular.",
            f"allow_singular: {allow_singular!r}"))
    return _logpdf(x, mean, cov)


@library_jit
def pdf(x, mean, cov):
    """The density at ``x``, vectors along the last axis.

    ``mean`` is a vector, ``cov`` a matrix, or a number that stands for a multiple of the unit
    matrix; both may have further axes, with which those of ``x`` broadcast. If both are numbers, so
    are the elements of ``x``.

    >>> tanx.scipy.stats.multivariate_normal.pdf(jnp.ones(2), jnp.zeros(2), jnp.eye(2))
    Array(0.05854983, dtype=float32)
    """
    return jnp.exp(_logpdf(x, mean, cov))


@library_jit(name="logpdf")
def _logpdf(x, mean, cov):
    check_arraylike("multivariate_normal.logpdf", x, mean, cov)
    dtype, weak = dtypes.result_type(x, mean, cov, return_weak_type_flag=True)
    dtype = dtypes.to_inexact_dtype(dtype)
    x, mean, cov = (convert(operand, dtype, weak) for operand in (x, mean, cov))
    if not cov.ndim:
        y = x - mean
        squares, n = (y * y, 1) if not mean.ndim else ((y * y).sum(-1), mean.shape[-1])
        return -0.5 * (squares / cov + n * (log(2 * pi) + jnp.log(cov)))
    n = mean.shape[-1] if mean.ndim else cov.shape[-1]
    if cov.shape[-2:] != (n, n) or x.ndim and x.shape[-1] != n and 1 not in (n, x.shape[-1]):
        raise ValueError(explain(
            "tanx.scipy.stats.multivariate_normal.logpdf",
            "vectors and matrices must be of one size.",
            f"x: {typeof(x)}", f"mean: {typeof(mean)}", f"cov: {typeof(cov)}"))
    root = jnp.linalg.cholesky(cov)
    y = jnp.broadcast_to(x - mean, jnp.broadcast_shapes(jnp.shape(x - mean), (n,)))
    volume = jnp.log(jnp.diagonal(root, axis1=-2, axis2=-1)).sum(-1)
    return -0.5 * (_solved(root, y) ** 2).sum(-1) - volume - n * 0.5 * log(2 * pi)


def _solved(root, y):
    """The solutions of triangular systems for vectors ``y``, with one matrix or one for each."""
    if root.ndim == 2:
        rows = triangular_solve(root, y.reshape(-1, y.shape[-1]), lower=True, transpose_a=True)
        return rows.reshape(y.shape)
    lead = jnp.broadcast_shapes(root.shape[:-2], y.shape[:-1])
    root = jnp.broadcast_to(root, lead + root.shape[-2:])
    y = jnp.broadcast_to(y, lead + y.shape[-1:])
    return triangular_solve(root, y[..., None], left_side=True, lower=True)[..., 0]


publish(__name__, shown)
