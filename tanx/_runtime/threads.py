"""The threads of a process: a pool that runs tasks of native code, built by LLVM at its first use.

``void tanx_parallel(ptr task, ptr context, i64 count)`` calls ``task(context, i)`` once for each
``i`` below ``count`` and returns when all are done. The calling thread takes part; Python does not.
A call while the pool is busy, from inside a task or from another thread, runs its tasks alone
rather than wait.

How it works: a job is published in one word, ``epoch << 32 | open << 16 | members``. A worker that
sees an open epoch for the first time joins by counting itself in, takes tasks until there are none
left, and counts itself out. The caller does the same, then closes the job, so that no more threads
join, and waits until no members are left. A waiting thread spins for some microseconds, because
kernels follow each other closely, and then sleeps. ``void tanx_hold(i64 more)`` makes workers spin
longer, during work with many small jobs.

Consecutive tasks often access adjacent memory, which the hardware prefetches. So each member begins
with a range of the tasks, in order, and then helps with the ranges of others.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

from .._base.limits import processors
from .._base.locks import new_lock
from .._compiler.abi import PARALLEL
from ..errors import explain

__all__ = ["get_num_threads", "parallel_address", "pool_addresses", "pool_text",
           "set_num_threads", "when_resized"]


def pool_text() -> str:
    """The pool as LLVM code, to be made tidy."""
    from . import threads_native, waiting_native  # late: needed only where the code is not on disk
    from .native import translate
    return translate([threads_native, waiting_native], threads_native.__all__)


class _Pool:
    """The pool of this process: its size, and its functions once they are needed."""

    def __init__(self):
        self._lock = new_lock()
        self._size: int | None = None
        self._addresses: dict[str, int] = {}
        self.listeners: list[Callable[[int], None]] = []  # called with the size when it changes

    @property
    def size(self) -> int:
        if self._size is None:
            self._size = _default_size()
        return self._size

    @size.setter
    def size(self, threads: int) -> None:
        with self._lock:
            self._size = threads
            if self._addresses:
                self._call("tanx_limit", threads)
        for listener in self.listeners:
            listener(threads)

    def addresses(self) -> dict[str, int]:
        """The addresses of its functions."""
        with self._lock:
            if not self._addresses:
                from . import stop  # late: most imports of tanx run no threads
                from .machine_code import permanent
                self._addresses = permanent("threads", pool_text, stop.addresses() | {
                    "tanx_owner": ctypes.addressof(stop.owner),
                    "tanx_workers": ctypes.addressof(stop.workers)}, tidy=True)
                self._call("tanx_fresh")
                self._call("tanx_limit", self.size)
            return self._addresses

    def forked(self) -> None:
        """In a new process, where only the calling thread exists."""
        if self._addresses:
            self._call("tanx_fresh")

    def _call(self, name: str, *numbers: int) -> None:
        types = (ctypes.c_int64,) * len(numbers)
        ctypes.CFUNCTYPE(None, *types)(self._addresses[name])(*numbers)


def _default_size() -> int:
    """The number in ``OMP_NUM_THREADS``, or how many threads can run at a time."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if first.isdecimal() and int(first):
        return int(first)
    return processors()


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forked)


def when_resized(listener: Callable[[int], None]) -> None:
    """Tell a function how many threads there are, whenever that changes."""
    _pool.listeners.append(listener)


def parallel_address() -> int:
    """The address of ``tanx_parallel`` in this process."""
    return _pool.addresses()[PARALLEL]


def pool_addresses() -> dict[str, int]:
    """The addresses of ``tanx_parallel`` and of ``tanx_hold``, by name."""
    addresses = _pool.addresses()
    return {name: addresses[name] for name in (PARALLEL, "tanx_hold")}


def get_num_threads() -> int:
    """How many threads compiled functions may use on the CPU; see :func:`set_num_threads`.

    >>> tanx.get_num_threads() >= 1
    True
    """
    return _pool.size


def set_num_threads(threads: int) -> None:
    """Set how many threads compiled functions use on the CPU, including the calling one.

    By default, the number is that of ``OMP_NUM_THREADS``, or of the processors that the process may
    use, by its affinity and by the limits of its control groups (a container with 2.5 CPUs: three).
    LAPACK's library uses no more threads either. Results do not depend on it: work is cut into the
    same pieces for any number of threads. Calls that run in the meantime are not disturbed.

    >>> before = tanx.get_num_threads()
    >>> tanx.set_num_threads(1)
    >>> tanx.get_num_threads()
    1
    >>> tanx.set_num_threads(before)
    """
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise ValueError(explain(
            "tanx.set_num_threads", "the number of threads must be a positive int.",
            f"threads: {threads!r}", hint="1 runs everything in the calling thread."))
    _pool.size = threads
