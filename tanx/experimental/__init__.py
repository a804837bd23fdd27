"""tanx.experimental: what JAX keeps under that name; each module loads when it is used."""

from .._control.callback import io_callback
from .._traceback import shown
from .._window import load_late, publish

publish(__name__, shown)
load_late(__name__)
