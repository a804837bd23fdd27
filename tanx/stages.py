"""tanx.stages: a function on its way to machine code, stage by stage; see :func:`tanx.jit`."""

from ._api.aot import *
from ._api.wrapped import *
from ._base.window import publish

publish(__name__)
