"""tanx.scipy.signal: convolutions, and spectra of signals."""

from ..._base.traceback import shown
from ..._base.window import publish
from ._convolve import *
from ._detrend import *
from ._spectra import *

publish(__name__, shown)
