"""tanx.experimental.colocated_python: Python functions that run where their arguments are.

All devices of tanx are of the process that runs, so that such a function runs there and then. What
JAX asks of arguments and results is asked here as well: they are arrays.
"""

from ..._base.traceback import shown
from ..._base.window import publish
from . import func, serialization
from .func import colocated_cpu_devices, colocated_python, colocated_python_class

publish(__name__, shown)
