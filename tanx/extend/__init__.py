"""tanx.extend: for those who build on jaxprs and primitives, or have functions in C."""

from .._extend.foreign.c_function import c_function
from .._traceback import shown
from .._window import load_late, publish

publish(__name__, shown)

load_late(__name__)
