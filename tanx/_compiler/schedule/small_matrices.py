"""Batches of small matrices: how many share a vector, and into how many tasks they are split.

Their code is in ``kernels/small_matrices.py``.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ..._loops.nest import Buffer, Extern
from ..machine import Machine
from ..tuning import MatrixTuning

__all__ = ["in_lanes", "is_written_out", "matrix_shape"]


_ITERATIVE = ("eig", "eigh", "svd")
"""Iterative algorithms: they have loops for any size."""
_EFFORT = {"cholesky": 1, "lu": 2, "triangular_solve": 1, "qr": 4, "householder_product": 2,
           "eig": 128, "eigh": 16, "svd": 40}
"""Steps of algorithms, as multiples of a matrix's rows times its elements."""


def in_lanes(call: Extern, machine: Machine) -> Extern:
    """The call with the best number of lanes and tasks."""
    tuning, vector_bits = machine.tuning.matrices, machine.vector_bits
    params = dict(call.params)
    rank, dtype = params["rank"], call.inputs[0].dtype
    count = prod(call.inputs[0].shape[:rank])
    elements = sum(prod(b.shape[rank:]) for b in (*call.outputs, *call.inputs))
    lanes = vector_bits // (8 * dtype.itemsize)
    if not is_written_out(call, tuning) and 2 * lanes * elements * dtype.itemsize <= tuning.block:
        lanes *= 2
    while lanes >= 2 * count:
        lanes //= 2
    seconds = count * _EFFORT[params["algorithm"]] * 2e-9 * dtype.itemsize / vector_bits * (
        (elements / len((*call.outputs, *call.inputs))) ** 1.5 + 10 * elements)
    tasks = min(tuning.tasks, int(seconds / machine.tuning.tasks.grain))
    return replace(call, params=tuple(sorted({
        **params, "lanes": lanes, "tasks": max(tasks, 1)}.items())))


def is_written_out(call: Extern, tuning: MatrixTuning) -> bool:
    """Whether an algorithm has no loops."""
    params = dict(call.params)
    return params["algorithm"] not in _ITERATIVE and all(
        max(matrix_shape(b, params["rank"])) <= tuning.written_out
        for b in (*call.outputs, *call.inputs))


def matrix_shape(buffer: Buffer, rank: int) -> tuple[int, int]:
    """Rows and columns of the matrices; a vector is a column."""
    own = buffer.shape[rank:]
    return (own[0], own[1]) if len(own) == 2 else (own[0], 1)
