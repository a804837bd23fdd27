"""tanx.experimental.compilation_cache.compilation_cache: where compiled code is kept on disk."""

from ..._base.config import compilation_cache_dir
from ..._base.traceback import shown
from ..._base.window import publish
from ..._runtime import disk_cache

__all__ = ["reset_cache", "set_cache_dir"]


def set_cache_dir(path) -> None:
    """Keep compiled code in a folder, which is created if it does not exist.

    >>> from tanx.experimental.compilation_cache import compilation_cache
    >>> before = tanx.config.jax_compilation_cache_dir
    >>> compilation_cache.set_cache_dir("~/code")
    >>> tanx.config.jax_compilation_cache_dir
    '~/code'
    >>> compilation_cache.set_cache_dir(before)
    """
    compilation_cache_dir.update(None if path is None else str(path))


def reset_cache() -> None:
    """Drop cached facts about the folder, which may have changed; its files stay.

    >>> from tanx.experimental.compilation_cache import compilation_cache
    >>> compilation_cache.reset_cache()
    """
    disk_cache.forget()


publish(__name__, shown)
