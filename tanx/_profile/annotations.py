"""Annotations: names for a program's blocks and functions in profiles."""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from .._core.recording import current
from .._core.source import user_source
from ..errors import explain

__all__ = ["StepTraceAnnotation", "TraceAnnotation", "annotate_function"]


class TraceAnnotation:
    """Name a block in profiles; keywords are facts to show with it.

    It costs a tenth of a microsecond if no profile is taken.

    >>> with tanx.profiler.TraceAnnotation("load batch", size=3):
    ...     batch = jnp.zeros(3)
    """

    __slots__ = ("_name", "_facts", "_recorder", "_start")

    def __init__(self, name: str, /, **kwargs: Any):
        if not isinstance(name, str):
            raise TypeError(explain(
                f"tanx.profiler.{type(self).__name__}", "the name must be a str.",
                f"got: {name!r:.100} of type {type(name).__name__}"))
        self._name, self._facts = name, kwargs

    def __enter__(self) -> TraceAnnotation:
        self._recorder = current.recorder
        self._start = perf_counter_ns()
        return self

    def __exit__(self, *_: object) -> None:
        if self._recorder is not None:
            self._recorder.add(self._name, "annotation", self._start, user_source(),
                               self._facts)

    def set_metadata(self, **kwargs: Any) -> None:
        """Add facts, which may be known only inside of the block."""
        self._facts = {**self._facts, **kwargs}

    @staticmethod
    def is_enabled() -> bool:
        """Whether a profile is being taken."""
        return current.recorder is not None


class StepTraceAnnotation(TraceAnnotation):
    """Name a step of a loop, as one step of training; ``step_num`` says which.

    >>> for step in range(2):
    ...     with tanx.profiler.StepTraceAnnotation("train", step_num=step):
    ...         jnp.sin(1.0)
    Array(0.841471, dtype=float32, weak_type=True)
    Array(0.841471, dtype=float32, weak_type=True)
    """

    __slots__ = ()

    def __init__(self, name: str, **kwargs: Any):
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: Callable, name: str | None = None, **decorator_kwargs: Any) -> Callable:
    """Name each call of a function in profiles, by ``name`` or by its own.

    >>> @tanx.profiler.annotate_function
    ... def prepare(x):
    ...     return x + 1
    >>> prepare(1)
    2
    """
    label = name or getattr(func, "__qualname__", None) or func.__name__

    @functools.wraps(func)
    def annotated(*args, **kwargs):
        with TraceAnnotation(label, **decorator_kwargs):
            return func(*args, **kwargs)
    return annotated
