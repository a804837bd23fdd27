"""Calls of functions that are not loop nests: kernels of the module, and the runtime's library."""

from __future__ import annotations

from collections.abc import Callable

from ...._loops.names import FOURIER, MATRICES
from ...._loops.nest import Extern
from ...kernels.fft.transform import write_fourier
from ...kernels.small_matrices import write_matrices
from ...kernels.sort import CALLS as SORTING
from ...schedule.analysis import Analysis
from ..addresses import Addresses
from ..control import Control
from ..scopes import Scope

__all__ = ["LibraryCalls"]

_KERNELS = {**SORTING, FOURIER: write_fourier, MATRICES: write_matrices}
"""Functions that write calls of kernels of the module, by name."""


class LibraryCalls:
    """Writes calls; ``symbol`` maps a library call to its symbol."""

    def __init__(self, control: Control, addresses: Addresses, analysis: Analysis,
                 symbol: Callable[[Extern], str]):
        self.control, self.addresses, self.analysis = control, addresses, analysis
        self.symbol = symbol

    def write(self, call: Extern, scope: Scope) -> None:
        """Call a function with the addresses of buffers."""
        pointers, writer, lines = self.addresses.pointers, self.control.writer, scope.place.lines
        if call.name in _KERNELS:
            lines.append(_KERNELS[call.name](call, pointers, writer))
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
