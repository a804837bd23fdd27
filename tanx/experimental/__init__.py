"""tanx.experimental: what JAX keeps under that name."""

from .._control.callback import io_callback
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
