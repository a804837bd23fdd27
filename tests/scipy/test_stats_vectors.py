"""Distributions of vectors: SciPy's numbers, shapes, derivatives, errors."""

import numpy as np
import pytest
from scipy import stats as reference

import tanx
import tanx.numpy as jnp
from tanx.scipy.stats import dirichlet, multinomial, multivariate_normal
from tests.numpy.agreement import adjoint, agree
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
ALPHA = np.array([0.7, 1.0, 3.0])
SHARES = RNG.dirichlet([2.0, 2.0, 2.0], 4).T
MEAN, COV = np.array([0.5, -1.0, 2.0]), np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.2],
                                                   [0.1, -0.2, 0.7]])
POINTS = RNG.normal(size=(4, 3))


# -- shares ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["logpdf", "pdf"])
def test_dirichlet(method):
    ours, theirs = getattr(dirichlet, method), getattr(reference.dirichlet, method)
    for x in (SHARES, SHARES[:, 0], SHARES[:2]):
        check(ours, (np.float32(x), np.float32(ALPHA)), theirs(x, ALPHA), 1e-5)
        with tanx.enable_x64(True):
            agree(ours(x, ALPHA), theirs(x, ALPHA), 1e-12)
    adjoint(ours, SHARES[:2], ALPHA)
    agree(tanx.vmap(ours, (1, None))(SHARES, ALPHA), theirs(SHARES, ALPHA), 1e-5)


@pytest.mark.parametrize("x, alpha, want", [
    ([0.2, 0.3, 0.6], [1, 2, 3], -np.inf),        # the sum exceeds 1
    ([-0.1, 0.6, 0.5], [1, 2, 3], -np.inf),
    ([0.7, 0.6], [1, 2, 3], -np.inf),             # no probability remains for the third
    ([0.0, 0.5, 0.5], [1, 2, 3], np.log(7.5)),
    ([0.0, 0.5, 0.5], [2, 2, 3], -np.inf),
    ([0.0, 0.5, 0.5], [0.5, 2, 3], np.inf)])
def test_shares_at_borders(x, alpha, want):
    x, alpha = jnp.asarray(x), jnp.asarray(alpha, "float32")
    np.testing.assert_allclose(dirichlet.logpdf(x, alpha), want, 1e-6)
    if alpha[0] == 1:
        slopes = tanx.grad(dirichlet.logpdf, (0, 1))(x, alpha)
        assert not any(np.isnan(slope).any() for slope in slopes)


@pytest.mark.parametrize("x, alpha", [
    (jnp.ones(4) / 4, jnp.ones(3)), (jnp.ones(1), jnp.ones(3)), (jnp.ones(2) / 2, jnp.ones((1, 2))),
    (0.2, jnp.ones(2))])
def test_shapes_of_shares(x, alpha):
    with pytest.raises(ValueError, match=r"^tanx\.scipy\.stats\.dirichlet\.pdf: alpha must"):
        dirichlet.pdf(x, alpha)
    with pytest.raises(TypeError, match=r"^tanx\.scipy\.stats\.dirichlet\.logpdf: "):
        dirichlet.logpdf([0.2, 0.8], alpha)


# -- counts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("x, n, p", [
    ([1, 2, 3], 6, [0.2, 0.3, 0.5]), ([1, 2, 3], 5, [0.2, 0.3, 0.5]),
    ([[1, 2, 3], [0, 0, 6]], 6, [0.2, 0.3, 0.5]), ([0, 3, 3], 6, [0.0, 0.5, 0.5]),
    ([-1, 4, 3], 6, [0.2, 0.3, 0.5]), ([[1, 2, 3], [1, 0, 0]], np.array([6, 1]), [0.2, 0.3, 0.5]),
    ([0, 0], 0, [0.5, 0.5])])
def test_multinomial(x, n, p):
    x, p = np.array(x), np.array(p, np.float32)
    for method in ("logpmf", "pmf"):
        want = getattr(reference.multinomial, method)(x, n, p.astype(float) / p.sum(dtype=float))
        check(lambda x, p, method=method: getattr(multinomial, method)(x, n, p), (x, p), want, 1e-5)


def test_multinomial_takes_counts():
    x, p = np.array([1, 2, 3]), np.array([0.2, 0.3, 0.5])
    with pytest.raises(ValueError, match=r"^tanx\.scipy\.stats\.multinomial\.pmf: x and n are"):
        multinomial.pmf(x.astype(float), 6, p)
    with pytest.raises(ValueError, match=r"^tanx\.scipy\.stats\.multinomial\.logpmf: x and n are"):
        multinomial.logpmf(x, 6.0, p)
    adjoint(lambda p: multinomial.logpmf(x, 6, p), p)


# -- normal vectors --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["logpdf", "pdf"])
def test_multivariate_normal(method):
    ours = getattr(multivariate_normal, method)
    theirs = getattr(reference.multivariate_normal, method)
    for x in (POINTS, POINTS[0], POINTS.reshape(2, 2, 3), POINTS[:0]):
        want = theirs(x, MEAN, COV) if x.size else np.zeros(0)
        check(ours, (np.float32(x), np.float32(MEAN), np.float32(COV)), want, 1e-4)
        with tanx.enable_x64(True):
            agree(ours(x, MEAN, COV), want, 1e-12)
    adjoint(lambda x, mean, root: ours(x, mean, root @ root.T), POINTS, MEAN,
            np.linalg.cholesky(COV))
    agree(tanx.vmap(ours, (0, None, None))(POINTS, MEAN, COV), theirs(POINTS, MEAN, COV), 1e-4)
    agree(tanx.vmap(ours, (None, None, 0))(POINTS[0], MEAN, np.stack([COV, 2 * COV])),
          [theirs(POINTS[0], MEAN, COV), theirs(POINTS[0], MEAN, 2 * COV)], 1e-4)


def test_numbers_for_means_and_covariances():
    logpdf, theirs = multivariate_normal.logpdf, reference.multivariate_normal.logpdf
    agree(logpdf(1.0, 0.5, 2.0), theirs(1.0, 0.5, 2.0))
    assert logpdf(1.0, 0.5, 2.0).weak_type
    agree(logpdf(POINTS[0], 0.5, 2.0), theirs(POINTS[0], 0.5, 2.0), 1e-5)
    agree(logpdf(POINTS, MEAN, 2.0), theirs(POINTS, MEAN, 2.0), 1e-5)
    agree(logpdf(POINTS, 0.0, COV), theirs(POINTS, np.zeros(3), COV), 1e-5)
    agree(logpdf(jnp.float32(1), jnp.zeros(1), jnp.eye(1)), theirs(1.0, 0.0, 1.0), 1e-5)


def test_batches_of_normal_distributions():
    means, covs = np.stack([MEAN, -MEAN]), np.stack([COV, 3 * COV])
    want = [[reference.multivariate_normal.logpdf(x, m, c) for m, c in zip(means, covs)]
            for x in POINTS]
    agree(multivariate_normal.logpdf(POINTS[:, None], means, covs), want, 1e-4)
    agree(multivariate_normal.logpdf(POINTS, MEAN, covs[:, None]), [
        reference.multivariate_normal.logpdf(POINTS, MEAN, c) for c in covs], 1e-4)


def test_invalid_covariances():
    assert np.isnan(multivariate_normal.logpdf(POINTS[0], MEAN, -COV))
    for arguments in ((POINTS, MEAN, COV[:2, :2]), (POINTS, MEAN[:2], COV), (POINTS, MEAN, MEAN)):
        with pytest.raises(ValueError, match=r"^tanx\.scipy\.stats\.multivariate_normal\.logpdf: "):
            multivariate_normal.logpdf(*arguments)
    for value in (True, False):
        with pytest.raises(NotImplementedError, match="singular"):
            multivariate_normal.logpdf(POINTS, MEAN, COV, value)
