"""tanx.scipy.signal: convolutions, and spectra of signals."""

from ..._traceback import shown
from ..._window import publish
from ._convolve import *
from ._detrend import *
from ._spectra import *

publish(__name__, shown)
