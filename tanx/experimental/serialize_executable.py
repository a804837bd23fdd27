"""tanx.experimental.serialize_executable: compiled functions as bytes, with their machine code."""

from .._api.exporting.executables import *
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
