"""A program as text, and how it is run and compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.machine import as_host, host
from tests.compiler.agreement import check_jaxpr_agrees, evaluated

NAMES = {"tanx": tanx, "jnp": jnp, "lax": lax, "np": np}

SETTINGS: tuple[dict[str, float], ...] = (
    {},
    {"fuse.store": 1000.0, "split.worth": 1, "fuse.reuse": 2, "flatten.small": 0.0,
     "distribute.small": 0, "registers.little": -1e18},  # store as little as possible; host loops
    {"fuse.store": -1000.0, "fuse.small": 0, "fuse.rows": 1, "flatten.small": 1.0,
     "flatten.copied": 1 << 20, "memory.guest": 64},  # and as much; all loops in kernels
    {"fuse.nodes": 8, "split.worth": 1, "split.pieces": 4, "simplify.folded": 2,
     "moments.far": 0, "moments.near": 0, "moments.size": 4, "moments.lanes": 2,
     "searches.most": 8, "searches.least": 2, "searches.many": 2, "searches.far": 1},
    {"fuse.contexts": 1, "fuse.rows": 1, "fuse.near": 1000, "memory.put_off": 1000,
     "transposes.far": 0, "transposes.read": 64, "contract.tiny_rows": 1,
     "access.far": 0, "access.scattered": 0, "access.scattered_on_arm": 0, "access.steps": 2,
     "access.ahead": 64,
     "polls.long": 2, "polls.soon": 0, "choices.dear": 4, "choices.nested": 1},
    {"tasks.grain": 1e-9, "tasks.enough": 2, "tasks.enough_rows": 1, "folds.stretch": 2,
     "lanes.tile": 1, "tasks.many_each": 1, "tasks.scan_length": 4, "tasks.scan_lanes": 2,
     "tasks.line": 4, "flow.grain": 1e-9, "flow.in_place": 1, "distribute.small": 0,
     "scans.vectors": 1, "columns.room": 512, "columns.long": 0,
     "searches.many": 2, "searches.most": 4, "searches.least": 2},  # small tasks
    {"fuse.reuse": 1, "contract.near": 64, "contract.fewer": 1, "tiles.worth": 1,
     "tiles.block_bytes": 1 << 10, "tiles.strip": 8, "tiles.chunk": 4,
     "tiles.task": 16},  # small tiles
    {"fuse.reuse": 1, "tiles.worth": 1, "tiles.conflict": 1,
     "tiles.stretch": 2, "tiles.room_bytes": 256,
     "tiles.streamed": 2, "tiles.near": 64, "contract.tiny": 0,
     "tiles.chunk": 4, "tiles.task": 16, "tiles.rows": 3},  # operands computed by tasks
    {"registers.apart": 4, "registers.lanes": 2, "registers.states": 8, "registers.scalars": 60,
     "decompose.powers": 3, "rows.many": 1, "rows.much": 0, "rows.short": 8, "rows.vectors": 2,
     "lanes.together": 4, "lanes.moves": 40, "lanes.residues": 2, "lanes.few_lanes": 2,
     "scans.rows": 2, "transposes.written_out": 4096, "sort.short": 4, "sort.long": 16,
     "sort.few": 2, "functions.written_out": 0, "matrices.written_out": 2, "bands.least": 2,
     "bands.tasks": 1, "tasks.back": 2, "fourier.group": 4, "fourier.table": 8},  # small limits
)
"""Thresholds of the compiler with which other ways are taken: fields of ``Tuning``, by pass."""


@contextmanager
def settings(values: Mapping[str, float], masks: bool = True) -> Iterator[None]:
    """Change thresholds of the compiler temporarily; do without mask registers, if asked."""
    machine = host() if masks else host().without_masks()
    with as_host(replace(machine, tuning=machine.tuning.varied(values))):
        yield


@dataclass(frozen=True)
class Value:
    """A variable: its name, its value when the program was made, if that is exact, if weak."""

    name: str
    data: np.ndarray
    exact: bool
    weak: bool = False

    shape = property(lambda self: self.data.shape)
    kind = property(lambda self: "f" if self.data.dtype.kind == "V" else self.data.dtype.kind)
    ndim = property(lambda self: self.data.ndim)


@dataclass(frozen=True)
class Line:
    """``name = text``, and the variables that the text reads."""

    value: Value
    text: str
    reads: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """A program: arguments, lines, the variables it returns, and its transformation."""

    arguments: tuple[Value, ...]
    lines: tuple[Line, ...]
    returned: tuple[str, ...]
    transform: str = ""
    large: bool = False
    settings: Mapping[str, float] = field(default_factory=dict)
    masks: bool = True

    def __str__(self) -> str:
        names = ", ".join(a.name for a in self.arguments)
        body = "".join(f"    {line.value.name} = {line.text}\n" for line in self.lines)
        return f"def program({names}):\n{body}    return ({', '.join(self.returned)},)\n"

    def function(self) -> Callable:
        """The program as a function."""
        scope = dict(NAMES)
        exec(str(self), scope)
        return eval(self.transform or "program", scope)

    def script(self) -> str:
        """Code that runs the program and compares."""
        data = ",\n    ".join(f"np.array({a.data.tolist()!r}, {a.data.dtype.name!r})"
                              f".reshape({a.shape})" for a in self.arguments)
        return (f"import numpy as np\nimport tanx\nimport tanx.numpy as jnp\nfrom tanx import lax\n"
                f"from tests.compiler.agreement import check_function\n"
                f"from tests.compiler.programs import settings\n\n\n{self}\n\n"
                f"with tanx.enable_x64(True), settings({dict(self.settings)}, {self.masks}):\n"
                f"    check_function(\n    {self.transform or 'program'},\n    {data})\n")

    def fails(self) -> str | None:
        """The failure, if any: when it is traced and evaluated, or when it is compiled."""
        args = [a.data for a in self.arguments]
        with tanx.enable_x64(True), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                closed = tanx.make_jaxpr(self.function())(*args)
                evaluated(closed, args)
            except Exception as error:
                return f"no program ({type(error).__name__}): {error}"
            try:
                with settings(self.settings, self.masks):
                    check_jaxpr_agrees(closed, args, interpreted=not self.large)
            except Exception as error:
                return f"{type(error).__name__}: {error}"
        return None


def without_dead_lines(source: Source) -> Source:
    """The program without lines and arguments that nothing needs; one argument stays."""
    live = set(source.returned)
    kept = []
    for line in reversed(source.lines):
        if line.value.name in live:
            live.update(line.reads)
            kept.append(line)
    arguments = tuple(a for a in source.arguments if a.name in live) or source.arguments[:1]
    if source.transform:
        arguments = source.arguments
    return replace(source, lines=tuple(kept[::-1]), arguments=arguments)
