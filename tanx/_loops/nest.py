"""Statements: where elements are stored, and in which loops. The form between jaxprs and LLVM.

A :class:`Program` reads input buffers and fills output buffers by running statements in order:
a :class:`Nest` of loops around others, a :class:`Store` of one element, an :class:`Extern` call of
a library, a :class:`Loop` or a :class:`Branch` that runs other programs. The stored value is an
expression (``expr``); a :class:`Buffer` is read by indexing it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

import numpy as np

from .._base.records import record
from .._base.tuples import NamedTuple
from ..dtypes import stored
from .expr import Const, Expr, Index, Load, Node
from .instructions import INDEX, short_name
from .loop_kinds import PARALLEL, SEQUENTIAL, TASKS, Kind

__all__ = ["Branch", "Buffer", "Call", "Extern", "GLOBAL", "Loop", "Nest", "Own", "PARALLEL",
           "Place", "Plan", "Prefetch", "Program", "REGISTER", "SEQUENTIAL", "SHARED", "Statement",
           "Store", "TASKS", "Within", "index_tuple"]


GLOBAL = "global"
SHARED = "shared"
REGISTER = "register"


class Buffer(Node):
    """Named memory that holds an array; ``role`` is ``"input"``, ``"output"`` or ``"temp"``.

    Its ``space`` says who can access it: ``"global"`` memory exists for the whole program,
    ``"shared"`` memory belongs to the threads of one task (on a CPU, a task has one thread), and
    ``"register"`` memory to a single iteration.

    >>> Buffer("x", (8, 4), np.float32)[[Index("i", 8), 0]]
    x[i, 0]
    """

    __slots__ = ("dtype", "name", "role", "shape", "space")
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    role: str
    space: str

    def __new__(cls, name: str, shape, dtype, role: str = "input", space: str = GLOBAL):
        shape, dtype = tuple(map(int, shape)), np.dtype(stored(dtype))
        return cls._make((name, shape, dtype, role, space), name=name, shape=shape, dtype=dtype,
                         role=role, space=space)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, index) -> Load:
        return Load(self, index_tuple(self, index))

    def _brief(self, depth):
        return f"{self.name}: {short_name(self.dtype)}[{','.join(map(str, self.shape))}]"


def index_tuple(array, index) -> tuple[Expr, ...]:
    """An index into an array as expressions: one int64 per dimension.

    A scalar returns its element at any index, so ``x[at]`` works for operands that broadcast.
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


class Prefetch(NamedTuple):
    """An access whose elements are prefetched: those that it accesses ``steps`` iterations of the
    loop over ``along`` later. It is a load, or the store itself. They come into the second level of
    cache, or into the ``first``."""

    access: Load
    along: Index
    steps: int
    is_store: bool = False
    first: bool = False


@record(slots=True)
class Store:
    """Writes one element, where ``guard`` holds.

    With ``combine``, a reducer, the value is combined with the element in the buffer. Iterations of
    a parallel loop may access the same element only through such stores, in any order. A schedule
    says which accesses are ``prefetched``: loads of the value, or the store itself.
    """

    buffer: Buffer
    index: tuple[Expr, ...]
    value: Expr
    combine: str | None = None
    guard: Expr | None = None
    prefetched: tuple[Prefetch, ...] = ()


@record(slots=True)
class Nest:
    """Loops around statements, the last index fastest; without indices the body runs once.

    Each index has its kind. Iterations of a parallel loop neither read nor overwrite what another
    one of them stores; a sequential loop runs in order. The iterations of a loop over tasks, which
    may be the outermost loops of a statement of the program, run in several threads: they are
    independent like those of a parallel loop, and may not combine with the same element either.

    A schedule gives loops other kinds (``loop_kinds.py``). ``rest`` is the body for iterations that
    a loop in vectors runs one by one, if its folds run differently there; otherwise it is empty.
    ``kept`` are buffers of which each iteration of the last loop uses the same element: it stays in
    a register until the loop ends. ``polled`` are the indices, for joined loops the last ones, of
    loops that check after each step whether the program should stop.
    """

    indices: tuple[Index, ...]
    kinds: tuple[Kind, ...]
    body: tuple[Statement, ...]
    rest: tuple[Statement, ...] = ()
    kept: tuple[Buffer, ...] = ()
    polled: tuple[Index, ...] = ()

    @property
    def note(self) -> str:
        """How the loops run, beyond their kinds."""
        return ""


@record(slots=True)
class Call:
    """A statement that reads and fills whole buffers in a way that this form does not describe.

    A buffer among both ``inputs`` and ``outputs`` is updated in place.
    """

    outputs: tuple[Buffer, ...]
    inputs: tuple[Buffer, ...]

    @property
    def form(self) -> tuple:
        """A key that is equal for statements that do the same on other buffers."""
        return type(self), *(getattr(self, f.name) for f in fields(self)[2:])


@record(slots=True)
class Extern(Call):
    """Calls a function of the runtime's library: sort, FFT, LAPACK and others.

    ``params`` are pairs of a name and a hashable value, sorted by name.
    """

    name: str
    params: tuple[tuple[str, Any], ...] = ()


@record(slots=True)
class Loop(Call):
    """Runs a program repeatedly, each time on the results of the previous run.

    The body takes constants, carries, and a row of each array that is read by rows; it returns the
    next carries, and a row of each array that is filled by rows. The loop has ``count`` steps, or
    runs until ``condition``, a program from its own constants and the carries to one bool, is
    false.

    ``inputs`` are the constants of the condition (``tests`` of them), those of the body, the
    carries, and ``rows`` arrays to be read, of any shape; ``skipped`` elements, if given, come
    before the first row of each. ``outputs`` are the carries again, the arrays to be filled, and
    private memory of the loop. Steps of a loop without carries are independent: they run in
    ``tasks`` ranges, each of which may have its own thread.
    """

    body: Plan
    carried: int = 0
    condition: Plan | None = None
    tests: int = 0
    rows: int = 0
    count: int | None = None
    reverse: bool = False
    tasks: int = 1
    skipped: tuple[int, ...] = ()

    @property
    def starts(self) -> tuple[int, ...]:
        """Offset of the first row of each array that is read by rows, in elements."""
        return self.skipped or (0,) * self.rows

    @property
    def parts(self) -> tuple[tuple[Buffer, ...], ...]:
        """Constants of the condition and of the body, carries, arrays to be read, and filled."""
        rows = len(self.inputs) - self.rows
        carries = rows - self.carried
        return (self.inputs[:self.tests], self.inputs[self.tests:carries],
                self.inputs[carries:rows], self.inputs[rows:], self.outputs[self.carried:-1])


@record(slots=True)
class Branch(Call):
    """Runs one of several programs, the one whose number the first input holds.

    All of them take the other inputs and fill the outputs; the last output is private memory. The
    first ``carried`` outputs are also the last inputs: a program that leaves such an array
    unchanged does nothing for it.
    """

    bodies: tuple[Plan, ...]
    carried: int = 0


Statement = Store | Nest | Extern | Loop | Branch


@record(slots=True)
class Program:
    """Statements that fill ``outputs`` from ``inputs``, with temporaries ``temps``."""

    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    temps: tuple[Buffer, ...]
    statements: tuple[Statement, ...]

    @property
    def buffers(self) -> Mapping[str, Buffer]:
        """All buffers by name."""
        return {b.name: b for b in (*self.inputs, *self.outputs, *self.temps)}


class Within(NamedTuple):
    """A place in an output, for a temporary that is dead when the output is written."""

    output: Buffer
    start: int


class Own(NamedTuple):
    """Private memory of each task, for the part of a temporary that only it uses: ``size`` elements
    from ``start`` on, an expression in the indices of loops over tasks."""

    start: Expr
    size: int


Place = int | Within | Own
"""Where a temporary is: an offset in the arena, a place in an output, or private memory of
tasks."""


@record(eq=False)
class Plan:
    """Where the buffers of a program are.

    ``offsets`` are the places of the temporaries, in an arena of ``size`` bytes, in outputs that
    come later, or in tasks. An output in ``shared`` is the memory of an input that may be
    overwritten; all other outputs have their own memory. An output in ``updated`` begins with the
    elements of its input, because the copy was removed: its memory is in use from the beginning.
    ``peak`` is the most that temporaries need at a time.
    """

    program: Program
    offsets: dict[Buffer, Place] = field(default_factory=dict)
    size: int = 0
    peak: int = 0
    shared: dict[Buffer, Buffer] = field(default_factory=dict)
    updated: frozenset[Buffer] = frozenset()
