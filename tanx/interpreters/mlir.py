"""tanx.interpreters.mlir: lowerings of primitives, as functions of arrays."""

from .._extend.ir import *
from .._extend.lowering import *
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
