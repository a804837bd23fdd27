"""tanx.extend.source_info_util: the user's lines behind equations."""

from .._extend.source_info import *
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
