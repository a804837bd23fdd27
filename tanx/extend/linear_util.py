"""tanx.extend.linear_util: functions with transformations around them."""

from .._base.traceback import shown
from .._base.window import publish
from .._core.wrapped import *

publish(__name__, shown)
