"""Compiling in the background: ``jit(f, background=True)``.

The first call of a signature lets the thread of ``idle_work.py`` compile its program. Calls before
the code is ready run on tier 0, by the rules that evaluate primitives, and give the same results up
to rounding. Programs with long loops, which would be too slow there, wait for it.
"""

from __future__ import annotations

import threading
from functools import partial
from math import inf
from typing import Any

from .._base.collector import at_rest, count_as_old
from .._base.config import jit_disabled
from .._base.flags import Flag, overrides, overriding, trace_key
from .._core.array import Array
from .._core.flow import ForLoop, WhileLoop
from .._core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxprs_in_params
from .._core.primitive import Kind
from . import idle_work
from .availability import is_native
from .eager import compiled, quietly
from .tier0 import program_of

__all__ = ["run_meanwhile"]

MOST_STEPS = 10_000
"""Operations that a call on tier 0 may take: about 5 µs each, 50 ms together."""


class _Compilation:
    """A program being compiled."""

    __slots__ = ("started", "done", "error")

    def __init__(self) -> None:
        self.started = False
        self.done = threading.Event()
        self.error: BaseException | None = None

    def start(self, closed: ClosedJaxpr, donated: tuple[bool, ...]) -> None:
        if not self.started:
            self.started = True
            idle_work.do(closed, partial(self.run, donated, overrides()))

    def run(self, donated: tuple[bool, ...], flags: list[tuple[Flag, Any]],
            closed: ClosedJaxpr) -> None:
        try:
            with overriding(flags), at_rest:
                compiled(closed, donated)
                # Otherwise the collector would stop all threads for 50 ms to scan all objects.
                count_as_old()
        except BaseException as error:  # the next call raises it
            self.error = error
        finally:
            self.done.set()


def run_meanwhile(closed: ClosedJaxpr, donated: tuple[bool, ...],
                  operands: list[Array]) -> list[Array] | None:
    """The results of a program whose code is not ready yet; None if it is.

    The first call starts compiling after it has run, so that it does not share the processor.
    Raises the error of the compilation.
    """
    if not is_native():
        return None
    key = (_Compilation, donated, trace_key())
    compilation = closed.made.setdefault(key, _Compilation())
    if not compilation.done.is_set() and _steps(closed.jaxpr) > MOST_STEPS:
        compilation.start(closed, donated)
        compilation.done.wait()
    if compilation.error is not None:
        raise compilation.error.with_traceback(None)
    if compilation.done.is_set():
        return None
    try:
        with jit_disabled(True):
            return quietly(program_of(closed).run, operands)
    finally:
        compilation.start(closed, donated)


def _steps(jaxpr: Jaxpr) -> float:
    """Roughly how many operations tier 0 runs for a program; infinite if that depends on data."""
    total = 0.0
    for eqn in jaxpr.eqns:
        inner = [_steps(body) for body in jaxprs_in_params(eqn.params)]
        total += 1 + (_times(eqn) * sum(inner) if inner else 0)
    return total


def _times(eqn: JaxprEqn) -> float:
    """How often an equation runs the functions among its parameters."""
    match eqn.primitive.flow(eqn.params) if eqn.primitive.kind is Kind.CALL else None:
        case ForLoop(length=length):
            return length
        case WhileLoop():
            return inf
    return 1
