"""tanx.extend.core: jaxprs, what they are made of, and primitives."""

from .._core.check import check_jaxpr
from .._core.effects import Effect, no_effects
from .._core.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    jaxpr_as_fun,
    jaxprs_in_params,
    subjaxprs,
)
from .._core.naming import DebugInfo
from .._core.primitive import Primitive
from .._core.types import AbstractToken
from .._traceback import shown
from .._window import publish
from ..errors import InconclusiveDimensionOperation, JaxprTypeError

publish(__name__, shown)
