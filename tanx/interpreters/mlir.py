"""tanx.interpreters.mlir: lowerings of primitives, as functions of arrays."""

from .._base.traceback import shown
from .._base.window import publish
from .._extend.ir import *
from .._extend.lowering import *

publish(__name__, shown)
