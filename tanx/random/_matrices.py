"""Random vectors and matrices that need linear algebra."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import lax
from .. import numpy as jnp
from .._api.meshes import by_out_sharding
from ..errors import explain
from ..numpy._promotion import canonical_shape, typeof
from ._keys import single
from ._normal import normal
from ._sampler import complex_or_float, floating, sampler

__all__ = ["multivariate_normal", "orthogonal"]


@by_out_sharding
def multivariate_normal(key, mean, cov, shape: Sequence[int] | None = None, dtype=None,
                        method: str = "cholesky", *, out_sharding=None):
    """Vectors of the normal distribution with a mean and a covariance.

    Args:
      key: A key.
      mean: The last dimension, of size n, is that of the vectors.
      cov: Matrices, n by n in the last dimensions; positive semidefinite.
      shape: Of the result without its last dimension; the others of ``mean`` and ``cov`` must
        broadcast to it, which together are the default.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      method: How to take a root of the covariance: ``"cholesky"``, the fastest, ``"eigh"`` or
        ``"svd"``, which also take matrices that are singular.
      out_sharding: How the result is laid out over devices.

    >>> mean, cov = jnp.array([1., 2.]), jnp.array([[4., 0.], [0., 1.]])
    >>> tanx.random.multivariate_normal(tanx.random.key(0), mean, cov, (5,)).shape
    (5, 2)
    """
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError(explain("tanx.random.multivariate_normal",
                                 "method is 'cholesky', 'eigh' or 'svd'.", f"method: {method!r}"))
    dtype = floating("multivariate_normal", dtype)
    mean, cov = (lax.convert_element_type(x, dtype) for x in (mean, cov))
    size = mean.shape[-1:]
    if not size or cov.shape[-2:] != size * 2:
        raise ValueError(explain(
            "tanx.random.multivariate_normal", "needs a vector and a matrix of one size.",
            f"mean: {typeof(mean)}", f"cov:  {typeof(cov)}"))
    lead = np.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    if shape is not None:
        shape = canonical_shape(shape, "tanx.random.multivariate_normal")
        if np.broadcast_shapes(lead, shape) != shape:
            raise ValueError(explain(
                "tanx.random.multivariate_normal", "mean and cov must broadcast to shape.",
                f"mean: {typeof(mean)}", f"cov:  {typeof(cov)}", f"shape: {shape}"))
        lead = shape
    return _multivariate_normal(single("multivariate_normal", key), mean, cov,
                                shape=(*lead, *size), dtype=dtype, method=method)


@sampler
def _multivariate_normal(key, mean, cov, *, shape, dtype, method):
    # Samples equal JAX's if the vectors have LAPACK's signs.
    if method == "svd":
        u, s, _ = lax.linalg.svd(cov, algorithm=lax.linalg.SvdAlgorithm.DIVIDE_AND_CONQUER)
        root = u * lax.sqrt(s[..., None, :])
    elif method == "eigh":
        v, w = lax.linalg.eigh(cov, implementation=lax.linalg.EighImplementation.QR)
        root = v * lax.sqrt(w[..., None, :])
    else:
        root = jnp.linalg.cholesky(cov)
    sample = jnp.einsum("...ij,...j->...i", root, normal(key, shape, dtype))
    return jnp.expand_dims(mean, range(sample.ndim - mean.ndim)) + sample


@by_out_sharding
def orthogonal(key, n: int, shape: Sequence[int] = (), dtype=None, m: int | None = None, *,
               out_sharding=None):
    """Uniformly distributed orthogonal (or unitary) matrices.

    Args:
      key: A key.
      n: Rows.
      shape: Of the result without its last two dimensions.
      dtype: Floating point or complex; by default ``float32``, or ``float64`` with ``enable_x64``.
      m: Columns, by default ``n``; of matrices that are not square the shorter vectors are
        orthonormal.
      out_sharding: How the result is laid out over devices.

    >>> q = tanx.random.orthogonal(tanx.random.key(0), 3)
    >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-6))
    True
    """
    dtype, m = complex_or_float("orthogonal", dtype), n if m is None else m
    shape = canonical_shape(shape, "tanx.random.orthogonal")
    return _orthogonal(single("orthogonal", key), shape=shape, dtype=dtype, n=n, m=m)


@sampler(sums=True)
def _orthogonal(key, *, shape, dtype, n, m):
    z = normal(key, (*shape, max(n, m), min(n, m)), dtype)
    q, r = jnp.linalg.qr(z)
    d = jnp.diagonal(r, axis1=-2, axis2=-1)
    q = q * jnp.sign(d)[..., None, :]
    return q if n >= m else jnp.swapaxes(q, -1, -2)
