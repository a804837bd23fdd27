"""tanx.scipy.optimize: minima, roots and least squares, in loops that compile as a whole.

Roots and least squares have the derivatives of the exact solution, by the implicit function
theorem: with respect to ``args``, and to values that the functions close over.
"""

from ..._base.traceback import shown
from ..._base.window import publish
from ._least_squares import *
from ._minimize import *
from ._root import *
from ._root_scalar import *

publish(__name__, shown)
