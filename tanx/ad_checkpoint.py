"""tanx.ad_checkpoint: what reverse mode stores, and what it recomputes."""

from . import checkpoint_policies
from ._api.residuals import *
from ._base.traceback import shown
from ._base.window import publish
from ._control.policies import Recompute, Saveable
from ._control.remat import *

publish(__name__, shown)
