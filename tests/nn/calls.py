"""Calls of tanx.nn and tanx.ops whose results JAX recorded in ``tests/data/nn.json``.

Each is an expression in the names of ``nn``, ``init`` for its initializers, ``ops``, ``jnp``,
``grad``, ``jvp``, ``vmap``, a key ``k``, and arrays ``x``, ``y``, ``q``, ``kv``. To record, in an
environment that has JAX: ``python -m tests.nn.calls``.
"""

from pathlib import Path

import numpy as np

DATA = Path(__file__).parents[1] / "data" / "nn.json"

ACTIVATIONS = """
celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log_sigmoid mish
relu relu6 selu sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid squareplus swish tanh
softmax log_softmax standardize
""".split()

MORE = """
log1mexp(jnp.abs(x) + 0.1)
grad(lambda a: log1mexp(a).sum())(jnp.abs(x) + 0.1)
gelu(x, approximate=False)
gelu(jnp.arange(3))
relu(jnp.arange(-2, 3))
relu6(jnp.arange(-2, 9))
elu(x, 2.0)
celu(x, 2.0)
leaky_relu(x, 0.3)
glu(y, axis=0)
squareplus(x, 1.0)
softmax(y, axis=(0, 1))
softmax(y, axis=None)
softmax(y, axis=0)
softmax(y, where=y > 0)
softmax(jnp.array([-jnp.inf, 0.0]))
log_softmax(y, where=y > 0)
log_softmax(y, axis=0)
logsumexp(y)
logsumexp(y, axis=1)
logsumexp(y, axis=(0, 1), keepdims=True)
logsumexp(y, b=y)
logsumexp(y, b=y, return_sign=True)[0]
logsumexp(y, b=y, return_sign=True)[1]
logsumexp(y, axis=0, where=y > 0)
logsumexp(jnp.array([jnp.inf, 1.0]))
logsumexp(jnp.array([-jnp.inf, -jnp.inf]))
logsumexp(jnp.array([1 + 1j, 2.0]))
logsumexp(jnp.zeros(0))
grad(logsumexp)(x)
logmeanexp(y)
logmeanexp(y, axis=0, where=y > 0)
standardize(y, axis=0)
standardize(y, where=y > -1)
standardize(y, algorithm="stable")
standardize(y, mean=1.0, variance=2.0, epsilon=0.1)
one_hot(jnp.array([0, 2, -1, 5]), 3)
one_hot(jnp.array([[0, 2]]), 3, axis=0)
one_hot(jnp.array([0.0, 1.0]), 3, dtype=jnp.int32)
one_hot(1, 3)
dot_product_attention(q, kv, kv)
dot_product_attention(q, kv, kv, is_causal=True)
dot_product_attention(q, kv, kv, scale=0.3, bias=jnp.ones((1, 4, 6, 5)) * jnp.arange(5.0))
dot_product_attention(q, kv, kv, mask=jnp.arange(5) > jnp.arange(6)[:, None] - 2)
dot_product_attention(q, kv, kv, local_window_size=1)
dot_product_attention(q, kv, kv, local_window_size=(2, 1))
dot_product_attention(q, kv, kv, query_seq_lengths=jnp.array([6, 2]))
dot_product_attention(q, kv, kv, key_value_seq_lengths=jnp.array([1, 4]))
dot_product_attention(q, kv, kv, return_residual=True)[1]
dot_product_attention(q[0], kv[0], kv[0])
dot_product_attention(*(a.astype(jnp.bfloat16) for a in (q, kv, kv)))
grad(lambda a: (dot_product_attention(a, kv, kv, is_causal=True) ** 2).sum())(q)
grad(lambda a: (dot_product_attention(q, a, a, is_causal=True) ** 2).sum())(kv)
init.zeros(k, (2, 3))
init.ones(k, (2, 3), jnp.bfloat16)
init.constant(3)(k, (2,))
init.uniform(2.0)(k, (2, 3))
init.normal(2.0)(k, (2, 3))
init.truncated_normal(2.0)(k, (2, 3))
init.glorot_uniform()(k, (2, 3))
init.glorot_normal()(k, (2, 3))
init.lecun_uniform()(k, (4, 2, 3))
init.lecun_normal()(k, (4, 2, 3))
init.he_uniform(0, 1)(k, (2, 3))
init.he_normal(batch_axis=0)(k, (4, 2, 3))
init.variance_scaling(2.0, "fan_geo_avg", "normal")(k, (2, 3))
init.variance_scaling(2.0, "fan_out", "uniform")(k, (2, 3), jnp.complex64)
init.variance_scaling(2.0, "fan_out", "truncated_normal")(k, (2, 3), jnp.complex64)
init.variance_scaling(2.0, "fan_avg", "normal")(k, (2, 3), jnp.float16)
init.orthogonal(2.0)(k, (3, 2))
init.orthogonal(column_axis=0)(k, (2, 2, 3))
init.delta_orthogonal()(k, (3, 2, 3))
ops.segment_sum(x, jnp.array([0, 2, 2, 0, 5, 1]), 4)
ops.segment_sum(y, jnp.array([1, 0, 1, 1]))
ops.segment_prod(x, jnp.array([0, 2, 2, 0, 5, 1]), 4)
ops.segment_max(x, jnp.array([0, 2, 2, 0, 5, 1]), 4)
ops.segment_min(jnp.arange(6), jnp.array([0, 2, 2, 0, -1, 1]), 4)
ops.segment_sum(x, jnp.array([0, 0, 1, 1, 2, 2]), 3, bucket_size=2)
""".strip().splitlines()

CALLS = [*(f"{name}(x)" for name in ACTIVATIONS),
         *(f"jvp({name}, (x,), (x + 1,))[1]" for name in ACTIVATIONS), *MORE]


def names(system) -> dict:
    """The names that calls may use, of tanx or of JAX."""
    nn, jnp = system.nn, system.numpy
    numbers = np.random.default_rng(0)

    def normal(*shape):
        return jnp.asarray(numbers.normal(size=shape).astype(np.float32))

    return {**{name: getattr(nn, name) for name in dir(nn) if name[0] != "_"},
            "init": nn.initializers, "ops": system.ops, "jnp": jnp, "grad": system.grad,
            "jvp": system.jvp, "vmap": system.vmap, "k": system.random.key(42),
            "x": jnp.array([-2.0, -0.5, 0.0, 0.7, 3.0, 6.0]), "y": normal(4, 3),
            "q": normal(2, 6, 4, 8), "kv": normal(2, 5, 2, 8)}


if __name__ == "__main__":
    import jax
    import jax.nn
    import jax.ops

    from tests.random.calls import write

    write(DATA, {"calls": {call: np.asarray(eval(call, names(jax))) for call in CALLS}})
