"""tanx.experimental.layout: how arrays lie in memory."""

from .._api.layouts import *
from .._window import publish

publish(__name__)
