"""tanx.scipy.linalg: SciPy's linear algebra, on matrices in the last two dimensions.

Functions take batches wherever JAX's do, and in most other cases too, and have derivatives.
"""

from ..._base.traceback import shown
from ..._base.window import publish
from ._factor import *
from ._functions import *
from ._patterned import *
from ._rotated import *
from ._solve import *
from ._tridiagonal import *

publish(__name__, shown)
