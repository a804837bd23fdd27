"""tanx.nn.initializers: initial values of parameters.

Each returns a function ``init(key, shape, dtype=..., out_sharding=None)``; :func:`zeros` and
:func:`ones` are such functions themselves. *Fans* are the numbers of inputs and outputs of a unit:
the sizes of ``in_axis`` and ``out_axis``, times those of all other dimensions but ``batch_axis``.
"""

from __future__ import annotations

from math import prod, sqrt
from typing import Any, Protocol

import numpy as np

from .. import dtypes, random
from .. import numpy as jnp
from .._base.axes import canonical_axes, canonical_axis
from .._base.traceback import shown
from .._base.window import publish
from ..errors import explain
from ..numpy._promotion import canonical_shape

__all__ = ["Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform",
           "he_normal", "he_uniform", "kaiming_normal", "kaiming_uniform", "lecun_normal",
           "lecun_uniform", "normal", "ones", "orthogonal", "truncated_normal", "uniform",
           "variance_scaling", "xavier_normal", "xavier_uniform", "zeros"]

# The standard deviation of normal numbers truncated to the interval from -2 to 2.
_TRUNCATED = 0.87962566103423978


class Initializer(Protocol):
    """The type of functions that fill new parameters."""

    def __call__(self, key, shape, dtype=None, out_sharding=None) -> Any:
        """An array of ``shape`` and ``dtype``."""


def _dtype(dtype):
    return dtypes.requested_dtype(dtypes.default_float() if dtype is None else dtype,
                                  "tanx.nn.initializers")


def zeros(key, shape, dtype=None, out_sharding=None):
    """Zeros, whatever the key.

    >>> tanx.nn.initializers.zeros(None, (2,))
    Array([0., 0.], dtype=float32)
    """
    return jnp.zeros(shape, _dtype(dtype), out_sharding=out_sharding)


def ones(key, shape, dtype=None, out_sharding=None):
    """Ones, whatever the key.

    >>> tanx.nn.initializers.ones(None, (2,))
    Array([1., 1.], dtype=float32)
    """
    return jnp.ones(shape, _dtype(dtype), out_sharding=out_sharding)


def constant(value, dtype=None) -> Initializer:
    """For parameters of one value, or of an array that broadcasts to them.

    >>> tanx.nn.initializers.constant(3.0)(None, (2,))
    Array([3., 3.], dtype=float32)
    """
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        return jnp.full(shape, value, _dtype(dtype), out_sharding=out_sharding)
    return init


def uniform(scale=1e-2, dtype=None) -> Initializer:
    """For uniform numbers from 0 to ``scale``.

    >>> tanx.nn.initializers.uniform(10.0)(tanx.random.key(0), (2,))
    Array([9.47667 , 9.785799], dtype=float32)
    """
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        dtype = _dtype(dtype)
        numbers = random.uniform(key, shape, dtype, out_sharding=out_sharding)
        return numbers * jnp.asarray(scale, dtype)
    return init


def normal(stddev=1e-2, dtype=None) -> Initializer:
    """For normal numbers with mean 0.

    >>> tanx.nn.initializers.normal(1.0)(tanx.random.key(0), (2,))
    Array([1.6226422, 2.0252647], dtype=float32)
    """
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        dtype = _dtype(dtype)
        numbers = random.normal(key, shape, dtype, out_sharding=out_sharding)
        return numbers * jnp.asarray(stddev, dtype)
    return init


def truncated_normal(stddev=1e-2, dtype=None, lower=-2.0, upper=2.0) -> Initializer:
    """For normal numbers truncated to the interval from ``lower`` to ``upper``.

    The bounds are in units of ``stddev``, the standard deviation before truncation.

    >>> tanx.nn.initializers.truncated_normal(1.0)(tanx.random.key(0), (2,))
    Array([1.455959 , 1.7147485], dtype=float32)
    """
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        dtype = _dtype(dtype)
        numbers = random.truncated_normal(key, lower, upper, canonical_shape(shape), dtype,
                                          out_sharding=out_sharding)
        return numbers * jnp.asarray(stddev, dtype)
    return init


# -- by fans ---------------------------------------------------------------------------------------


def _fans(shape, in_axis, out_axis, batch_axis) -> tuple[float, float]:
    """How many inputs and outputs a unit has."""
    if len(shape) < 2 and (in_axis, out_axis) == (-2, -1):
        raise ValueError(explain(
            "tanx.nn.initializers.variance_scaling", "needs at least an axis of inputs and one of "
            "outputs.", f"shape: {tuple(shape)}",
            hint="in_axis=() or out_axis=() means that there is none."))

    def size(axes) -> int:
        name = "tanx.nn.initializers.variance_scaling"
        return prod(shape[d] for d in canonical_axes(name, axes, len(shape)))

    inputs, outputs = size(in_axis), size(out_axis)
    field = prod(shape) / max(1, inputs * outputs * size(batch_axis))
    return inputs * field, outputs * field


def variance_scaling(scale, mode: str, distribution: str, in_axis=-2, out_axis=-1, batch_axis=(),
                     dtype=None) -> Initializer:
    """For numbers whose variance is ``scale`` over a fan.

    Args:
      scale: A positive number.
      mode: Which fan: ``"fan_in"``, ``"fan_out"``, ``"fan_avg"`` for their mean, or
        ``"fan_geo_avg"`` for the root of their product.
      distribution: ``"normal"``, ``"truncated_normal"`` (at two standard deviations) or
        ``"uniform"``.
      in_axis, out_axis: Dimensions of inputs and of outputs.
      batch_axis: Dimensions that are just repeated.
      dtype: The dtype of the result; complex numbers are spread over a disc.

    >>> init = tanx.nn.initializers.variance_scaling(1.0, "fan_in", "normal")
    >>> init(tanx.random.key(0), (4, 1)).shape
    (4, 1)
    """
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        dtype, shape = _dtype(dtype), canonical_shape(shape, "tanx.nn.initializers")
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        fans = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2,
                "fan_geo_avg": sqrt(fan_in * fan_out)}
        if mode not in fans:
            raise ValueError(explain(
                "tanx.nn.initializers.variance_scaling", "there is no such mode.",
                f"mode: {mode!r}", f"known: {', '.join(fans)}"))
        if 0 in shape:
            return jnp.zeros(shape, dtype, out_sharding=out_sharding)
        variance = jnp.asarray(scale / fans[mode], dtype)
        return _spread(distribution, key, shape, dtype, variance, out_sharding)
    return init


def _spread(distribution: str, key, shape, dtype, variance, out_sharding):
    """Numbers of a distribution with mean 0 and a variance."""
    is_complex = dtypes.issubdtype(dtype, np.complexfloating)
    if distribution == "normal":
        return random.normal(key, shape, dtype, out_sharding=out_sharding) * jnp.sqrt(variance)
    if distribution == "truncated_normal":
        if is_complex:
            deviation = jnp.sqrt(variance) / jnp.asarray(0.95311164380491208, dtype)
            return _complex_truncated(key, 2.0, shape, dtype, out_sharding) * deviation
        deviation = jnp.sqrt(variance) / jnp.asarray(_TRUNCATED, dtype)
        return deviation * random.truncated_normal(key, -2.0, 2.0, shape, dtype,
                                                   out_sharding=out_sharding)
    if distribution == "uniform":
        if is_complex:
            return _complex_uniform(key, shape, dtype, out_sharding) * jnp.sqrt(2 * variance)
        return jnp.sqrt(3 * variance) * random.uniform(key, shape, dtype, -1,
                                                       out_sharding=out_sharding)
    raise ValueError(explain(
        "tanx.nn.initializers.variance_scaling", "there is no such distribution.",
        f"distribution: {distribution!r}", "known: normal, truncated_normal, uniform"))


def _complex_uniform(key, shape, dtype, out_sharding):
    """Uniformly distributed numbers of the unit disc."""
    squared, angle = _two_uniform(key, shape, dtype, out_sharding)
    return jnp.sqrt(squared).astype(dtype) * _on_circle(angle, dtype)


def _complex_truncated(key, upper, shape, dtype, out_sharding):
    """Complex normal numbers, truncated to a modulus of at most ``upper``."""
    share, angle = _two_uniform(key, shape, dtype, out_sharding)
    inside = (1 - jnp.exp(jnp.asarray(-(upper ** 2), dtype))) * share.astype(dtype)
    return jnp.sqrt(-jnp.log(1 - inside)) * _on_circle(angle, dtype)


def _two_uniform(key, shape, dtype, out_sharding) -> list:
    """Two arrays of real numbers from 0 to 1, for the modulus and the angle of complex ones."""
    part = np.dtype(f"f{dtype.itemsize // 2}")
    return [random.uniform(each, shape, part, out_sharding=out_sharding)
            for each in random.split(key)]


def _on_circle(angle, dtype):
    """Complex numbers of modulus 1, where a whole turn is 1."""
    return jnp.exp(1j * (2 * np.pi * angle).astype(dtype))


def glorot_uniform(in_axis=-2, out_axis=-1, batch_axis=(), dtype=None) -> Initializer:
    """For uniform numbers with variance 1 over the mean of both fans (Glorot and Bengio 2010).

    >>> tanx.nn.initializers.glorot_uniform()(tanx.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(in_axis=-2, out_axis=-1, batch_axis=(), dtype=None) -> Initializer:
    """For truncated normal numbers with variance 1 over the mean of both fans.

    >>> tanx.nn.initializers.glorot_normal()(tanx.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis,
                            dtype)


def lecun_uniform(in_axis=-2, out_axis=-1, batch_axis=(), dtype=None) -> Initializer:
    """For uniform numbers with variance 1 over the fan of inputs (LeCun et al. 1998).

    >>> tanx.nn.initializers.lecun_uniform()(tanx.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(in_axis=-2, out_axis=-1, batch_axis=(), dtype=None) -> Initializer:
    """For truncated normal numbers with variance 1 over the fan of inputs.

    >>> tanx.nn.initializers.lecun_normal()(tanx.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis,
                            dtype)


def he_uniform(in_axis=-2, out_axis=-1, batch_axis=(), dtype=None) -> Initializer:
    """For uniform numbers with variance 2 over the fan of inputs (He et al. 2015).

    >>> tanx.nn.initializers.he_uniform()(tanx.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(in_axis=-2, out_axis=-1, batch_axis=(), dtype=None) -> Initializer:
    """For truncated normal numbers with variance 2 over the fan of inputs.

    >>> tanx.nn.initializers.he_normal()(tanx.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis,
                            dtype)


xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


# -- orthogonal matrices ---------------------------------------------------------------------------


def orthogonal(scale=1.0, column_axis: int = -1, dtype=None) -> Initializer:
    """For orthogonal matrices, times ``scale``.

    Args:
      scale: A number.
      column_axis: The dimension of columns; all others together are the rows.
      dtype: The default dtype of the result.

    If there are more columns than rows, rows are orthonormal, else columns are.

    >>> q = tanx.nn.initializers.orthogonal()(tanx.random.key(0), (3, 2))
    >>> bool(jnp.allclose(q.T @ q, jnp.eye(2), atol=1e-5))
    True
    """
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        dtype, shape = _dtype(dtype), canonical_shape(shape, "tanx.nn.initializers")
        if len(shape) < 2:
            raise ValueError(explain("tanx.nn.initializers.orthogonal", "makes matrices.",
                                     f"shape: {shape}"))
        axis = canonical_axis("tanx.nn.initializers.orthogonal", column_axis, len(shape))
        size = shape[axis]
        q = random.orthogonal(key, prod(shape) // max(1, size), (), dtype, size)
        q = q.reshape((*(n for d, n in enumerate(shape) if d != axis), size))
        q = jnp.asarray(scale, dtype) * jnp.moveaxis(q, -1, axis)
        return jnp.asarray(q, out_sharding=out_sharding)
    return init


def delta_orthogonal(scale=1.0, column_axis: int = -1, dtype=None) -> Initializer:
    """For kernels of convolutions that are an orthogonal matrix in the middle, else 0.

    Args:
      scale: A number.
      column_axis: The dimension of columns of the matrix.
      dtype: The default dtype of the result.

    Kernels have one to three dimensions of space, then inputs and at least as many outputs (Xiao et
    al. 2018).

    >>> tanx.nn.initializers.delta_orthogonal()(tanx.random.key(0), (3, 2, 2)).shape
    (3, 2, 2)
    """
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        dtype, shape = _dtype(dtype), canonical_shape(shape, "tanx.nn.initializers")
        if len(shape) not in (3, 4, 5) or shape[-1] < shape[-2]:
            raise ValueError(explain(
                "tanx.nn.initializers.delta_orthogonal", "needs 3 to 5 dimensions, with at least "
                "as many outputs as inputs.", f"shape: {shape}"))
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        kernel = jnp.zeros(shape, dtype).at[middle].set(matrix)
        return jnp.asarray(kernel, out_sharding=out_sharding)
    return init


publish(__name__, shown)
