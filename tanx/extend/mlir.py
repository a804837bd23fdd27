"""tanx.extend.mlir: names for modules of MLIR, which tanx does not have."""

from .._base.traceback import shown
from .._base.window import publish
from .._extend.xla import (
    deserialize_portable_artifact,
    hlo_to_stablehlo,
    lower_with_sharding_in_types,
    refine_polymorphic_shapes,
    serialize_portable_artifact,
)

publish(__name__, shown)
