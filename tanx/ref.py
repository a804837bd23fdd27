"""tanx.ref: references to arrays that can be read and written."""

from ._base.traceback import shown
from ._base.window import publish
from ._core.cells import Ref
from ._core.refs import AbstractRef
from ._ops.refs import addupdate, empty_ref, free_ref, freeze, get, new_ref, set, swap

publish(__name__, shown)
