"""tanx.checkpoint_policies: which values ``checkpoint`` may store for the backward pass."""

from ._base.window import publish
from ._control.policies import *

publish(__name__)
