"""The pool of threads as native code (see ``native.py``); ``threads.py`` explains it."""

from __future__ import annotations

import signal

from .native import (
    PAUSES,
    C,
    Static,
    add_to,
    address_of,
    atomic_word,
    call,
    compare_exchange,
    inline,
    pause,
    publish,
    put,
    put_in_order,
    word,
)
from .waiting_native import wait_a_while

__all__ = ["tanx_fresh", "tanx_hold", "tanx_limit", "tanx_parallel"]

STRETCHES = 64
"""Ranges of tasks at most."""
OPEN = 1 << 16
MEMBERS, EPOCHS, STEP = OPEN - 1, -1 << 32, (1 << 32) + OPEN
"""Parts of the word that publishes a job."""
SETMASK, KNOWN = int(signal.SIG_SETMASK), 1024

WORD = Static(8)
"""The job: ``epoch << 32 | open << 16 | members``."""
NEXT = Static(128 * STRETCHES)
"""The next task of each range, each in its own cache lines."""
JOB = Static(32)
"""The function, its context, the number of tasks, and that of ranges."""
TASK, CONTEXT, COUNT, CUT = 0, 8, 16, 24
POOL = Static(48)
"""Whether a job is running, how many threads there may be, how many workers there are and how many
of these sleep, whether the caller sleeps, and how many callers hold the workers awake."""
BUSY, LIMIT, WORKERS, SLEEPING, WAITING, HELD = range(0, 48, 8)
AWAKE = 25
"""How often a worker polls before it sleeps, while it is held awake: about a millisecond. Waking 15
workers takes 25 us, and a factorisation has a hundred jobs with a few dozen microseconds of work on
one thread in between (Emerald Rapids, 16 cores)."""
MUTEX = Static(128)
WAKE = Static(128)
DONE = Static(128)
BLOCKED = Static(128)
BEFORE = Static(128)
THREAD = Static(8)


def tanx_parallel(task: int, context: int, count: int) -> None:
    """Call ``task(context, i)`` for each ``i`` below ``count``, in several threads."""
    limit = atomic_word(POOL, LIMIT)
    fewer = limit
    if count < fewer:
        fewer = count
    if fewer > 1 and compare_exchange(POOL + BUSY, 0, 1) == 0:
        share(task, context, count, limit, fewer)
        return
    i = 0
    while i < count:
        call(task, context, i)
        i += 1


def share(task: int, context: int, count: int, limit: int, fewer: int) -> None:
    """Publish a job, take part in it, and wait for the others."""
    hire(limit)
    publish(address_of.tanx_owner, 0, C.pthread_self())
    put(JOB, TASK, task)
    put(JOB, CONTEXT, context)
    put(JOB, COUNT, count)
    if fewer < STRETCHES:
        put(JOB, CUT, fewer)
    else:
        put(JOB, CUT, STRETCHES)
    s = 0
    while s < word(JOB, CUT):
        publish(NEXT + 128 * s, 0, first(s))
        s += 1
    add_to(WORD, STEP)  # threads that come too late for the job before may be counted for a moment
    sleeping = atomic_word(POOL, SLEEPING)
    if sleeping != 0:
        rouse(fewer - 1, sleeping)
    work(0)
    add_to(WORD, -OPEN)
    join()
    publish(address_of.tanx_owner, 0, 0)
    publish(POOL, BUSY, 0)


@inline
def first(stretch: int) -> int:
    """The first task of a range."""
    return stretch * word(JOB, COUNT) // word(JOB, CUT)


def work(member: int) -> None:
    """Take tasks until there are none left, from one range on; for members of a job."""
    task = word(JOB, TASK)
    context = word(JOB, CONTEXT)
    stretches = word(JOB, CUT)
    n = 0
    while n < stretches:
        s = member + n - (member + n) // stretches * stretches
        end = first(s + 1)
        if n == 0:  # at first a range has tasks: reading it before would fetch its line twice
            i = add_to(NEXT + 128 * s, 1)
        else:
            i = taken(s, end)
        while i < end:
            call(task, context, i)
            i = taken(s, end)
        n += 1


def taken(stretch: int, end: int) -> int:
    """The next task of a range; ``end`` or more if there is none.

    A range without tasks is only read: all threads come to its end, and writing there they would
    wait for each other.
    """
    i = atomic_word(NEXT + 128 * stretch)
    if i < end:
        i = add_to(NEXT + 128 * stretch, 1)
    return i


def hire(limit: int) -> None:
    """Start the threads that are missing. They block signals, which Python handles."""
    n = word(POOL, WORKERS)
    if n >= limit - 1:
        return
    C.sigfillset(BLOCKED)
    C.pthread_sigmask(SETMASK, BLOCKED, BEFORE)
    while n < limit - 1:
        if C.pthread_create(THREAD, 0, address_of.worker, 0) != 0:
            publish(POOL, LIMIT, n + 1)
            break
        C.pthread_detach(word(THREAD))
        publish(address_of.tanx_workers + 8 * (n & (KNOWN - 1)), 0, word(THREAD))
        n += 1
        put(POOL, WORKERS, n)
    C.pthread_sigmask(SETMASK, BEFORE, 0)


def rouse(wanted: int, sleeping: int) -> None:
    """Wake as many sleeping workers as a job can use."""
    C.pthread_mutex_lock(MUTEX)
    if wanted >= sleeping:
        C.pthread_cond_broadcast(WAKE)
    else:
        while wanted > 0:
            C.pthread_cond_signal(WAKE)
            wanted -= 1
    C.pthread_mutex_unlock(MUTEX)


def join() -> None:
    """The caller waits for the members of the job that it closed: it polls, then sleeps."""
    n = 0
    while atomic_word(WORD) & MEMBERS:
        n += 1
        if n == PAUSES:
            sleep_until_done()
            return
        pause()


def sleep_until_done() -> None:
    """Sleep until a job has no members, with a timeout: the caller may be the thread that is told
    to stop them."""
    C.pthread_mutex_lock(MUTEX)
    put_in_order(POOL, WAITING, 1)
    while atomic_word(WORD) & MEMBERS:
        wait_a_while(DONE, MUTEX)
        if atomic_word(address_of.tanx_stop) != 0:
            C.pthread_mutex_unlock(MUTEX)
            C.tanx_stopped()
            C.pthread_mutex_lock(MUTEX)
    publish(POOL, WAITING, 0)
    C.pthread_mutex_unlock(MUTEX)


def worker(unused: int) -> int:
    """The main function of a thread of the pool."""
    seen = 0
    while True:
        now = awaited(seen)
        seen = now & EPOCHS
        if has_room(now):
            now = add_to(WORD, 1)
            seen = now & EPOCHS
            if has_room(now):  # otherwise it was closed, or full, in the meantime
                work((now & MEMBERS) + 1)
            leave()
    return 0


@inline
def has_room(now: int) -> int:
    """Whether the word is that of an open job that another thread may join."""
    return now & OPEN != 0 and (now & MEMBERS) + 1 < atomic_word(POOL, LIMIT)


def leave() -> None:
    """Stop being a member of a job; the last one wakes the caller if it sleeps."""
    left = add_to(WORD, -1)
    if left & (OPEN | MEMBERS) == 1 and atomic_word(POOL, WAITING) != 0:
        C.pthread_mutex_lock(MUTEX)
        C.pthread_cond_signal(DONE)
        C.pthread_mutex_unlock(MUTEX)


@inline
def is_new(now: int, seen: int) -> int:
    """Whether the word is that of an open job other than the one seen last."""
    return now & EPOCHS != seen and now & OPEN != 0


def awaited(seen: int) -> int:
    """The word of the next job: a worker polls for it, then sleeps."""
    n = 0
    times = 1
    while n < PAUSES:
        now = atomic_word(WORD)
        if is_new(now, seen):
            return now
        pause()
        n += 1
        if n == PAUSES and times < AWAKE and atomic_word(POOL, HELD) != 0:
            n = 0
            times += 1
    C.pthread_mutex_lock(MUTEX)
    add_to(POOL + SLEEPING, 1)
    now = atomic_word(WORD)
    while not is_new(now, seen):
        C.pthread_cond_wait(WAKE, MUTEX)
        now = atomic_word(WORD)
    add_to(POOL + SLEEPING, -1)
    C.pthread_mutex_unlock(MUTEX)
    return now


def tanx_limit(threads: int) -> None:
    """Set how many threads there may be."""
    publish(POOL, LIMIT, threads)


def tanx_hold(more: int) -> None:
    """Hold workers awake between the jobs of one piece of work: 1 at its start, -1 at its end."""
    add_to(POOL + HELD, more)


def tanx_fresh() -> None:
    """Initialize the pool without threads: at the start, and in the child of a fork."""
    put(WORD, 0, 0)
    put(POOL, BUSY, 0)
    put(POOL, WORKERS, 0)
    put(POOL, SLEEPING, 0)
    put(POOL, WAITING, 0)
    put(POOL, HELD, 0)
    C.pthread_mutex_init(MUTEX, 0)
    C.pthread_cond_init(WAKE, 0)
    C.pthread_cond_init(DONE, 0)
