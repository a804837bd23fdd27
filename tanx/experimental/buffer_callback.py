"""tanx.experimental.buffer_callback: Python functions that write to buffers of their results."""

from .._base.traceback import shown
from .._base.window import publish
from .._control.buffers import *

publish(__name__, shown)
