"""tanx.api_util: tools for those who write transformations of their own."""

from ._api.helpers import (
    donation_vector,
    flatten_axes,
    rebase_donate_argnums,
    safe_map,
    shaped_abstractify,
)
from ._extend.flattening import *
from ._traceback import shown
from ._window import publish

publish(__name__, shown)
