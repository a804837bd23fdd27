"""Runs programs of loop nests as machine code, as ``_loops.interpret`` runs them in NumPy."""

import numpy as np

from tanx._loops.build import element_program
from tanx._runtime.libraries import LIBRARIES
from tanx._runtime.load import compile_program, python_library


def run(program, *inputs, externs=None, **options):
    """The outputs of a compiled program; memory that it does not fill holds other numbers."""
    own = {name: python_library(function) for name, function in (externs or {}).items()}
    code = compile_program(program, libraries=LIBRARIES | own, **options)
    inputs = [np.array(x, b.dtype, order="C") for x, b in zip(inputs, program.inputs, strict=True)]
    others = [np.full(b.shape, 99, np.uint8).astype(b.dtype)
              for b in (*program.outputs, *program.temps)]
    code(*inputs, *others)
    return tuple(others[:len(program.outputs)])


def run_rule(rule, inputs, outputs, **params):
    """The outputs of an expression rule; ``outputs`` are anything with their shapes and dtypes."""
    return run(element_program(rule, inputs, outputs, params), *inputs)
