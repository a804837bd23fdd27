"""tanx.interpreters: the rules of primitives, as libraries read and extend them."""

from .._base.window import load_late

load_late(__name__)
