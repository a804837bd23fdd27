"""tanx.experimental.checkify: errors of compiled functions, as values."""

from .._control.check import (
    Error,
    ErrorCategory,
    JaxRuntimeError,
    check,
    check_error,
    debug_check,
    init_error,
)
from .._control.checkify import *
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
