"""``ProfileOptions``: the contents of a profile."""

from __future__ import annotations

from typing import Any

from ..errors import explain

__all__ = ["ProfileOptions"]

_DEFAULTS: dict[str, Any] = {
    "host_tracer_level": 2, "python_tracer_level": 0, "duration_ms": 0, "start_timestamp_ns": 0,
    "session_id": "", "repository_path": "", "enable_hlo_proto": True, "include_dataset_ops": True,
    "raise_error_on_start_failure": False, "advanced_configuration": {}}


class ProfileOptions:
    """The contents of a profile; attributes are checked when they are set.

    ``host_tracer_level`` is 0 for nothing, 1 for annotations, 2 for all operations of tanx.
    ``python_tracer_level`` 1 records calls of Python functions, which takes time; the default is 0.
    ``duration_ms`` is the length of the profile, ``start_timestamp_ns`` omits earlier events (in
    nanoseconds since the epoch), ``session_id`` names the folder. The others are for parts of JAX
    that tanx does not have.

    >>> options = tanx.profiler.ProfileOptions()
    >>> options.python_tracer_level = 1
    """

    __slots__ = tuple(_DEFAULTS)

    host_tracer_level: int
    python_tracer_level: int
    duration_ms: int
    start_timestamp_ns: int
    session_id: str
    repository_path: str
    enable_hlo_proto: bool
    include_dataset_ops: bool
    raise_error_on_start_failure: bool
    advanced_configuration: dict[str, Any]

    def __init__(self) -> None:
        for name, value in _DEFAULTS.items():
            setattr(self, name, dict(value) if isinstance(value, dict) else value)

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(_DEFAULTS.get(name))
        if name in _DEFAULTS and (not isinstance(value, kind)
                                  or kind is int and isinstance(value, bool)):
            raise TypeError(explain(
                f"tanx.profiler.ProfileOptions.{name}",
                f"the value must be of type {kind.__name__}.",
                f"got: {value!r:.100} of type {type(value).__name__}"))
        object.__setattr__(self, name, value)
