"""Work in the background: programs that run while Python goes on.

Each thread of Python that starts long work has a queue of its own, and a native thread that goes
through it in order, without the GIL. Addresses are fixed when work is submitted, so work may read
what earlier work of the same queue is going to write. A thread that waits for queued work runs
it himself: ``f(x).block_until_ready()`` hands nothing to another thread.

A job that finds no memory for its temporaries fails, and with it all that reads its results; the
error is raised where a thread waits for them, and names the line that started the work.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
import time
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
from .allocator import ARGUMENTS
from .device import host_device
from .host import address, builtin
from .machine_code import PTHREADS, permanent
from .memory import memory_of_machine, out_of_memory

if TYPE_CHECKING:
    from .load import Code

__all__ = ["Queue", "Work", "barrier", "pending_array", "queue_of_thread"]

MOST_PENDING = 32
"""Jobs of one thread that may wait; starting another one waits for the oldest."""

_PENDING, _DONE, _FAILED = 0, 1, 2  # the state of a job

_TEXT = ARGUMENTS + """
; Mutex, condition for the worker, condition for those who wait, first and last job, how many jobs
; were submitted, how many are done, whether one is running, the worker's thread or 0, and whether
; it must end.
%queue = type {{ [16 x i64], [16 x i64], [16 x i64], ptr, ptr, i64, i64, i64, i64, i64 }}

; The next job, the program, the size of its arena, where its state is, how many addresses there are
; besides the arena's, and these. Behind the state are the moments at which it began and ended.
%job = type {{ ptr, ptr, i64, ptr, i64, [0 x ptr] }}

declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
{pthreads}
declare ptr @tanx_alloc(i64)
declare void @tanx_free(ptr)
declare ptr @PyLong_FromSsize_t(i64)
declare ptr @PyErr_NoMemory()
declare i32 @PyErr_CheckSignals()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

define ptr @queue_new() {{
entry:
  %queue = call ptr @calloc(i64 1, i64 512)
  %none = icmp eq ptr %queue, null
  br i1 %none, label %end, label %fresh
fresh:
  call void @queue_fresh(ptr %queue)
  br label %end
end:
  ret ptr %queue
}}

; A queue without a worker, at the start and in the child of a fork.
define void @queue_fresh(ptr %queue) {{
  %work = getelementptr %queue, ptr %queue, i64 0, i32 1
  %done = getelementptr %queue, ptr %queue, i64 0, i32 2
  %running = getelementptr %queue, ptr %queue, i64 0, i32 7
  %worker = getelementptr %queue, ptr %queue, i64 0, i32 8
  %made = call i32 @pthread_mutex_init(ptr %queue, ptr null)
  %made1 = call i32 @pthread_cond_init(ptr %work, ptr null)
  %made2 = call i32 @pthread_cond_init(ptr %done, ptr null)
  store i64 0, ptr %running
  store i64 0, ptr %worker
  ret void
}}

; Gives up a queue whose jobs are done.
define void @queue_end(ptr %queue) {{
entry:
  %locked = call i32 @pthread_mutex_lock(ptr %queue)
  %worker_at = getelementptr %queue, ptr %queue, i64 0, i32 8
  %worker = load i64, ptr %worker_at
  %ended_at = getelementptr %queue, ptr %queue, i64 0, i32 9
  store i64 1, ptr %ended_at
  %work = getelementptr %queue, ptr %queue, i64 0, i32 1
  %signalled = call i32 @pthread_cond_signal(ptr %work)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %queue)
  %alone = icmp eq i64 %worker, 0
  br i1 %alone, label %drop, label %end
drop:
  call void @free(ptr %queue)
  br label %end
end:
  ret void
}}

; Writes the nanoseconds of the clock that never goes back, which is Python's perf_counter_ns.
define internal void @moment(ptr %into) {{
  %time = alloca [2 x i64]
  %got = call i32 @clock_gettime(i32 {clock}, ptr %time)
  %part_at = getelementptr i64, ptr %time, i64 1
  %seconds = load i64, ptr %time
  %part = load i64, ptr %part_at
  %whole = mul i64 %seconds, 1000000000
  %moment = add i64 %whole, %part
  store i64 %moment, ptr %into
  ret void
}}

; Runs the first job; the lock is held before and after, and no other job is running.
define internal void @step(ptr %queue) {{
entry:
  %first_at = getelementptr %queue, ptr %queue, i64 0, i32 3
  %job = load ptr, ptr %first_at
  %next = load ptr, ptr %job
  store ptr %next, ptr %first_at
  %running_at = getelementptr %queue, ptr %queue, i64 0, i32 7
  store i64 1, ptr %running_at
  %unlocked = call i32 @pthread_mutex_unlock(ptr %queue)
  %program_at = getelementptr %job, ptr %job, i64 0, i32 1
  %program = load ptr, ptr %program_at
  %arena_at = getelementptr %job, ptr %job, i64 0, i32 2
  %arena = load i64, ptr %arena_at
  %state_at = getelementptr %job, ptr %job, i64 0, i32 3
  %state = load ptr, ptr %state_at
  %count_at = getelementptr %job, ptr %job, i64 0, i32 4
  %count = load i64, ptr %count_at
  %began_at = getelementptr i64, ptr %state, i64 1
  call void @moment(ptr %began_at)
  %temporaries = call ptr @tanx_alloc(i64 %arena)
  %failed = icmp eq ptr %temporaries, null
  br i1 %failed, label %finish, label %run
run:
  %last = getelementptr %job, ptr %job, i64 0, i32 5, i64 %count
  store ptr %temporaries, ptr %last
  %addresses = getelementptr %job, ptr %job, i64 0, i32 5
  call void %program(ptr %addresses)
  call void @tanx_free(ptr %temporaries)
  br label %finish
finish:
  %outcome = phi i64 [ 2, %entry ], [ 1, %run ]
  %ended_at = getelementptr i64, ptr %state, i64 2
  call void @moment(ptr %ended_at)
  call void @free(ptr %job)
  %locked = call i32 @pthread_mutex_lock(ptr %queue)
  store i64 0, ptr %running_at
  %completed_at = getelementptr %queue, ptr %queue, i64 0, i32 6
  %before = load i64, ptr %completed_at
  %after = add i64 %before, 1
  store i64 %after, ptr %completed_at
  store atomic i64 %outcome, ptr %state release, align 8
  %done = getelementptr %queue, ptr %queue, i64 0, i32 2
  %told = call i32 @pthread_cond_broadcast(ptr %done)
  %left = load ptr, ptr %first_at
  %empty = icmp eq ptr %left, null
  br i1 %empty, label %end, label %wake
wake:
  %work = getelementptr %queue, ptr %queue, i64 0, i32 1
  %signalled = call i32 @pthread_cond_signal(ptr %work)
  br label %end
end:
  ret void
}}

define internal ptr @worker(ptr %queue) {{
entry:
  %locked = call i32 @pthread_mutex_lock(ptr %queue)
  %work = getelementptr %queue, ptr %queue, i64 0, i32 1
  %first_at = getelementptr %queue, ptr %queue, i64 0, i32 3
  %running_at = getelementptr %queue, ptr %queue, i64 0, i32 7
  %ended_at = getelementptr %queue, ptr %queue, i64 0, i32 9
  br label %look
look:
  %running = load i64, ptr %running_at
  %busy = icmp ne i64 %running, 0
  br i1 %busy, label %wait, label %idle
idle:
  %first = load ptr, ptr %first_at
  %some = icmp ne ptr %first, null
  br i1 %some, label %take, label %nothing
take:
  call void @step(ptr %queue)
  br label %look
nothing:
  %ended = load i64, ptr %ended_at
  %over = icmp ne i64 %ended, 0
  br i1 %over, label %end, label %wait
wait:
  %waited = call i32 @pthread_cond_wait(ptr %work, ptr %queue)
  br label %look
end:
  %unlocked = call i32 @pthread_mutex_unlock(ptr %queue)
  call void @free(ptr %queue)
  ret ptr null
}}

; Starts the worker, which takes no signals: those are Python's. Without one, those who wait work.
define internal void @hire(ptr %queue) {{
entry:
  %thread = alloca i64
  %blocked = alloca [16 x i64]
  %before = alloca [16 x i64]
  %filled = call i32 @sigfillset(ptr %blocked)
  %masked = call i32 @pthread_sigmask(i32 {setmask}, ptr %blocked, ptr %before)
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr %queue)
  %restored = call i32 @pthread_sigmask(i32 {setmask}, ptr %before, ptr null)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %started, label %end
started:
  %worker_at = getelementptr %queue, ptr %queue, i64 0, i32 8
  %id = load i64, ptr %thread
  store i64 %id, ptr %worker_at
  %detached = call i32 @pthread_detach(i64 %id)
  br label %end
end:
  ret void
}}

; The Python function submit(queue, state, program, arena, *arrays): the number of the job.
define ptr @python_submit(ptr %self, ptr %args, i64 %arguments) {{
entry:
  %queue_number = call i64 @number(ptr %args, i64 0)
  %queue = inttoptr i64 %queue_number to ptr
  %state_number = call i64 @number(ptr %args, i64 1)
  %state = inttoptr i64 %state_number to ptr
  %program_number = call i64 @number(ptr %args, i64 2)
  %program = inttoptr i64 %program_number to ptr
  %arena = call i64 @number(ptr %args, i64 3)
  %count = sub i64 %arguments, 4
  %words = add i64 %count, 6
  %bytes = shl i64 %words, 3
  %job = call ptr @malloc(i64 %bytes)
  %failed = icmp eq ptr %job, null
  br i1 %failed, label %refuse, label %fill
fill:
  store ptr null, ptr %job
  %program_at = getelementptr %job, ptr %job, i64 0, i32 1
  store ptr %program, ptr %program_at
  %arena_at = getelementptr %job, ptr %job, i64 0, i32 2
  store i64 %arena, ptr %arena_at
  %state_at = getelementptr %job, ptr %job, i64 0, i32 3
  store ptr %state, ptr %state_at
  %count_at = getelementptr %job, ptr %job, i64 0, i32 4
  store i64 %count, ptr %count_at
  %addresses = getelementptr %job, ptr %job, i64 0, i32 5
  call void @addresses(ptr %args, i64 4, i64 %count, ptr %addresses)
  %locked = call i32 @pthread_mutex_lock(ptr %queue)
  %first_at = getelementptr %queue, ptr %queue, i64 0, i32 3
  %last_at = getelementptr %queue, ptr %queue, i64 0, i32 4
  %first = load ptr, ptr %first_at
  %empty = icmp eq ptr %first, null
  %last = load ptr, ptr %last_at
  %place = select i1 %empty, ptr %first_at, ptr %last
  store ptr %job, ptr %place
  store ptr %job, ptr %last_at
  %submitted_at = getelementptr %queue, ptr %queue, i64 0, i32 5
  %before = load i64, ptr %submitted_at
  %after = add i64 %before, 1
  store i64 %after, ptr %submitted_at
  %worker_at = getelementptr %queue, ptr %queue, i64 0, i32 8
  %worker = load i64, ptr %worker_at
  %alone = icmp eq i64 %worker, 0
  br i1 %alone, label %start, label %hired
start:
  call void @hire(ptr %queue)
  br label %end
hired:
  %running_at = getelementptr %queue, ptr %queue, i64 0, i32 7
  %running = load i64, ptr %running_at
  %idle = icmp eq i64 %running, 0
  br i1 %idle, label %wake, label %end
wake:
  %work = getelementptr %queue, ptr %queue, i64 0, i32 1
  %signalled = call i32 @pthread_cond_signal(ptr %work)
  br label %end
end:
  %unlocked = call i32 @pthread_mutex_unlock(ptr %queue)
  %result = call ptr @PyLong_FromSsize_t(i64 %after)
  ret ptr %result
refuse:
  %error = call ptr @PyErr_NoMemory()
  ret ptr null
}}

; The Python function wait(queue, number): returns how many jobs are done when that one is. Signal
; handlers run meanwhile, and may raise.
define ptr @python_wait(ptr %self, ptr %args, i64 %arguments) {{
entry:
  %queue_number = call i64 @number(ptr %args, i64 0)
  %queue = inttoptr i64 %queue_number to ptr
  %number = call i64 @number(ptr %args, i64 1)
  %first_at = getelementptr %queue, ptr %queue, i64 0, i32 3
  %completed_at = getelementptr %queue, ptr %queue, i64 0, i32 6
  %running_at = getelementptr %queue, ptr %queue, i64 0, i32 7
  %done = getelementptr %queue, ptr %queue, i64 0, i32 2
  %thread = call ptr @PyEval_SaveThread()
  %locked = call i32 @pthread_mutex_lock(ptr %queue)
  br label %look
look:
  %completed = load i64, ptr %completed_at
  %ready = icmp sge i64 %completed, %number
  br i1 %ready, label %end, label %early
early:
  %running = load i64, ptr %running_at
  %busy = icmp ne i64 %running, 0
  br i1 %busy, label %wait, label %help
help:
  call void @step(ptr %queue)
  br label %look
wait:
  %waited = call i32 @wait_a_while(ptr %done, ptr %queue)
  %in_time = icmp eq i32 %waited, 0
  br i1 %in_time, label %look, label %late
late:
  %opened = call i32 @pthread_mutex_unlock(ptr %queue)
  call void @PyEval_RestoreThread(ptr %thread)
  %raised = call i32 @PyErr_CheckSignals()
  %fine = icmp eq i32 %raised, 0
  br i1 %fine, label %back, label %give_up
back:
  %same = call ptr @PyEval_SaveThread()
  %again = call i32 @pthread_mutex_lock(ptr %queue)
  br label %look
give_up:
  ret ptr null
end:
  %unlocked = call i32 @pthread_mutex_unlock(ptr %queue)
  call void @PyEval_RestoreThread(ptr %thread)
  %result = call ptr @PyLong_FromSsize_t(i64 %completed)
  ret ptr %result
}}
"""

_WORKER = 3 * 128 + 5 * 8
"""Where the thread of its worker is in a queue."""



@cache
def _native() -> dict[str, Callable]:
    """The functions of queues, as Python calls them."""
    addresses = permanent(
        f"queues for heads of {object.__basicsize__} bytes",
        lambda: _TEXT.format(pthreads=PTHREADS, setmask=int(signal.SIG_SETMASK),
                             clock=time.CLOCK_MONOTONIC, data=object.__basicsize__),
        {name: address(name) for name in ("tanx_alloc", "tanx_free")})
    number, nothing = ctypes.c_void_p, None
    functions: dict[str, Callable] = {
        name: ctypes.CFUNCTYPE(result, *arguments)(addresses[name])
        for name, result, *arguments in (("queue_new", number), ("queue_fresh", nothing, number),
                                         ("queue_end", nothing, number))}
    for name in ("submit", "wait"):
        functions[name] = builtin(name, addresses[f"python_{name}"])
    return functions


class Work:
    """A program that was submitted: what it reads and writes stays until it is done.

    It is the event for which the buffers of its results wait.
    """

    __slots__ = ("queue", "state", "number", "code", "memory", "parents", "nbytes", "arena",
                 "source", "error")

    def __init__(self, queue: Queue, code: Code, memory: list[np.ndarray],
                 parents: tuple[Work, ...], nbytes: int, arena: int):
        self.queue, self.nbytes, self.arena = queue, nbytes, arena
        self.code: Code | None = code  # until it is finished
        self.memory, self.parents = memory, parents
        self.number = 0
        self.state = (ctypes.c_int64 * 3)(_PENDING)  # and when it began and ended
        self.source: SourceInfo = user_source()
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.state[0] != _PENDING

    def wait(self) -> None:
        """Return when the work is done; raises what went wrong on the way."""
        if self.code is not None:
            self.queue.wait(self.number)
        if self.error is not None:
            raise self.error.with_traceback(None)

    def holds(self, owner: object) -> int:
        """How many references to the owner of memory belong to work that is pending."""
        return self.queue.holds(owner)

    @property
    def moments(self) -> tuple[int, int]:
        """When the work began and ended, by ``perf_counter_ns``; only if it is done."""
        return self.state[1], self.state[2]

    def finish(self) -> None:
        """Let go of everything but the outcome; called once, in the order of the queue."""
        if self.error is not None:  # it was to be stopped
            stop.spare(self)
        if self.state[0] == _FAILED:
            self.error = out_of_memory("tanx.jit", [], self.arena, self.source)
        for parent in self.parents:
            self.error = self.error or parent.error
        self.code, self.memory, self.parents = None, [], ()


def pending_array(work: Work, data: np.ndarray, aval: ShapedArray) -> Array:
    """An array whose data work is going to write."""
    return Array._of_buffers((Buffer.of_host(data, host_device(), work),), aval)


class Queue:
    """Work in the order in which one thread has started it."""

    def __init__(self):
        self.native = _native()
        self.address = self.native["queue_new"]()
        if not self.address:
            raise MemoryError
        self.records: deque[Work] = deque()
        self.nbytes = 0  # that pending work is going to write
        self.lock = threading.RLock()
        _queues.add(self)

    @property
    def worker(self) -> int:
        """The thread that goes through the queue, or 0."""
        return ctypes.c_int64.from_address(self.address + _WORKER).value

    def submit(self, code: Code, arena: int, memory: list[np.ndarray], parents: Iterable[Work],
               nbytes: int) -> Work:
        """Start a program; ``parents`` is the work whose results it reads.

        ``nbytes`` is what it writes. Waits first where too much is waiting already.
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
        """How often work that is pending refers to an array."""
        with self.lock:
            return sum(array is owner for work in self.records for array in work.memory)

    def wait(self, number: int) -> None:
        """Return when the job of that number is done, and so all before it.

        Who waits may run jobs. Ctrl-C while a job runs, here or by the worker, ends it and all that
        is waiting: waiting for it raises an error from then on.
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
        """Let all jobs fail that are not done."""
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
        """Let the job fail that is running."""
        with self.lock:
            work = next((work for work in self.records if not work.done), None)
            if work is not None and work.error is None:
                work.error = error
                stop.doom(work)

    def reap(self) -> None:
        """Let go of what finished work has held."""
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
    """Whether what runs in a thread is a job, which fails then."""
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
