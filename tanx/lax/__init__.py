"""tanx.lax: array operations, one to one with primitives."""

from .._base.traceback import shown
from .._base.window import publish
from . import linalg as linalg
from ._functions import *

publish(__name__, shown)
