"""Densities estimated from samples: a normal distribution around each."""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ...errors import explain
from ...lax.linalg import triangular_solve
from ...nn import logsumexp
from ...numpy._promotion import is_arraylike, promote_dtypes, typeof
from ...tree_util import register_pytree_node_class

__all__ = ["gaussian_kde"]

_NAME = "tanx.scipy.stats.gaussian_kde"


@register_pytree_node_class
class gaussian_kde:
    """A density estimated from samples: the mean of normal densities around them.

    ``dataset`` is a vector of samples, or a matrix with one sample per column. Samples are weighted
    by ``weights``. The covariance of the normal distributions is that of the data times the square
    of a factor: ``bw_method`` if that is a number; ``"scott"`` (the default) and ``"silverman"``
    are rules that choose it by the number of samples and their dimension; a function of the
    estimate returns it. An estimate is a pytree: it can be made, used and differentiated by its
    data under any transformation.

    >>> kde = tanx.scipy.stats.gaussian_kde(jnp.array([-1., 0., 2.]))
    >>> kde(jnp.array([0., 5.]))
    Array([0.21489535, 0.00546539], dtype=float32)
    """

    __slots__ = ("covariance", "dataset", "inv_cov", "neff", "weights")
    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset, bw_method: str | float | Callable | None = None, weights=None):
        dataset = jnp.atleast_2d(_array(_NAME, dataset))
        if dataset.dtype.kind == "c":
            raise NotImplementedError(explain(_NAME, "samples must be real numbers.",
                                              f"dataset: {typeof(dataset)}"))
        if dataset.ndim != 2 or dataset.size < 2:
            raise ValueError(explain(_NAME, "needs several samples, as a vector or as columns.",
                                     f"dataset: {typeof(dataset)}"))
        dtype = dtypes.to_inexact_dtype(dataset.dtype)
        dataset = dataset.astype(dtype if dtype.itemsize > 2 else np.float32)
        weights = _normalised(dataset, weights)
        self._set(1 / (weights @ weights), dataset, weights, None, None)
        spread = jnp.atleast_2d(jnp.cov(dataset, rowvar=True, bias=False, aweights=weights))
        covariance = spread * jnp.square(_factor(self, bw_method)).astype(dataset.dtype)
        self._set(self.neff, dataset, weights, covariance, jnp.linalg.inv(covariance))

    def _set(self, *leaves) -> None:
        """Set the attributes, which users cannot change."""
        for name, value in zip(("neff", "dataset", "weights", "covariance", "inv_cov"), leaves):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value) -> None:
        raise AttributeError(explain(_NAME, "an estimate cannot be changed.", f"name: {name}"))

    def __repr__(self) -> str:
        return f"gaussian_kde(d={self.d}, n={self.n}, covariance={self.covariance})"

    def tree_flatten(self):
        """The arrays of the estimate, without auxiliary data."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        """The estimate from the arrays of :meth:`tree_flatten`."""
        del aux_data
        estimate = object.__new__(cls)
        estimate._set(*children)
        return estimate

    @property
    def d(self) -> int:
        """The dimension of a sample."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.dataset.shape[1]

    def evaluate(self, points):
        """The density at ``points``, a vector of numbers or a matrix with one point per column."""
        return jnp.exp(self.logpdf(points))

    __call__ = pdf = evaluate

    def logpdf(self, x):
        """The logarithm of the density at points ``x``."""
        points, dataset, weights, root = _like(self._points("logpdf", x), self.dataset,
                                               self.weights, jnp.linalg.cholesky(self.covariance))
        return _log_density(points, dataset, jnp.log(weights), root)

    def integrate_gaussian(self, mean, cov):
        """The integral of the product with a normal density."""
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise ValueError(explain(
                f"{_NAME}.integrate_gaussian", "mean and cov must have the dimension of a sample.",
                f"mean: {typeof(mean)}", f"cov: {typeof(cov)}", f"d: {self.d}"))
        mean, cov, dataset, weights, own = _like(mean, cov, self.dataset, self.weights,
                                                 self.covariance)
        root = jnp.linalg.cholesky(own + cov)
        return jnp.exp(_log_density(mean[:, None], dataset, jnp.log(weights), root))[0]

    def integrate_box_1d(self, low, high):
        """The probability of numbers from ``low`` to ``high``, if samples are numbers."""
        if self.d != 1:
            raise ValueError(explain(f"{_NAME}.integrate_box_1d", "samples must be numbers.",
                                     f"d: {self.d}"))
        if np.ndim(low) or np.ndim(high):
            raise ValueError(explain(f"{_NAME}.integrate_box_1d", "limits must be numbers.",
                                     f"low: {typeof(low)}", f"high: {typeof(high)}"))
        scale = jnp.sqrt(2 * self.covariance[0, 0])
        above, below = (lax.erfc((end - self.dataset[0]) / scale) for end in (low, high))
        return 0.5 * ((above - below) * self.weights).sum()

    def integrate_kde(self, other: gaussian_kde):
        """The integral of the product with another estimate."""
        if other.d != self.d:
            raise ValueError(explain(f"{_NAME}.integrate_kde", "samples must be of one dimension.",
                                     f"d: {self.d}", f"d of other: {other.d}"))
        root = jnp.linalg.cholesky(self.covariance + other.covariance)
        small, large = sorted((self, other), key=lambda estimate: estimate.n)
        at = jnp.exp(_log_density(small.dataset, large.dataset, jnp.log(large.weights), root))
        return (at * small.weights).sum()

    def resample(self, key, shape=()):
        """New samples from the estimate; ``shape`` follows the dimension of a sample."""
        from ... import random  # late: half of the import time of tanx.scipy.stats

        pick_key, noise_key = random.split(key)
        picked = random.choice(pick_key, self.n, shape=shape, p=self.weights)
        noise = random.multivariate_normal(noise_key, jnp.zeros(self.d, self.covariance.dtype),
                                           self.covariance, shape=shape, dtype=self.dataset.dtype)
        return self.dataset[:, picked] + jnp.moveaxis(noise, -1, 0)

    def integrate_box(self, low_bounds, high_bounds, maxpts=None):
        """Not implemented; for samples that are numbers, use :meth:`integrate_box_1d`."""
        raise NotImplementedError(explain(
            f"{_NAME}.integrate_box", "integrals over boxes are implemented for numbers only.",
            hint="integrate_box_1d takes them."))

    def set_bandwidth(self, bw_method=None):
        """Not implemented: an estimate cannot be changed. Make another one."""
        raise NotImplementedError(explain(
            f"{_NAME}.set_bandwidth", "an estimate cannot be changed.",
            hint="make another one: gaussian_kde(dataset, bw_method)."))

    def _points(self, function: str, points):
        """Points as columns; a single point may be a vector."""
        points = jnp.atleast_2d(_array(f"{_NAME}.{function}", points))
        if points.ndim == 2 and points.shape[0] == 1 and points.shape[1] == self.d != 1:
            points = points.T
        if points.ndim != 2 or points.shape[0] != self.d:
            raise ValueError(explain(f"{_NAME}.{function}",
                                     "points must have the dimension of a sample.",
                                     f"points: {typeof(points)}", f"d: {self.d}"))
        return points


def _array(name: str, x):
    """``x`` as an array; lists are not converted silently."""
    if not is_arraylike(x):
        raise TypeError(explain(name, "needs arrays or numbers.", f"argument: {x!r:.100}",
                                hint="convert it with tanx.numpy.array(...)."))
    return jnp.asarray(x)


def _normalised(dataset, weights):
    """Weights that add up to 1."""
    n = dataset.shape[1]
    if weights is None:
        return jnp.full(n, 1 / n, dataset.dtype)
    weights = jnp.atleast_1d(_array(_NAME, weights))
    if weights.shape != (n,):
        raise ValueError(explain(_NAME, "weights must be a vector of one for each sample.",
                                 f"weights: {typeof(weights)}", f"samples: {n}"))
    weights = weights.astype(dataset.dtype)
    return weights / weights.sum()


def _factor(estimate: gaussian_kde, bw_method):
    """The factor by which the deviations of the data are multiplied."""
    neff, d = estimate.neff, estimate.d
    if bw_method is None or isinstance(bw_method, str) and bw_method == "scott":
        return neff ** (-1 / (d + 4))
    if isinstance(bw_method, str) and bw_method == "silverman":
        return (neff * (d + 2) / 4) ** (-1 / (d + 4))
    if callable(bw_method):
        return jnp.asarray(bw_method(estimate))
    if isinstance(bw_method, str) or np.ndim(bw_method):
        raise ValueError(explain(
            _NAME, "bw_method must be 'scott', 'silverman', a number or a function.",
            f"bw_method: {bw_method!r}"))
    return jnp.asarray(bw_method)


def _like(*arrays) -> list:
    """Arrays in one inexact dtype."""
    return [x.astype(dtypes.to_inexact_dtype(x.dtype)) for x in promote_dtypes(*arrays)]


@library_jit(name="gaussian_kde")
def _log_density(points, dataset, log_weights, root):
    """The logarithm of a sum of normal densities around columns of ``dataset``, at ``points``.

    ``root`` is the Cholesky factor of their covariance; divided by it, distances are Euclidean.
    """
    points, dataset = (triangular_solve(root, x, left_side=True, lower=True)
                       for x in (points, dataset))
    squares = sum(jnp.square(points[i][:, None] - dataset[i]) for i in range(dataset.shape[0]))
    volume = jnp.log(jnp.diagonal(root)).sum() + 0.5 * dataset.shape[0] * log(2 * pi)
    return logsumexp(log_weights - 0.5 * squares, axis=1) - volume
