"""tanx.profiler: profiles of time for TensorBoard and Perfetto, of memory for pprof."""

from ._base.traceback import shown
from ._base.window import publish
from ._profile.annotations import *
from ._profile.data import *
from ._profile.memory import *
from ._profile.options import *
from ._profile.server import start_server, stop_server
from ._profile.session import *
from ._profile.subprocesses import register_subprocess

publish(__name__, shown)
