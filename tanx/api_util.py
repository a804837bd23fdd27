"""tanx.api_util: tools for writers of transformations."""

from ._api.helpers import (
    donation_vector,
    flatten_axes,
    rebase_donate_argnums,
    safe_map,
    shaped_abstractify,
)
from ._base.traceback import shown
from ._base.window import publish
from ._extend.flattening import *

publish(__name__, shown)
