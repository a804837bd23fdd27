"""tanx.extend.sharding: shardings in XLA's terms."""

from .._extend.hlo_sharding import *
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
