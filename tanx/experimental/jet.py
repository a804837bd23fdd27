"""tanx.experimental.jet: derivatives of high order, by Taylor series."""

from .._api.jet import *
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
