"""tanx.scipy.sparse: systems of equations that are given by products; :mod:`linalg` has them."""

from ..._base.window import load_late

load_late(__name__)
