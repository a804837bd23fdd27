"""tanx.experimental.layout: memory layouts of arrays."""

from .._base.window import publish
from .._core.layouts import *
from .._ops.layout_wishes import *

publish(__name__)
