"""tanx.scipy.stats: distributions, each a module that loads when it is used, and statistics.

A distribution has functions of values ``x`` (or ``k``, for integers) and of its parameters, which
broadcast together: ``pdf`` and ``logpdf``, the density and its logarithm (``pmf`` and ``logpmf``,
the probability of an integer); ``cdf`` and ``logcdf``, the probability of values up to ``x``;
``sf`` and ``logsf``, the probability of values beyond; ``ppf`` and ``isf``, the inverses of ``cdf``
and ``sf``. Most distributions can be moved by ``loc`` and stretched by ``scale``. Outside of its
support a density is 0, with derivatives 0.
"""

from ..._base.traceback import shown
from ..._base.window import load_late, publish
from ._kde import *
from ._summary import *

publish(__name__, shown)
load_late(__name__)
