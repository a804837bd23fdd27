"""tanx.scipy.cluster: what belongs to which cluster."""

from ..._base.window import load_late

load_late(__name__)
