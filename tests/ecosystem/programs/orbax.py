"""Checkpoints: saved and restored, in the background, onto a mesh, and by a manager of steps."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

tree = {"w": jnp.arange(6.0).reshape(2, 3), "n": jnp.array(3), "list": [jnp.ones(2)],
        "half": jnp.arange(4, dtype=jnp.bfloat16), "key": jax.random.key(7)}
numbers = {name: leaf for name, leaf in tree.items() if name != "key"}
sharding = NamedSharding(Mesh(jax.devices()[:1], ("rows",)), PartitionSpec("rows"))

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(folder / "one", tree)
        checkpointer.wait_until_finished()
        abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, tree)
        restored = checkpointer.restore(folder / "one", abstract)
        as_saved = checkpointer.restore(folder / "one")
    with ocp.AsyncCheckpointer(ocp.PyTreeCheckpointHandler()) as later:
        later.save(folder / "two", args=ocp.args.PyTreeSave(numbers))
        later.wait_until_finished()
        onto_mesh = later.restore(folder / "two", args=ocp.args.PyTreeRestore(
            restore_args=jax.tree.map(lambda x: ocp.ArrayRestoreArgs(
                sharding=sharding if x.ndim else NamedSharding(sharding.mesh, PartitionSpec())),
                numbers)))
    with ocp.CheckpointManager(folder / "steps", options=ocp.CheckpointManagerOptions(
            max_to_keep=2)) as manager:
        for step in range(3):
            manager.save(step, args=ocp.args.StandardSave({"x": jnp.full(3, float(step))}))
        manager.wait_until_finished()
        steps = manager.all_steps()
        latest = manager.restore(manager.latest_step(), args=ocp.args.StandardRestore(
            {"x": jax.ShapeDtypeStruct((3,), jnp.float32)}))

assert onto_mesh["w"].sharding == sharding
RESULT = {"restored": restored, "as_saved": as_saved, "onto_mesh": onto_mesh,
          "steps": jnp.array(sorted(steps)), "latest": latest}
