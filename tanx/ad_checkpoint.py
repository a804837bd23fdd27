"""tanx.ad_checkpoint: what reverse mode stores, and what it computes again."""

from . import checkpoint_policies
from ._api.residuals import *
from ._control.policies import Offloadable, Recompute, Saveable
from ._control.remat import *
from ._traceback import shown
from ._window import publish

publish(__name__, shown)
