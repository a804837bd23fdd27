"""Statements: where elements are stored, and in which loops. The form between jaxprs and LLVM.

A :class:`Program` reads input buffers and fills output buffers by running statements in order:
a :class:`Nest` of loops around others, a :class:`Store` of one element, an :class:`Extern` call of
a library. What is stored is an expression (``expr.py``); a :class:`Buffer` is read by indexing it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .expr import Const, Expr, Index, Load, Node
from .instructions import INDEX, short_name

__all__ = ["Buffer", "Extern", "Nest", "PARALLEL", "Program", "SEQUENTIAL", "Statement", "Store",
           "TASKS", "index_tuple"]

PARALLEL = "parallel"
SEQUENTIAL = "sequential"
TASKS = "tasks"


class Buffer(Node):
    """Named memory that holds an array; ``role`` is ``"input"``, ``"output"`` or ``"temp"``.

    >>> Buffer("x", (8, 4), np.float32)[[Index("i", 8), 0]]
    x[i, 0]
    """

    __slots__ = ("dtype", "name", "role", "shape")
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    role: str

    def __new__(cls, name: str, shape, dtype, role: str = "input"):
        shape, dtype = tuple(map(int, shape)), np.dtype(dtype)
        return cls._make((name, shape, dtype, role), name=name, shape=shape, dtype=dtype, role=role)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, index) -> Load:
        return Load(self, index_tuple(self, index))

    def _brief(self, depth):
        return f"{self.name}: {short_name(self.dtype)}[{','.join(map(str, self.shape))}]"


def index_tuple(array, index) -> tuple[Expr, ...]:
    """An index into an array as expressions: one int64 a dimension.

    A scalar has one element and gives it at any index, so ``x[at]`` serves operands that broadcast.
    """
    if array.ndim == 0:
        return ()
    index = tuple(index) if isinstance(index, (tuple, list)) else (index,)
    if len(index) != array.ndim:
        raise TypeError(f"{array!r} has {array.ndim} dimensions, but the index has {len(index)}: "
                        f"{list(index)}.")
    index = tuple(i if isinstance(i, Expr) else Const(i, INDEX) for i in index)
    for i in index:
        if i.dtype != INDEX:
            raise TypeError(f"{array!r} is indexed by {i!r} of dtype {short_name(i.dtype)}; "
                            "as_index() makes an int64 of it.")
    return index


@dataclass(frozen=True, slots=True)
class Store:
    """Writes one element, where ``guard`` holds.

    With ``combine``, a reducer, the value is combined with the element that is there. Iterations of
    a parallel loop may meet on one element only through such stores; the order is then open.
    """

    buffer: Buffer
    index: tuple[Expr, ...]
    value: Expr
    combine: str | None = None
    guard: Expr | None = None


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops around statements, the last index fastest; without indices the body runs once.

    Each index has its kind. Iterations of a parallel loop neither read nor overwrite what another
    one of them stores; a sequential loop runs in order. The iterations of a loop over tasks, which
    may be the outermost ones of a statement of the program, run in several threads: they are apart
    like those of a parallel loop, and do not meet in stores that combine, either.
    """

    indices: tuple[Index, ...]
    kinds: tuple[str, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Extern:
    """Calls a function of the runtime's library: sort, FFT, LAPACK and kin.

    ``params`` are pairs of a name and a hashable value, sorted by name.
    """

    name: str
    outputs: tuple[Buffer, ...]
    inputs: tuple[Buffer, ...]
    params: tuple[tuple[str, Any], ...] = ()


Statement = Store | Nest | Extern


@dataclass(frozen=True, slots=True)
class Program:
    """Statements that fill ``outputs`` from ``inputs``, with room for ``temps`` in between."""

    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    temps: tuple[Buffer, ...]
    statements: tuple[Statement, ...]

    @property
    def buffers(self) -> Mapping[str, Buffer]:
        """All buffers by name."""
        return {b.name: b for b in (*self.inputs, *self.outputs, *self.temps)}
