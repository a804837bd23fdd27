"""tanx.extend.xla: names for transformations of XLA's modules, which tanx has not."""

from .._extend.xla import (
    PipelineStage,
    clear_hlo_module_transformation,
    register_hlo_module_transformation,
)
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
