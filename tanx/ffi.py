"""tanx.ffi: functions of shared libraries as operations."""

from ._extend.foreign.calls import *
from ._extend.foreign.lowering import *
from ._extend.foreign.registry import *
from ._traceback import shown
from ._window import publish

publish(__name__, shown)
