"""tanx.scipy.special: special functions of mathematics and statistics."""

from ..._base.traceback import shown
from ..._base.window import publish
from ._bernoulli import *
from ._bessel import *
from ._beta import *
from ._entropy import *
from ._error import *
from ._faddeeva import *
from ._gamma import *
from ._hypergeometric import *
from ._integrals import *
from ._legendre import *
from ._logistic import *
from ._normal import *
from ._orthogonal import *
from ._owens import *

publish(__name__, shown)
