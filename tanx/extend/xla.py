"""tanx.extend.xla: names for transformations of XLA's modules, which tanx does not have."""

from .._base.traceback import shown
from .._base.window import publish
from .._extend.xla import (
    PipelineStage,
    clear_hlo_module_transformation,
    register_hlo_module_transformation,
)

publish(__name__, shown)
