"""tanx.experimental.array_serialization: arrays in files of TensorStore, which tanx does not have.

The modules of this package of JAX are based on ``tensorstore``. ``serialization`` has the classes
that libraries derive from; the other modules raise an error with an alternative.
"""

from ..._base.traceback import boundary
from ..._base.window import publish
from ...errors import explain
from . import serialization

__all__ = ["serialization"]

_MODULES = ("pytree_serialization", "tensorstore_impl")


@boundary
def __getattr__(name: str):
    if name in _MODULES:
        raise ModuleNotFoundError(explain(
            f"tanx.experimental.array_serialization.{name}", "needs tensorstore, which tanx does "
            "not work with.", hint="tanx.numpy.save and tanx.numpy.savez write arrays to files; "
            "orbax writes checkpoints."), name="tensorstore")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


publish(__name__)
