"""tanx.memory: the spaces of memory that arrays can be in."""

from ._base.window import publish
from ._core.spaces import MemorySpace as Space

publish(__name__)
