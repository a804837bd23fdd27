"""tanx.profiler: profiles of time for TensorBoard and Perfetto, of memory for pprof."""

from ._profile.annotations import *
from ._profile.data import *
from ._profile.memory import *
from ._profile.options import *
from ._profile.server import start_server, stop_server
from ._profile.session import *
from ._profile.subprocesses import register_subprocess
from ._traceback import shown
from ._window import publish

publish(__name__, shown)
