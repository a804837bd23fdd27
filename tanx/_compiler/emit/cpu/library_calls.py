"""Calls of functions that are not loop nests: kernels of the module, and the runtime's library."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ...._loops.names import FOURIER, LEAST_OF_LINES, MATRICES, SORT_LINES
from ...._loops.nest import Extern
from ...schedule.analysis import Analysis
from ..addresses import Addresses
from ..control import Control
from ..scopes import Scope

__all__ = ["LibraryCalls"]


@cache
def _kernel(name: str) -> Callable | None:
    """The function that writes calls of a kernel of the module; it loads when a program needs it.
    """
    if name == FOURIER:
        from ...kernels.fft.transform import write_fourier
        return write_fourier
    if name == MATRICES:
        from ...kernels.small_matrices import write_matrices
        return write_matrices
    if name in (SORT_LINES, LEAST_OF_LINES):
        from ...kernels.sort import CALLS
        return CALLS[name]
    return None


class LibraryCalls:
    """Writes calls; ``symbol`` maps a library call to its symbol."""

    def __init__(self, control: Control, addresses: Addresses, analysis: Analysis,
                 symbol: Callable[[Extern], str]):
        self.control, self.addresses, self.analysis = control, addresses, analysis
        self.symbol = symbol

    def write(self, call: Extern, scope: Scope) -> None:
        """Call a function with the addresses of buffers."""
        pointers, writer, lines = self.addresses.pointers, self.control.writer, scope.place.lines
        kernel = _kernel(call.name)
        if kernel is not None:
            lines.append(kernel(call, pointers, writer))
        else:
            buffers = (*call.outputs, *call.inputs)
            room = self.control.allocate(f"[{max(1, len(buffers))} x ptr]")
            for n, buffer in enumerate(buffers):
                place = "%" + writer.fresh("arg")
                lines.append(f"{place} = getelementptr ptr, ptr {room}, i64 {n}")
                lines.append(f"store ptr {pointers[buffer]}, ptr {place}")
            name = self.symbol(call)
            writer.declared[name] = f"declare void @{name}(ptr, ptr)"
            writer.declared[f"{name}.context"] = f"@{name}.context = external global i8"
            lines.append(f"call void @{name}(ptr @{name}.context, ptr {room})")
        for buffer in call.outputs:
            scope.forget(self.analysis.memory(buffer), self.analysis)
