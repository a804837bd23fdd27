"""tanx.experimental.sparse.bcoo: sparse arrays in batches, as entries with their indices."""

from ..._base.traceback import shown
from ..._base.window import publish
from ._bcoo import *
from ._bcoo_layout import *
from ._bcoo_product import *

publish(__name__, shown)
