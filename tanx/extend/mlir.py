"""tanx.extend.mlir: names for modules of MLIR, which tanx has not."""

from .._extend.xla import (
    deserialize_portable_artifact,
    hlo_to_stablehlo,
    lower_with_sharding_in_types,
    refine_polymorphic_shapes,
    serialize_portable_artifact,
)
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
