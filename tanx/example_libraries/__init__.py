"""tanx.example_libraries: small libraries of layers and optimizers, written on tanx."""

from .._base.window import load_late

load_late(__name__)
