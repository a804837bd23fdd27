"""The lives of a compiled function: all the ways that one call can take through the runtime.

A jitted function is traced and compiled by its first call, run through Python by the second, and by
native code from the third on. Numbers and NumPy's arrays, other weak types and donated arguments
have entries of their own there. Long work goes to the background, another thread has a state of its
own, tier 0 runs what is not compiled yet, and another process finds the code on disk. Whatever
compares results of compiled code compares those of each life, by :func:`lives`.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

import tanx
from tanx._base import config
from tanx._core.array import Array
from tanx._core.jaxpr import ClosedJaxpr, eval_jaxpr
from tanx._core.types import ShapedArray
from tanx._runtime import load
from tanx._runtime.eager import compiled
from tanx._runtime.executable import Executable
from tanx._runtime.tier0 import program_of

__all__ = ["Life", "lives"]


class Life(NamedTuple):
    """One call: how it was made, which data it was given, and its results."""

    name: str
    changed: bool  # whether it got the other data
    avals: list[ShapedArray]  # what the results should be
    results: list[Array]


def lives(closed: ClosedJaxpr, args: Sequence[np.ndarray],
          others: Sequence[np.ndarray]) -> Iterator[Life]:
    """Call a program in all ways, on ``args`` and on other data of the same types."""
    avals = closed.out_avals

    def program(*xs):
        return eval_jaxpr(closed.jaxpr, closed.consts, *xs)

    def given(values=args):
        return [Array(np.array(x, aval.dtype), aval=aval)
                for x, aval in zip(values, closed.in_avals, strict=True)]

    function = tanx.jit(program)
    for n in range(4):
        yield Life(f"call {n + 1}", False, avals, function(*given()))
    for n in range(2):
        yield Life(f"other data, call {n + 1}", True, avals, function(*given(others)))
    yield Life("another thread", False, avals, _in_thread(lambda: function(*given())))
    yield from _as_numpy(function, closed, args)
    if any(aval.shape == () and not aval.weak_type for aval in closed.in_avals):
        yield from _weak(program, closed, args)
    if closed.in_avals:
        donating = tanx.jit(program, donate_argnums=tuple(range(len(closed.in_avals))))
        for n in range(4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield Life(f"donated, call {n + 1}", n == 3, avals,
                           donating(*given(others if n == 3 else args)))
    if not compiled(closed).calls_python:
        with _long(compiled(function.trace(*given()).jaxpr)):
            waiting = tanx.jit(program)  # staged already, but not yet native
            for n in range(4):
                yield Life(f"background, call {n + 1}", n == 3, avals,
                           tanx.block_until_ready(waiting(*given(others if n == 3 else args))))
    if (tier := program_of(closed)).runnable:
        yield Life("tier 0", False, avals, tier.run(given()))
    yield from _from_disk(closed, given)


def _as_numpy(function: Callable, closed: ClosedJaxpr, args: Sequence) -> Iterator[Life]:
    """Arguments that are NumPy's arrays, or Python's numbers for weak types."""
    values = [np.asarray(x, aval.dtype).item() if aval.weak_type and aval.shape == ()
              else np.array(x, aval.dtype) for x, aval in zip(args, closed.in_avals)]
    if any(tanx.typeof(x) != aval for x, aval in zip(values, closed.in_avals)):
        return  # keys, weak arrays with dimensions: there are no such arguments
    for n in range(3):
        yield Life(f"NumPy, call {n + 1}", False, closed.out_avals, function(*values))


def _weak(program: Callable, closed: ClosedJaxpr, args: Sequence) -> Iterator[Life]:
    """Scalars of weak types: the program is staged anew, and its results may be weak, too."""
    values = [Array(np.array(x, aval.dtype), aval=aval.update(weak_type=aval.shape == ()))
              for x, aval in zip(args, closed.in_avals)]
    try:
        avals = tanx.make_jaxpr(program)(*values).out_avals
    except TypeError:  # a loop whose body was staged for strong types
        return
    weak = tanx.jit(program)
    for n in range(3):
        yield Life(f"weak, call {n + 1}", False, avals, weak(*values))


def _in_thread(call: Callable[[], list[Array]]) -> list[Array]:
    """The results of a call in another thread, which starts with the options of this one."""
    results: list = []
    x64 = config.enable_x64.value

    def run():
        with tanx.enable_x64(x64):
            results.append(call())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0]


@contextmanager
def _long(executable: Executable) -> Iterator[None]:
    """Let a program count as one that takes long, which runs in the background."""
    was, executable.long = executable.long, True
    try:
        yield
    finally:
        executable.long = was


def _from_disk(closed: ClosedJaxpr, given: Callable[[], list[Array]]) -> Iterator[Life]:
    """The program as another process would find it.

    Better code for it may still be written to the folder while that is removed.
    """
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, \
            config.enable_compilation_cache(True), config.compilation_cache_dir(folder):
        Executable(closed)
        load.clear()
        yield Life("from disk", False, closed.out_avals, Executable(closed).run(given()))
