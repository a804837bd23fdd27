"""tanx.scipy.spatial: nearest neighbours, and rotations in ``spatial.transform``."""

from ..._window import load_late

load_late(__name__)
