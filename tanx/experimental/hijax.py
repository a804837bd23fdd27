"""tanx.experimental.hijax: types and primitives of a library's own.

A *high* type (:class:`HiType`) has values that are made of arrays. A function that is traced sees
such a value as a whole; primitives (:class:`HiPrim`) make and take them, and have rules of their
own for derivatives and batches. What is compiled has the arrays in their place.
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
