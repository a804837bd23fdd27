"""tanx.extend: for those who build on jaxprs and primitives."""

from .._window import load_late

load_late(__name__)
