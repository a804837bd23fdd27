"""tanx.experimental.colocated_python: Python functions that run where their arguments are.

All devices of tanx belong to the running process, so such a function runs immediately. As in JAX,
arguments and results must be arrays.
"""

from ..._base.traceback import shown
from ..._base.window import publish
from . import func, serialization
from .func import colocated_cpu_devices, colocated_python, colocated_python_class

publish(__name__, shown)
