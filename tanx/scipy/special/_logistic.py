"""The logistic function and its inverse; softmax and its logarithm."""

from __future__ import annotations

from ... import lax, nn
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ...nn import logsumexp
from ._operands import inexact_operands

__all__ = ["expit", "log_softmax", "logit", "logsumexp", "softmax"]


def expit(x):
    """The logistic function ``1 / (1 + exp(-x))``.

    >>> tanx.scipy.special.expit(jnp.array([-1.0, 0.0, 2.0]))
    Array([0.2689414, 0.5      , 0.880797 ], dtype=float32)
    """
    return lax.logistic(inexact_operands("expit", x))


def logit(x):
    """The inverse of :func:`expit`, ``log(x / (1 - x))``.

    >>> tanx.scipy.special.logit(jnp.array([0.0, 0.25, 0.5]))
    Array([      -inf, -1.0986123,  0.       ], dtype=float32)
    """
    return _logit(inexact_operands("logit", x))


@custom_jvp
@library_jit
def _logit(x):
    if x.dtype.kind == "c":
        return jnp.log(x) - jnp.log1p(-x)
    # Around 1/2 the odds are close to 1, and (odds - 1) * (1 - x) = 2x - 1 is exact.
    near = (x > 0.25) & (x < 0.75)
    quotient = jnp.where(near, 2 * x - 1, x) / (1 - x)
    odds = jnp.where(near, 1 + quotient, quotient)
    # One logarithm for both cases: the rounding error of the odds becomes a correction factor.
    over = odds - 1
    factor = jnp.where(near & (over != 0), quotient / jnp.where(over == 0, 1, over), 1)
    return jnp.where(over == 0, quotient, factor * jnp.log(odds))


_logit.defjvps(lambda dx, out, x: dx / (x * (1 - x)))


def softmax(x, /, *, axis=None):
    """``exp(x)`` divided by its sum along ``axis``: one dimension, several, or None for all.

    >>> tanx.scipy.special.softmax(jnp.array([[0.0, 1.0], [2.0, 2.0]]), axis=1)
    Array([[0.2689414, 0.7310586],
           [0.5      , 0.5      ]], dtype=float32)
    """
    return nn.softmax(x, axis=axis)


def log_softmax(x, /, *, axis=None):
    """The logarithm of :func:`softmax`, without underflow.

    >>> tanx.scipy.special.log_softmax(jnp.array([0.0, 1.0, 2.0]))
    Array([-2.4076061, -1.407606 , -0.407606 ], dtype=float32)
    """
    return nn.log_softmax(x, axis=axis)
