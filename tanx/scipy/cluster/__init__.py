"""tanx.scipy.cluster: vector quantisation."""

from ..._base.window import load_late

load_late(__name__)
