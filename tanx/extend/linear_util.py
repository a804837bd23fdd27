"""tanx.extend.linear_util: functions with transformations around them."""

from .._extend.linear_util import *
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
