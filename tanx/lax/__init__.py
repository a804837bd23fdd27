"""tanx.lax: array operations, one to one with primitives."""

import typing as _typing

from .._base.traceback import shown
from .._base.window import load_late, publish
from ._functions import *

if _typing.TYPE_CHECKING:  # it loads when used
    from . import linalg as linalg

publish(__name__, shown)

load_late(__name__)
