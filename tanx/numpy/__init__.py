"""tanx.numpy: NumPy's functions on immutable arrays."""

import typing as _typing

from numpy import e, euler_gamma, inf, nan, newaxis, pi

from .._base.traceback import shown
from .._base.window import load_late, publish
from ..dtypes import _scalars
from ._array_api import *
from ._assemble import *
from ._bessel import *
from ._bins import *
from ._complex import *
from ._contract import *
from ._creation import *
from ._cumulative import *
from ._edit import *
from ._einsum import *
from ._grids import *
from ._integers import *
from ._io import *
from ._logic import *
from ._lookup import *
from ._math import *
from ._matrices import *
from ._nan import *
from ._nonzero import *
from ._pad import *
from ._poly import *
from ._quantile import *
from ._reduce import *
from ._rounding import *
from ._sets import *
from ._shape import *
from ._sort import *
from ._statistics import *
from ._transcendental import *
from ._types import *
from ._ufunc import *
from ._vectorize import *

if _typing.TYPE_CHECKING:  # they load when used
    from . import fft as fft
    from . import linalg as linalg

globals().update(_scalars.scalar_types)

publish(__name__, shown)

load_late(__name__)

_scalars.make_array = asarray  # noqa: F405
