"""tanx.distributed: the processes that compute together."""

from ._api.processes import *
from ._traceback import shown
from ._window import publish

publish(__name__, shown)
