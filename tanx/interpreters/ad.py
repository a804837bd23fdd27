"""tanx.interpreters.ad: rules of primitives for derivatives."""

from .._base.traceback import shown
from .._base.window import publish
from .._core.linear import Linear as UndefinedPrimal
from .._core.linear import Zero
from .._extend.jaxprs import (
    add_jaxvals,
    add_tangents,
    backward_pass,
    get_primitive_transpose,
    instantiate_zeros,
    is_undefined_primal,
    jvp,
    jvp_jaxpr,
    zeros_like_aval,
)
from .._extend.rules import *
from .._ops.derive import add_any_p as add_jaxvals_p
from .._transforms.jvp import JVPTrace, JVPTracer
from .._transforms.linearize import linearize

publish(__name__, shown)
