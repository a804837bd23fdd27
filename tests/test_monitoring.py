"""Listeners: events of compilations, registration and removal."""

import pytest

import tanx
import tanx.numpy as jnp
from tanx import monitoring
from tanx._base.config import compilation_cache_dir, enable_compilation_cache

COMPILE, CACHE = "/jax/core/compile/", "/jax/compilation_cache/"
REGISTER = {
    "event": (monitoring.register_event_listener, monitoring.unregister_event_listener,
              lambda: monitoring.record_event("/x", k=1), ("/x",)),
    "duration": (monitoring.register_event_duration_secs_listener,
                 monitoring.unregister_event_duration_listener,
                 lambda: monitoring.record_event_duration_secs("/x", 0.5, k=1), ("/x", 0.5)),
    "span": (monitoring.register_event_time_span_listener,
             monitoring.unregister_event_time_span_listener,
             lambda: monitoring.record_event_time_span("/x", 1.0, 2.0, k=1), ("/x", 1.0, 2.0)),
    "scalar": (monitoring.register_scalar_listener, monitoring.unregister_scalar_listener,
               lambda: monitoring.record_scalar("/x", 3, k=1), ("/x", 3)),
}


@pytest.mark.parametrize("kind", REGISTER)
def test_listeners(kind):
    register, unregister, record, heard = REGISTER[kind]
    seen = []

    def listener(*args, **kwargs):
        seen.append((args, kwargs))
    register(listener)
    try:
        record()
    finally:
        unregister(listener)
    record()
    assert seen == [(heard, {"k": 1})]
    with pytest.raises(AssertionError, match="the listener is not registered"):
        unregister(listener)


@pytest.fixture
def heard():
    seen = []
    kinds = {"event": REGISTER["event"], "duration": REGISTER["duration"],
             "span": REGISTER["span"], "scalar": REGISTER["scalar"]}
    listeners = {kind: lambda *args, kind=kind, **facts: seen.append((kind, *args, facts))
                 for kind in kinds}
    for kind, (register, *_) in kinds.items():
        register(listeners[kind])
    yield seen
    for kind, (_, unregister, *_) in kinds.items():
        unregister(listeners[kind])


def test_compilations_and_the_cache(heard, tmp_path):
    with enable_compilation_cache(True), compilation_cache_dir(str(tmp_path)):
        @tanx.jit
        def half(x):
            return x * 0.5 + 0.03125
        for _ in range(4):
            assert half(2.0) == 1.03125
        cold = list(heard)
        heard.clear()
        tanx.clear_caches()
        half(2.0)
    assert [e[1].removeprefix(COMPILE) for e in cold if e[0] == "duration"] == [
        "jaxpr_trace_duration", "jaxpr_to_mlir_module_duration", "backend_compile_duration"]
    assert [e[-1] for e in cold if e[0] == "duration"] == [
        {"fun_name": "half"}, {"fun_name": "jit(half)"}, {"fun_name": "jit(half)"}]
    events = [e[1].removeprefix(CACHE) for e in cold if e[0] == "event"]
    assert events[-2:] == ["compile_requests_use_cache", "cache_misses"]
    for kind, name, *numbers, _ in cold:
        if kind == "span":
            start, end = numbers
            assert ("scalar", name, start) in [e[:3] for e in cold] and end >= start
    warm = [e[1].removeprefix(CACHE) for e in heard if e[0] in ("event", "duration")]
    assert warm[1:-1] == ["compile_requests_use_cache", "cache_hits", "compile_time_saved_sec",
                          "cache_retrieval_time_sec"]


def test_errors_of_listeners_are_the_callers():
    def bad(event, **_):
        raise ValueError("no")
    monitoring.register_event_listener(bad)
    try:
        with pytest.raises(ValueError, match="no"):
            monitoring.record_event("/x")
    finally:
        monitoring.clear_event_listeners()
    monitoring.record_event("/x")
    assert jnp.ones(1)[0] == 1
