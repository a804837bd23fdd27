"""tanx.export: functions as programs that can be stored, sent and read again."""

from ._api.exporting.checks import *
from ._api.exporting.export import *
from ._api.exporting.exported import *
from ._api.exporting.serialization import *
from ._api.exporting.symbolic import *
from ._base.traceback import shown
from ._base.window import publish
from ._export.trees import *

publish(__name__, shown)
