"""tanx.experimental.checkify: errors of compiled functions, as values."""

from .._base.traceback import shown
from .._base.window import publish
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

publish(__name__, shown)
