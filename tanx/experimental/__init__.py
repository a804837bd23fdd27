"""tanx.experimental: the modules of ``jax.experimental``; each loads when it is used."""

from .._base.traceback import shown
from .._base.window import load_late, publish
from .._control.callback import io_callback
from .._core.earray import EArray
from ..dtypes import primal_tangent_dtype

publish(__name__, shown)
load_late(__name__)
