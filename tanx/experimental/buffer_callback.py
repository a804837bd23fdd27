"""tanx.experimental.buffer_callback: Python functions that fill their results in."""

from .._control.buffers import *
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
