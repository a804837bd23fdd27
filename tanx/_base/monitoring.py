"""Listeners for events of tanx: programs traced and compiled, caches hit and missed.

The names of the events are JAX's, so that tools that count compilations of JAX programs work with
tanx. There are four kinds: a plain event, a duration in seconds, a span between two moments of
``time.time()``, and a number. A compilation is reported by its start time, as a number, and as a
duration and as a span when it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from time import time
from typing import Any

from ..errors import explain

__all__ = [
    "BACKEND", "CACHE_HITS", "CACHE_MISSES", "CACHE_REQUESTS", "LOWERING", "RETRIEVAL", "SAVED",
    "TASKS", "TRACING", "clear_event_listeners", "record_event", "record_event_duration_secs",
    "record_event_time_span", "record_scalar", "register_event_duration_secs_listener",
    "register_event_listener", "register_event_time_span_listener", "register_scalar_listener",
    "timed", "unregister_event_duration_listener", "unregister_event_listener",
    "unregister_event_time_span_listener", "unregister_scalar_listener"]

TRACING = "/jax/core/compile/jaxpr_trace_duration"
LOWERING = "/jax/core/compile/jaxpr_to_mlir_module_duration"
BACKEND = "/jax/core/compile/backend_compile_duration"
TASKS = "/jax/compilation_cache/tasks_using_cache"  # processes that use the cache on disk
CACHE_REQUESTS = "/jax/compilation_cache/compile_requests_use_cache"
CACHE_HITS = "/jax/compilation_cache/cache_hits"
CACHE_MISSES = "/jax/compilation_cache/cache_misses"
SAVED = "/jax/compilation_cache/compile_time_saved_sec"
RETRIEVAL = "/jax/compilation_cache/cache_retrieval_time_sec"

Listener = Callable[..., None]
_events: list[Listener] = []
_durations: list[Listener] = []
_spans: list[Listener] = []
_scalars: list[Listener] = []


def record_event(event: str, **kwargs: str | int) -> None:
    """Report an event to its listeners.

    >>> tanx.monitoring.record_event("/mine/checkpoint_written", step=3)
    """
    for callback in list(_events):
        callback(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Report a duration in seconds to its listeners.

    >>> tanx.monitoring.record_event_duration_secs("/mine/checkpoint", 0.25)
    """
    for callback in list(_durations):
        callback(event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float,
                           **kwargs: str | int) -> None:
    """Report a span to its listeners, in seconds since the epoch.

    >>> tanx.monitoring.record_event_time_span("/mine/checkpoint", 100.0, 100.25)
    """
    for callback in list(_spans):
        callback(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Report a number to its listeners.

    >>> tanx.monitoring.record_scalar("/mine/loss", 0.5)
    """
    for callback in list(_scalars):
        callback(event, value, **kwargs)


class timed:
    """Report to listeners when the work of a block begins, and how long it took.

    >>> seen = []
    >>> listener = lambda event, seconds, fun_name: seen.append((event, fun_name))
    >>> tanx.monitoring.register_event_duration_secs_listener(listener)
    >>> with timed("/mine/work", "f"):
    ...     pass
    >>> tanx.monitoring.unregister_event_duration_listener(listener)
    >>> seen
    [('/mine/work', 'f')]
    """

    __slots__ = ("event", "fun_name", "before", "start")

    def __init__(self, event: str, fun_name: str, before: float = 0.0):
        self.event, self.fun_name = event, fun_name
        self.before = before  # seconds that the work took before the block

    def __enter__(self) -> None:
        self.start = time() - self.before
        record_scalar(self.event, self.start, fun_name=self.fun_name)

    def __exit__(self, failed, *_) -> None:
        if failed is None:
            end = time()
            record_event_duration_secs(self.event, end - self.start, fun_name=self.fun_name)
            record_event_time_span(self.event, self.start, end, fun_name=self.fun_name)


def register_event_listener(callback: Listener) -> None:
    """Call ``callback(event, **facts)`` at each event, until it is unregistered.

    >>> seen = []
    >>> listener = lambda event, **facts: seen.append((event, facts))
    >>> tanx.monitoring.register_event_listener(listener)
    >>> tanx.monitoring.record_event("/mine/event", step=3)
    >>> tanx.monitoring.unregister_event_listener(listener)
    >>> seen
    [('/mine/event', {'step': 3})]
    """
    _events.append(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Call ``callback(event, seconds, **facts)`` at each duration, until it is unregistered.

    >>> seen = []
    >>> listener = lambda event, seconds, **facts: seen.append((event, facts))
    >>> tanx.monitoring.register_event_duration_secs_listener(listener)
    >>> double = tanx.jit(lambda x: 2 * x)
    >>> _ = double(3.0)
    >>> tanx.monitoring.unregister_event_duration_listener(listener)
    >>> seen[0]
    ('/jax/core/compile/jaxpr_trace_duration', {'fun_name': '<lambda>'})
    """
    _durations.append(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Call ``callback(event, start, end, **facts)`` at each span, until it is unregistered.

    >>> listener = lambda event, start, end, **facts: None
    >>> tanx.monitoring.register_event_time_span_listener(listener)
    >>> tanx.monitoring.unregister_event_time_span_listener(listener)
    """
    _spans.append(callback)


def register_scalar_listener(callback: Listener) -> None:
    """Call ``callback(event, value, **facts)`` at each number, until it is unregistered.

    >>> listener = lambda event, value, **facts: None
    >>> tanx.monitoring.register_scalar_listener(listener)
    >>> tanx.monitoring.unregister_scalar_listener(listener)
    """
    _scalars.append(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Stop calling a listener of events.

    >>> tanx.monitoring.register_event_listener(print)
    >>> tanx.monitoring.unregister_event_listener(print)
    """
    _remove("event", _events, callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Stop calling a listener of durations.

    >>> tanx.monitoring.register_event_duration_secs_listener(print)
    >>> tanx.monitoring.unregister_event_duration_listener(print)
    """
    _remove("event_duration", _durations, callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Stop calling a listener of spans.

    >>> tanx.monitoring.register_event_time_span_listener(print)
    >>> tanx.monitoring.unregister_event_time_span_listener(print)
    """
    _remove("event_time_span", _spans, callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Stop calling a listener of numbers.

    >>> tanx.monitoring.register_scalar_listener(print)
    >>> tanx.monitoring.unregister_scalar_listener(print)
    """
    _remove("scalar", _scalars, callback)


def clear_event_listeners() -> None:
    """Remove all listeners, of every kind.

    >>> tanx.monitoring.clear_event_listeners()
    """
    for listeners in (_events, _durations, _spans, _scalars):
        listeners.clear()


def _remove(kind: str, listeners: list[Listener], callback: Any) -> None:
    if callback not in listeners:
        raise AssertionError(explain(
            f"tanx.monitoring.unregister_{kind}_listener", "the listener is not registered.",
            f"listener: {callback!r:.100}"))
    listeners.remove(callback)
