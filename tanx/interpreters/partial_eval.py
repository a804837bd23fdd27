"""tanx.interpreters.partial_eval: functions staged as jaxprs, and jaxprs split in parts."""

from .._base.traceback import shown
from .._base.window import publish
from .._core.stage import StageTracer as DynamicJaxprTracer
from .._extend.jaxprs import (
    abstract_eval_fun,
    close_jaxpr,
    convert_constvars_jaxpr,
    dce_jaxpr,
    dce_jaxpr_consts,
    move_binders_to_back,
    partial_eval_jaxpr_nounits,
    prune_closed_jaxpr_outputs,
    trace_to_jaxpr_dynamic,
)
from .._extend.partial import (
    custom_partial_eval_rules,
    dce_jaxpr_call_rule,
    dce_jaxpr_closed_call_rule,
    dce_rules,
    lower_jaxpr,
    lower_jaxpr2,
    new_eqn_recipe,
    partial_eval_jaxpr_custom_rules,
    trace_to_jaxpr_nounits,
)
from .._transforms.linearize import JaxprTracer, PartialVal

publish(__name__, shown)
