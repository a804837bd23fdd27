"""tanx.custom_derivatives: functions with custom derivatives."""

from ._base.traceback import shown
from ._base.window import publish
from ._control.custom import SymbolicZero
from ._control.custom_gradient import *
from ._control.custom_jvp import *
from ._control.custom_remat import remat_opt_p
from ._control.custom_vjp import *
from ._control.linear_call import linear_call

publish(__name__, shown)
