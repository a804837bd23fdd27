"""tanx.interpreters.pxla: options for programs on several devices."""

from .._api.backends import create_compile_options
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
