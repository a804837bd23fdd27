"""tanx.extend.random: generators of random bits."""

from .._traceback import shown
from .._window import publish
from ..random._generators import *

publish(__name__, shown)
