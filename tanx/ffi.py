"""tanx.ffi: functions of shared libraries as operations."""

from ._base.traceback import shown
from ._base.window import publish
from ._extend.foreign.calls import *
from ._extend.foreign.lowering import *
from ._extend.foreign.registry import *

publish(__name__, shown)
