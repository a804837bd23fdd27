"""tanx.version: which version of tanx this is."""

__all__ = ["__version__", "__version_info__"]

__version__ = "0.1.0"
__version_info__ = tuple(map(int, __version__.split(".")))
