"""Compiled functions as C libraries: object code, constants and the thread pool in a file.

LLVM compiles the program as it runs in this process; the C compiler of the machine compiles the
source around it (``c_source.py``) and links. The library contains no Python.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._compiler.abi import ALIGNMENT, PARALLEL, TILE
from .._core.array import Array
from .._loops.names import CALLBACK, FOREIGN, LAPACK
from ..dtypes import float0
from ..errors import explain
from .c_compiler import run_compiler
from .c_source import Entry, Parameter, header_text, identifier, source_text
from .signals import uninterrupted
from .threads import pool_text

if TYPE_CHECKING:
    from .._compiler.emit.cpu.module import Generated
    from .._compiler.pipeline import Module

__all__ = ["save_library"]

_PUBLIC = "tanx.stages.Compiled.save"
_OPTIONS = ("-O2", "-fPIC", "-shared", "-pthread", "-Wl,-z,defs",
            "-Wl,-z,nodelete")  # threads of the pool may sleep in the library, so it stays loaded
_INSTRUCTIONS = ("avx", "avx2", "fma", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
"""Instruction sets of x86-64 that C compilers can query the processor about."""
_EXPORTS = "{{ global: {name}; {name}_workspace_bytes; {name}_set_num_threads; local: *; }};\n"


def save_library(module: Module, name: str, paths: Sequence[str], results: Sequence[str],
                 library: str, header: str | None, link: Sequence[str]) -> None:
    """Write a program as a library, and its header.

    ``paths`` and ``results`` are the Python names of arguments and results; ``link`` are options
    for the linker.
    """
    from .._compiler.emit.cpu.module import assemble, generate
    from .._compiler.kernels.gemm.micro import kernel_text
    from .._compiler.machine import host
    from .._compiler.matrix_registers import PERMISSION
    _check_platform()
    plan = module.plan
    generated = generate(plan.program, host(), plan.offsets, plan.shared)
    _check_calls(generated, link)
    data, starts = _constants(module.constants)
    entry = _entry(module, name, paths, results, starts)
    threads = PARALLEL in generated.symbols or any(
        dict(call.params)["tasks"] > 1 for call in generated.externs.values())
    kernels = [kernel_text(s, host()) for s in generated.symbols if s.startswith(TILE)]
    if any("ldtilecfg" in text for text in kernels):
        kernels.append(PERMISSION)
    with uninterrupted():
        objects = [assemble(text, host()) for text in (generated.text, *kernels)]
        if threads:
            objects.append(assemble(pool_text(), host(), tidy=True))
    with tempfile.TemporaryDirectory(prefix="tanx-") as folder:
        def write(file_name: str, content: bytes | str) -> str:
            path = os.path.join(folder, file_name)
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
            return path

        head = write("function.h", header_text(entry))
        source = write("function.c", source_text(entry, head, write("constants", data),
                                                 generated.externs, threads, _instructions()))
        exports = write("exports", _EXPORTS.format(name=name))
        made = os.path.join(folder, "library.so")
        run_compiler(_PUBLIC, [
            *_OPTIONS, f"-Wl,--version-script={exports}", "-o", made, source,
            *(write(f"{n}.o", content) for n, content in enumerate(objects)), *link, "-lm"],
            folder, failure="the C compiler or its linker refuses the library.")
        with open(made, "rb") as file:
            _replace(library, file.read(), 0o755)
    if header is not None:
        _replace(header, header_text(entry).encode(), 0o644)


def _instructions() -> list[str]:
    """The instruction sets that code for this processor may use, and not all processors have."""
    from .._compiler.machine import host
    features = host().features.split(",")
    return [name for name in _INSTRUCTIONS if f"+{name}" in features]


def _check_platform() -> None:
    if not sys.platform.startswith("linux"):
        raise NotImplementedError(explain(
            _PUBLIC, "libraries are written for Linux only.", f"platform: {sys.platform}"))


def _check_calls(generated: Generated, link: Sequence[str]) -> None:
    """Refuse calls that only work inside this process."""
    for symbol in generated.symbols:
        if symbol.startswith("scipy."):
            raise NotImplementedError(explain(
                _PUBLIC, f"the program calls {symbol.replace('.', '.special.')}, which is SciPy's "
                "and needs Python."))
    for call in generated.externs.values():
        params = dict(call.params)
        if call.name == CALLBACK:
            raise NotImplementedError(explain(
                _PUBLIC, "the program calls a Python function.",
                hint="take out tanx.debug.print, callbacks and custom functions in Python."))
        if call.name == FOREIGN:
            raise NotImplementedError(explain(
                _PUBLIC, "the program calls a foreign function, which is known by its address in "
                "this process.", f"function: {params['function']!r:.100}",
                hint="save the parts before and after it, and call it between them in C."))
        if call.name == LAPACK and not link:
            raise NotImplementedError(explain(
                _PUBLIC, f"the program calls LAPACK's {params['routine']}, which is SciPy's in "
                "this process.",
                hint="link a LAPACK library of the system, as by link=['-lopenblas'] or "
                     "link=['-llapack', '-lblas']."))


def _constants(constants: Sequence[Any]) -> tuple[bytes, list[int]]:
    """The data of constants, concatenated, and the offset of each."""
    data, starts = bytearray(), []
    for constant in constants:
        starts.append(len(data))
        value = constant._value if type(constant) is Array else np.asarray(constant)
        data += np.ascontiguousarray(value).tobytes()
        data += bytes(-len(data) % ALIGNMENT)
    return bytes(data), starts


def _entry(module: Module, name: str, paths: Sequence[str], results: Sequence[str],
           starts: Sequence[int]) -> Entry:
    """The C function for a program."""
    if any(aval.dtype == float0 for aval in (*module.in_avals, *module.out_avals)):
        raise NotImplementedError(explain(_PUBLIC, "arrays of float0 have no form in C."))
    taken = {name, "workspace", "room", "buffers"}

    def parameters(avals: Sequence, paths: Sequence[str]) -> list[Parameter]:
        made = []
        for aval, path in zip(avals, paths, strict=True):
            made.append(Parameter(identifier(path, taken), path, aval))
            taken.add(made[-1].name)
        return made

    program, shared = module.program, module.plan.shared
    places = {b: n for n, b in enumerate((*program.inputs, *program.outputs))}
    return Entry(
        name, parameters(module.in_avals, paths), parameters(module.out_avals, results), starts,
        len(program.outputs),
        [places[shared[b]] if b in shared else None for b in program.outputs],
        [places[b] for b in module.results], -(-module.plan.size // ALIGNMENT) * ALIGNMENT)


def _replace(path: str, content: bytes, mode: int) -> None:
    """Write a file atomically: a process that has loaded the old one keeps it."""
    temporary = f"{path}.{os.getpid()}.new"
    try:
        with open(temporary, "wb") as file:
            file.write(content)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)
