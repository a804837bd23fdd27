"""tanx.experimental.shard_map: the former place of ``tanx.shard_map``."""

from .._api import shard_map as _shard_map
from .._base.traceback import boundary as _boundary

__all__ = ["shard_map"]


@_boundary
def shard_map(f, mesh, in_specs, out_specs, check_rep: bool = True):
    """:func:`tanx.shard_map` with positional parameters; ``check_rep`` is its ``check_vma``.

    >>> mesh = tanx.make_mesh((1,), ("x",))
    >>> shard_map(lambda x: 2 * x, mesh, tanx.P("x"), tanx.P("x"))(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    return _shard_map.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs,
                                check_vma=check_rep)
