"""tanx.example_libraries.stax: neural networks made of layers.

A layer is a pair of functions::

    init_fun(rng, input_shape) -> output_shape, params
    apply_fun(params, inputs, rng=None) -> outputs

``rng`` is a random key. :func:`serial` and :func:`parallel` make one layer of several. The layers
without options are pairs themselves: ``Elu``, ``Exp``, ``FanInSum``, ``Flatten``, ``Gelu``,
``Identity``, ``LeakyRelu``, ``LogSoftmax``, ``Relu``, ``Selu``, ``Sigmoid``, ``Softmax``,
``Softplus``, ``Tanh``. The functions of :mod:`tanx.nn` behind them and the usual initializers are
here too: programs write ``stax.Dense(10, W_init=stax.randn())``, where ``randn`` is ``normal``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

from .. import lax, random
from .. import numpy as jnp
from .._api.staging import eval_shape
from .._base.traceback import shown
from .._base.window import publish
from ..errors import explain
from ..nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from ..nn.initializers import glorot_normal, normal, ones, zeros

__all__ = [
    "AvgPool", "BatchNorm", "Conv", "Conv1DTranspose", "ConvTranspose", "Dense", "Dropout", "Elu",
    "Exp", "FanInConcat", "FanInSum", "FanOut", "Flatten", "Gelu", "GeneralConv",
    "GeneralConvTranspose", "Identity", "LeakyRelu", "LogSoftmax", "MaxPool", "Relu", "Selu",
    "Sigmoid", "Softmax", "Softplus", "SumPool", "Tanh", "elementwise", "elu", "gelu", "glorot",
    "glorot_normal", "leaky_relu", "log_softmax", "logsoftmax", "normal", "ones", "parallel",
    "randn", "relu", "selu", "serial", "shape_dependent", "sigmoid", "softmax", "softplus",
    "standardize", "zeros"]

glorot, randn, logsoftmax = glorot_normal, normal, log_softmax

Layer = tuple[Callable, Callable]

_WEIGHTS, _BIAS, _SMALL_BIAS = glorot_normal(), normal(), normal(1e-6)


# -- layers with parameters ------------------------------------------------------------------------


def Dense(out_dim, W_init=_WEIGHTS, b_init=_BIAS) -> Layer:
    """A layer ``inputs @ W + b`` along the last dimension.

    Args:
      out_dim: The size of the last dimension of the outputs.
      W_init: Makes ``W`` of a key and a shape.
      b_init: Makes ``b`` of a key and a shape.

    >>> init_fun, apply_fun = tanx.example_libraries.stax.Dense(3)
    >>> shape, (W, b) = init_fun(tanx.random.key(0), (5, 2))
    >>> shape, W.shape, b.shape
    ((5, 3), (2, 3), (3,))
    >>> apply_fun((W, b), jnp.ones((5, 2))).shape
    (5, 3)
    """
    def init_fun(rng, input_shape):
        for_weights, for_bias = random.split(rng)
        weights = W_init(for_weights, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (weights, b_init(for_bias, (out_dim,)))

    def apply_fun(params, inputs, **kwargs):
        weights, bias = params
        return jnp.dot(inputs, weights) + bias
    return init_fun, apply_fun


def _convolution(convolve, shape_of, dimension_numbers, out_chan, filter_shape, strides, padding,
                 W_init, b_init) -> Layer:
    """Shared by convolutions and transposed ones."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    strides = strides or (1,) * len(filter_shape)
    W_init = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init_fun(rng, input_shape):
        sizes = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
        kernel_shape = tuple(channels[c] if c in channels else next(sizes) for c in rhs_spec)
        output_shape = shape_of(input_shape, kernel_shape, strides, padding, dimension_numbers)
        for_weights, for_bias = random.split(rng)
        bias_shape = tuple(out_chan if c == "C" else 1 for c in out_spec)
        return output_shape, (W_init(for_weights, kernel_shape), b_init(for_bias, bias_shape))

    def apply_fun(params, inputs, **kwargs):
        weights, bias = params
        return convolve(inputs, weights, strides, padding,
                        dimension_numbers=dimension_numbers) + bias
    return init_fun, apply_fun


def GeneralConv(dimension_numbers, out_chan, filter_shape, strides=None, padding="VALID",
                W_init=None, b_init=_SMALL_BIAS) -> Layer:
    """A layer that convolves with learned filters and adds a number for each channel.

    ``Conv`` is this layer with images as rows, columns and channels, ``("NHWC", "HWIO", "NHWC")``.

    Args:
      dimension_numbers: What the dimensions of inputs, filters and outputs are, as in
        :func:`tanx.lax.conv_general_dilated`.
      out_chan: The number of channels of the outputs.
      filter_shape: Sizes of a filter, without channels.
      strides: Steps between places where the filter is applied; 1 by default.
      padding: ``"VALID"``, ``"SAME"``, or how much to pad on both sides of each dimension.
      W_init: Makes the filters of a key and a shape; Glorot's normal by default.
      b_init: Makes the numbers added to channels.

    >>> init_fun, _ = tanx.example_libraries.stax.GeneralConv(("NCH", "OIH", "NCH"), 4, (3,))
    >>> shape, (W, b) = init_fun(tanx.random.key(0), (1, 2, 10))
    >>> shape, W.shape, b.shape
    ((1, 4, 8), (4, 2, 3), (1, 4, 1))
    """
    return _convolution(lax.conv_general_dilated, lax.conv_general_shape_tuple, dimension_numbers,
                        out_chan, filter_shape, strides, padding, W_init, b_init)


def GeneralConvTranspose(dimension_numbers, out_chan, filter_shape, strides=None, padding="VALID",
                         W_init=None, b_init=_SMALL_BIAS) -> Layer:
    """A layer that convolves between zeros, and so makes dimensions larger by ``strides``.

    ``ConvTranspose`` is this layer for images, ``Conv1DTranspose`` for sequences, with channels
    last.

    Args:
      dimension_numbers: What the dimensions of inputs, filters and outputs are.
      out_chan: The number of channels of the outputs.
      filter_shape: Sizes of a filter, without channels.
      strides: How many places of the output there are for one of the input; 1 by default.
      padding: ``"VALID"``, ``"SAME"``, or how much to pad on both sides of each dimension.
      W_init: Makes the filters of a key and a shape; Glorot's normal by default.
      b_init: Makes the numbers added to channels.

    >>> init_fun, _ = tanx.example_libraries.stax.Conv1DTranspose(4, (3,), (2,), "SAME")
    >>> init_fun(tanx.random.key(0), (1, 10, 2))[0]
    (1, 20, 4)
    """
    return _convolution(lax.conv_transpose, lax.conv_transpose_shape_tuple, dimension_numbers,
                        out_chan, filter_shape, strides, padding, W_init, b_init)


Conv = partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
ConvTranspose = partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))


def BatchNorm(axis=(0, 1, 2), epsilon=1e-5, center=True, scale=True, beta_init=zeros,
              gamma_init=ones) -> Layer:
    """A layer that standardises its inputs, then scales and shifts them by learned numbers.

    Args:
      axis: Dimensions along which the mean becomes 0 and the variance 1.
      epsilon: Added to the variance.
      center: Whether to add a learned ``beta``.
      scale: Whether to multiply by a learned ``gamma``.
      beta_init: Makes ``beta`` of a key and a shape.
      gamma_init: Makes ``gamma`` of a key and a shape.

    >>> init_fun, apply_fun = tanx.example_libraries.stax.BatchNorm(axis=0)
    >>> shape, params = init_fun(tanx.random.key(0), (2, 3))
    >>> apply_fun(params, jnp.array([[1.0, 2.0, 3.0], [3.0, 4.0, 3.0]])).round(3)
    Array([[-1., -1.,  0.],
           [ 1.,  1.,  0.]], dtype=float32)
    """
    axis = (axis,) if jnp.isscalar(axis) else axis

    def init_fun(rng, input_shape):
        shape = tuple(size for i, size in enumerate(input_shape) if i not in axis)
        for_beta, for_gamma = random.split(rng)
        beta = beta_init(for_beta, shape) if center else ()
        gamma = gamma_init(for_gamma, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params, x, **kwargs):
        beta, gamma = params
        spread = tuple(None if i in axis else slice(None) for i in range(jnp.ndim(x)))
        z = standardize(x, axis, epsilon=epsilon)
        z = gamma[spread] * z if scale else z
        return z + beta[spread] if center else z
    return init_fun, apply_fun


# -- layers without parameters ---------------------------------------------------------------------


def _fixed(fun: Callable, shape_of: Callable = lambda shape: shape) -> Layer:
    """A layer without parameters, from functions of its inputs and of their shape."""
    def init_fun(rng, input_shape):
        return shape_of(input_shape), ()

    def apply_fun(params, inputs, **kwargs):
        return fun(inputs)
    return init_fun, apply_fun


def elementwise(fun, **fun_kwargs) -> Layer:
    """A layer that applies a function to each element, or one that keeps the shape.

    >>> _, apply_fun = tanx.example_libraries.stax.elementwise(jnp.clip, min=0.0)
    >>> apply_fun((), jnp.array([-1.0, 2.0]))
    Array([0., 2.], dtype=float32)
    """
    return _fixed(lambda inputs: fun(inputs, **fun_kwargs))


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)
Identity = _fixed(lambda inputs: inputs)
Flatten = _fixed(lambda inputs: jnp.reshape(inputs, (inputs.shape[0], -1)),
                 lambda shape: (shape[0], prod(shape[1:])))


def _pooling(reducer, identity, window_shape, strides, padding, spec, rescale=None) -> Layer:
    """A pooling layer; ``rescale`` gets the number of elements of each window, without padding."""
    count = len(window_shape)
    outside = (0, count + 1) if spec is None else sorted((spec.index("N"), spec.index("C")))
    window, steps = list(window_shape), list(strides or (1,) * count)
    for i in outside:
        window.insert(i, 1)
        steps.insert(i, 1)

    def reduced(inputs, initial, combine):
        return lax.reduce_window(inputs, initial, combine, tuple(window), tuple(steps), padding)

    def pool(inputs):
        out = reduced(inputs, identity, reducer)
        if rescale is None:
            return out
        sizes = tuple(1 if i in outside else size for i, size in enumerate(inputs.shape))
        return rescale(out, reduced(jnp.ones(sizes, inputs.dtype), 0.0, lax.add))

    def shape_of(input_shape):
        inputs: Any = jnp.zeros((), "float32")
        return eval_shape(lambda x: pool(jnp.broadcast_to(x, input_shape)), inputs).shape
    return _fixed(pool, shape_of)


def MaxPool(window_shape, strides=None, padding="VALID", spec=None) -> Layer:
    """A layer that takes the greatest element of each window.

    Args:
      window_shape: Sizes of a window, without batch and channels.
      strides: Steps between windows; 1 by default.
      padding: ``"VALID"`` or ``"SAME"``.
      spec: What the dimensions are, as ``"NCHW"``; by default the batch is first, channels last.

    >>> init_fun, apply_fun = tanx.example_libraries.stax.MaxPool((2,), strides=(2,), spec="NCH")
    >>> init_fun(None, (1, 3, 6))
    ((1, 3, 3), ())
    >>> apply_fun((), jnp.arange(6.0).reshape(1, 1, 6))
    Array([[[1., 3., 5.]]], dtype=float32)
    """
    return _pooling(lax.max, -jnp.inf, window_shape, strides, padding, spec)


def SumPool(window_shape, strides=None, padding="VALID", spec=None) -> Layer:
    """A layer that adds up the elements of each window.

    Args:
      window_shape: Sizes of a window, without batch and channels.
      strides: Steps between windows; 1 by default.
      padding: ``"VALID"`` or ``"SAME"``.
      spec: What the dimensions are, as ``"NCHW"``; by default the batch is first, channels last.

    >>> _, apply_fun = tanx.example_libraries.stax.SumPool((2,), strides=(2,), spec="NCH")
    >>> apply_fun((), jnp.arange(6.0).reshape(1, 1, 6))
    Array([[[1., 5., 9.]]], dtype=float32)
    """
    return _pooling(lax.add, 0.0, window_shape, strides, padding, spec)


def AvgPool(window_shape, strides=None, padding="VALID", spec=None) -> Layer:
    """A layer that takes the mean of each window; padding does not count.

    Args:
      window_shape: Sizes of a window, without batch and channels.
      strides: Steps between windows; 1 by default.
      padding: ``"VALID"`` or ``"SAME"``.
      spec: What the dimensions are, as ``"NCHW"``; by default the batch is first, channels last.

    >>> _, apply_fun = tanx.example_libraries.stax.AvgPool((2,), padding="SAME", spec="NCH")
    >>> apply_fun((), jnp.array([[[1.0, 3.0, 5.0]]]))
    Array([[[2., 4., 5.]]], dtype=float32)
    """
    return _pooling(lax.add, 0.0, window_shape, strides, padding, spec, lax.div)


def Dropout(rate, mode="train") -> Layer:
    """A layer that keeps each element with probability ``rate``, divided by it, else makes it 0.

    ``apply_fun`` needs a key, ``rng=``. In any other mode than ``"train"`` nothing is dropped.

    >>> _, apply_fun = tanx.example_libraries.stax.Dropout(0.5)
    >>> apply_fun((), jnp.ones(6), rng=tanx.random.key(0))
    Array([0., 0., 2., 2., 0., 2.], dtype=float32)
    """
    def init_fun(rng, input_shape):
        return input_shape, ()

    def apply_fun(params, inputs, **kwargs):
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(explain(
                "tanx.example_libraries.stax.Dropout", "apply_fun needs a random key.",
                hint="call it as apply_fun(params, inputs, rng=key)."))
        if mode != "train":
            return inputs
        return jnp.where(random.bernoulli(rng, rate, inputs.shape), inputs / rate, 0)
    return init_fun, apply_fun


def FanOut(num) -> Layer:
    """A layer that repeats its input ``num`` times, for a :func:`parallel` after it.

    >>> init_fun, apply_fun = tanx.example_libraries.stax.FanOut(2)
    >>> init_fun(None, (3,))
    ([(3,), (3,)], ())
    """
    return _fixed(lambda inputs: [inputs] * num, lambda shape: [shape] * num)


FanInSum = _fixed(sum, lambda shapes: shapes[0])


def FanInConcat(axis=-1) -> Layer:
    """A layer that joins several inputs along an axis.

    >>> init_fun, _ = tanx.example_libraries.stax.FanInConcat()
    >>> init_fun(None, [(2, 3), (2, 4)])
    ((2, 7), ())
    """
    def shape_of(shapes: Sequence[tuple[int, ...]]):
        joined = list(shapes[0])
        joined[axis % len(joined)] = sum(shape[axis] for shape in shapes)
        return tuple(joined)
    return _fixed(lambda inputs: jnp.concatenate(inputs, axis), shape_of)


# -- combinations of layers ------------------------------------------------------------------------


def _parts(function: str, layers) -> tuple[tuple[Callable, ...], tuple[Callable, ...]]:
    if not layers:
        raise ValueError(explain(f"tanx.example_libraries.stax.{function}",
                                 "there must be at least one layer.",
                                 hint="stax.Identity is a layer that does nothing."))
    inits, applies = zip(*layers)
    return inits, applies


def _keys(rng, count: int):
    return (None,) * count if rng is None else random.split(rng, count)


def serial(*layers) -> Layer:
    """Layers one after another.

    >>> from tanx.example_libraries import stax
    >>> init_fun, apply_fun = stax.serial(stax.Dense(4), stax.Relu, stax.Dense(2))
    >>> shape, params = init_fun(tanx.random.key(0), (1, 3))
    >>> shape, apply_fun(params, jnp.ones((5, 3))).shape
    ((1, 2), (5, 2))
    """
    inits, applies = _parts("serial", layers)

    def init_fun(rng, input_shape):
        params = []
        for init in inits:
            rng, own = random.split(rng)
            input_shape, param = init(own, input_shape)
            params.append(param)
        return input_shape, params

    def apply_fun(params, inputs, **kwargs):
        keys = _keys(kwargs.pop("rng", None), len(applies))
        for apply, param, key in zip(applies, params, keys):
            inputs = apply(param, inputs, rng=key, **kwargs)
        return inputs
    return init_fun, apply_fun


def parallel(*layers) -> Layer:
    """Layers in parallel: each gets one of a sequence of inputs.

    >>> from tanx.example_libraries import stax
    >>> init_fun, apply_fun = stax.serial(
    ...     stax.FanOut(2), stax.parallel(stax.Dense(4), stax.Identity), stax.FanInConcat())
    >>> init_fun(tanx.random.key(0), (1, 3))[0]
    (1, 7)
    """
    inits, applies = _parts("parallel", layers)

    def init_fun(rng, input_shape):
        made = [init(key, shape)
                for init, key, shape in zip(inits, random.split(rng, len(inits)), input_shape)]
        return tuple(shape for shape, _ in made), tuple(params for _, params in made)

    def apply_fun(params, inputs, **kwargs):
        keys = _keys(kwargs.pop("rng", None), len(applies))
        return [apply(param, x, rng=key, **kwargs)
                for apply, param, x, key in zip(applies, params, inputs, keys)]
    return init_fun, apply_fun


def shape_dependent(make_layer) -> Layer:
    """A layer that ``make_layer`` makes from the shape of the inputs.

    >>> from tanx.example_libraries import stax
    >>> init_fun, _ = stax.shape_dependent(lambda shape: stax.Dense(2 * shape[-1]))
    >>> init_fun(tanx.random.key(0), (1, 3))[0]
    (1, 6)
    """
    def init_fun(rng, input_shape):
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params, inputs, **kwargs):
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)
    return init_fun, apply_fun


publish(__name__, shown)
