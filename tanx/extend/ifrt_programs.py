"""tanx.extend.ifrt_programs: names for programs of XLA's runtime, which tanx has not."""

from .._extend.xla import ifrt_programs
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
