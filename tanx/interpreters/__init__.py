"""tanx.interpreters: the rules of primitives, for libraries that read and extend them."""

from .._base.window import load_late

load_late(__name__)
