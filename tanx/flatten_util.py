"""tanx.flatten_util: pytrees as vectors."""

from ._api.ravel import *
from ._base.traceback import shown
from ._base.window import publish

publish(__name__, shown)
