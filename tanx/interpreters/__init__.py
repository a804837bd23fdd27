"""tanx.interpreters: the rules of primitives, as libraries read and extend them."""

from .._window import load_late

load_late(__name__)
