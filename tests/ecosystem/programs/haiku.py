"""A network with state and a recurrent core."""

import haiku as hk
import jax
import jax.numpy as jnp


def network(x, train):
    x = hk.BatchNorm(True, True, 0.9)(hk.Linear(16)(x), train)
    x = hk.Conv1D(4, 3)(jax.nn.relu(x)[..., None]).reshape(x.shape[0], -1)
    return hk.nets.MLP([8, 2])(x, dropout_rate=0.1 if train else None,
                               rng=hk.next_rng_key() if train else None)


def recurrent(xs):
    core = hk.LSTM(5)
    return hk.dynamic_unroll(core, xs, core.initial_state(2))[0]


x = jax.random.normal(jax.random.PRNGKey(0), (4, 3))
f = hk.transform_with_state(network)
params, state = f.init(jax.random.PRNGKey(1), x, True)
apply = jax.jit(f.apply, static_argnums=4)
outs = []
for n in range(4):
    out, state = apply(params, state, jax.random.PRNGKey(n), x, True)
    outs.append(out)
r = hk.transform(recurrent)
xs = jax.random.normal(jax.random.PRNGKey(2), (6, 2, 3))
RESULT = {"outs": jnp.stack(outs), "state": state,
          "recurrent": r.apply(r.init(jax.random.PRNGKey(3), xs), None, xs)}
