"""tanx.core: types, traces and tracers."""

from ._api.staging import ensure_compile_time_eval
from ._base.traceback import shown
from ._base.window import publish
from ._core.jaxpr import Atom, eval_jaxpr
from ._core.trace import Trace, Tracer
from ._core.types import AbstractValue, ShapedArray
from ._extend.values import (
    ParamDict,
    eval_context,
    max_dim,
    min_dim,
    pytype_aval_mappings,
)

publish(__name__, shown)
