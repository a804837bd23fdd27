"""A layer with named axes."""

import jax
import jax.numpy as jnp
from penzai import pz
from penzai.models import simple_mlp

mlp = simple_mlp.MLP.from_config(name="mlp", init_base_rng=jax.random.key(0),
                                 feature_sizes=[3, 8, 2])
x = pz.nx.wrap(jnp.arange(6.0).reshape(2, 3)).tag("batch", "features")
named = pz.nx.nmap(jnp.sum)(x.untag("features"))
RESULT = {"mlp": mlp(x).unwrap("batch", "features"), "sum": named.unwrap("batch")}
