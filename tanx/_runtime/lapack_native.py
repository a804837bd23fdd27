"""Calls of BLAS and LAPACK as native code (see ``native.py``): what ``lapack_calls.py`` binds.

A *job* is an array of words: the matrices, the routine, how many copies there are, the tasks and
how many matrices each of them has, the address of :func:`some_matrices`, and that of the words
below or 0; for long calls the address of :func:`behind` and the size of a block, otherwise 0; how
many buffers there are, how many of them are outputs, and where their sizes are; then for each copy
the numbers of two buffers, to and from, and the bytes; then for each argument the number of a
buffer and the bytes from matrix to matrix and from task to task, or -1 and an address; then the
sizes of the buffers.

Routines do not check whether they should stop. A long one therefore runs in a separate thread, on
copies of its operands in a *block* of memory, while the caller waits and polls. If the caller
should stop, it leaves the block to the thread, which frees it at its end, and continues with zeros
for results, which are never read.

A thread that waits for the library's threads does not release its processor, and they wait for one
in turn: on a busy machine, small matrices take a hundred times as long. So routines for those run
in the calling thread. The library has one number of threads for all callers: the words are a lock,
how many calls hold the number at one, what it was before, and the functions that set it.
"""

from __future__ import annotations

from .._loops.lapack import MOST
from .native import C, address_of, call, put, stack, word

__all__ = ["behind", "cap", "each_matrix", "some_matrices"]

COUNT, ROUTINE, COPIES, TASKS, EACH, SOME, THREADS = 0, 8, 16, 24, 32, 40, 48
BEHIND, BLOCK, BUFFERS, OUTPUTS, SIZES, REST = 56, 64, 72, 80, 88, 96
"""Offsets in a job, in bytes."""
LOCK, SLOTS = 128, 256
"""Bytes of a lock, and threads in the list of background threads."""
STATE, JOB, ADDRESSES = 128, 136, 144
"""Offsets in a block, after a lock."""
RUNNING, DONE, ABANDONED = 0, 1, 2
"""States of a block."""
PAUSE = 500
"""Microseconds between two checks of a thread, which works for a tenth of a second at least."""
HOLDERS, BEFORE, GET, SET = 128, 136, 144, 152
"""Offsets in the words about threads, after the lock."""
PLACES = 8 * MOST
"""Bytes of the addresses that a routine takes."""


def each_matrix(job: int, buffers: int) -> None:
    """Run the routine on each matrix; ``buffers`` is an array of addresses."""
    if word(job, BEHIND) != 0:
        if apart(job, buffers):
            return
    at_once(job, buffers, 0)
    if stopped():
        clear(job, buffers)


def stopped() -> int:
    """Whether the program in this thread should stop."""
    if word(address_of.tanx_stop) == 0:
        return 0
    return C.tanx_stopped()


def clear(job: int, buffers: int) -> None:
    """Write zeros for results: code that runs until all has stopped must find valid numbers."""
    i = 0
    while i < word(job, OUTPUTS):
        C.memset(word(buffers, 8 * i), 0, word(job + word(job, SIZES), 8 * i))
        i += 1


# -- in a thread of its own ------------------------------------------------------------------------


def apart(job: int, buffers: int) -> int:
    """Run it in a thread, and wait; whether there was one."""
    block = C.tanx_alloc(word(job, BLOCK))
    if block == 0:
        return 0
    fill(block, job, buffers)
    thread = stack(8)
    if C.pthread_create(thread, 0, word(job, BEHIND), block) != 0:
        C.tanx_free(block)
        return 0
    C.pthread_detach(word(thread))
    while become(block, RUNNING) == RUNNING:
        C.usleep(PAUSE)
        if stopped():
            if become(block, ABANDONED) == RUNNING:
                clear(job, buffers)
                return 1
    i = 0
    while i < word(job, OUTPUTS):
        C.memcpy(word(buffers, 8 * i), word(block, ADDRESSES + 8 * i),
                 word(job + word(job, SIZES), 8 * i))
        i += 1
    C.tanx_free(block)
    return 1


def fill(block: int, job: int, buffers: int) -> None:
    """Write the head of a block, and copies of the inputs."""
    C.memset(block, 0, ADDRESSES)
    put(block, JOB, job)
    count = word(job, BUFFERS)
    place = (block + ADDRESSES + 8 * count + 63) & -64
    i = 0
    while i < count:
        size = word(job + word(job, SIZES), 8 * i)
        put(block, ADDRESSES + 8 * i, place)
        if i >= word(job, OUTPUTS):
            C.memcpy(place, word(buffers, 8 * i), size)
        place += (size + 63) & -64
        i += 1


def become(block: int, state: int) -> int:
    """Set the state of a block, if it was running; returns the state before."""
    C.pthread_mutex_lock(block)
    before = word(block, STATE)
    if before == RUNNING:
        put(block, STATE, state)
    C.pthread_mutex_unlock(block)
    return before


def behind(block: int) -> None:
    """The main function of the thread."""
    slot = enlist(0, C.pthread_self())
    at_once(word(block, JOB), block + ADDRESSES, block)
    if become(block, DONE) == ABANDONED:
        C.tanx_free(block)
    if slot != 0:
        put(slot, 0, 0)


def enlist(before: int, after: int) -> int:
    """Change a word in the list of threads, which starts with a lock; its address, or 0."""
    threads = address_of.tanx_behind
    C.pthread_mutex_lock(threads)
    slot = threads + LOCK
    while slot < threads + LOCK + 8 * SLOTS:
        if word(slot) == before:
            put(slot, 0, after)
            C.pthread_mutex_unlock(threads)
            return slot
        slot += 8
    C.pthread_mutex_unlock(threads)
    return 0


# -- the routine itself ----------------------------------------------------------------------------


def at_once(job: int, buffers: int, block: int) -> None:
    """Run the routine on each matrix, in this thread, which belongs to a block or to none."""
    at = job + REST
    end = at + 24 * word(job, COPIES)
    while at < end:
        C.memcpy(word(buffers, 8 * word(at)), word(buffers, 8 * word(at, 8)), word(at, 16))
        at += 24
    threads = word(job, THREADS)
    if threads:
        hold(threads)
    context = stack(24)
    put(context, 0, job)
    put(context, 8, buffers)
    put(context, 16, block)
    if word(job, TASKS) < 2:
        some_matrices(context, 0)
    else:
        C.tanx_parallel(word(job, SOME), context, word(job, TASKS))
    if threads:
        let_go(threads)


def hold(threads: int) -> None:
    """Make the library use one thread, until all holders release it."""
    C.pthread_mutex_lock(threads)
    if word(threads, HOLDERS) == 0:
        put(threads, BEFORE, call(word(threads, GET)))
        call(word(threads, SET), 1)
    put(threads, HOLDERS, word(threads, HOLDERS) + 1)
    C.pthread_mutex_unlock(threads)


def let_go(threads: int) -> None:
    """Restore the library's number of threads, unless another call holds it."""
    C.pthread_mutex_lock(threads)
    put(threads, HOLDERS, word(threads, HOLDERS) - 1)
    if word(threads, HOLDERS) == 0:
        call(word(threads, SET), word(threads, BEFORE))
    C.pthread_mutex_unlock(threads)


def cap(threads: int, number: int) -> None:
    """Set the number of threads of the library, when no call holds it at one."""
    C.pthread_mutex_lock(threads)
    if word(threads, HOLDERS) == 0:
        call(word(threads, SET), number)
    put(threads, BEFORE, number)
    C.pthread_mutex_unlock(threads)


def some_matrices(context: int, task: int) -> None:
    """Run the routine on the matrices of one task."""
    job = word(context)
    buffers = word(context, 8)
    at = job + REST + 24 * word(job, COPIES)
    p = stack(PLACES)
    n = task * word(job, EACH)
    end = n + word(job, EACH)
    if end > word(job, COUNT):
        end = word(job, COUNT)
    while n < end:
        i = 0
        while i < MOST:
            place = word(at, 24 * i + 8)
            if word(at, 24 * i) >= 0:
                place = word(buffers, 8 * word(at, 24 * i)) + n * place + (
                    task * word(at, 24 * i + 16))
            put(p, 8 * i, place)
            i += 1
        call(word(job, ROUTINE), word(p), word(p, 8), word(p, 16), word(p, 24), word(p, 32),
             word(p, 40), word(p, 48), word(p, 56), word(p, 64), word(p, 72), word(p, 80),
             word(p, 88), word(p, 96), word(p, 104), word(p, 112), word(p, 120), word(p, 128),
             word(p, 136), word(p, 144), word(p, 152), word(p, 160), word(p, 168))
        n += 1
        if unwanted(word(context, 16)):
            n = end


def unwanted(block: int) -> int:
    """Whether no caller waits for the rest."""
    if block == 0:
        return stopped()
    return become(block, RUNNING) == ABANDONED
