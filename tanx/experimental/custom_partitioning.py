"""tanx.experimental.custom_partitioning: functions that say how they are divided over devices."""

from .._base.traceback import shown
from .._base.window import publish
from .._control.partitioning import *

publish(__name__, shown)
