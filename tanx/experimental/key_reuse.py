"""tanx.experimental.key_reuse: random keys that are used twice.

The mode is ``debug_key_reuse``: under it, using a key twice raises
:class:`tanx.errors.KeyReuseError`, which says where it was used before. ::

    with tanx.debug_key_reuse(True):
        key = tanx.random.key(0)
        x, y = tanx.random.normal(key), tanx.random.uniform(key)  # KeyReuseError
"""

from ..errors import KeyReuseError

__all__ = ["KeyReuseError"]
