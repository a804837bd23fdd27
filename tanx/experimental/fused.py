"""tanx.experimental.fused: functions that should be one kernel."""

from .._api.regions import fused
from .._base.traceback import shown
from .._base.window import publish

publish(__name__, shown)
