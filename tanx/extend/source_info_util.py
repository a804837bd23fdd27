"""tanx.extend.source_info_util: the user's lines behind equations."""

from .._base.traceback import shown
from .._base.window import publish
from .._extend.source_info import *

publish(__name__, shown)
