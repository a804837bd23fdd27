"""Batches of small matrices: how many share a vector, and how many tasks they are split into.

Their code is in ``kernels/small_matrices.py``.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ..._loops.nest import Buffer, Extern

__all__ = ["in_lanes", "is_written_out", "matrix_shape"]


_WRITTEN_OUT = 4
"""Rows or columns of matrices for which there are no loops."""
_CACHE = 1 << 17
"""Bytes of a block of matrices at most, where there are more lanes than a register has."""
_ITERATIVE = ("eig", "eigh", "svd")
"""Algorithms that go on until numbers are small: they have loops for any size."""
_EFFORT = {"cholesky": 1, "lu": 2, "triangular_solve": 1, "qr": 4, "householder_product": 2,
           "eig": 128, "eigh": 16, "svd": 40}
"""Steps of algorithms, as multiples of a matrix's rows times its elements."""
_MOST_TASKS = 64
"""Tasks of one call at most."""


def in_lanes(call: Extern, vector_bits: int, grain: float) -> Extern:
    """The call with the number of lanes that is best, and tasks that take so many seconds."""
    params = dict(call.params)
    rank, dtype = params["rank"], call.inputs[0].dtype
    count = prod(call.inputs[0].shape[:rank])
    elements = sum(prod(b.shape[rank:]) for b in (*call.outputs, *call.inputs))
    lanes = vector_bits // (8 * dtype.itemsize)
    if not is_written_out(call) and 2 * lanes * elements * dtype.itemsize <= _CACHE:
        lanes *= 2
    while lanes >= 2 * count:
        lanes //= 2
    seconds = count * _EFFORT[params["algorithm"]] * 2e-9 * dtype.itemsize / vector_bits * (
        (elements / len((*call.outputs, *call.inputs))) ** 1.5 + 10 * elements)
    tasks = min(_MOST_TASKS, int(seconds / grain))
    return replace(call, params=tuple(sorted({
        **params, "lanes": lanes, "tasks": max(tasks, 1)}.items())))


def is_written_out(call: Extern) -> bool:
    """Whether an algorithm has no loops."""
    params = dict(call.params)
    return params["algorithm"] not in _ITERATIVE and all(
        max(matrix_shape(b, params["rank"])) <= _WRITTEN_OUT for b in (*call.outputs, *call.inputs))


def matrix_shape(buffer: Buffer, rank: int) -> tuple[int, int]:
    """Rows and columns of the matrices; a vector is a column."""
    own = buffer.shape[rank:]
    return (own[0], own[1]) if len(own) == 2 else (own[0], 1)
