"""tanx.extend.ifrt_programs: names for programs of XLA's runtime, which tanx does not have."""

from .._base.traceback import shown
from .._base.window import publish
from .._extend.xla import ifrt_programs

publish(__name__, shown)
