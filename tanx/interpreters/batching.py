"""tanx.interpreters.batching: rules of primitives for batches."""

from .._extend.batching import *
from .._extend.batching import not_mapped
from .._extend.jaxprs import batch_jaxpr_axes
from .._traceback import shown
from .._transforms.vmap import Axis as AxisData
from .._transforms.vmap import BatchTrace, BatchTracer
from .._window import publish

publish(__name__, shown)
