"""tanx.experimental.layout: how arrays lie in memory."""

from .._core.layouts import *
from .._ops.layout_wishes import *
from .._window import publish

publish(__name__)
