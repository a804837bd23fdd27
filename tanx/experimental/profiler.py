"""tanx.experimental.profiler: profiles of instructions, for profile-guided compilation."""

from __future__ import annotations

import os
from pathlib import Path

from .._base.traceback import boundary
from ..errors import JaxRuntimeError, explain

__all__ = ["get_profiled_instructions_proto"]


@boundary
def get_profiled_instructions_proto(tensorboard_dir: str | os.PathLike[str]) -> bytes:
    """The costs of XLA's instructions in the profiles of a folder: none, because there is no XLA.

    JAX returns the same for profiles taken on a CPU.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with tanx.profiler.trace(folder):
    ...     y = jnp.sin(1.0)
    >>> from tanx.experimental import profiler
    >>> profiler.get_profiled_instructions_proto(folder)
    b''
    """
    if not Path(tensorboard_dir, "plugins", "profile").is_dir():
        raise JaxRuntimeError(explain(
            "tanx.experimental.profiler.get_profiled_instructions_proto",
            "there are no profiles in the folder.", f"folder: {os.fspath(tensorboard_dir)}",
            hint="tanx.profiler.trace writes some."))
    return b""
