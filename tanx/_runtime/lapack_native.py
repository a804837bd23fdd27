"""Calls of BLAS and LAPACK as native code (see ``native.py``): what ``libraries.py`` binds.

A *job* is an array of words: the matrices, the routine, how many copies there are; then for each
copy the numbers of two buffers, to and from, and the bytes; then for each argument the number of a
buffer and the bytes from matrix to matrix, or -1 and an address.
"""

from __future__ import annotations

from .._loops.lapack import MOST
from .native import C, call, put, stack, word

__all__ = ["each_matrix"]

COUNT, ROUTINE, COPIES, REST = 0, 8, 16, 24
PLACES = 8 * MOST


def each_matrix(job: int, buffers: int) -> None:
    """Run the routine on each matrix; ``buffers`` is an array of addresses."""
    at = job + REST
    end = at + 24 * word(job, COPIES)
    while at < end:
        C.memcpy(word(buffers, 8 * word(at)), word(buffers, 8 * word(at, 8)), word(at, 16))
        at += 24
    p = stack(PLACES)
    n = 0
    while n < word(job, COUNT):
        i = 0
        while i < MOST:
            place = word(at, 16 * i + 8)
            if word(at, 16 * i) >= 0:
                place = word(buffers, 8 * word(at, 16 * i)) + n * place
            put(p, 8 * i, place)
            i += 1
        call(word(job, ROUTINE), word(p), word(p, 8), word(p, 16), word(p, 24), word(p, 32),
             word(p, 40), word(p, 48), word(p, 56), word(p, 64), word(p, 72), word(p, 80),
             word(p, 88), word(p, 96), word(p, 104), word(p, 112), word(p, 120), word(p, 128),
             word(p, 136), word(p, 144), word(p, 152), word(p, 160), word(p, 168))
        n += 1
