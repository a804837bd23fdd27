"""tanx.export: functions as programs that can be stored, sent and read again."""

from ._export.checks import *
from ._export.export import *
from ._export.exported import *
from ._export.serialization import *
from ._export.trees import *
from ._traceback import shown
from ._window import publish

publish(__name__, shown)
