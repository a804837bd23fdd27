"""Training steps of networks, and attention, in plain array code."""

import numpy as np

from .case import family, form, integers, noise

training = family("training steps", numpy=False)
attention = family("attention", flops=lambda t, h, d: 4 * h * t * t * d)


def _weights(*shape, seed):
    return noise(*shape, seed=seed) / np.float32(shape[0] ** 0.5)


def _log_softmax(jnp, x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - jnp.log(jnp.exp(shifted).sum(axis=-1, keepdims=True))


# -- a multi-layer perceptron ----------------------------------------------------------------------


def _mlp_loss(jnp, classes):
    def loss(layers, x, labels):
        for w, b in layers[:-1]:
            x = jnp.maximum(x @ w + b, 0)
        w, b = layers[-1]
        hit = labels[:, None] == jnp.arange(classes)
        return -jnp.where(hit, _log_softmax(jnp, x @ w + b), 0).sum() / len(labels)
    return loss


def _mlp_arguments(batch, widths):
    layers = [(_weights(n, m, seed=i), np.zeros(m, np.float32))
              for i, (n, m) in enumerate(zip(widths, widths[1:]))]
    return layers, noise(batch, widths[0]), integers(widths[-1], batch)


@training("MLP {widths}, batch {batch}", batch=32, widths=(16, 32, 4))
@training("MLP {widths}, batch {batch}", batch=128, widths=(784, 512, 512, 10))
@training("MLP {widths}, batch {batch}", batch=32, widths=(64,) * 8)
def mlp(jax, jnp, batch, widths):
    layers, x, labels = _mlp_arguments(batch, widths)
    loss = _mlp_loss(jnp, widths[-1])

    def step(layers, velocity, x, labels):
        value, gradient = jax.value_and_grad(loss)(layers, x, labels)
        velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradient)
        return value, jax.tree.map(lambda p, v: p - 0.01 * v, layers, velocity), velocity
    still = [(np.zeros_like(w), np.zeros_like(b)) for w, b in layers]
    return step, (layers, still, x, labels)


# -- a transformer ---------------------------------------------------------------------------------


def _norm(jnp, x, scale):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / jnp.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + 1e-5) * scale


def _block(jnp, p, x, heads):
    batch, tokens, width = x.shape
    y = _norm(jnp, x, p["norm1"]) @ p["qkv"]
    q, k, v = (part.reshape(batch, tokens, heads, width // heads).transpose(0, 2, 1, 3)
               for part in (y[..., :width], y[..., width:2 * width], y[..., 2 * width:]))
    scores = q @ k.transpose(0, 1, 3, 2) / (width // heads) ** 0.5
    seen = jnp.arange(tokens)[:, None] >= jnp.arange(tokens)
    scores = jnp.where(seen, scores, -1e9)
    share = jnp.exp(scores - scores.max(axis=-1, keepdims=True))
    share = share / share.sum(axis=-1, keepdims=True)
    x = x + (share @ v).transpose(0, 2, 1, 3).reshape(batch, tokens, width) @ p["out"]
    y = _norm(jnp, x, p["norm2"]) @ p["up"]
    return x + (0.5 * y * (1 + jnp.tanh(0.7978845608 * (y + 0.044715 * y ** 3)))) @ p["down"]


def _transformer_parameters(layers, width, words, tokens):
    def block(i):
        return {"norm1": np.ones(width, np.float32), "norm2": np.ones(width, np.float32),
                "qkv": _weights(width, 3 * width, seed=i), "out": _weights(width, width, seed=i),
                "up": _weights(width, 4 * width, seed=i),
                "down": _weights(4 * width, width, seed=i)}
    return {"embedding": _weights(words, width, seed=90), "place": _weights(tokens, width, seed=91),
            "blocks": [block(i) for i in range(layers)], "norm": np.ones(width, np.float32)}


def _transformer_loss(jnp, heads):
    def loss(p, words):
        x = p["embedding"][words[:, :-1]] + p["place"]
        for block in p["blocks"]:
            x = _block(jnp, block, x, heads)
        logits = _log_softmax(jnp, _norm(jnp, x, p["norm"]) @ p["embedding"].T)
        return -jnp.take_along_axis(logits, words[:, 1:, None], axis=-1).mean()
    return loss


@training("transformer of {layers} layers, width {width}, batch {batch} x {tokens}: loss",
          layers=2, width=128, batch=8, tokens=64)
def transformer_loss(jax, jnp, layers, width, batch, tokens):
    parameters = _transformer_parameters(layers, width, 256, tokens)
    return _transformer_loss(jnp, 4), (parameters, integers(256, batch, tokens + 1))


@training("transformer of {layers} layers, width {width}, batch {batch} x {tokens}: Adam step",
          layers=2, width=128, batch=8, tokens=64)
@training("transformer of {layers} layers, width {width}, batch {batch} x {tokens}: Adam step",
          layers=4, width=256, batch=4, tokens=128)
def transformer_step(jax, jnp, layers, width, batch, tokens):
    parameters = _transformer_parameters(layers, width, 256, tokens)
    loss, each = _transformer_loss(jnp, 4), jax.tree.map

    def step(p, mean, square, words):
        value, gradient = jax.value_and_grad(loss)(p, words)
        mean = each(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = each(lambda s, g: 0.99 * s + 0.01 * g * g, square, gradient)
        p = each(lambda p, m, s: p - 1e-3 * m / (jnp.sqrt(s) + 1e-3), p, mean, square)
        return value, p, mean, square
    still = each(np.zeros_like, parameters)
    return step, (parameters, still, still, integers(256, batch, tokens + 1))


# -- attention -------------------------------------------------------------------------------------


def _attend(jnp, causal):
    def run(q, k, v):
        scores = q @ jnp.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
        if causal:
            place = jnp.arange(q.shape[-2])
            scores = jnp.where(place[:, None] >= place, scores, -1e9)
        share = jnp.exp(scores - scores.max(axis=-1, keepdims=True))
        return share @ v / share.sum(axis=-1, keepdims=True)
    return run


def _heads(t, h, d):
    return noise(h, t, d), noise(h, t, d, seed=1), noise(h, t, d, seed=2)


@attention("attention, {t} tokens, {h} heads of {d}", t=[256, 512, 1024], h=8, d=64)
def forward(jax, jnp, t, h, d):
    return _attend(jnp, False), _heads(t, h, d)


@form("torch", forward)
def _(torch, t, h, d):
    return torch.nn.functional.scaled_dot_product_attention, _heads(t, h, d)


@attention("causal attention, {t} tokens, {h} heads of {d}", t=512, h=8, d=64)
def causal(jax, jnp, t, h, d):
    return _attend(jnp, True), _heads(t, h, d)


@attention("gradient of attention, {t} tokens, {h} heads of {d}", t=[256, 512, 1024], h=8, d=64,
           numpy=False, flops=lambda t, h, d: 12 * h * t * t * d)
def backward(jax, jnp, t, h, d):
    run = _attend(jnp, False)
    return (jax.grad(lambda q, k, v, w: (run(q, k, v) * w).sum(), (0, 1, 2)),
            (*_heads(t, h, d), noise(h, t, d, seed=3)))


@attention("causal attention of nn, {tokens} tokens", tokens=[1024, 2048], numpy=False, flops=None)
def attention_in_blocks(jax, jnp, tokens):
    def run(q, k, v):
        return jax.nn.dot_product_attention(q, k, v, is_causal=True)
    return run, tuple(noise(1, tokens, 4, 64) for _ in range(3))


@form("torch", attention_in_blocks)
def _(torch, tokens):
    def run(*args):
        q, k, v = (x.transpose(1, 2) for x in args)
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return out.transpose(1, 2)
    return run, tuple(noise(1, tokens, 4, 64) for _ in range(3))


@attention("gradient of causal attention of nn, {tokens} tokens", tokens=[1024, 2048], numpy=False,
           flops=None)
def attention_in_blocks_backwards(jax, jnp, tokens):
    def loss(q, k, v):
        return (jax.nn.dot_product_attention(q, k, v, is_causal=True) ** 2).sum()
    return jax.grad(loss, (0, 1, 2)), tuple(noise(1, tokens, 4, 64) for _ in range(3))


@attention("attention of nn in a window of 256, {tokens} tokens", tokens=[1024, 4096], numpy=False,
           flops=None)
def attention_in_a_window(jax, jnp, tokens):
    def run(q, k, v):
        return jax.nn.dot_product_attention(q, k, v, local_window_size=(255, 0))
    return run, tuple(noise(1, tokens, 4, 64) for _ in range(3))
