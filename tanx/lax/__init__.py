"""tanx.lax: array operations, one to one with primitives."""

from .._traceback import shown
from .._window import publish
from . import linalg as linalg
from ._functions import *

publish(__name__, shown)
