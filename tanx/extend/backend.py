"""tanx.extend.backend: platforms and their clients."""

from .._api.backends import (
    backend_xla_version,
    backends,
    clear_backends,
    clear_in_memory_compilation_cache,
    get_backend,
    get_compile_options,
    get_default_device,
    register_backend_cache,
    register_backend_factory,
)
from .._base.traceback import shown
from .._base.window import publish

publish(__name__, shown)
