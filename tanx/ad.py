"""tanx.ad: targets of the gradients of :func:`tanx.vjp`; see its method ``with_refs``."""

from ._api.pullback import DidntWant, DontWant, GradRef, GradValue
from ._base.traceback import shown
from ._base.window import publish

publish(__name__, shown)
