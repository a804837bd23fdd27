"""Rules of backward passes that add cotangents to accumulators, or log values."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._core.linear import Zero
from .._core.trace import context
from .._core.types import AbstractValue
from .._ops.derive import sum_cotangents, zeros_of
from .._ops.refs import addupdate, freeze, new_ref
from ..errors import explain

__all__ = ["GradAccum", "NullAccum", "RefAccum", "ValAccum", "backward_logs", "log"]


class GradAccum:
    """Receives any number of cotangents of one value."""

    def accum(self, x) -> None:
        """Add a cotangent."""
        raise NotImplementedError

    def freeze(self):
        """The sum of all cotangents added."""
        raise NotImplementedError

    aval: Any

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"


class ValAccum(GradAccum):
    """Sums cotangents.

    >>> sum = ValAccum(tanx.typeof(1.0))
    >>> sum.accum(2.0), sum.accum(3.0)
    (None, None)
    >>> sum.freeze()
    Array(5., dtype=float32, weak_type=True)
    """

    __slots__ = ("aval", "val")

    def __init__(self, aval: AbstractValue, val: Any = None):
        self.aval: Any = aval
        self.val = Zero(aval) if val is None else val

    def accum(self, x) -> None:
        if x is not None:
            self.val = sum_cotangents(self.val, x)

    def freeze(self):
        return self.val


class NullAccum(GradAccum):
    """Ignores cotangents, which are not needed."""

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue):
        self.aval: Any = aval

    def accum(self, x) -> None:
        pass

    def freeze(self) -> Zero:
        return Zero(self.aval)


class RefAccum(GradAccum):
    """Adds cotangents to a reference, which is created if none is given.

    >>> total = RefAccum(tanx.typeof(jnp.ones(2)))
    >>> total.accum(jnp.ones(2))
    >>> total.ref
    Ref([1., 1.], dtype=float32)
    """

    __slots__ = ("aval", "ref")

    def __init__(self, aval: AbstractValue, ref: Any = None):
        self.aval: Any = aval
        self.ref = ref

    def inst(self) -> RefAccum:
        """The accumulator itself, once it has a reference."""
        if self.ref is None:
            self.ref = new_ref(zeros_of(self.aval))
        return self

    def accum(self, x) -> None:
        self.inst()
        if x is not None and type(x) is not Zero:
            addupdate(self.ref, None, x)

    def freeze(self):
        return freeze(self.inst().ref)


class _Pass(threading.local):
    """The backward pass that runs in this thread: its logs, and the trace it runs in."""

    logs: dict[str, Any] | None = None
    wanted = False
    trace: Any = None


_running = _Pass()


@contextmanager
def backward_logs(wanted: bool = False) -> Iterator[dict[str, Any]]:
    """A block that is one backward pass; values that rules log in it go into the dict."""
    outer = _running.logs, _running.wanted, _running.trace
    _running.logs, _running.wanted, _running.trace = {}, wanted, context.trace
    try:
        yield _running.logs
    finally:
        _running.logs, _running.wanted, _running.trace = outer


def log(logs: dict[str, Any] | None) -> None:
    """Log values of the running backward pass; each name once."""
    if logs is None or _running.logs is None:
        return
    if not isinstance(logs, dict):
        raise TypeError(explain("tanx.custom_vjp", "the logs of bwd must be a dict, or None.",
                                f"logs: {logs!r:.100}"))
    for key, value in logs.items():
        if key in _running.logs:
            raise ValueError(explain(
                "tanx.custom_vjp", "each key is logged once in a backward pass.", f"key: {key!r}"))
        if _running.wanted and context.trace is not _running.trace:
            raise NotImplementedError(explain(
                "tanx.custom_vjp", "values cannot be logged out of a loop or a branch.",
                f"key: {key!r}"))
        _running.logs[key] = value
