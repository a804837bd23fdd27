"""A graph network."""

import jax
import jax.numpy as jnp
import jraph

graph = jraph.GraphsTuple(
    nodes=jnp.arange(8.0).reshape(4, 2), edges=jnp.ones((5, 1)), n_node=jnp.array([4]),
    n_edge=jnp.array([5]), senders=jnp.array([0, 1, 2, 3, 0]),
    receivers=jnp.array([1, 2, 3, 0, 2]), globals=jnp.zeros((1, 1)))
network = jraph.GraphNetwork(
    update_edge_fn=lambda e, s, r, g: jnp.concatenate([e, s - r], 1),
    update_node_fn=lambda n, s, r, g: jnp.concatenate([n, r], 1),
    update_global_fn=lambda n, e, g: g + n.sum() + e.sum())
out = jax.jit(network)(graph)
padded = jraph.pad_with_graphs(graph, 8, 8)
RESULT = {"nodes": out.nodes, "edges": out.edges, "globals": out.globals,
          "mask": jraph.get_node_padding_mask(padded),
          "softmax": jraph.segment_softmax(jnp.arange(5.0), graph.receivers, 4)}
