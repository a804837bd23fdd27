"""Queues of work in the background as native code (see ``native.py``).

A *queue* has a mutex, a condition variable for its worker and one for waiting threads, the first
and the last job, how many jobs were submitted, how many are done, whether one is running, the
worker's thread or 0, and whether the worker must end.

A *job* has the next job, the program, the size of its arena, the address of its state, how many
addresses there are besides the arena's, and these. After the state are the times at which the job
began and ended.
"""

from __future__ import annotations

import signal
import time

from .arguments_native import addresses, number
from .native import C, address_of, call, publish, put, stack, word
from .waiting_native import wait_a_while

__all__ = ["python_submit", "python_wait", "queue_end", "queue_fresh", "queue_new"]

MUTEX, WORK, DONE = 0, 128, 256
FIRST, LAST, SUBMITTED, COMPLETED, RUNNING, WORKER, ENDED = range(384, 440, 8)
QUEUE = 512
"""Offsets in a queue, and its size, in bytes."""
NEXT, PROGRAM, ARENA, STATE, COUNT, ADDRESSES = range(0, 48, 8)
"""Offsets in a job."""
BEGAN_AT, ENDED_AT = 8, 16
"""Offsets after a state."""
SUCCESS, FAILURE = 1, 2
"""States of a job that is done."""
CLOCK, SETMASK, SIGNALS = time.CLOCK_MONOTONIC, int(signal.SIG_SETMASK), 128


def queue_new() -> int:
    """A new queue; 0 if there is no memory."""
    queue = C.calloc(1, QUEUE)
    if queue != 0:
        queue_fresh(queue)
    return queue


def queue_fresh(queue: int) -> None:
    """Initialize a queue without a worker: at the start, and in the child of a fork."""
    C.pthread_mutex_init(queue + MUTEX, 0)
    C.pthread_cond_init(queue + WORK, 0)
    C.pthread_cond_init(queue + DONE, 0)
    put(queue, RUNNING, 0)
    put(queue, WORKER, 0)


def queue_end(queue: int) -> None:
    """Free a queue whose jobs are done."""
    C.pthread_mutex_lock(queue + MUTEX)
    worker_thread = word(queue, WORKER)
    put(queue, ENDED, 1)
    C.pthread_cond_signal(queue + WORK)
    C.pthread_mutex_unlock(queue + MUTEX)
    if worker_thread == 0:
        C.free(queue)


def moment(into: int) -> None:
    """Write the nanoseconds of the monotonic clock, Python's ``perf_counter_ns``."""
    now = stack(16)
    C.clock_gettime(CLOCK, now)
    put(into, 0, word(now) * 1000000000 + word(now, 8))


def step(queue: int) -> None:
    """Run the first job; the lock is held before and after, and no other job is running."""
    job = word(queue, FIRST)
    put(queue, FIRST, word(job, NEXT))
    put(queue, RUNNING, 1)
    C.pthread_mutex_unlock(queue + MUTEX)
    state = word(job, STATE)
    moment(state + BEGAN_AT)
    outcome = FAILURE
    temporaries = C.tanx_alloc(word(job, ARENA))
    if temporaries != 0:
        put(job + 8 * word(job, COUNT), ADDRESSES, temporaries)
        call(word(job, PROGRAM), job + ADDRESSES)
        C.tanx_free(temporaries)
        outcome = SUCCESS
    moment(state + ENDED_AT)
    C.free(job)
    C.pthread_mutex_lock(queue + MUTEX)
    put(queue, RUNNING, 0)
    put(queue, COMPLETED, word(queue, COMPLETED) + 1)
    publish(state, 0, outcome)
    C.pthread_cond_broadcast(queue + DONE)
    if word(queue, FIRST) != 0:
        C.pthread_cond_signal(queue + WORK)


def worker(queue: int) -> int:
    """The main function of the thread of a queue."""
    C.pthread_mutex_lock(queue + MUTEX)
    while True:
        if word(queue, RUNNING) == 0:
            if word(queue, FIRST) != 0:
                step(queue)
                continue
            if word(queue, ENDED) != 0:
                break
        C.pthread_cond_wait(queue + WORK, queue + MUTEX)
    C.pthread_mutex_unlock(queue + MUTEX)
    C.free(queue)
    return 0


def hire(queue: int) -> None:
    """Start the worker. It blocks signals, which Python handles. Without it, waiting threads
    work."""
    thread = stack(8)
    blocked = stack(SIGNALS)
    before = stack(SIGNALS)
    C.sigfillset(blocked)
    C.pthread_sigmask(SETMASK, blocked, before)
    failed = C.pthread_create(thread, 0, address_of.worker, queue)
    C.pthread_sigmask(SETMASK, before, 0)
    if not failed:
        put(queue, WORKER, word(thread))
        C.pthread_detach(word(thread))


def python_submit(self: int, args: int, count: int) -> int:
    """The Python function submit(queue, state, program, arena, *arrays): the number of the job."""
    queue = number(args, 0)
    arrays = count - 4
    job = C.malloc(8 * arrays + ADDRESSES + 8)
    if job == 0:
        return C.PyErr_NoMemory()
    put(job, NEXT, 0)
    put(job, STATE, number(args, 1))
    put(job, PROGRAM, number(args, 2))
    put(job, ARENA, number(args, 3))
    put(job, COUNT, arrays)
    addresses(args + 32, arrays, job + ADDRESSES)
    C.pthread_mutex_lock(queue + MUTEX)
    if word(queue, FIRST) == 0:
        put(queue, FIRST, job)
    else:
        put(word(queue, LAST), NEXT, job)
    put(queue, LAST, job)
    submitted = word(queue, SUBMITTED) + 1
    put(queue, SUBMITTED, submitted)
    if word(queue, WORKER) == 0:
        hire(queue)
    elif word(queue, RUNNING) == 0:
        C.pthread_cond_signal(queue + WORK)
    C.pthread_mutex_unlock(queue + MUTEX)
    return C.PyLong_FromSsize_t(submitted)


def python_wait(self: int, args: int, count: int) -> int:
    """The Python function wait(queue, number): how many jobs are done when that one is.

    Signal handlers run meanwhile, and may raise.
    """
    queue = number(args, 0)
    wanted = number(args, 1)
    thread = C.PyEval_SaveThread()
    C.pthread_mutex_lock(queue + MUTEX)
    while word(queue, COMPLETED) < wanted:
        if word(queue, RUNNING) == 0:
            step(queue)
        elif wait_a_while(queue + DONE, queue + MUTEX) != 0:
            C.pthread_mutex_unlock(queue + MUTEX)
            C.PyEval_RestoreThread(thread)
            if C.PyErr_CheckSignals() != 0:
                return 0
            thread = C.PyEval_SaveThread()
            C.pthread_mutex_lock(queue + MUTEX)
    completed = word(queue, COMPLETED)
    C.pthread_mutex_unlock(queue + MUTEX)
    C.PyEval_RestoreThread(thread)
    return C.PyLong_FromSsize_t(completed)
