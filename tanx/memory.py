"""tanx.memory: the spaces of memory that arrays can be in."""

from ._core.spaces import MemorySpace as Space
from ._window import publish

publish(__name__)
