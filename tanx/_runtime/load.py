"""Code into memory: links the object code of programs, resolves what it calls, and runs it.

Code is cached by content: programs with the same LLVM code share it. It is freed when it has no
owner and has not been used for long.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from math import inf
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._base.config import compilation_cache_dir, enable_compilation_cache
from .._base.locks import new_lock
from .._compiler.abi import ENTRY, NO_ROOM, PARALLEL, SLOT, STOP, STOPPED, TILE
from .._core.recording import passed
from .._loops.names import CALLBACK, FOREIGN
from . import idle_work, stop
from .disk_cache import directory, key_of
from .host import run
from .linked_code import link
from .machine_code import Image, Placed, address_of, image, permanent
from .signals import uninterrupted
from .threads import parallel_address

if TYPE_CHECKING:
    from .._loops.nest import Buffer, Extern, Place, Program

__all__ = ["ClockedCode", "Code", "LIMIT", "Libraries", "Library", "clear", "code",
           "compile_program", "tile_address"]

T = TypeVar("T")

LIMIT = 1 << 26
"""Bytes of unused code that are kept for reuse."""

_CARE = 2e-5
"""Seconds of a run for each line of code, up to which it is compiled quickly first."""

Library = Callable[["Extern"], tuple[int, int, Any]]
"""Returns, for a library call, the address of a C function and that of a context, and what keeps
the two alive. The function takes the context and an array with the addresses of the buffers:
outputs, then inputs."""
Libraries = Mapping[str, Library]


class Code:
    """A program in memory, ready to run; it stays there as long as this object does.

    ``address`` is that of its entry point, a C function of the address of an array that holds the
    addresses of the buffers: inputs, outputs, then temporaries or the arena. ``key`` is the name of
    the code in caches, with the library calls ``externs`` in it by symbol. ``better`` compiles the
    code again with optimizations, if it was compiled quickly.
    """

    def __init__(self, key: str, placed: Placed, externs: Mapping[str, Extern],
                 keep: Iterable[Any] = (), better: Callable[[], Placed] | None = None):
        self.key, self.externs = key, externs
        self._placed, self._keep, self._better = placed, tuple(keep), better
        self.nbytes = placed.size
        self.address = placed.addresses[ENTRY]

    def __call__(self, *arrays: np.ndarray) -> None:
        """Run on contiguous arrays, one for each buffer; the GIL is released meanwhile."""
        run(self.address, 0, *arrays)

    def improve(self) -> None:
        """Compile better code in the background, if possible; it gives the same bits.

        The entry point keeps its address, which callers may have stored.
        """
        better, self._better = self._better, None
        if better is not None:
            idle_work.do(self, partial(_exchange, better, directory()))


def _exchange(better: Callable[[], Placed], folder: str | None, code: Code) -> None:
    placed = _with_folder(folder, better)
    code._keep = (*code._keep, placed)  # beside the old code, which may be running
    slot = ctypes.c_uint64.from_address(code._placed.addresses[SLOT])
    slot.value = placed.addresses[ENTRY]


def _with_folder(folder: str | None, make: Callable[[], T]) -> T:
    """Run something in a separate thread, with the disk cache enabled."""
    with enable_compilation_cache(folder is not None), compilation_cache_dir(folder):
        return make()


def compile_program(program: Program, *, offsets: Mapping[Buffer, Place] | None = None,
                    shared: Mapping[Buffer, Buffer] | None = None,
                    libraries: Libraries | None = None, seconds: float = inf) -> Code:
    """The machine code of a program, compiled unless equal code is cached.

    ``offsets`` places temporaries in an arena or in outputs, ``shared`` maps outputs to the inputs
    whose memory they share (see ``_compiler/memory.py``); ``libraries`` has the functions of
    ``Extern`` statements by name. A run spends roughly ``seconds`` in this code: if that is little,
    the code is compiled quickly, and improved if it is used again.

    >>> from tanx._loops.build import element_program, op
    >>> x, y = np.arange(3.0), np.zeros(3)
    >>> compile_program(element_program(lambda at, x: x[at] + 1, [x], x))(x, y)
    >>> y
    array([1., 2., 3.])
    """
    from .._compiler.emit.cpu.module import generate
    from .._compiler.machine import host
    generated = generate(program, host(), offsets, shared)
    passed("generate code")
    quick = seconds < _CARE * generated.text.count("\n")
    if quick:
        for symbol in generated.symbols:
            if symbol.startswith(TILE):
                _kernel(symbol).begin()
    made = code(key_of("code", generated.text.encode()), generated.externs, libraries or {},
                lambda: generated.text, quick)
    passed("assemble and load")
    assert made is not None
    return made


class ClockedCode:
    """A program in memory with a second entry point, which stores the time between statements.

    ``stamps`` are seconds and nanoseconds, before the first statement and after each. The code of
    the statements is that of :func:`compile_program`, from disk if it is there.
    """

    def __init__(self, program: Program, offsets: Mapping[Buffer, Place],
                 shared: Mapping[Buffer, Buffer], libraries: Libraries):
        from .._compiler.emit.cpu.clocked import CLOCKED, STAMPS, clocked
        from .._compiler.emit.cpu.module import assemble, generate
        from .._compiler.machine import host
        generated = generate(program, host(), offsets, shared)
        self.externs = generated.externs
        self.stamps = np.zeros((len(generated.calls) + 1, 2), np.int64)
        place, self._keep = _placing(generated.externs, libraries)
        self._functions = place(image(key_of("code", generated.text.encode()),
                                      lambda: generated.text))
        known = {**self._functions.addresses, STAMPS: self.stamps.ctypes.data}
        with uninterrupted():
            entry = link(assemble(clocked(generated), host()))
        self._entry = Placed(entry, lambda symbol: known.get(symbol) or _address(symbol))
        self.address = self._entry.addresses[CLOCKED]


# -- keeping ---------------------------------------------------------------------------------------


class _Kept:
    """Code by its key, at most :data:`LIMIT` bytes; the least recently used is dropped first."""

    def __init__(self) -> None:
        self.lock = new_lock()
        self.code: OrderedDict[tuple, Code] = OrderedDict()
        self.nbytes = 0

    def find(self, key: tuple) -> Code | None:
        with self.lock:
            if key not in self.code:
                return None
            self.code.move_to_end(key)
            return self.code[key]

    def add(self, key: tuple, code: Code) -> Code:
        """Cache code, unless another thread has already added it."""
        with self.lock:
            if key not in self.code:
                self.code[key] = code
                self.nbytes += code.nbytes
            code = self.code[key]
            while self.nbytes > LIMIT:
                self.nbytes -= self.code.popitem(last=False)[1].nbytes
            return code

    def clear(self) -> None:
        with self.lock:
            self.code.clear()
            self.nbytes = 0


_kept = _Kept()


def code(key: str, externs: Mapping[str, Extern], libraries: Libraries,
         text: Callable[[], str] | None = None, quick: bool = False) -> Code | None:
    """The code for a key, ready to run: from memory, from disk, or compiled from its text.

    Quickly compiled code is used if there is no better one, and is compiled if requested.
    """
    libraries = {call.name: libraries[call.name] for call in externs.values()}
    whole_key = (key, *externs.items(), *libraries.items())  # texts do not hold parameters
    found = _kept.find(whole_key)
    if found is not None:
        return found
    linked = image(key, None if quick else text) or image(
        key_of("quick", key.encode()), text, quick=True)
    if linked is None:
        return None
    place, keep = _placing(externs, libraries)
    better = partial(_better, key, linked.text, place) if linked.text else None
    made = Code(key, place(linked), externs, keep, better)
    # Code that refers to a user's function is not kept for reuse.
    users = CALLBACK in libraries or FOREIGN in libraries
    return made if users else _kept.add(whole_key, made)


def _placing(externs: Mapping[str, Extern], libraries: Libraries,
             ) -> tuple[Callable[[Image | None], Placed], list[Any]]:
    """A function that puts an image into memory, and what has to live as long as its library calls.
    """
    addresses, keep = {}, []
    for symbol, call in externs.items():
        addresses[symbol], addresses[f"{symbol}.context"], alive = libraries[call.name](call)
        keep.append(alive)

    def place(linked: Image | None) -> Placed:
        assert linked is not None
        return Placed(linked, lambda symbol: addresses.get(symbol) or _address(symbol))

    return place, keep


def _better(key: str, text: str, place: Callable[[Image | None], Placed]) -> Placed:
    return place(image(key, lambda: text))


def clear() -> None:
    """Unload all code that has no owner."""
    _kept.clear()


# -- what code calls -------------------------------------------------------------------------------


def _address(symbol: str) -> int:
    """The address of something of the runtime's, of SciPy's, or of the C library's."""
    if symbol == PARALLEL:
        return parallel_address()
    if symbol in (STOP, STOPPED, NO_ROOM):
        return stop.addresses()[symbol]
    if symbol.startswith(TILE):
        return tile_address(symbol)
    if symbol.startswith("scipy."):
        return _scipy_address(symbol.removeprefix("scipy."))
    return address_of(symbol)


class _Kernel:
    """A kernel of tiles, which is there once for all programs."""

    def __init__(self, symbol: str):
        self.symbol, self.lock, self._address = symbol, new_lock(), 0

    def address(self) -> int:
        with self.lock:  # one thread makes it, others wait
            self._address = self._address or permanent(self.symbol, self.text)[self.symbol]
        return self._address

    def text(self) -> str:
        from .._compiler.kernels.gemm.micro import kernel_text
        from .._compiler.machine import host
        return kernel_text(self.symbol, host())

    def begin(self) -> None:
        """Make it beside other work, as it takes as long as a program that calls it.

        Only programs in a hurry may be made at the same time: they do without LLVM's settings.
        """
        if not self._address:
            folder = directory()
            Thread(target=lambda: _with_folder(folder, self.address), name="tanx kernel").start()


@cache
def _kernel(symbol: str) -> _Kernel:
    return _Kernel(symbol)


def tile_address(symbol: str) -> int:
    """The address of a kernel of tiles."""
    return _kernel(symbol).address()


@cache
def _scipy_address(name: str) -> int:
    """The address of a function that SciPy exports to Cython; of several, that for doubles."""
    from scipy.special import cython_special

    from .._loops.lapack import pointer_in  # late: few programs call SciPy
    exported = cython_special.__pyx_capi__
    return pointer_in(exported.get(name) or exported[f"__pyx_fuse_0{name}"])
