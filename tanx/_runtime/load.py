"""Code into memory: links the object code of programs, finds what it calls, and runs it.

Code is kept by content: programs that come out as the same LLVM code share it. It leaves memory
when nobody holds it and it has not been used for long.
"""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import count
from typing import Any

import numpy as np

from .._compiler.codegen.cpu import ENTRY, PARALLEL, Generated, assemble, generate, host
from .._config import enable_checks
from .._loops.nest import Buffer, Extern, Program
from .threads import parallel_address

__all__ = ["Code", "LIMIT", "Library", "clear", "compile_program", "link", "python_library"]

LIMIT = 1 << 26
"""Bytes of code that are kept for the case that they are needed again."""

Library = Callable[[Extern], tuple[int, int, Any]]
"""Gives, for a library call, the address of a C function and that of a context, and what keeps the
two alive. The function takes the context and an array with the addresses of the buffers: outputs,
then inputs."""

_Entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


class Code:
    """A program in memory, ready to run; it stays there as long as this object does.

    ``address`` is that of its entry point, a C function of the address of an array that holds the
    addresses of the buffers: inputs, outputs, then temporaries or the arena.
    """

    def __init__(self, library, size: int, keep: Iterable[Any] = ()):
        self._library, self._keep = library, tuple(keep)
        self.nbytes = size
        self.address: int = library[ENTRY]
        self._entry = _Entry(self.address)

    def __call__(self, *arrays: np.ndarray) -> None:
        """Run on contiguous arrays, one for each buffer; the GIL is released meanwhile."""
        self._entry((ctypes.c_void_p * max(1, len(arrays)))(*[a.ctypes.data for a in arrays]))


_kept: OrderedDict[tuple, Code] = OrderedDict()
_lock = threading.RLock()
_numbers = count()


def compile_program(program: Program, *, offsets: Mapping[Buffer, int] | None = None,
                    shared: Mapping[Buffer, Buffer] | None = None,
                    libraries: Mapping[str, Library] | None = None) -> Code:
    """The machine code of a program, compiled unless there is some like it.

    ``offsets`` places temporaries in an arena, ``shared`` maps outputs to the inputs whose memory
    they are (see ``_compiler/memory.py``); ``libraries`` has the functions of ``Extern``
    statements by name.

    >>> from tanx._loops.build import element_program, op
    >>> x, y = np.arange(3.0), np.zeros(3)
    >>> compile_program(element_program(lambda at, x: x[at] + 1, [x], x))(x, y)
    >>> y
    array([1., 2., 3.])
    """
    target = host()
    generated = generate(program, target, offsets, shared)
    libraries = {e.name: (libraries or {})[e.name] for e in generated.externs.values()}
    key = (generated.text, target, *libraries.items())
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    code = link(assemble(generated.text, target, enable_checks.value), generated, libraries)
    with _lock:
        code = _kept.setdefault(key, code)
        total = sum(other.nbytes for other in _kept.values())
        while total > LIMIT and len(_kept) > 1:
            total -= _kept.popitem(last=False)[1].nbytes
    return code


def clear() -> None:
    """Let go of all code that nobody holds."""
    with _lock:
        _kept.clear()


# -- linking ---------------------------------------------------------------------------------------


@cache
def _linker():
    """LLVM's linker; all code of a process is loaded by one."""
    from llvmlite import binding
    return binding, binding.create_lljit_compiler(use_jit_link=True)


def link(objects: bytes, generated: Generated, libraries: Mapping[str, Library]) -> Code:
    """Load object code and give it the addresses of what it needs from outside."""
    addresses, keep = {}, []
    for symbol, call in generated.externs.items():
        addresses[symbol], addresses[f"{symbol}.context"], alive = libraries[call.name](call)
        keep.append(alive)
    for symbol in generated.symbols:
        if symbol not in addresses:
            addresses[symbol] = _address(symbol)
    with _lock:
        binding, linker = _linker()
        builder = binding.JITLibraryBuilder().add_object_img(objects).export_symbol(ENTRY)
        builder.add_current_process()  # for what LLVM itself adds, as memset
        for symbol, address in addresses.items():
            builder.import_symbol(symbol, address)
        library = builder.link(linker, f"tanx{next(_numbers)}")
    return Code(library, len(objects), keep)


@cache
def _address(symbol: str) -> int:
    """The address of the thread pool, of a function of the C library, or of one of SciPy's."""
    if symbol == PARALLEL:
        return parallel_address()
    if symbol.startswith("scipy."):
        return _scipy_address(symbol.removeprefix("scipy."))
    binding, _ = _linker()
    address = binding.address_of_symbol(symbol)
    if not address:
        from ctypes.util import find_library
        function = getattr(ctypes.CDLL(find_library("m")), symbol)
        address = ctypes.cast(function, ctypes.c_void_p).value
    return address


def _scipy_address(name: str) -> int:
    """The address of a function that SciPy exports to Cython; of several, that for doubles."""
    from scipy.special import cython_special
    exported = cython_special.__pyx_capi__
    capsule = exported.get(name) or exported[f"__pyx_fuse_0{name}"]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))


def python_library(function: Callable) -> Library:
    """A library call that runs a Python function of arrays and parameters, as ``eval`` is one."""
    def library(call: Extern) -> tuple[int, int, Any]:
        buffers = (*call.outputs, *call.inputs)

        def run(context, addresses) -> None:
            arrays = [_array(addresses[n], b) for n, b in enumerate(buffers)]
            outs, ins = arrays[:len(call.outputs)], arrays[len(call.outputs):]
            results = function(*ins, **dict(call.params))
            results = results if isinstance(results, (tuple, list)) else (results,)
            for out, result in zip(outs, results, strict=True):
                out[...] = result

        callback = _Callback(run)
        return ctypes.cast(callback, ctypes.c_void_p).value or 0, 1, callback
    return library


def _array(address: int, buffer: Buffer) -> np.ndarray:
    """The memory of a buffer as an array."""
    size = int(np.prod(buffer.shape)) * buffer.dtype.itemsize
    data = (ctypes.c_byte * size).from_address(address)
    return np.frombuffer(memoryview(data), buffer.dtype).reshape(buffer.shape)
