"""The facts about a compiled function: plain data, which ``text`` and ``page`` format.

They refer to each other by number: an equation to its source line, a kernel to the equations that
it computes, a piece of memory to the kernels between which it is in use.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

__all__ = ["Equation", "Facts", "Kernel", "Limits", "Line", "Memory", "Section", "Traced"]


@dataclass(frozen=True)
class Line:
    """A line of the user's source that made equations."""

    file: str
    number: int
    text: str
    function: str


@dataclass(frozen=True)
class Equation:
    """An equation of a jaxpr as text, with the number of its line and those of its kernels."""

    text: str
    primitive: str
    line: int | None
    kernels: tuple[int, ...] = ()
    is_layout: bool = False  # it only moves elements
    is_large: bool = False  # products, loops and calls: the name of a kernel begins with it


@dataclass(frozen=True)
class Section:
    """A jaxpr: its name, its operands and results, its equations.

    The first section of a program is the function itself; the others are bodies of loops, branches
    and calls, to which equations refer by name. ``first`` is the number of its first equation,
    counted over all sections.
    """

    name: str
    head: str
    first: int
    equations: tuple[Equation, ...]
    results: str


@dataclass(frozen=True)
class Kernel:
    """A statement of the compiled program: a nest of loops, a library call, a loop or a branch.

    ``prepares`` is the number of the kernel whose operands this one only packs, ``line`` the number
    of the source line of its main equation.
    ``seconds`` is the least measured time; ``least_seconds`` the time that the machine needs for
    its ``operations`` (a function such as ``exp`` counts as several) or its ``bytes``, whichever is
    longer; ``bound`` says which. ``tasks`` is the number of pieces of its outermost loop; matrix
    products are divided among threads in another way.
    """

    name: str
    text: str
    equations: tuple[int, ...]
    prepares: int | None
    line: int | None
    tasks: int
    flops: int
    functions: int
    bytes_read: int
    bytes_written: int
    seconds: float
    least_seconds: float
    bound: str

    @property
    def bytes(self) -> int:
        """The least bytes that it reads and writes: each element once."""
        return self.bytes_read + self.bytes_written

    @property
    def share_of_limit(self) -> float:
        """The fraction of the machine's limit that was reached, between 0 and 1."""
        return min(1.0, self.least_seconds / self.seconds) if self.seconds else 1.0


@dataclass(frozen=True)
class Memory:
    """A temporary array: its place, and the kernels at which its life begins and ends.

    ``host`` is the name of the result whose memory it uses, or empty for the arena.
    """

    name: str
    type: str
    nbytes: int
    start: int
    host: str
    first: int
    last: int
    line: int | None
    at_peak: bool


@dataclass(frozen=True)
class Traced:
    """A signature of a trace, and its reasons: the differences from earlier ones."""

    signature: str
    reasons: tuple[str, ...]
    explained: bool  # whether it is the explained one


@dataclass(frozen=True)
class Limits:
    """The best performance of this machine, as measured with NumPy: see ``measure.limits``."""

    threads: int
    flops: float
    double_flops: float
    bandwidths: tuple[tuple[int, float], ...]  # for up to n bytes: bytes per second

    def bandwidth(self, nbytes: int) -> float:
        """Bytes per second for a kernel that accesses ``nbytes``."""
        return next((rate for most, rate in self.bandwidths if nbytes <= most),
                    self.bandwidths[-1][1])


@dataclass(frozen=True)
class Facts:
    """Everything about one call of a function."""

    function: str
    defined: str
    arguments: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    lines: tuple[Line, ...]
    compiled: tuple[Section, ...]
    traced: tuple[Section, ...]
    kernels: tuple[Kernel, ...]
    memory: tuple[Memory, ...]
    curve: tuple[int, ...]  # bytes of temporaries that live while each kernel runs
    arena: int
    argument_bytes: int
    result_bytes: int
    donated: int  # results that take the memory of arguments
    traces: tuple[Traced, ...]
    trace_seconds: float
    compile_seconds: float
    seconds: float
    runs: int
    limits: Limits
    version: str

    @property
    def peak(self) -> int:
        """The kernel at which most memory is in use."""
        return max(range(len(self.curve)), key=self.curve.__getitem__, default=0)

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        """The equations that were compiled, in the order of their numbers."""
        return tuple(e for section in self.compiled for e in section.equations)
