"""tanx.lax.linalg: factorisations of matrices, one to one with primitives."""

from .._base.traceback import shown
from .._base.window import publish
from .._ops.eigen import *
from .._ops.linalg import *
from .._ops.matrix_forms import *
from .._ops.updates import *

publish(__name__, shown)
