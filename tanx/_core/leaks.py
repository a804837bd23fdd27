"""Finding leaked tracers, under the flag ``check_tracer_leaks``.

After a transformation has run a function, no tracer of its trace should be alive. Live tracers are
reported with their holder: a global, an attribute, an element of a list.
"""

from __future__ import annotations

import gc
import types

from .._base.config import check_tracer_leaks
from ..errors import explain
from .trace import Trace, Tracer

__all__ = ["check_leaks"]


def check_leaks(trace: Trace) -> None:
    """Raise if tracers of a finished trace are still held; does nothing unless enabled."""
    if not check_tracer_leaks.value:
        return
    if not _tracers(trace):
        return
    gc.collect()  # tracers held only by cycles are not leaked
    held = _tracers(trace)
    if not held:
        return
    facts = []
    for position in range(min(len(held), 5)):
        tracer = held[position]
        origin = tracer.describe_origin()
        facts.append(f"{tracer.aval} held by {_holder(tracer, held)}"
                     + (f"; {origin}" if origin else ""))
    raise Exception(explain(
        "tanx.checking_leaks", "traced values outlive the function that was being transformed.",
        *facts, hint="return the value instead of storing it."))


def _tracers(trace: Trace) -> list[Tracer]:
    return [x for x in gc.get_objects() if issubclass(type(x), Tracer) and x._trace is trace]


def _holder(tracer: Tracer, ours: list) -> str:
    """The references that keep a tracer alive, in the user's terms."""
    for referrer in gc.get_referrers(tracer):
        if referrer is ours or isinstance(referrer, types.FrameType):
            continue
        if isinstance(referrer, types.CellType):
            return "a closure"
        if isinstance(referrer, dict):
            owner = next((o for o in gc.get_referrers(referrer)
                          if getattr(o, "__dict__", None) is referrer), None)
            return _named(owner, referrer, tracer)
        if hasattr(referrer, "__dict__"):
            return _named(referrer, vars(referrer), tracer)
        return f"a {type(referrer).__name__}"
    return "something unknown"


def _named(owner, attributes: dict, tracer: Tracer) -> str:
    key = next((k for k, v in attributes.items() if v is tracer), None)
    if isinstance(owner, types.ModuleType):
        return f"the global {owner.__name__}.{key}"
    if owner is not None:
        return f"the attribute {key} of a {type(owner).__name__}"
    return f"the key {key!r} of a dict"
