"""The logistic function and its inverse; softmax and its logarithm."""

from __future__ import annotations

from ... import lax, nn
from ... import numpy as jnp
from ..._ops.probability import logit_p
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
    x = inexact_operands("logit", x)
    if x.dtype.kind == "c":
        return jnp.log(x) - jnp.log1p(-x)
    return logit_p.bind(x)


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
