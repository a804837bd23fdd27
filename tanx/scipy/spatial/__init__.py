"""tanx.scipy.spatial: nearest neighbours, and rotations in ``spatial.transform``."""

from ..._base.traceback import shown
from ..._base.window import load_late, publish
from ._kdtree import *

publish(__name__, shown)
load_late(__name__)
