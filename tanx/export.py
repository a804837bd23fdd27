"""tanx.export: functions as programs that can be stored, sent and read again."""

from ._api.exporting.checks import *
from ._api.exporting.export import *
from ._api.exporting.exported import *
from ._api.exporting.serialization import *
from ._api.exporting.symbolic import *
from ._export.trees import *
from ._traceback import shown
from ._window import publish

publish(__name__, shown)
