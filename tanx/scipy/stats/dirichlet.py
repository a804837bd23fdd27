"""tanx.scipy.stats.dirichlet: shares that add up to 1, of density ``prod(x**(alpha - 1))``."""

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ...errors import explain
from ...numpy._promotion import check_arraylike, typeof
from ._support import times_log

__all__ = ["logpdf", "pdf"]


@library_jit
def logpdf(x, alpha):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.dirichlet.logpdf(jnp.array([0.25, 0.25, 0.5]), jnp.array([1., 2., 3.]))
    Array(1.3217559, dtype=float32)
    """
    x, alpha = _operands(x, alpha)
    total = x.sum(0)
    if x.shape[0] < alpha.shape[0]:
        x, total = jnp.concatenate([x, 1 - total[None]]), jnp.ones_like(total)
    outside = (x < 0).any(0) | (jnp.abs(total - 1) >= 1e-6)
    x = jnp.where(outside, 0.5, x)
    over = alpha.reshape(-1, *[1] * (x.ndim - 1))
    constant = lax.lgamma(alpha.sum()) - lax.lgamma(alpha).sum()
    return jnp.where(outside, -jnp.inf, constant + times_log(over - 1, x).sum(0))


@library_jit
def pdf(x, alpha):
    """The density at ``x``, whose first axis holds shares; the last share may be omitted.

    ``alpha`` is a vector of one number for each share. If shares do not add up to 1, within 1e-6,
    or one is negative, the density is 0.

    >>> tanx.scipy.stats.dirichlet.pdf(jnp.array([0.25, 0.25]), jnp.array([1., 2., 3.]))
    Array(3.7500005, dtype=float32)
    """
    return jnp.exp(logpdf(x, alpha))


def _operands(x, alpha) -> tuple:
    """Both in one inexact dtype; raises if their shapes do not match."""
    check_arraylike("dirichlet.logpdf", x, alpha)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(x, alpha))
    x, alpha = jnp.asarray(x, dtype), jnp.asarray(alpha, dtype)
    if alpha.ndim != 1 or not x.ndim or x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(explain(
            "tanx.scipy.stats.dirichlet.logpdf",
            "alpha must be a vector; the first axis of x has its length, or one less.",
            f"x:     {typeof(x)}", f"alpha: {typeof(alpha)}"))
    return x, alpha


publish(__name__, shown)
