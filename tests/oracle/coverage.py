"""Which functions the tables must contain, and the exceptions."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

from tests.oracle.sweep import calls

__all__ = ["SKIPPED", "mentioned", "public_functions"]

SURFACE = Path(__file__).parents[1] / "data" / "surface-jax.json"
MODULES = {
    "jnp": "numpy", "jnp.linalg": "numpy.linalg", "jnp.fft": "numpy.fft", "lax": "lax",
    "lax.linalg": "lax.linalg", "jax": "", "jax.tree": "tree", "tree_util": "tree_util",
    "jax.random": "random", "jax.nn": "nn", "jax.nn.initializers": "nn.initializers",
    "jax.ops": "ops", "jax.image": "image", "dtypes": "dtypes",
}

SKIPPED = {
    **dict.fromkeys(["jnp.load", "jnp.save", "jnp.savez"], "writes files"),
    **dict.fromkeys(["jnp.get_printoptions", "jnp.printoptions", "jnp.set_printoptions"],
                    "the state of NumPy"),
    "jax.print_environment_info": "names versions and the machine",
    "jax.transfer_guard": "an option",
    "lax.DotDimensionNumbers": "a type for annotations",
    "tree_util.KeyPath": "a type for annotations",
    "jax.tree.static": "its fields are of a private class",
    **dict.fromkeys(["tree_util.register_pytree_with_keys", "tree_util.register_static",
                     "tree_util.register_pytree_with_keys_class"], "tested with the trees"),
}


def public_functions(tanx) -> Iterator[str]:
    """The names of all functions of JAX in these modules that tanx has, as calls write them.

    Options, which can be called, and primitives do not count as functions.
    """
    surface = json.loads(SURFACE.read_text())["modules"]
    for prefix, module_name in MODULES.items():
        module = importlib.import_module(f"{tanx.__name__}.{module_name}".rstrip("."))
        for name in surface[module_name]:
            value = getattr(module, name, None)
            if callable(value) and not inspect.isclass(value) and not name.endswith("_p"):
                if not hasattr(value, "update"):
                    yield f"{prefix}.{name}"


def mentioned(names: set[str]) -> set[str]:
    """The ``names`` that calls or programs use."""
    programs = Path(__file__).with_name("programs").glob("*.py")
    text = "\n".join([call.text for call in calls()] + [path.read_text() for path in programs])
    text = re.sub(r"\bjax\.(lax|tree_util|dtypes)\.", r"\1.", text)
    return names & set(re.findall(r"\b(?:\w+\.)+\w+", text))
