"""Activation functions, element by element."""

from __future__ import annotations

import math

import numpy as np

from .. import lax
from .. import numpy as jnp
from .._api.jit import library_jit
from .._base.axes import canonical_axis
from .._control.custom_jvp import custom_jvp
from ..errors import explain
from ..numpy import tanh
from ..numpy._promotion import as_operand, inexact, typeof

__all__ = ["celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
           "identity", "leaky_relu", "log1mexp", "log_sigmoid", "mish", "relu", "relu6", "selu",
           "sigmoid", "silu", "soft_sign", "softplus", "sparse_plus", "sparse_sigmoid",
           "squareplus", "swish", "tanh"]


def _zeros(x):
    return lax.full_like(x, 0)


@library_jit
def identity(x):
    """``x`` itself.

    >>> tanx.nn.identity(jnp.array([-1.0, 2.0]))
    Array([-1.,  2.], dtype=float32)
    """
    return as_operand("identity", x)


# -- rectified linear units ------------------------------------------------------------------------


@custom_jvp
@library_jit
def relu(x):
    """``max(x, 0)``; its derivative at 0 is 0.

    >>> tanx.nn.relu(jnp.array([-1.0, 0.0, 2.0]))
    Array([0., 0., 2.], dtype=float32)
    """
    return jnp.maximum(x, 0)


relu.defjvps(lambda dx, out, x: lax.select(x > 0, dx, _zeros(dx)))


@custom_jvp
@library_jit
def relu6(x):
    """``min(max(x, 0), 6)``; its derivative at 0 and 6 is 0.

    >>> tanx.nn.relu6(jnp.array([-1.0, 2.0, 9.0]))
    Array([0., 2., 6.], dtype=float32)
    """
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


relu6.defjvps(lambda dx, out, x: lax.select((x > 0) & (x < 6), dx, _zeros(dx)))


@library_jit
def leaky_relu(x, negative_slope=1e-2):
    """``x`` where it is positive, else ``negative_slope * x``.

    >>> tanx.nn.leaky_relu(jnp.array([-1.0, 2.0]))
    Array([-0.01,  2.  ], dtype=float32)
    """
    x = as_operand("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@library_jit
def elu(x, alpha=1.0):
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``.

    >>> tanx.nn.elu(jnp.array([-1.0, 2.0]))
    Array([-0.63212055,  2.        ], dtype=float32)
    """
    x = as_operand("elu", x)
    # The branch not taken must not overflow, or its derivative spoils the other one.
    positive, below = x > 0, jnp.where(x > 0, 0.0, x)
    return jnp.where(positive, x, alpha * jnp.expm1(below))


@library_jit
def celu(x, alpha=1.0):
    """``max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)``, which is smooth for every ``alpha``.

    >>> tanx.nn.celu(jnp.array([-1.0, 2.0]), 2.0)
    Array([-0.78693867,  2.        ], dtype=float32)
    """
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@library_jit
def selu(x):
    """``elu`` scaled so that means stay near 0 and variances near 1 from layer to layer.

    >>> tanx.nn.selu(jnp.array([-1.0, 2.0]))
    Array([-1.1113307,  2.101402 ], dtype=float32)
    """
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


# -- smooth functions ------------------------------------------------------------------------------


def sigmoid(x):
    """``1 / (1 + exp(-x))``.

    >>> tanx.nn.sigmoid(jnp.array([-1.0, 2.0]))
    Array([0.26894143, 0.880797  ], dtype=float32)
    """
    return lax.logistic(x)


@library_jit
def silu(x):
    """``x * sigmoid(x)``, also known as swish.

    >>> tanx.nn.silu(jnp.array([-1.0, 2.0]))
    Array([-0.26894143,  1.761594  ], dtype=float32)
    """
    x = as_operand("silu", x)
    return x * sigmoid(x)


swish = silu


def gelu(x, approximate: bool = True):
    """``x`` times the probability that a normal number is below ``x``.

    Args:
      x: Input.
      approximate: Whether to use the formula with ``tanh`` rather than ``erfc``.

    >>> tanx.nn.gelu(jnp.array([-1.0, 2.0]))
    Array([-0.158808 ,  1.9545977], dtype=float32)
    >>> tanx.nn.gelu(jnp.array([-1.0, 2.0]), approximate=False)
    Array([-0.15865526,  1.9544997 ], dtype=float32)
    """
    x = inexact("gelu", x)
    if approximate:
        inner = x.dtype.type(np.sqrt(2 / np.pi)) * (x + 0.044715 * x ** 3)
        return x * (0.5 * (1.0 + jnp.tanh(inner)))
    return lax.convert_element_type(
        0.5 * x * lax.erfc(-x * x.dtype.type(np.sqrt(0.5))), x.dtype)


@library_jit
def softplus(x):
    """``log(1 + exp(x))``, without overflow.

    >>> tanx.nn.softplus(jnp.array([-1.0, 200.0]))
    Array([  0.3132617, 200.       ], dtype=float32)
    """
    return jnp.logaddexp(x, 0)


@library_jit
def log_sigmoid(x):
    """``log(sigmoid(x))``, without overflow.

    >>> tanx.nn.log_sigmoid(jnp.array([-200.0, 2.0]))
    Array([-2.00000e+02, -1.26928e-01], dtype=float32)
    """
    x = as_operand("log_sigmoid", x)
    return -softplus(-x)


@library_jit
def mish(x):
    """``x * tanh(softplus(x))``.

    >>> tanx.nn.mish(jnp.array([-1.0, 2.0]))
    Array([-0.30340147,  1.9439589 ], dtype=float32)
    """
    x = as_operand("mish", x)
    return x * jnp.tanh(softplus(x))


@library_jit
def soft_sign(x):
    """``x / (|x| + 1)``.

    >>> tanx.nn.soft_sign(jnp.array([-1.0, 3.0]))
    Array([-0.5 ,  0.75], dtype=float32)
    """
    x = as_operand("soft_sign", x)
    return x / (jnp.abs(x) + 1)


@library_jit
def squareplus(x, b=4):
    """``(x + sqrt(x**2 + b)) / 2``, as smooth as softplus and cheaper.

    >>> tanx.nn.squareplus(jnp.array([-1.0, 0.0]))
    Array([0.618034, 1.      ], dtype=float32)
    """
    x = as_operand("squareplus", x)
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2


@library_jit
def sparse_plus(x):
    """0 up to -1, ``x`` from 1 on, and ``(x + 1)**2 / 4`` between.

    >>> tanx.nn.sparse_plus(jnp.array([-2.0, 0.0, 2.0]))
    Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    x = as_operand("sparse_plus", x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@library_jit
def sparse_sigmoid(x):
    """The derivative of :func:`sparse_plus`: from 0 at -1 straight to 1 at 1.

    >>> tanx.nn.sparse_sigmoid(jnp.array([-2.0, 0.5, 2.0]))
    Array([0.  , 0.75, 1.  ], dtype=float32)
    """
    return 0.5 * jnp.clip(as_operand("sparse_sigmoid", x) + 1.0, 0.0, 2.0)


@custom_jvp
@library_jit
def log1mexp(x):
    """``log(1 - exp(-x))`` for ``x > 0``, accurately.

    >>> tanx.nn.log1mexp(jnp.array([1e-5, 1.0]))
    Array([-11.512931  ,  -0.45867515], dtype=float32)
    """
    x = as_operand("log1mexp", x)
    return jnp.where(x < math.log(2.0), jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


@log1mexp.defjvp
def _log1mexp_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return log1mexp(x), dx / jnp.expm1(x)


# -- piecewise linear functions --------------------------------------------------------------------


@library_jit
def hard_tanh(x):
    """``x`` clamped to the interval from -1 to 1.

    >>> tanx.nn.hard_tanh(jnp.array([-3.0, 0.5, 3.0]))
    Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    x = as_operand("hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@library_jit
def hard_sigmoid(x):
    """``relu6(x + 3) / 6``.

    >>> tanx.nn.hard_sigmoid(jnp.array([-3.0, 0.0, 1.5]))
    Array([0.  , 0.5 , 0.75], dtype=float32)
    """
    return relu6(as_operand("hard_sigmoid", x) + 3.0) / 6.0


@library_jit
def hard_silu(x):
    """``x * hard_sigmoid(x)``, also known as hard swish.

    >>> tanx.nn.hard_silu(jnp.array([-3.0, 0.0, 1.5]))
    Array([-0.   ,  0.   ,  1.125], dtype=float32)
    """
    x = as_operand("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@library_jit(static_argnames="axis")
def glu(x, axis: int = -1):
    """The first half of ``x`` along ``axis`` times the sigmoid of the second half.

    >>> tanx.nn.glu(jnp.array([1.0, 2.0, 0.0, 0.0]))
    Array([0.5, 1. ], dtype=float32)
    """
    x = as_operand("glu", x)
    axis = canonical_axis("tanx.nn.glu", axis, x)
    if x.shape[axis] % 2:
        raise ValueError(explain("tanx.nn.glu", "the axis must have an even size.",
                                 f"x:    {typeof(x)}", f"axis: {axis}"))
    first, second = jnp.split(x, 2, axis)
    return first * sigmoid(second)
