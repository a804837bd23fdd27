"""tanx.extend.lowering: what lowerings are told; nothing of MLIR is behind it."""

from .._base.traceback import shown
from .._base.window import publish
from .._extend.ir import LoweringRuleContext
from .._extend.xla import JaxIrContext, upstream_dialects

publish(__name__, shown)
