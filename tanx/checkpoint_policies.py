"""tanx.checkpoint_policies: which values ``checkpoint`` may store for the backward pass."""

from ._control.policies import *
from ._window import publish

publish(__name__)
