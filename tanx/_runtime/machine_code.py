"""Machine code from LLVM text: assembled and linked once, cached on disk, placed when needed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache
from time import perf_counter

from .._base.config import enable_checks
from . import disk_cache
from .availability import need_native
from .linked_code import Image, Placed, link
from .signals import uninterrupted

__all__ = ["Image", "Placed", "address_of", "image", "permanent"]


def image(key: str, text: Callable[[], str] | None, tidy: bool = False,
          quick: bool = False) -> Image | None:
    """The code with a name: from disk, or compiled from its text if there is one.

    ``quick`` compiles it with few optimizations, to be replaced by better code.
    """
    found = disk_cache.read(key)
    if found is not None:
        facts, data = found
        return Image(data, *facts)
    if text is None:
        return None
    from .._compiler.emit.cpu.module import assemble, exchangeable
    from .._compiler.machine import host
    start = perf_counter()
    written = text()
    with uninterrupted():
        if quick:
            objects = assemble(exchangeable(written), host(), enable_checks.value, quick=True)
            made = link(objects)._replace(text=written)
        else:
            made = link(assemble(written, host(), enable_checks.value, tidy))
    disk_cache.write(key, tuple(made[1:]), made.data, perf_counter() - start)
    return made


def permanent(name: str, text: Callable[[], str],
              symbols: Mapping[str, int] | None = None, tidy: bool = False) -> dict[str, int]:
    """The addresses of native functions of tanx itself, by their names.

    ``text`` must depend only on ``name``, the processor and the source of tanx: it is used only if
    the code is not on disk. ``symbols`` are addresses in this process. The code stays until the
    process ends, because threads may wait in it longer than Python's objects live. ``tidy`` is for
    ``assemble``.
    """
    need_native("tanx")
    made = image(disk_cache.key_of("native", name.encode()), text, tidy)
    assert made is not None
    given = symbols or {}
    return Placed(made, lambda symbol: given.get(symbol) or address_of(symbol), True).addresses


@cache
def address_of(symbol: str) -> int:
    """The address of a function of the C library, of Python, or of the support libraries of GCC and
    LLVM."""
    for library in (None, "libm.so.6", "libgcc_s.so.1"):
        try:
            function = getattr(ctypes.CDLL(library), symbol)
        except (OSError, AttributeError):
            continue
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    from llvmlite import binding
    address = binding.address_of_symbol(symbol)
    if not address:
        raise NotImplementedError(f"compiled code needs {symbol}, which this system lacks.")
    return address
