"""Runs programs of loop nests as machine code, as ``_loops.interpret`` runs them in NumPy."""

import ctypes

import numpy as np

from tanx._compiler.machine import Machine
from tanx._loops.build import element_program
from tanx._runtime.libraries import LIBRARIES
from tanx._runtime.load import compile_program

NARROW = Machine("aarch64-unknown-linux-gnu", "generic", "", 128)
"""A processor for tests that count vectors; code for it is looked at, and not run."""

_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


def run(program, *inputs, externs=None, **options):
    """The outputs of a compiled program; memory that it does not fill holds other numbers."""
    own = {name: library_of(function) for name, function in (externs or {}).items()}
    code = compile_program(program, libraries=LIBRARIES | own, **options)
    inputs = [np.array(x, b.dtype, order="C") for x, b in zip(inputs, program.inputs, strict=True)]
    others = [np.full(b.shape, 99, np.uint8).astype(b.dtype)
              for b in (*program.outputs, *program.temps)]
    code(*inputs, *others)
    return tuple(others[:len(program.outputs)])


def run_rule(rule, inputs, outputs, **params):
    """The outputs of an expression rule; ``outputs`` are anything with their shapes and dtypes."""
    return run(element_program(rule, inputs, outputs, params), *inputs)


def library_of(function):
    """A library call that runs a Python function of arrays and parameters, like ``eval``."""
    def library(call):
        buffers = (*call.outputs, *call.inputs)

        def run(context, addresses):
            arrays = [_array(addresses[n], b) for n, b in enumerate(buffers)]
            outs, ins = arrays[:len(call.outputs)], arrays[len(call.outputs):]
            results = function(*ins, **dict(call.params))
            results = results if isinstance(results, (tuple, list)) else (results,)
            for out, result in zip(outs, results, strict=True):
                out[...] = result

        callback = _Callback(run)
        return ctypes.cast(callback, ctypes.c_void_p).value or 0, 1, callback
    return library


def _array(address, buffer):
    """The memory of a buffer as an array."""
    size = int(np.prod(buffer.shape)) * buffer.dtype.itemsize
    data = (ctypes.c_byte * size).from_address(address)
    return np.frombuffer(memoryview(data), buffer.dtype).reshape(buffer.shape)
