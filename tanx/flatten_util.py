"""tanx.flatten_util: pytrees as vectors."""

from ._api.ravel import *
from ._traceback import shown
from ._window import publish

publish(__name__, shown)
