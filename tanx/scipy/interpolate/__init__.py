"""tanx.scipy.interpolate: values between the points of a grid."""

from ..._traceback import shown
from ..._window import publish
from ._lookup import *
from ._regular import *

publish(__name__, shown)
