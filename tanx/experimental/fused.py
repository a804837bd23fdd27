"""tanx.experimental.fused: functions that are to be one kernel."""

from .._api.regions import fused
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
