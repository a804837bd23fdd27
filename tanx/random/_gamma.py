"""The gamma distribution, and distributions built from it."""

from __future__ import annotations

from collections.abc import Sequence

from .. import dtypes, lax
from .. import numpy as jnp
from .._api.meshes import by_out_sharding
from .._ops.random_gamma import random_gamma, random_gamma_p
from ..errors import explain
from ..numpy._promotion import broadcast_to_shape, canonical_shape, typeof
from ._continuous import exponential
from ._keys import single, split
from ._normal import normal
from ._sampler import floating, sample_shape, sampler
from ._uniform import rademacher

__all__ = ["ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal",
           "loggamma", "random_gamma_p", "t"]


@by_out_sharding
def gamma(key, a, shape: Sequence[int] | None = None, dtype=None, *, method: str = "exact",
          out_sharding=None):
    """Numbers of the gamma distribution with density ``x**(a - 1) * exp(-x) / gamma(a)``.

    Derivatives by ``a`` are those of the sample at a fixed quantile.

    Args:
      key: A key.
      a: Positive parameter, numbers or arrays.
      shape: Of the result, to which ``a`` must broadcast; by default its shape.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      method: ``"exact"``, by rejection; or ``"approximate"``, a polynomial of a normal number,
        which takes the same time for every element.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.gamma(tanx.random.key(0), 2.0, (2,))
    Array([1.5897877, 1.7599413], dtype=float32)
    """
    return _sampled("gamma", key, a, shape, dtype, method, log_space=False)


@by_out_sharding
def loggamma(key, a, shape: Sequence[int] | None = None, dtype=None, *, method: str = "exact",
             out_sharding=None):
    """Logarithms of numbers of the gamma distribution, accurate also for numbers close to 0.

    Args:
      key: A key.
      a: Positive parameter, numbers or arrays.
      shape: Of the result, to which ``a`` must broadcast; by default its shape.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      method: ``"exact"`` or ``"approximate"``, see :func:`gamma`.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.loggamma(tanx.random.key(0), 0.01, (2,))
    Array([-11.478928,  -9.828522], dtype=float32)
    """
    return _sampled("loggamma", key, a, shape, dtype, method, log_space=True)


def _sampled(function: str, key, a, shape, dtype, method: str, log_space: bool):
    wrapped = single(function, key)
    if method not in ("exact", "approximate"):
        raise ValueError(explain(f"tanx.random.{function}", "method is 'exact' or 'approximate'.",
                                 f"method: {method!r}"))
    shape, dtype = sample_shape(function, shape, a=a), floating(function, dtype)
    draw = _gamma if method == "exact" else _gamma_approx
    return draw(wrapped, a, shape=shape, dtype=dtype, log_space=log_space)


@sampler
def _gamma(key, a, *, shape, dtype, log_space):
    a = lax.convert_element_type(a, dtype)
    return random_gamma(key, broadcast_to_shape(a, shape), log_space)


# Coefficients of powers of 1 / (2 a), for each power of a normal number: the cube root of a sample.
_POLYNOMIAL = (
    (1.0, -0.223736788, -0.0151390391), (0.471394088, 0.0260708292, -0.00898600724),
    (0.000134802802, 0.0112818601, 0.0227767899), (-0.00855306908, -0.0115376096, -0.0132329296),
    (0.00312558003, 0.0051696538, -0.00695035607), (-0.000842681213, 0.00253000995, 0.00106043799),
    (9.78049866e-05, -0.00145011698, 0.00156532601))
_SHIFT = 4  # added to parameters, so that the polynomial is accurate


@sampler
def _gamma_approx(key, a, *, shape, dtype, log_space):
    normal_key, boost_key = split(key)
    a = broadcast_to_shape(lax.convert_element_type(a, dtype), shape)
    raised = a + _SHIFT
    freedom = 2 * raised
    x = normal(normal_key, shape, dtype)
    root = _polynomial(x * lax.rsqrt(freedom), [
        _polynomial(1 / freedom, [dtype.type(c) for c in row]) for row in _POLYNOMIAL])
    root = lax.max(root, dtype.type(dtypes.finfo(dtype).tiny))
    steps = lax.reshape(lax.iota(dtype, _SHIFT), (_SHIFT,) + (1,) * len(shape))
    moves = -exponential(boost_key, (_SHIFT, *shape), dtype) / (a[None] + steps)
    out = lax.log(raised) + 3 * lax.log(root) + jnp.sum(moves, axis=0)
    return out if log_space else lax.exp(out)


def _polynomial(x, coefficients):
    """The sum of the coefficients times the powers of ``x``, from 0 on."""
    *rest, total = coefficients
    for c in reversed(rest):
        total = total * x + c
    return total


@by_out_sharding
def beta(key, a, b, shape: Sequence[int] | None = None, dtype=None, *, method: str = "exact",
         out_sharding=None):
    """Numbers of the beta distribution with density ``x**(a - 1) * (1 - x)**(b - 1) / B(a, b)``.

    Args:
      key: A key.
      a, b: Positive parameters, numbers or arrays.
      shape: Of the result, to which both must broadcast; by default theirs.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      method: ``"exact"`` or ``"approximate"``, see :func:`gamma`.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.beta(tanx.random.key(0), 2.0, 3.0, (2,))
    Array([0.23627359, 0.49045953], dtype=float32)
    """
    shape, dtype = sample_shape("beta", shape, a=a, b=b), floating("beta", dtype)
    return _beta(single("beta", key), a, b, shape=shape, dtype=dtype, method=method)


@sampler
def _beta(key, a, b, *, shape, dtype, method):
    a, b = (broadcast_to_shape(lax.convert_element_type(x, dtype), shape) for x in (a, b))
    a_key, b_key = split(key)
    log_a = loggamma(a_key, a, shape, dtype, method=method)
    log_b = loggamma(b_key, b, shape, dtype, method=method)
    greater = lax.max(log_a, log_b)
    scaled_a, scaled_b = lax.exp(log_a - greater), lax.exp(log_b - greater)
    return scaled_a / (scaled_a + scaled_b)


@by_out_sharding
def dirichlet(key, alpha, shape: Sequence[int] | None = None, dtype=None, *, out_sharding=None):
    """Vectors of positive numbers that add up to 1, of the Dirichlet distribution.

    Args:
      key: A key.
      alpha: Positive parameters; the last dimension is that of the vectors.
      shape: Of the result without its last dimension; the others of ``alpha`` must broadcast to it.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.dirichlet(tanx.random.key(0), jnp.array([1.0, 2.0, 3.0]))
    Array([0.14228562, 0.40488255, 0.45283186], dtype=float32)
    """
    aval = typeof(alpha)
    if not aval.shape:
        raise ValueError(explain("tanx.random.dirichlet", "alpha must have at least one dimension.",
                                 f"alpha: {aval}"))
    dtype = floating("dirichlet", dtype)
    lead = sample_shape("dirichlet", shape, alpha=_Row(aval))
    return _dirichlet(single("dirichlet", key), alpha, shape=(*lead, aval.shape[-1]), dtype=dtype)


class _Row:
    """A placeholder with the shape of one number per vector."""

    def __init__(self, aval):
        self.aval = aval.update(shape=aval.shape[:-1])


@sampler(sums=True)
def _dirichlet(key, alpha, *, shape, dtype):
    alpha = lax.convert_element_type(alpha, dtype)
    logs = loggamma(key, alpha, shape, dtype)
    scaled = lax.exp(logs - lax.stop_gradient(jnp.max(logs, -1, keepdims=True)))
    return scaled / jnp.sum(scaled, -1, keepdims=True)


@by_out_sharding
def chisquare(key, df, shape: Sequence[int] | None = None, dtype=None, *, method: str = "exact",
              out_sharding=None):
    """Numbers of the chi-square distribution: sums of ``df`` squares of normal numbers.

    Args:
      key: A key.
      df: Degrees of freedom, numbers or arrays.
      shape: Of the result, to which ``df`` must broadcast; by default its shape.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      method: ``"exact"`` or ``"approximate"``, see :func:`gamma`.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.chisquare(tanx.random.key(0), 3.0, (2,))
    Array([2.205084 , 2.4899676], dtype=float32)
    """
    shape, dtype = sample_shape("chisquare", shape, df=df), floating("chisquare", dtype)
    return _chisquare(single("chisquare", key), df, shape=shape, dtype=dtype, method=method)


@sampler
def _chisquare(key, df, *, shape, dtype, method):
    df = lax.convert_element_type(df, dtype)
    return lax.exp(loggamma(key, df / 2, shape, dtype, method=method)) * 2


@by_out_sharding
def f(key, dfnum, dfden, shape: Sequence[int] | None = None, dtype=None, *, out_sharding=None):
    """Numbers of the F distribution: a quotient of two means of squares of normal numbers.

    Args:
      key: A key.
      dfnum, dfden: Degrees of freedom above and below, numbers or arrays.
      shape: Of the result, to which both must broadcast; by default theirs.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.f(tanx.random.key(0), 3.0, 4.0, (2,))
    Array([2.7039127 , 0.22600974], dtype=float32)
    """
    shape = sample_shape("f", shape, dfnum=dfnum, dfden=dfden)
    return _f(single("f", key), dfnum, dfden, shape=shape, dtype=floating("f", dtype))


@sampler
def _f(key, dfnum, dfden, *, shape, dtype):
    dfnum, dfden = (broadcast_to_shape(lax.convert_element_type(x, dtype), shape)
                    for x in (dfnum, dfden))
    below, above = split(key)
    numerator, denominator = chisquare(above, dfnum, shape, dtype), chisquare(
        below, dfden, shape, dtype)
    return (numerator / dfnum) / (denominator / dfden)


@by_out_sharding
def t(key, df, shape: Sequence[int] | None = None, dtype=None, *, out_sharding=None):
    """Numbers of Student's t distribution: a normal number over a root of a mean of squares.

    Args:
      key: A key.
      df: Degrees of freedom, numbers or arrays.
      shape: Of the result, to which ``df`` must broadcast; by default its shape.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.t(tanx.random.key(0), 3.0, (2,))
    Array([ 0.69022477, -3.2393372 ], dtype=float32)
    """
    shape = sample_shape("t", shape, df=df)
    return _t(single("t", key), df, shape=shape, dtype=floating("t", dtype))


@sampler
def _t(key, df, *, shape, dtype):
    df = broadcast_to_shape(lax.convert_element_type(df, dtype), shape)
    normal_key, gamma_key = split(key)
    n = normal(normal_key, shape, dtype)
    half = df / 2
    return n * lax.sqrt(half / gamma(gamma_key, half, shape, dtype))


@by_out_sharding
def generalized_normal(key, p, shape: Sequence[int] = (), dtype=None, *, out_sharding=None):
    """Numbers with density proportional to ``exp(-|x|**p)``.

    Args:
      key: A key.
      p: The power, a positive number.
      shape: Of the result.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.generalized_normal(tanx.random.key(0), 3.0, (2,))
    Array([0.89282674, 0.09650234], dtype=float32)
    """
    return _generalized_normal(
        single("generalized_normal", key), p, dtype=floating("generalized_normal", dtype),
        shape=canonical_shape(shape, "tanx.random.generalized_normal"))


@sampler
def _generalized_normal(key, p, *, shape, dtype):
    keys = split(key)
    powers = gamma(keys[0], 1 / p, shape, dtype)
    return rademacher(keys[1], shape, dtype) * powers ** (1 / p)


@by_out_sharding
def ball(key, d: int, p=2, shape: Sequence[int] = (), dtype=None, *, out_sharding=None):
    """Points of the ball of radius 1 in ``d`` dimensions, all equally likely.

    Args:
      key: A key.
      d: How many dimensions the space has; a Python integer.
      p: Which norm measures the radius, a positive number.
      shape: Of the result without its last dimension, which is ``d``.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.ball(tanx.random.key(0), 3)
    Array([0.91715974, 0.39274216, 0.0116535 ], dtype=float32)
    """
    shape = canonical_shape(shape, "tanx.random.ball")
    (d,) = canonical_shape((d,), "tanx.random.ball")
    return _ball(single("ball", key), p, d=d, shape=shape, dtype=floating("ball", dtype))


@sampler(sums=True)
def _ball(key, p, *, d, shape, dtype):
    """Generalised normal numbers, divided by a norm that includes one further number."""
    direction_key, length_key = split(key)
    direction = generalized_normal(direction_key, p, (*shape, d), dtype)
    extra = exponential(length_key, shape, dtype)
    norm = (jnp.sum(jnp.abs(direction) ** p, -1) + extra) ** (1 / p)
    return direction / norm[..., None]
