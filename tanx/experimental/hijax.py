"""tanx.experimental.hijax: libraries' own types and primitives.

Values of a *high* type (:class:`HiType`) consist of arrays. In a traced function such a value is a
single variable; primitives (:class:`HiPrim`) take and return them, and have their own rules for
derivatives and batches. Compiled code has arrays in their place.
"""

from .._base.traceback import shown
from .._base.window import publish
from .._control.accumulators import GradAccum, NullAccum, RefAccum, ValAccum
from .._core.high import HiPspec, HiType, MappingSpec, register_hitype
from .._core.linear import Zero
from .._core.refs import AbstractRef
from .._core.types import AbstractValue, ShapedArray, aval_method, aval_property
from .._extend.high import HiPrim
from .._extend.high_rules import (
    bdims_at_front,
    jvp_from_lin,
    linearize_from_jvp,
    unmap_avals,
    vjp_from_jvp,
    vjp_from_lin,
    vmap_rule,
)
from .._extend.ir import control_flow_allowed_effects
from .._extend.jaxprs import instantiate_zeros, is_undefined_primal
from .._ops.refs import TransformedRef

publish(__name__, shown)
