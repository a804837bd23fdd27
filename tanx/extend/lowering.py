"""tanx.extend.lowering: what lowerings are told; nothing of MLIR is behind it."""

from .._extend.ir import LoweringRuleContext
from .._extend.xla import JaxIrContext, upstream_dialects
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
