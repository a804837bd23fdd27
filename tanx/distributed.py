"""tanx.distributed: distributed processes."""

from ._api.processes import *
from ._base.traceback import shown
from ._base.window import publish

publish(__name__, shown)
