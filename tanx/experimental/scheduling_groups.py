"""tanx.experimental.scheduling_groups: functions that are scheduled as a group."""

from .._control.regions import scheduling_group
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
