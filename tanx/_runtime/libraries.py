"""The functions of the runtime's library that programs may call, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._loops.names import CALLBACK, FOREIGN, LAPACK
from .callbacks import callback
from .load import Library

if TYPE_CHECKING:
    from .._loops.nest import Extern

__all__ = ["LIBRARIES"]


def _lapack(call: Extern) -> tuple[int, int, Any]:
    """A routine of BLAS or LAPACK."""
    from .lapack_calls import bind  # late: few programs call one
    return bind(call)


def _foreign(call: Extern) -> tuple[int, int, Any]:
    """A C function of the user."""
    from .foreign import bind  # late: few programs call one
    return bind(call)


LIBRARIES: dict[str, Library] = {CALLBACK: callback, FOREIGN: _foreign, LAPACK: _lapack}
