"""Models and their training, as in tutorials. Each program takes ``jax`` and ``jnp``."""

import functools
from typing import NamedTuple

import numpy as np


def _data(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def linear_regression(jax, jnp):
    x, y = jnp.array(_data(0, 20, 3)), jnp.array(_data(1, 20))

    def loss(params, x, y):
        return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

    params = {"w": jnp.zeros(3), "b": 0.0}
    losses = []
    for _ in range(10):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        losses.append(value)
    return params, losses


def jitted_update(jax, jnp):
    x, y = jnp.array(_data(0, 20, 3)), jnp.array(_data(1, 20))

    @jax.jit
    def update(w, lr):
        return w - lr * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)

    w = jnp.zeros(3)
    for _ in range(5):
        w = update(w, 0.1)
    return w


def _init_mlp(sizes, jnp):
    return [{"w": jnp.array(_data(i, m, n)) * 0.5, "b": jnp.zeros(n)}
            for i, (m, n) in enumerate(zip(sizes, sizes[1:]))]


def _mlp(params, x, jnp):
    *hidden, last = params
    for layer in hidden:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]


def mlp_training(jax, jnp):
    params = _init_mlp([3, 8, 4, 1], jnp)
    x, y = jnp.array(_data(5, 16, 3)), jnp.array(_data(6, 16, 1))

    @jax.jit
    def step(params):
        loss = lambda p: jnp.mean(jnp.square(_mlp(p, x, jnp) - y))
        value, grads = jax.value_and_grad(loss)(params)
        return value, jax.tree.map(lambda p, g: p - 0.05 * g, params, grads)

    for _ in range(5):
        value, params = step(params)
    return value, params


def classifier_with_log_softmax(jax, jnp):
    params = _init_mlp([4, 6, 3], jnp)
    x = jnp.array(_data(7, 10, 4))
    labels = jnp.array(np.random.default_rng(8).integers(0, 3, 10))

    def log_softmax(z):
        z = z - jnp.max(z, axis=-1, keepdims=True)
        return z - jnp.log(jnp.sum(jnp.exp(z), axis=-1, keepdims=True))

    def loss(params):
        logits = _mlp(params, x, jnp)
        one_hot = (labels[:, None] == jnp.arange(3)).astype(jnp.float32)
        return -jnp.mean(jnp.sum(one_hot * log_softmax(logits), axis=-1))

    value, grads = jax.value_and_grad(loss)(params)
    accuracy = jnp.mean(jnp.argmax(_mlp(params, x, jnp), axis=1) == labels)
    return value, grads, accuracy


def cross_entropy_by_take_along_axis(jax, jnp):
    logits = jnp.array(_data(1, 6, 4))
    labels = jnp.array([0, 3, 1, 2, 2, 0])

    def loss(logits):
        shifted = logits - jax.lax.stop_gradient(logits.max(1, keepdims=True))
        log_z = jnp.log(jnp.exp(shifted).sum(1))
        picked = jnp.take_along_axis(shifted, labels[:, None], axis=1)[:, 0]
        return (log_z - picked).mean()

    return jax.value_and_grad(loss)(logits)


def logistic_regression_by_newton(jax, jnp):
    inputs = jnp.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30],
                        [0.74, -2.49, 1.39]])
    targets = jnp.array([True, True, False, True])

    def sigmoid(x):
        return 0.5 * (jnp.tanh(x / 2) + 1)

    def loss(w, b):
        preds = sigmoid(jnp.dot(inputs, w) + b)
        label_probs = preds * targets + (1 - preds) * (1 - targets)
        return -jnp.sum(jnp.log(label_probs))

    w, b = jnp.array([0.1, -0.2, 0.3]), 0.5
    hessian = jax.jacfwd(jax.grad(loss))(w, b)
    both = jax.hessian(loss, (0, 1))(w, b)
    return loss(w, b), jax.grad(loss, (0, 1))(w, b), hessian, both


def per_example_gradients(jax, jnp):
    w = jnp.array(_data(0, 3))
    x, y = jnp.array(_data(1, 5, 3)), jnp.array(_data(2, 5))
    loss = lambda w, x, y: (jnp.dot(w, x) - y) ** 2
    grads = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))(w, x, y)
    norms = jnp.sqrt(jnp.sum(grads ** 2, axis=1))
    clipped = grads / jnp.maximum(1.0, norms[:, None])
    return grads, norms, clipped.mean(0)


def rnn_unrolled(jax, jnp):
    wx, wh, b = jnp.array(_data(0, 2, 4)), jnp.array(_data(1, 4, 4)) * 0.3, jnp.zeros(4)
    xs = jnp.array(_data(2, 6, 2))

    def rnn(params, xs):
        wx, wh, b = params
        h = jnp.zeros(4)
        outputs = []
        for x in xs:
            h = jnp.tanh(x @ wx + h @ wh + b)
            outputs.append(h)
        return jnp.stack(outputs)

    loss = lambda params: rnn(params, xs).sum()
    return rnn((wx, wh, b), xs), jax.jit(jax.grad(loss))((wx, wh, b))


def lstm_cell(jax, jnp):
    w, b = jnp.array(_data(0, 5, 12)), jnp.zeros(12)

    def sigmoid(x):
        return 1 / (1 + jnp.exp(-x))

    def cell(carry, x):
        h, c = carry
        gates = jnp.concatenate([x, h], axis=-1) @ w + b
        i, f, o, g = jnp.split(jnp.concatenate([gates, gates[..., :4]], -1), 4, axis=-1)
        c = sigmoid(f) * c[..., :1] + sigmoid(i) * jnp.tanh(g)
        return (sigmoid(o)[..., :3] * jnp.tanh(c)[..., :3], c[..., :3])

    carry = (jnp.zeros((4, 3)), jnp.zeros((4, 3)))
    x = jnp.array(_data(3, 4, 2))
    for _ in range(3):
        carry = jax.jit(cell)(carry, x)
    return carry


def attention_by_einsum(jax, jnp):
    q, k, v = (jnp.array(_data(i, 2, 5, 3, 4)) for i in range(3))  # batch, time, heads, features

    def attend(q, k, v):
        scores = jnp.einsum("bthd,bshd->bhts", q, k) / jnp.sqrt(q.shape[-1])
        mask = jnp.tril(jnp.ones((5, 5), dtype=bool))
        scores = jnp.where(mask, scores, -1e30)
        weights = jnp.exp(scores - scores.max(-1, keepdims=True))
        weights = weights / weights.sum(-1, keepdims=True)
        return jnp.einsum("bhts,bshd->bthd", weights, v)

    return attend(q, k, v), jax.grad(lambda *a: jnp.sum(attend(*a) ** 2), (0, 1, 2))(q, k, v)


def masked_softmax(jax, jnp):
    x = jnp.array(_data(0, 3, 4))
    mask = jnp.array(np.random.default_rng(1).random((3, 4)) < 0.6)

    def softmax(x):
        top = jnp.max(x, 1, keepdims=True, where=mask, initial=-jnp.inf)
        e = jnp.where(mask, jnp.exp(x - top), 0)
        return e / jnp.maximum(e.sum(1, keepdims=True), 1e-9)

    return softmax(x), jax.jacrev(softmax)(x)


def layer_norm(jax, jnp):
    x = jnp.array(_data(0, 4, 6))

    def norm(x, scale, bias, eps=1e-5):
        mean = x.mean(-1, keepdims=True)
        var = x.var(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(var + eps) * scale + bias

    out = jax.jit(norm)(x, jnp.ones(6), jnp.zeros(6))
    return out, jax.grad(lambda x: (norm(x, 2.0, 1.0) ** 3).sum())(x)


def batch_norm_with_collective(jax, jnp):
    x = jnp.array(_data(0, 8, 3))

    def norm(row):
        mean = jax.lax.pmean(row, "batch")
        var = jax.lax.pmean((row - mean) ** 2, "batch")
        return (row - mean) / jnp.sqrt(var + 1e-5)

    return jax.vmap(norm, axis_name="batch")(x), jax.jit(jax.vmap(norm, axis_name="batch"))(x)


def momentum_with_pytrees(jax, jnp):
    params = {"a": jnp.array([1.0, 2.0]), "b": (jnp.array(3.0), jnp.ones((2, 2)))}
    velocity = jax.tree.map(jnp.zeros_like, params)
    loss = lambda p: jnp.sum(p["a"] ** 2) + p["b"][0] ** 2 + jnp.sum(jnp.sin(p["b"][1]))
    for _ in range(4):
        grads = jax.grad(loss)(params)
        velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
        params = jax.tree.map(lambda p, v: p - 0.01 * v, params, velocity)
    return params, velocity


class _AdamState(NamedTuple):
    step: int
    m: object
    v: object


def adam(jax, jnp):
    params = [jnp.array(_data(0, 3)), jnp.array(_data(1, 2, 2))]
    zeros = jax.tree.map(jnp.zeros_like, params)
    state = _AdamState(0, zeros, zeros)

    @jax.jit
    def update(grads, state, params):
        step = state.step + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.m, grads)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g ** 2, state.v, grads)
        params = jax.tree.map(
            lambda p, m, v: p - 0.1 * (m / (1 - 0.9 ** step)) / (
                jnp.sqrt(v / (1 - 0.999 ** step)) + 1e-8), params, m, v)
        return params, _AdamState(step, m, v)

    for _ in range(3):
        grads = jax.grad(lambda p: jnp.sum(p[0] ** 2) + jnp.sum(jnp.cos(p[1])))(params)
        params, state = update(grads, state, params)
    return params, state


def dropout_with_given_mask(jax, jnp):
    mask = np.random.default_rng(0).random((4, 5)) < 0.7
    dropout = lambda x: jnp.where(mask, x / 0.7, 0)
    x = jnp.array(_data(1, 4, 5))
    return dropout(x), jax.grad(lambda x: dropout(x).sum())(x)


def embedding_lookup(jax, jnp):
    table = jnp.array(_data(0, 10, 4))
    ids = jnp.array([[1, 5, 1], [9, 0, 1]])
    embed = lambda table: table[ids]
    return embed(table).shape, jax.grad(lambda t: (embed(t) ** 2).sum())(table)


def checkpointed_layers(jax, jnp):
    ws = [jnp.array(_data(i, 4, 4)) * 0.5 for i in range(3)]
    x = jnp.array(_data(9, 2, 4))

    def model(ws, x):
        for w in ws:
            x = jax.checkpoint(lambda w, x: jnp.tanh(x @ w))(w, x)
        return x.sum()

    return jax.value_and_grad(model)(ws, x), jax.jit(jax.grad(model))(ws, x)


def mixed_precision_step(jax, jnp):
    w = jnp.array(_data(0, 4, 4))
    x = jnp.array(_data(1, 3, 4))

    def loss(w):
        y = (x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32)
        return jnp.mean(y ** 2)

    return jax.value_and_grad(loss)(w)


def maml_style_inner_gradient(jax, jnp):
    loss = lambda w, x: jnp.sum((jnp.sin(w * x) - x) ** 2)
    x = jnp.linspace(0, 1, 5)

    def adapted(w):
        return loss(w - 0.1 * jax.grad(loss)(w, x), x)

    return jax.grad(adapted)(1.5), jax.jit(jax.grad(adapted))(1.5)


def gaussian_mixture_log_likelihood(jax, jnp):
    x = jnp.array(_data(0, 12))
    means, log_stds, logits = jnp.array([-1.0, 1.0]), jnp.zeros(2), jnp.array([0.3, -0.3])

    def log_likelihood(means, log_stds, logits):
        log_w = logits - jnp.log(jnp.sum(jnp.exp(logits)))
        z = (x[:, None] - means) / jnp.exp(log_stds)
        log_p = log_w - 0.5 * z ** 2 - log_stds - 0.5 * jnp.log(2 * jnp.pi)
        return jnp.logaddexp(log_p[:, 0], log_p[:, 1]).sum()

    return jax.value_and_grad(log_likelihood, (0, 1, 2))(means, log_stds, logits)


def ridge_by_gradient_flow(jax, jnp):
    x, y = jnp.array(_data(0, 8, 3)), jnp.array(_data(1, 8))
    objective = lambda w: jnp.vdot(y - x @ w, y - x @ w) + 0.1 * jnp.vdot(w, w)
    grad = jax.jit(jax.grad(objective))
    w = jnp.zeros(3)
    for k in range(20):
        w = w - 0.01 / (1 + k / 10) * grad(w)
    return w, objective(w), jax.hessian(objective)(w)


def static_configuration(jax, jnp):
    @functools.partial(jax.jit, static_argnames=("activation", "depth"))
    def network(x, activation, depth):
        for _ in range(depth):
            x = getattr(jnp, activation)(x * 1.1)
        return x

    x = jnp.array(_data(0, 4))
    return network(x, "tanh", 3), network(x, activation="sin", depth=2), network(x, "abs", depth=0)
