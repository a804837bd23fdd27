"""tanx.extend.sharding: shardings in XLA's terms."""

from .._base.traceback import shown
from .._base.window import publish
from .._extend.hlo_sharding import *

publish(__name__, shown)
