"""A checkpoint saved and restored."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

tree = {"w": jnp.arange(6.0).reshape(2, 3), "n": jnp.array(3), "list": [jnp.ones(2)]}
with tempfile.TemporaryDirectory() as folder:
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(Path(folder) / "one", tree)
        checkpointer.wait_until_finished()
        abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, tree)
        restored = checkpointer.restore(Path(folder) / "one", abstract)
RESULT = {"restored": restored}
