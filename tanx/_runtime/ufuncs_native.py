"""NumPy's loops in pieces, as native code (see ``native.py``): what ``ufuncs.py`` calls.

A *job* is an array of words: the loop and its data, the elements in all and of a piece, how many
operands there are; then for each operand its address and the bytes from element to element.
"""

from __future__ import annotations

from .native import C, call, put, stack, word

__all__ = ["piece", "spread"]

LOOP, DATA, TOTAL, PIECE, OPERANDS, PLACES = 0, 8, 16, 24, 32, 40
"""Offsets in a job, in bytes."""
ARRAY_DATA = object.__basicsize__
"""The offset of the address of an ndarray's elements."""


def spread(self: int, args: int, count: int) -> int:
    """The Python function ``spread(piece, pieces, None, loop, data, total, size, operands, ...)``.

    ``piece`` is the address of the function below; after the operands' number follow each array
    and its step. It returns the third argument.
    """
    job = stack(PLACES + 8 * count)
    i = 3
    while i < 8:
        put(job, 8 * (i - 3), C.PyLong_AsSsize_t(word(args, 8 * i)))
        i += 1
    while i < count:
        put(job, 8 * (i - 3), word(word(args, 8 * i), ARRAY_DATA))
        put(job, 8 * (i - 2), C.PyLong_AsSsize_t(word(args, 8 * (i + 1))))
        i += 2
    function = C.PyLong_AsSsize_t(word(args))
    pieces = C.PyLong_AsSsize_t(word(args, 8))
    state = C.PyEval_SaveThread()
    C.tanx_parallel(function, job, pieces)
    C.PyEval_RestoreThread(state)
    C.Py_IncRef(word(args, 16))
    return word(args, 16)


def piece(job: int, number: int) -> None:
    """Run the loop on one piece; the last one may be shorter."""
    operands = word(job, OPERANDS)
    addresses = stack(8 * operands)
    steps = stack(8 * operands)
    length = stack(8)
    first = number * word(job, PIECE)
    left = word(job, TOTAL) - first
    if left > word(job, PIECE):
        left = word(job, PIECE)
    put(length, 0, left)
    i = 0
    while i < operands:
        step = word(job, PLACES + 16 * i + 8)
        put(addresses, 8 * i, word(job, PLACES + 16 * i) + first * step)
        put(steps, 8 * i, step)
        i += 1
    call(word(job, LOOP), addresses, length, steps, word(job, DATA))
