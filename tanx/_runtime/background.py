"""Work in the background: programs that run while Python continues.

Each Python thread that starts long work has its own queue, and a native thread that processes it in
order, without the GIL. Addresses are fixed when work is submitted, so work may read what earlier
work of the same queue will write. A thread that waits for queued work runs that work itself:
``f(x).block_until_ready()`` hands nothing to another thread.

A job that finds no memory for its temporaries fails, and so does all work that reads its results;
the error is raised where a thread waits for them, and names the line that started the work.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from .._core.array import Array
from .._core.buffer import Buffer
from .._core.source import SourceInfo, user_source
from .._core.types import ShapedArray
from ..errors import explain
from . import stop
from .device import host_device
from .host import address, builtin
from .machine_code import permanent
from .memory import memory_of_machine, out_of_memory

if TYPE_CHECKING:
    from .load import Code

__all__ = ["DONE", "Queue", "Work", "barrier", "pending_array", "queue_of_thread"]

MOST_PENDING = 32
"""Jobs of one thread that may be queued; submitting another one waits for the oldest."""

_PENDING, DONE, _FAILED = 0, 1, 2  # the state of a job

_WORKER = 3 * 128 + 5 * 8
"""The offset of the worker's thread in a queue."""


@cache
def _native() -> dict[str, Callable]:
    """The functions of queues, for Python."""
    addresses = permanent(
        f"queues for heads of {object.__basicsize__} bytes", _text,
        {name: address(name) for name in ("tanx_alloc", "tanx_free")}, tidy=True)
    number, nothing = ctypes.c_void_p, None
    functions: dict[str, Callable] = {
        name: ctypes.CFUNCTYPE(result, *arguments)(addresses[name])
        for name, result, *arguments in (("queue_new", number), ("queue_fresh", nothing, number),
                                         ("queue_end", nothing, number))}
    for name in ("submit", "wait"):
        functions[name] = builtin(name, addresses[f"python_{name}"])
    return functions


def _text() -> str:
    from . import arguments_native, background_native, waiting_native  # late: see stop.py
    from .native import translate
    return translate([background_native, arguments_native, waiting_native],
                     background_native.__all__)


class Work:
    """A program that was submitted: what it reads and writes stays alive until it is done.

    Buffers of its results wait for it.
    """

    __slots__ = ("queue", "state", "number", "code", "memory", "parents", "nbytes", "arena",
                 "source", "error")

    def __init__(self, queue: Queue, code: Code, memory: list[np.ndarray],
                 parents: tuple[Work, ...], nbytes: int, arena: int):
        self.queue, self.nbytes, self.arena = queue, nbytes, arena
        self.code: Code | None = code  # until it is finished
        self.memory, self.parents = memory, parents
        self.number = 0
        self.state = (ctypes.c_int64 * 3)(_PENDING)  # then when it began and ended
        self.source: SourceInfo = user_source()
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.state[0] != _PENDING

    def wait(self) -> None:
        """Return when the work is done; raises its error, if it failed."""
        if self.code is not None:
            self.queue.wait(self.number)
        if self.error is not None:
            raise self.error.with_traceback(None)

    def holds(self, owner: object) -> int:
        """How many references to the owner of memory belong to pending work."""
        return self.queue.holds(owner)

    @property
    def moments(self) -> tuple[int, int]:
        """When the work began and ended, by ``perf_counter_ns``; only after it is done."""
        return self.state[1], self.state[2]

    def finish(self) -> None:
        """Release everything but the outcome; called once, in the order of the queue."""
        if self.error is not None:  # it was to be stopped
            stop.spare(self)
        if self.state[0] == _FAILED:
            self.error = out_of_memory("tanx.jit", [], self.arena, self.source)
        for parent in self.parents:
            self.error = self.error or parent.error
        self.code, self.memory, self.parents = None, [], ()


def pending_array(work: Work, data: np.ndarray, aval: ShapedArray) -> Array:
    """An array whose data pending work will write."""
    return Array._of_buffers((Buffer.of_host(data, host_device(), work),), aval)


class Queue:
    """Work in the order in which one thread has started it."""

    def __init__(self):
        self.native = _native()
        self.address = self.native["queue_new"]()
        if not self.address:
            raise MemoryError
        self.records: deque[Work] = deque()
        self.nbytes = 0  # that pending work will write
        self.lock = threading.RLock()
        _queues.add(self)

    @property
    def worker(self) -> int:
        """The thread that processes the queue, or 0."""
        return ctypes.c_int64.from_address(self.address + _WORKER).value

    def submit(self, code: Code, arena: int, memory: list[np.ndarray], parents: Iterable[Work],
               nbytes: int) -> Work:
        """Start a program; ``parents`` is the work whose results it reads.

        ``nbytes`` is what it writes. Waits first if too much is pending already.
        """
        while self.records and (len(self.records) >= MOST_PENDING
                                or self.nbytes + nbytes > _most_bytes()):
            self.wait(self.records[0].number)
        work = Work(self, code, memory, tuple(parents), nbytes, arena)
        with _gate, self.lock:
            work.number = self.native["submit"](self.address, ctypes.addressof(work.state),
                                                code.address, arena, *memory)
            self.records.append(work)
            self.nbytes += nbytes
        return work

    def holds(self, owner: object) -> int:
        """How often pending work refers to an array."""
        with self.lock:
            return sum(array is owner for work in self.records for array in work.memory)

    def wait(self, number: int) -> None:
        """Return when the job of that number is done, and so all before it.

        The waiting thread may run jobs. Ctrl-C while a job runs, here or in the worker, ends it and
        all pending jobs: waiting for them raises an error from then on.
        """
        thread = threading.get_ident()
        before, _helping[thread] = _helping.get(thread), self
        try:
            self.native["wait"](self.address, number)
        except BaseException as error:
            self.give_up(error)
            raise
        finally:
            _helping[thread] = before
        self.reap()
        stop.settle()

    def give_up(self, error: BaseException) -> None:
        """Fail all jobs that are not done."""
        with self.lock:
            for work in self.records:
                if not work.done and work.error is None:
                    work.error = _interrupted(work, error)
                    stop.doom(work)

    def error_of_running(self, error: BaseException | None) -> BaseException | None:
        """The error that should stop the running job, or None; ``error`` is a reason for all."""
        if error is not None:
            self.give_up(error)
        with self.lock:
            return next((work.error for work in self.records if not work.done), None)

    def fail_running(self, error: BaseException) -> None:
        """Fail the running job."""
        with self.lock:
            work = next((work for work in self.records if not work.done), None)
            if work is not None and work.error is None:
                work.error = error
                stop.doom(work)

    def reap(self) -> None:
        """Release what finished work has held."""
        with self.lock:
            while self.records and self.records[0].done:
                work = self.records.popleft()
                self.nbytes -= work.nbytes
                work.finish()

    def forget_done(self) -> None:
        """As ``reap``, unless another thread is doing it."""
        if self.records and self.records[0].done and self.lock.acquire(blocking=False):
            try:
                self.reap()
            finally:
                self.lock.release()

    def drain(self) -> None:
        """Wait for everything."""
        while self.records:
            self.wait(self.records[-1].number)

    def __del__(self):
        if getattr(self, "address", None):
            self.drain()
            self.native["queue_end"](self.address)


def _interrupted(work: Work, error: BaseException) -> KeyboardInterrupt:
    """The error for reading the results of work that was stopped."""
    stopped = KeyboardInterrupt(explain(
        "tanx.jit", "the computation was stopped before it was done.",
        f"started at: {work.source}"))
    stopped.__cause__ = error
    return stopped


_helping: dict[int, Queue | None] = {}  # whose jobs a thread runs while it waits


def _error_in(thread: int, error: BaseException | None) -> BaseException | None:
    """The error that should stop the job that runs in a thread, or None."""
    for each in list(_queues):
        each.forget_done()
    queue = _queue_in(thread)
    return None if queue is None else queue.error_of_running(error)


def _queue_in(thread: int) -> Queue | None:
    """The queue whose jobs a thread runs, if it does."""
    return _helping.get(thread) or next((q for q in list(_queues) if q.worker == thread), None)


def _fails(thread: int, error: BaseException) -> bool:
    """Whether a thread runs a job, which then fails."""
    queue = _queue_in(thread)
    if queue is not None:
        queue.fail_running(error)
    return queue is not None


stop.errors_of_threads.append(_error_in)
stop.fails_job.append(_fails)
_gate = threading.Lock()  # closed while the process forks
_queues: weakref.WeakSet[Queue] = weakref.WeakSet()
_local = threading.local()


def queue_of_thread() -> Queue:
    """The queue of the calling thread."""
    try:
        return _local.queue
    except AttributeError:
        queue = _local.queue = Queue()
        return queue


@cache
def _most_bytes() -> int:
    return memory_of_machine() // 4


def barrier() -> None:
    """Wait for all work in the background, of all threads."""
    for queue in list(_queues):
        queue.drain()


def _before_fork() -> None:
    _gate.acquire()
    barrier()


def _in_child() -> None:
    for queue in list(_queues):
        queue.lock = threading.RLock()
        queue.native["queue_fresh"](queue.address)
    _gate.release()


atexit.register(barrier)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_gate.release,
                        after_in_child=_in_child)
