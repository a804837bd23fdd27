"""tanx.custom_derivatives: functions whose derivative the user writes."""

from ._control.custom import SymbolicZero
from ._control.custom_jvp import *
from ._control.custom_remat import remat_opt_p
from ._control.custom_vjp import *
from ._control.linear_call import linear_call
from ._traceback import shown
from ._window import publish

publish(__name__, shown)
