"""tanx.interpreters.pxla: options for programs on several devices."""

from .._api.backends import create_compile_options
from .._base.traceback import shown
from .._base.window import publish

publish(__name__, shown)
