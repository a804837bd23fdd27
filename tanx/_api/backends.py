"""Platforms and their clients, for libraries."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from .._runtime.client import Client, CompileOptions, client_of
from .._runtime.device import Device, default_device
from ..errors import explain
from .jit import clear_caches

__all__ = ["Client", "backend_xla_version", "backends", "clear_backends",
           "clear_in_memory_compilation_cache", "create_compile_options", "get_backend",
           "get_compile_options", "get_default_device", "register_backend_cache",
           "register_backend_factory"]

_lock = threading.Lock()
_caches: list[Any] = []


def backends() -> dict[str, Client]:
    """The client of each available platform.

    >>> list(tanx.extend.backend.backends())
    ['cpu']
    """
    client = client_of()
    return {client.platform: client}


def get_backend(platform: str | Client | None = None) -> Client:
    """The client of a platform, by default the default one.

    >>> tanx.extend.backend.get_backend("cpu").device_count()
    1
    """
    return platform if isinstance(platform, Client) else client_of(platform)


def get_default_device() -> Device:
    """The device of new arrays.

    >>> tanx.extend.backend.get_default_device()
    CpuDevice(id=0)
    """
    return default_device()


def backend_xla_version(platform: str | None = None) -> int | None:
    """The version of XLA of a platform: None, because there is no XLA.

    >>> tanx.extend.backend.backend_xla_version() is None
    True
    """
    get_backend(platform)
    return None


def register_backend_factory(name: str, factory, *, priority: int = 0, fail_quietly: bool = True,
                             experimental: bool = False, make_topology=None, c_api=None) -> None:
    """Raises: programs are compiled for tanx's own platforms only.

    >>> tanx.extend.backend.register_backend_factory("mine", lambda: None)
    Traceback (most recent call last):
    NotImplementedError: tanx.extend.backend.register_backend_factory: ...
    """
    raise NotImplementedError(explain(
        "tanx.extend.backend.register_backend_factory",
        "tanx has its own compiler, and clients of XLA cannot be added.",
        f"name: {name}"))


def register_backend_cache(cache, for_what: str) -> None:
    """Register a cache to be cleared by :func:`clear_backends`; it must have ``cache_clear``.

    >>> from functools import lru_cache
    >>> square = lru_cache(lambda x: x * x)
    >>> tanx.extend.backend.register_backend_cache(square, "squares")
    >>> square(3), square.cache_info().currsize
    (9, 1)
    >>> tanx.extend.backend.clear_backends()
    >>> square.cache_info().currsize
    0
    """
    if not callable(getattr(cache, "cache_clear", None)):
        raise TypeError(explain("tanx.extend.backend.register_backend_cache",
                                "a cache needs a method cache_clear.", f"cache: {cache!r:.100}"))
    try:
        kept = weakref.ref(cache)
    except TypeError:
        def kept(): return cache
    with _lock:
        _caches.append(kept)


def clear_backends(_crash: bool = False) -> None:
    """Forget the compiled code of every platform, and clear the registered caches.

    Arrays stay alive: clients hold no state of arrays.

    >>> tanx.extend.backend.clear_backends()
    """
    clear_in_memory_compilation_cache()
    with _lock:
        there = [(kept, kept()) for kept in _caches]
        _caches[:] = [kept for kept, cache in there if cache is not None]
    for _, cache in there:
        if cache is not None:
            cache.cache_clear()


def clear_in_memory_compilation_cache() -> None:
    """Forget everything staged and compiled, except for files on disk.

    >>> tanx.extend.backend.clear_in_memory_compilation_cache()
    """
    clear_caches()


def get_compile_options(num_replicas: int, num_partitions: int, device_assignment=None,
                        env_options_overrides: dict | None = None, fdo_profile: bytes | None = None,
                        detailed_logging: bool = True, backend=None) -> CompileOptions:
    """Options for a program on several devices. tanx compiles for one, and ignores them.

    >>> tanx.extend.backend.get_compile_options(1, 1).num_partitions
    1
    """
    return CompileOptions(num_replicas, num_partitions, device_assignment, env_options_overrides)


def create_compile_options(computation, tuple_args, allow_prop_to_inputs, allow_prop_to_outputs,
                           backend, np_dev, compiler_options) -> CompileOptions:
    """Options for a program on an array of devices.

    >>> devices = np.array(tanx.devices())
    >>> tanx.interpreters.pxla.create_compile_options(
    ...     None, False, False, False, None, devices, None).num_partitions
    1
    """
    return CompileOptions(1, np_dev.size, [[device.id for device in np_dev.flat]],
                          compiler_options)
