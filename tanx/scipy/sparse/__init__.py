"""tanx.scipy.sparse: linear systems whose matrix is given by products; see :mod:`linalg`."""

from ..._base.window import load_late

load_late(__name__)
