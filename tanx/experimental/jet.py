"""tanx.experimental.jet: derivatives of high order, by Taylor series."""

from .._api.jet import *
from .._base.traceback import shown
from .._base.window import publish

publish(__name__, shown)
