"""tanx.extend.lowering: the arguments of lowerings; there is no MLIR behind them."""

from .._base.traceback import shown
from .._base.window import publish
from .._extend.ir import LoweringRuleContext
from .._extend.xla import JaxIrContext, upstream_dialects

publish(__name__, shown)
