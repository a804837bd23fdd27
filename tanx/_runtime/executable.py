"""Executables: a compiled function with its constants and its memory, ready to run on buffers."""

from __future__ import annotations

from math import prod

import numpy as np

from .._compiler.pipeline import Module, build
from .._core.array import Array
from .._core.jaxpr import ClosedJaxpr, cached_by_jaxpr
from .._loops.nest import Buffer
from .load import compile_program

__all__ = ["Executable", "executable_of"]


class Executable:
    """The machine code of a jaxpr. ``donated`` tells which arguments it may overwrite."""

    __slots__ = ("module", "code", "constants", "outputs", "overwritten", "results", "arena_size")

    def __init__(self, closed: ClosedJaxpr, donated: tuple[bool, ...] = ()):
        self.module: Module = build(closed, donated)
        plan, program = self.module.plan, self.module.program
        self.code = compile_program(program, offsets=plan.offsets, shared=plan.shared)
        self.constants = [_as_buffer(_data(c), b)
                          for c, b in zip(self.module.constants, program.inputs)]
        places = {b: n for n, b in enumerate((*program.inputs, *program.outputs))}
        # For each output its shape and dtype, and the input that it overwrites, if it does.
        self.outputs = [(b.shape, b.dtype) for b in program.outputs]
        self.overwritten = [places[plan.shared[b]] if b in plan.shared else None
                            for b in program.outputs]
        self.results = [(places[b], aval)
                        for b, aval in zip(self.module.results, self.module.out_avals)]
        self.arena_size = plan.size

    def run(self, buffers: list[np.ndarray]) -> list[Array]:
        """The results, given the data of the arguments."""
        inputs = self.module.program.inputs[len(self.constants):]
        memory = [*self.constants, *map(_as_buffer, buffers, inputs)]
        for (shape, dtype), taken in zip(self.outputs, self.overwritten):
            memory.append(np.empty(shape, dtype) if taken is None else memory[taken])
        arena = np.empty(self.arena_size, np.uint8)
        self.code(*memory, arena)
        return [Array(memory[place].reshape(aval.shape), False, aval)
                for place, aval in self.results]


def _data(constant) -> np.ndarray:
    return constant._value if type(constant) is Array else np.asarray(constant)


def _as_buffer(data: np.ndarray, buffer: Buffer) -> np.ndarray:
    """The data in the form that code expects: contiguous, and bools where there is no data."""
    if data.dtype.itemsize == 0:
        return np.zeros(max(1, prod(data.shape)), np.bool_)
    return data if data.flags.c_contiguous else np.ascontiguousarray(data)


executable_of = cached_by_jaxpr(Executable)
