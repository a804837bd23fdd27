"""tanx.experimental.serialize_executable: compiled functions as bytes, with their machine code."""

from .._api.exporting.executables import *
from .._base.traceback import shown
from .._base.window import publish

publish(__name__, shown)
