"""tanx.experimental.scheduling_groups: functions that are scheduled as a group."""

from .._base.traceback import shown
from .._base.window import publish
from .._control.regions import scheduling_group

publish(__name__, shown)
