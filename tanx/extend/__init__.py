"""tanx.extend: for libraries that build on jaxprs and primitives, or have functions in C."""

from .._base.traceback import shown
from .._base.window import load_late, publish
from .._extend.foreign.c_function import c_function

publish(__name__, shown)

load_late(__name__)
