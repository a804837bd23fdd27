"""tanx.scipy: SciPy's functions on immutable arrays; each subpackage loads when it is used."""

from .._base.window import load_late

load_late(__name__)
