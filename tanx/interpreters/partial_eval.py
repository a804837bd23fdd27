"""tanx.interpreters.partial_eval: functions staged as jaxprs, and jaxprs taken apart."""

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
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
