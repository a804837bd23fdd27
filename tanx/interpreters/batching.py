"""tanx.interpreters.batching: rules of primitives for batches."""

from .._base.traceback import shown
from .._base.window import publish
from .._extend.batching import *
from .._extend.batching import not_mapped
from .._extend.jaxprs import batch_jaxpr_axes
from .._transforms.vmap import Axis as AxisData
from .._transforms.vmap import BatchTrace, BatchTracer

publish(__name__, shown)
