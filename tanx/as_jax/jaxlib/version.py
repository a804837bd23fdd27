"""``jaxlib.version``."""

from .._distributions import VERSION as __version__
from .._distributions import VERSION_INFO as __version_info__
