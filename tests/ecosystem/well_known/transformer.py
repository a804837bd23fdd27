"""A small transformer, trained with optax to continue sequences that repeat."""

import jax
import jax.numpy as jnp
import optax

WORDS, WIDTH, HEADS, LAYERS, LENGTH = 32, 64, 4, 2, 64


def init(key):
    """Parameters, normally distributed."""
    def normal(*shape):
        nonlocal key
        key, part = jax.random.split(key)
        return jax.random.normal(part, shape) * shape[0] ** -0.5
    layer = lambda: {"qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH),
                     "up": normal(WIDTH, 4 * WIDTH), "down": normal(4 * WIDTH, WIDTH),
                     "norms": jnp.ones((2, WIDTH))}
    return {"words": normal(WORDS, WIDTH), "places": normal(LENGTH, WIDTH),
            "layers": [layer() for _ in range(LAYERS)], "norm": jnp.ones(WIDTH)}


def normed(x, scale):
    """Root mean square normalisation."""
    return x * scale * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def attention(x, layer):
    """Causal attention with several heads."""
    q, k, v = jnp.split((x @ layer["qkv"]).reshape(LENGTH, HEADS, -1), 3, -1)
    scores = jnp.einsum("ihd,jhd->hij", q, k) * q.shape[-1] ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e30)
    mixed = jnp.einsum("hij,jhd->ihd", jax.nn.softmax(scores), v)
    return mixed.reshape(LENGTH, WIDTH) @ layer["out"]


def logits(params, tokens):
    """The logits of the following token, at each position."""
    x = params["words"][tokens] + params["places"]
    for layer in params["layers"]:
        x = x + attention(normed(x, layer["norms"][0]), layer)
        x = x + jax.nn.gelu(normed(x, layer["norms"][1]) @ layer["up"]) @ layer["down"]
    return normed(x, params["norm"]) @ params["words"].T


def sequences(key, count):
    """Random sequences of 16 tokens, repeated."""
    part = jax.random.randint(key, (count, 16), 0, WORDS)
    return jnp.tile(part, (1, LENGTH // 16 + 1))[:, :LENGTH + 1]


def loss(params, tokens):
    """The cross entropy of the following tokens."""
    found = jax.vmap(logits, (None, 0))(params, tokens[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(found, tokens[:, 1:]).mean()


schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 20, 200)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))


@jax.jit
def step(params, state, key):
    """One step of AdamW on new sequences: parameters, state and loss."""
    value, grads = jax.value_and_grad(loss)(params, sequences(key, 16))
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value


params = init(jax.random.key(0))
state = optimizer.init(params)
losses = []
for key in jax.random.split(jax.random.key(1), 200):
    params, state, value = step(params, state, key)
    losses.append(value)
RESULT = {"losses": jnp.stack(losses)}
TOLERANCE = {"losses": 1e-2}
