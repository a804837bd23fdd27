"""tanx.experimental.sparse: arrays that store only some of their elements."""

from ..._base.traceback import shown
from ..._base.window import load_late, publish
from ._base import JAXSparse
from ._primitives import *
from .ad import *
from .api import *
from .bcoo import *
from .bcsr import *
from .coo import *
from .csr import *
from .random import *
from .transform import *
from .util import *

publish(__name__, shown)
load_late(__name__)
