"""tanx.sharding: meshes, and how the data of arrays is laid out over their devices."""

from ._api.meshes import (
    auto_axes,
    explicit_axes,
    make_single_device_sharding,
    no_collectives,
    reshard,
)
from ._base.traceback import shown
from ._base.window import publish
from ._core.mesh import *
from ._core.sharding import *
from ._core.spec import PartitionSpec, UnreducedKind

publish(__name__, shown)
