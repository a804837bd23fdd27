"""Calls of BLAS and LAPACK as native code (see ``native.py``): what ``libraries.py`` binds.

A *job* is an array of words: the matrices, the routine, how many copies there are, the tasks and
how many matrices each of them has, the address of :func:`some_matrices`, and that of the words
below or 0; then for each copy the numbers of two buffers, to and from, and the bytes; then for each
argument the number of a buffer and the bytes from matrix to matrix and from task to task, or -1 and
an address.

Who waits for the threads of the library does not let go of the processor, and they wait for one in
turn: on a busy machine, small matrices take a hundred times as long. So routines for those run in
the calling thread. The library has just one number of threads, for all who call it: the words are a
lock, how many calls keep the number at one, what it was before, and the functions for it.
"""

from __future__ import annotations

from .._loops.lapack import MOST
from .native import C, call, put, stack, word

__all__ = ["each_matrix", "some_matrices"]

COUNT, ROUTINE, COPIES, TASKS, EACH, SOME, THREADS, REST = 0, 8, 16, 24, 32, 40, 48, 56
"""Places in a job, in bytes."""
HOLDERS, BEFORE, GET, SET = 128, 136, 144, 152
"""Places in the words about threads, behind the lock."""
PLACES = 8 * MOST
"""Bytes of the addresses that a routine takes."""


def each_matrix(job: int, buffers: int) -> None:
    """Run the routine on each matrix; ``buffers`` is an array of addresses."""
    at = job + REST
    end = at + 24 * word(job, COPIES)
    while at < end:
        C.memcpy(word(buffers, 8 * word(at)), word(buffers, 8 * word(at, 8)), word(at, 16))
        at += 24
    threads = word(job, THREADS)
    if threads:
        hold(threads)
    context = stack(16)
    put(context, 0, job)
    put(context, 8, buffers)
    if word(job, TASKS) < 2:
        some_matrices(context, 0)
    else:
        C.tanx_parallel(word(job, SOME), context, word(job, TASKS))
    if threads:
        let_go(threads)


def hold(threads: int) -> None:
    """Have the library use one thread, until all who hold it so let go."""
    C.pthread_mutex_lock(threads)
    if word(threads, HOLDERS) == 0:
        put(threads, BEFORE, call(word(threads, GET)))
        call(word(threads, SET), 1)
    put(threads, HOLDERS, word(threads, HOLDERS) + 1)
    C.pthread_mutex_unlock(threads)


def let_go(threads: int) -> None:
    """Have the library use as many threads as before, if nobody else holds it."""
    C.pthread_mutex_lock(threads)
    put(threads, HOLDERS, word(threads, HOLDERS) - 1)
    if word(threads, HOLDERS) == 0:
        call(word(threads, SET), word(threads, BEFORE))
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
