"""tanx.debug: print, call back and stop inside of transformed and compiled functions."""

from ._api.drawings import *
from ._control.breakpoint import *
from ._control.debugging import *
from ._core.effects import DebugEffect, OrderedDebugEffect
from ._traceback import shown
from ._window import publish

publish(__name__, shown)
