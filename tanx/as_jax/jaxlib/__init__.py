"""``jaxlib``, as far as libraries read it."""

from .._distributions import VERSION as __version__
