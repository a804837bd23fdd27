"""tanx.debug: print, call back and stop inside of transformed and compiled functions."""

from ._api.drawings import *
from ._base.traceback import shown
from ._base.window import publish
from ._control.breakpoint import *
from ._control.debugging import *
from ._core.effects import DebugEffect, OrderedDebugEffect

publish(__name__, shown)
