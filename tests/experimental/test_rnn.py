"""LSTM against plain loops and JAX's numbers: layouts, lengths, directions, derivatives, errors."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.experimental import rnn
from tests.numpy.agreement import adjoint, agree
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
LENGTHS = np.array([3, 1, 0, 2])
SHAPES = [(1, False), (2, True)]
each_shape = pytest.mark.parametrize("layers, both", SHAPES)


def operands(layers, both, sizes=(4, 5), batch=4, time=3):
    directions = 2 if both else 1
    state = (layers * directions, batch, sizes[1])
    return [RNG.normal(size=shape).astype(np.float32) for shape in (
        (batch, time, sizes[0]), state, state,
        (rnn.get_num_params_in_lstm(*sizes, layers, both),))]


def plainly(x, h_0, c_0, weights, lengths, sizes, layers, both):
    """An LSTM by loops over layers, directions, sequences and steps."""
    directions = 2 if both else 1
    parts = [{k: np.asarray(v) for k, v in part.items()}
             for part in rnn.unpack_lstm_weights(weights, *sizes, layers, both)]
    hidden, cells = h_0.astype(float), c_0.astype(float)
    for layer in range(layers):
        outs = np.zeros((*x.shape[:2], sizes[1] * directions))
        for direction in range(directions):
            k = layer * directions + direction
            for i, length in enumerate(lengths):
                h, c = hidden[k, i], cells[k, i]
                for t in range(length)[::-1 if direction else 1]:
                    gates = (parts[0][k] @ x[i, t] + parts[2][k] + parts[1][k] @ h + parts[3][k])
                    enter, keep, cell, show = gates.reshape(4, -1)
                    c = c / (1 + np.exp(-keep)) + np.tanh(cell) / (1 + np.exp(-enter))
                    h = np.tanh(c) / (1 + np.exp(-show))
                    outs[i, t, direction * sizes[1]:(direction + 1) * sizes[1]] = h
                hidden[k, i], cells[k, i] = h, c
        x = outs
    return x, hidden, cells


@each_shape
def test_like_plain_loops(layers, both):
    given = operands(layers, both)
    want = plainly(*given, LENGTHS, (4, 5), layers, both)
    check(lambda *args: rnn.lstm(*args, LENGTHS, 4, 5, layers, 0.0, both), given, want)


@pytest.mark.parametrize("layers, both", [(2, False), (1, True)])
def test_weights_in_parts(layers, both):
    x, h, c, weights = operands(layers, both)
    parts = rnn.unpack_lstm_weights(weights, 4, 5, layers, both)
    assert [sorted(part) for part in parts] == [list(range(layers * (2 if both else 1)))] * 4
    want = rnn.lstm(x, h, c, weights, LENGTHS, 4, 5, layers, 0.0, both)
    agree(rnn.lstm_ref(x, h, c, *parts, LENGTHS, input_size=4, hidden_size=5, num_layers=layers,
                       dropout=0.0, bidirectional=both), want)


def test_layout_of_lstm_weights_matches_jax():
    """The start of each part; JAX's numbers."""
    assert rnn.get_num_params_in_lstm(4, 5, 1, False) == 220
    assert rnn.get_num_params_in_lstm(4, 5, 2, True) == 1120
    parts = rnn.unpack_lstm_weights(np.arange(1120), 4, 5, 2, True)
    starts = [[int(part[k].ravel()[0]) for k in range(4)] for part in parts]
    assert starts == [[0, 180, 360, 660], [80, 260, 560, 860], [960, 1000, 1040, 1080],
                      [980, 1020, 1060, 1100]]
    swapped = np.asarray(rnn.swap_lstm_gates(np.arange(220), 4, 5, 1, False))
    assert swapped[40] == 60 and swapped[60] == 40 and swapped[190] == 195
    agree(rnn.init_lstm_weight(tanx.random.key(0), 4, 5, 1, False)[:5],
          [0.40040553, 0.42805484, -0.15000306, -0.02802378, 0.06251036])


def test_swapping_twice_changes_nothing():
    weights = operands(2, True)[3]
    twice = rnn.swap_lstm_gates(rnn.swap_lstm_gates(weights, 4, 5, 2, True), 4, 5, 2, True)
    agree(twice, weights)


def test_derivatives():
    adjoint(lambda *args: sum(out.sum() * k for k, out in enumerate(
        rnn.lstm(*args, LENGTHS, 4, 5, 2, 0.0, True), 1)), *operands(2, True))


def test_forwards_and_backwards():
    x, h, c, weights = operands(2, True)
    outs, residuals = rnn.lstm_fwd(x, h, c, weights, LENGTHS, 4, 5, 2, 0.0, True, None)
    got = rnn.lstm_bwd(4, 5, 2, 0.0, True, None, residuals, outs)
    want = tanx.grad(lambda *args: sum((out ** 2).sum() / 2 for out in rnn.lstm(
        *args, LENGTHS, 4, 5, 2, 0.0, True)), (0, 1, 2, 3))(x, h, c, weights)
    assert got[4] is None
    agree(got[:4], want, 1e-5, 1e-5)


def test_batches_of_networks():
    given = [np.stack([a, -a]) for a in operands(1, True)]
    mapped = tanx.vmap(lambda *args: rnn.lstm(*args, LENGTHS, 4, 5, 1, 0.0, True))(*given)
    for i in range(2):
        agree([leaf[i] for leaf in mapped], list(plainly(*(g[i] for g in given), LENGTHS, (4, 5), 1,
                                                         True)), 1e-5, 1e-5)


@pytest.mark.parametrize("batch, time", [(0, 3), (2, 0)])
def test_empty(batch, time):
    y, h, c = rnn.lstm(*operands(1, False, batch=batch, time=time), np.zeros(batch, int), 4, 5, 1,
                       0.0, False)
    assert y.shape == (batch, time, 5) and h.shape == c.shape == (1, batch, 5)


def test_types_of_results():
    given = [tanx.ShapeDtypeStruct(x.shape, x.dtype) for x in operands(2, True)]
    types = rnn.rnn_abstract_eval(*given, None, 4, 5, 2, 0.0, True, True)
    outs = tanx.eval_shape(lambda *args: rnn.lstm(*args, LENGTHS, 4, 5, 2, 0.0, True), *given)
    assert [(t.shape, t.dtype) for t in types[:3]] == [(o.shape, o.dtype) for o in outs]
    back = rnn.rnn_bwd_abstract_eval(*types[:3], *given, types[0], types[3], None, 4, 5, 2, 0.0,
                                     True, True)
    assert list(back) == given


@pytest.mark.parametrize("error, call", [
    (NotImplementedError, lambda x, h, c, w: rnn.lstm(x, h, c, w, LENGTHS, 4, 5, 1, 0.5, False)),
    (ValueError, lambda x, h, c, w: rnn.lstm(x, h, c, w[1:], LENGTHS, 4, 5, 1, 0.0, False)),
    (ValueError, lambda x, h, c, w: rnn.lstm(x, h[:, :1], c, w, LENGTHS, 4, 5, 1, 0.0, False)),
    (ValueError, lambda x, h, c, w: rnn.lstm(x[0], h, c, w, LENGTHS, 4, 5, 1, 0.0, False)),
    (ValueError, lambda x, h, c, w: rnn.lstm(x, h, c, w, LENGTHS[:2], 4, 5, 1, 0.0, False))])
def test_errors(error, call):
    with pytest.raises(error, match=r"tanx\.experimental\.rnn\."):
        call(*map(jnp.asarray, operands(1, False)))
