"""tanx.experimental.rnn: long short-term memory (LSTM), in several layers and both directions.

The weights of all layers are one vector, laid out as cuDNN and PyTorch do: for each layer and each
of its directions a matrix for inputs and one for the hidden state, then for each of them two
vectors of biases. The rows of a matrix are those of the input gate, the forget gate, the cell and
the output gate. Inputs of a layer are multiplied by their weights in one product for all times;
only operations that depend on the step before run step by step.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .. import lax, nn, random
from .. import numpy as jnp
from .._api.autodiff import vjp
from .._api.jit import library_jit
from .._base.traceback import shown
from .._base.window import publish
from .._core.types import ShapedArray
from ..errors import explain
from ..numpy._promotion import typeof

__all__ = ["get_num_params_in_lstm", "init_lstm_weight", "lstm", "lstm_bwd", "lstm_fwd",
           "lstm_ref", "rnn_abstract_eval", "rnn_bwd_abstract_eval", "swap_lstm_gates",
           "unpack_lstm_weights"]


# -- weights ---------------------------------------------------------------------------------------


def _shapes(input_size: int, hidden_size: int, num_layers: int,
            bidirectional: bool) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The parts of a vector of weights in order: which of the four kinds, and the shape."""
    directions = 2 if bidirectional else 1
    for layer in range(num_layers):
        width = input_size if layer == 0 else hidden_size * directions
        for _ in range(directions):
            yield 0, (4 * hidden_size, width)
            yield 1, (4 * hidden_size, hidden_size)
    for _ in range(num_layers * directions):
        yield 2, (4 * hidden_size,)
        yield 3, (4 * hidden_size,)


def get_num_params_in_lstm(input_size: int, hidden_size: int, num_layers: int,
                           bidirectional: bool) -> int:
    """How many weights an LSTM has.

    >>> tanx.experimental.rnn.get_num_params_in_lstm(4, 5, 1, False)
    220
    """
    return sum(int(np.prod(shape))
               for _, shape in _shapes(input_size, hidden_size, num_layers, bidirectional))


def init_lstm_weight(rng, input_size: int, hidden_size: int, num_layers: int,
                     bidirectional: bool):
    """Random weights, evenly distributed up to ``hidden_size ** -0.5`` on both sides of zero.

    >>> tanx.experimental.rnn.init_lstm_weight(tanx.random.key(0), 4, 5, 1, False).shape
    (220,)
    """
    size = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    bound = hidden_size ** -0.5
    return random.uniform(rng, (size,), minval=-bound, maxval=bound)


def unpack_lstm_weights(weights, input_size: int, hidden_size: int, num_layers: int,
                        bidirectional: bool):
    """The four kinds of weights, each a dict by layers: for inputs, hidden states, and biases.

    With both directions, layer ``i`` has the keys ``2 * i`` and ``2 * i + 1``.

    >>> rnn = tanx.experimental.rnn
    >>> inputs, hidden, *biases = rnn.unpack_lstm_weights(jnp.arange(220.), 4, 5, 1, False)
    >>> inputs[0].shape, hidden[0].shape, biases[1][0].shape
    ((20, 4), (20, 5), (20,))
    """
    weights = jnp.asarray(weights)
    size = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    if weights.shape != (size,):
        raise ValueError(explain(
            "tanx.experimental.rnn.unpack_lstm_weights",
            f"weights must be a vector of {size} numbers.", f"weights: {typeof(weights)}",
            hint="get_num_params_in_lstm returns their number."))
    unpacked: tuple[dict, dict, dict, dict] = ({}, {}, {}, {})
    start = 0
    for kind, shape in _shapes(input_size, hidden_size, num_layers, bidirectional):
        stop = start + int(np.prod(shape))
        unpacked[kind][len(unpacked[kind])] = weights[start:stop].reshape(shape)
        start = stop
    return unpacked


def swap_lstm_gates(weights, input_size: int, hidden_size: int, num_layers: int,
                    bidirectional: bool):
    """Weights with the rows of the cell and of the output gate exchanged.

    >>> tanx.experimental.rnn.swap_lstm_gates(jnp.arange(16.), 1, 1, 1, False)[:4]
    Array([0., 1., 3., 2.], dtype=float32)
    """
    unpacked = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    places = [0] * 4
    parts = []
    for kind, _ in _shapes(input_size, hidden_size, num_layers, bidirectional):
        first, second, cell, out = jnp.split(unpacked[kind][places[kind]], 4)
        parts.append(jnp.concatenate([first, second, out, cell]).ravel())
        places[kind] += 1
    return jnp.concatenate(parts)


# -- layers ----------------------------------------------------------------------------------------


def lstm(x, h_0, c_0, weights, seq_lengths, input_size: int, hidden_size: int, num_layers: int,
         dropout: float, bidirectional: bool, precision=None):
    """An LSTM on a batch of sequences: its outputs, and the hidden and cell states at the ends.

    ``x`` is ``[batch, time, input_size]``; ``h_0`` and ``c_0``, the states before, are ``[layers *
    directions, batch, hidden_size]``. Sequence ``i`` ends after ``seq_lengths[i]`` steps: outputs
    after that are zero, and the other direction begins there. ``weights`` is a vector like that of
    :func:`init_lstm_weight`. ``dropout`` must be 0: which values are dropped is defined by cuDNN
    only.

    >>> rnn = tanx.experimental.rnn
    >>> weights = rnn.init_lstm_weight(tanx.random.key(0), 4, 5, 1, False)
    >>> x, state = jnp.ones((2, 3, 4)), jnp.zeros((1, 2, 5))
    >>> y, h, c = rnn.lstm(x, state, state, weights, jnp.array([3, 1]), 4, 5, 1, 0.0, False)
    >>> y.shape, h.shape, bool((y[1, 1:] == 0).all())
    ((2, 3, 5), (1, 2, 5), True)
    """
    parts = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    return _run("lstm", x, h_0, c_0, parts, seq_lengths, dropout, bidirectional, precision)


def lstm_ref(x, h_0, c_0, W_ih, W_hh, b_ih, b_hh, seq_lengths, input_size: int, hidden_size: int,
             num_layers: int, dropout: float, bidirectional: bool):
    """:func:`lstm` with the four kinds of weights that :func:`unpack_lstm_weights` returns.

    >>> rnn = tanx.experimental.rnn
    >>> weights = rnn.unpack_lstm_weights(jnp.zeros(220), 4, 5, 1, False)
    >>> x, state = jnp.ones((2, 3, 4)), jnp.ones((1, 2, 5))
    >>> y, h, c = rnn.lstm_ref(x, state, state, *weights, jnp.array([3, 1]), 4, 5, 1, 0.0, False)
    >>> c[0, :, 0]  # all gates are half open
    Array([0.125, 0.5  ], dtype=float32)
    """
    return _run("lstm_ref", x, h_0, c_0, (W_ih, W_hh, b_ih, b_hh), seq_lengths, dropout,
                bidirectional, None)


def _run(name: str, x, h_0, c_0, parts, seq_lengths, dropout, bidirectional, precision):
    """Check the operands of a function, and run all layers."""
    if dropout:
        raise NotImplementedError(explain(
            f"tanx.experimental.rnn.{name}", "dropout within an LSTM is not supported.",
            f"dropout: {dropout}", hint="apply dropout to inputs and outputs of single layers."))
    x, h_0, c_0, lengths = map(jnp.asarray, (x, h_0, c_0, seq_lengths))
    states = len(parts[0]), x.shape[0] if x.ndim else 0, parts[1][0].shape[1]
    if x.ndim != 3 or h_0.shape != states or c_0.shape != states or lengths.shape != states[1:2]:
        raise ValueError(explain(
            f"tanx.experimental.rnn.{name}",
            "x must be [batch, time, input], states [layers * directions, batch, hidden], and "
            "seq_lengths [batch].", f"x:           {typeof(x)}", f"h_0:         {typeof(h_0)}",
            f"c_0:         {typeof(c_0)}", f"seq_lengths: {typeof(lengths)}"))
    return _layers(x, h_0, c_0, *parts, lengths, bool(bidirectional), precision)


@library_jit(static_argnums=(8, 9))
def _layers(x, h_0, c_0, w_ih, w_hh, b_ih, b_hh, lengths, bidirectional, precision):
    directions = 2 if bidirectional else 1
    steps = jnp.arange(x.shape[1], dtype=lengths.dtype)[None]
    alive = steps < lengths[:, None]
    # In reverse, each sequence begins at its own end.
    backwards = jnp.where(alive, lengths[:, None] - 1 - steps, steps)[..., None]
    hidden, cells = [], []
    for first in range(0, len(w_ih), directions):
        outs = []
        for k in range(first, first + directions):
            turned = k > first
            ins = jnp.take_along_axis(x, backwards, 1) if turned else x
            y, h, c = _direction(ins, h_0[k], c_0[k], w_ih[k], w_hh[k], b_ih[k] + b_hh[k], alive,
                                 precision)
            outs.append(jnp.take_along_axis(y, backwards, 1) if turned else y)
            hidden.append(h)
            cells.append(c)
        x = jnp.concatenate(outs, -1)
    return x, jnp.stack(hidden), jnp.stack(cells)


def _direction(x, h, c, w_ih, w_hh, bias, alive, precision):
    """One layer in one direction: outputs, and the states at the ends of sequences."""
    pushes = jnp.matmul(jnp.swapaxes(x, 0, 1), w_ih.T, precision=precision) + bias[None, None]

    def step(state, at):
        h, c = state
        push, here = at
        gates = push + jnp.matmul(h, w_hh.T, precision=precision)
        enter, keep, cell, show = jnp.split(gates, 4, -1)
        new_c = nn.sigmoid(keep) * c + nn.sigmoid(enter) * jnp.tanh(cell)
        new_h = nn.sigmoid(show) * jnp.tanh(new_c)
        return ((jnp.where(here, new_h, h), jnp.where(here, new_c, c)), jnp.where(here, new_h, 0))

    (h, c), y = lax.scan(step, (h, c), (pushes, alive.T[..., None]))
    return jnp.swapaxes(y, 0, 1), h, c


# -- parts that are public in JAX ------------------------------------------------------------------


def lstm_fwd(x, h_0, c_0, w, seq_lengths, input_size: int, hidden_size: int, num_layers: int,
             dropout: float, bidirectional: bool, precision):
    """:func:`lstm`, and the residuals for :func:`lstm_bwd`.

    >>> rnn = tanx.experimental.rnn
    >>> x, state = jnp.ones((2, 3, 4)), jnp.zeros((1, 2, 5))
    >>> (y, h, c), residuals = rnn.lstm_fwd(
    ...     x, state, state, jnp.ones(220), jnp.array([3, 1]), 4, 5, 1, 0.0, False, None)
    >>> gradients = rnn.lstm_bwd(4, 5, 1, 0.0, False, None, residuals, (y, h, c))
    >>> [g.shape for g in gradients[:4]]
    [(2, 3, 4), (1, 2, 5), (1, 2, 5), (220,)]
    """
    def run(x, h_0, c_0, w):
        return lstm(x, h_0, c_0, w, seq_lengths, input_size, hidden_size, num_layers, dropout,
                    bidirectional, precision)
    return vjp(run, x, h_0, c_0, w)


def lstm_bwd(input_size: int, hidden_size: int, num_layers: int, dropout: float,
             bidirectional: bool, precision, residuals, gradients):
    """The cotangents of ``x``, ``h_0``, ``c_0`` and weights, and None for the lengths.

    For an example, see :func:`lstm_fwd`:

    >>> callable(tanx.experimental.rnn.lstm_bwd)
    True
    """
    return *residuals(tuple(gradients)), None


def rnn_abstract_eval(x_aval, h_0_aval, c_0_aval, w_aval, seq_lengths_aval, input_size: int,
                      hidden_size: int, num_layers: int, dropout: float, bidirectional: bool,
                      cudnn_allow_tf32: bool):
    """The types of the results of :func:`lstm`, and of its reserved space, which is empty.

    >>> x, state = (tanx.ShapeDtypeStruct(s, "float32") for s in ((2, 3, 4), (1, 2, 5)))
    >>> rnn = tanx.experimental.rnn
    >>> rnn.rnn_abstract_eval(x, state, state, None, None, 4, 5, 1, 0.0, False, True)[0]
    ShapedArray(float32[2,3,5])
    """
    width = hidden_size * (2 if bidirectional else 1)
    return (ShapedArray((*x_aval.shape[:2], width), np.dtype(x_aval.dtype)),
            ShapedArray(h_0_aval.shape, np.dtype(h_0_aval.dtype)),
            ShapedArray(c_0_aval.shape, np.dtype(c_0_aval.dtype)),
            ShapedArray((0,), np.dtype(np.float32)))


def rnn_bwd_abstract_eval(dy_aval, dhn_aval, dcn_aval, x_aval, h0_aval, c0_aval, w_aval, y_aval,
                          reserve_space_aval, seq_lengths_aval, input_size: int, hidden_size: int,
                          num_layers: int, dropout: float, bidirectional: bool,
                          cudnn_allow_tf32: bool):
    """The types of cotangents: those of ``x``, ``h_0``, ``c_0`` and the weights.

    >>> x = tanx.ShapeDtypeStruct((2,), "float32")
    >>> rest = [x] * 9 + [4, 5, 1, 0.0, False, True]
    >>> len(tanx.experimental.rnn.rnn_bwd_abstract_eval(x, *rest))
    4
    """
    return x_aval, h0_aval, c0_aval, w_aval


publish(__name__, shown)
