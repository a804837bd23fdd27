"""tanx.extend.core: jaxprs, their parts, and primitives."""

from ..._base.traceback import shown
from ..._base.window import publish
from ..._core.check import check_jaxpr
from ..._core.effects import Effect, Effects, no_effects
from ..._core.jaxpr import (
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    jaxpr_as_fun,
    jaxprs_in_params,
    subjaxprs,
)
from ..._core.jaxpr import Jaxpr as ClosedJaxpr
from ..._core.naming import DebugInfo
from ..._core.types import AbstractToken
from ..._extend.calls import create_call_primitive, register_call_primitive_rules
from ..._extend.jaxprs import (
    concrete_or_error,
    find_top_trace,
    gensym,
    get_opaque_trace_state,
    mapped_aval,
    new_jaxpr_eqn,
    nonempty_axis_env_DO_NOT_USE,
    primal_dtype_to_tangent_dtype,
    set_current_trace,
    take_current_trace,
    unmapped_aval,
    unsafe_am_i_under_a_jit_DO_NOT_USE,
    unsafe_am_i_under_a_vmap_DO_NOT_USE,
    unsafe_get_axis_names_DO_NOT_USE,
    valid_jaxtype,
)
from ..._extend.partial import eval_jaxpr_transpose
from ..._extend.primitive import Primitive
from ..._extend.values import Token, TraceTag, array_types
from ...errors import InconclusiveDimensionOperation, JaxprTypeError
from . import primitives as primitives

publish(__name__, shown)
