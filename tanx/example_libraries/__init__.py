"""tanx.example_libraries: small libraries of layers and optimizers, written on tanx."""

from .._window import load_late

load_late(__name__)
