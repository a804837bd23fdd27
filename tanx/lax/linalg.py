"""tanx.lax.linalg: factorisations of matrices, one to one with primitives."""

from .._ops.eigen import *
from .._ops.forms import *
from .._ops.linalg import *
from .._ops.updates import *
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
