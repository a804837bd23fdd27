"""tanx.extend.random: generators of random bits."""

from .._base.traceback import shown
from .._base.window import publish
from ..random._generators import *

publish(__name__, shown)
