"""tanx.nn: functions for neural networks."""

from .._base.traceback import shown
from .._base.window import publish
from . import initializers
from ._activations import *
from ._attention import *
from ._normalize import *
from ._scaled import *

publish(__name__, shown)
