"""The text of programs: complete, so that programs of equal text do the same, and readable.

Loop variables get fresh letters, so the text does not depend on what else has been built. A
repeated subexpression gets a name, ``%0``: this is only notation, and does not say when it is
computed. A constant carries its dtype (``1.0:f32``) unless it is an int64 or a bool. ::

    program(x: f32[8,64], y: f32[64]) -> (out: f32[8])
    for i in 8 parallel:
        out[i] = add(k in 64: x[i, k] * y[k])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from .expr import Const, Expr, Fold, Index, Load, Node, Op, Pick, Variable, While
from .instructions import identity, kind_of, short_name
from .loop_kinds import JOINED, SEQUENTIAL, Kind
from .nest import (
    Branch,
    Buffer,
    Extern,
    Loop,
    Nest,
    Own,
    Plan,
    Program,
    Statement,
    Store,
    Within,
)
from .tiles import Tiled
from .traverse import children, expressions, walk

__all__ = ["show", "show_expr", "show_plan", "show_statement"]

_SHORT = 20
"""Columns up to which a shared expression is written out again instead of being named."""
_WIDE = 72
"""Columns beyond which a fold is written as a block."""
_DEEP = 16
"""Depth from which an expression is named although it is used once."""
_LETTERS = "ijklmnpqrstuvw"

# How tightly operators bind.
_ATOM, _UNARY, _LOOSEST = 10, 9, 0
_INFIX = {"mul": ("*", 8), "div": ("/", 8), "floor_div": ("//", 8), "floor_mod": ("%", 8),
          "add": ("+", 7), "sub": ("-", 7), "shift_left": ("<<", 6), "and": ("&", 5),
          "xor": ("^", 4), "or": ("|", 3), "eq": ("==", 2), "ne": ("!=", 2), "lt": ("<", 2),
          "le": ("<=", 2), "gt": (">", 2), "ge": (">=", 2)}
_PREFIX = {"neg": "-", "not": "~"}


def show(program: Program) -> str:
    """The text of a program.

    >>> from tanx._loops.build import element_program
    >>> x, y = np.zeros((8, 4), np.float32), np.zeros(4, np.float32)
    >>> print(show(element_program(lambda at, x, y: x[at] + y[at[1:]] * 2, [x, y], x)))
    program(x: f32[8,4], y: f32[4]) -> (out: f32[8,4])
    for i in 8, j in 4 parallel:
        out[i, j] = x[i, j] + y[j] * 2.0:f32
    """
    ins, outs = (", ".join(map(repr, bs)) for bs in (program.inputs, program.outputs))
    lines = [f"program({ins}) -> ({outs})", *(f"temp {b!r}" for b in program.temps)]
    for statement in program.statements:
        lines += _Printer(program.buffers).statement(statement)
    return "\n".join(lines)


def show_plan(plan: Plan) -> str:
    """The text of a program and of its memory plan."""
    lines = [show(plan.program), f"arena: {plan.size} bytes"]
    lines += [f"  {b.name} at {place.start} in {place.output.name}" if isinstance(place, Within)
              else f"  {b.name}: {place.size} elements in each task" if isinstance(place, Own)
              else f"  {b.name} at {place}" for b, place in plan.offsets.items()]
    lines += [f"{out.name} {'updates' if out in plan.updated else 'overwrites'} {given.name}"
              for out, given in plan.shared.items()]
    return "\n".join(lines)


def show_statement(statement: Statement) -> str:
    """The text of one statement."""
    return "\n".join(_Printer(()).statement(statement))


def show_expr(expr: Expr) -> str:
    """The text of one expression; shared subexpressions come first, a line each."""
    printer = _Printer(())
    printer.begin([expr])
    text = printer.text(expr)
    return "\n".join([*printer.frames[0].lines, text])


class _Frame:
    """A place for lines: a statement, or a fold, whose variables it binds."""

    def __init__(self, bound: Iterable[Node] = ()):
        self.bound = frozenset(bound)
        self.lines: list[str] = []


class _Printer:
    def __init__(self, taken: Iterable[str]):
        self.taken = set(taken)
        self.names: dict[Node, str] = {}
        self.frames: list[_Frame] = []
        self.uses: Counter[Node] = Counter()
        self.shared: dict[Node, str] = {}

    # -- statements --------------------------------------------------------------------------------

    def statement(self, statement: Statement) -> list[str]:
        if isinstance(statement, Store):
            return self.store(statement)
        if isinstance(statement, Extern):
            return [self.extern(statement)]
        if isinstance(statement, Loop):
            return self.loop(statement)
        if isinstance(statement, Branch):
            return self.branch(statement)
        before = dict(self.names)
        lines = [self.header(statement)]
        for room in statement.rooms if isinstance(statement, Tiled) else ():
            lines += [f"  {room.buffer.space} {room.buffer!r}:"]
            for inner in room.fill:
                lines += _indented(self.statement(inner))
        for inner in statement.body:
            lines += _indented(self.statement(inner))
        if statement.rest:
            lines.append("  one by one:")
        for inner in statement.rest:
            lines += _indented(self.statement(inner))
        self.names = before
        return lines

    def header(self, nest: Nest) -> str:
        note = nest.note and f"; {nest.note}"
        if nest.kept:
            note += f"; {_names(nest.kept)} in registers"
        if nest.polled:
            note += f"; polled along {', '.join(map(self.name, nest.polled))}"
        if not nest.indices:
            return f"once{note}:"
        return f"for {self.loops(nest.indices, nest.kinds)}{note}:"

    def loops(self, indices: Sequence[Index], kinds: Sequence[Kind]) -> str:
        """Loops, each with its kind; consecutive loops of the same kind share it."""
        texts: list[str] = []
        joined: list[Index] = []
        for n, (index, kind) in enumerate(zip(indices, kinds)):
            joined.append(index)
            if kind == JOINED:
                continue
            names = ", ".join(map(self.name, joined))
            extents = " x ".join(str(i.extent) for i in joined)
            texts.append(f"({names}) in {extents}" if len(joined) > 1 else f"{names} in {extents}")
            if tuple(kinds[n + 1:n + 2]) != (kind,) and kind:
                texts[-1] += f" {kind}"
            joined = []
        return ", ".join(texts)

    def store(self, store: Store) -> list[str]:
        self.begin(expressions(store))
        target = self.access(store.buffer, store.index)
        sign = "=" if store.combine is None else f"{store.combine}="
        guard = "" if store.guard is None else f" if {self.text(store.guard)}"
        ahead = dict.fromkeys(f"; prefetch {p.access.buffer.name} {p.steps} steps of "
                              f"{self.name(p.along)} ahead" for p in store.prefetched)
        line = f"{target} {sign} {self.text(store.value)}{guard}{''.join(ahead)}"
        return [*self.frames[0].lines, line]

    def extern(self, call: Extern) -> str:
        outs = ", ".join(b.name for b in call.outputs)
        params = [f"{k}={v}" for k, v in call.params]
        return f"{outs} = extern {call.name}({', '.join([b.name for b in call.inputs] + params)})"

    def loop(self, loop: Loop) -> list[str]:
        tests, constants, carries, read, filled = loop.parts
        words = ["loop" if loop.count is None else f"loop {loop.count} times"]
        words += ["backwards"] * loop.reverse + [f"in {loop.tasks} tasks"] * (loop.tasks > 1)
        for word, buffers in (("with", constants), ("carrying", carries), ("reading", read),
                              ("filling", filled)):
            words += [f"{word} {_names(buffers)}"] * bool(buffers)
        if any(loop.skipped):
            words += [f"skipping {', '.join(map(str, loop.skipped))}"]
        lines = [f"{' '.join(words)}:"]
        if loop.condition is not None:
            lines += [f"    while given {_names(tests)}:" if tests else "    while:"]
            lines += _indented(_indented(show_plan(loop.condition).split("\n")))
        return lines + _indented(show_plan(loop.body).split("\n"))

    def branch(self, branch: Branch) -> list[str]:
        choice, *given = branch.inputs
        lines = [f"{_names(branch.outputs[:-1])} = branch {choice.name} of {_names(given)}:"]
        for number, body in enumerate(branch.bodies):
            lines += [f"    {number}:", *_indented(_indented(show_plan(body).split("\n")))]
        return lines

    # -- expressions -------------------------------------------------------------------------------

    def begin(self, roots: Iterable[Expr]) -> None:
        """Start a statement: count how often each part of it is used."""
        roots = tuple(roots)
        self.frames, self.shared = [_Frame()], {}
        self.uses = Counter(roots)
        for node in walk(*roots):
            self.uses.update(children(node))
        for variable in sorted({v for root in roots for v in root.free}, key=lambda v: v.name):
            self.name(variable)
        self.shorten(roots)

    def shorten(self, roots: Iterable[Node]) -> None:
        """Name parts of deep expressions, bottom up; bodies of folds come later."""
        height: dict[Node, int] = {}
        outside = lambda node: node.init if isinstance(node, Fold) else children(node)
        for node in walk(*roots, into=outside):
            height[node] = 1 + max((height[child] for child in outside(node)), default=0)
            if height[node] > _DEEP and isinstance(node, (Op, Load)):
                if node not in self.shared:
                    self.share(node, [self.written(node)[0]])
                height[node] = 0

    def text(self, node: Node, tightness: int = _LOOSEST) -> str:
        """The text of a node, in parentheses where its neighbours bind at ``tightness``."""
        if node in self.shared:
            return self.shared[node]
        text, binds = self.written(node)
        long = len(text) > _SHORT or isinstance(node, Pick) and node.fold not in self.shared
        if node not in self.shared and self.uses[node] > 1 and long:
            self.share(node, [text])
        if node in self.shared:
            return self.shared[node]
        return f"({text})" if binds < tightness else text

    def share(self, node: Node, lines: list[str]) -> None:
        """Name a node in the frame where all that it depends on is bound."""
        frame = next((f for f in reversed(self.frames) if not f.bound.isdisjoint(node.free)),
                     self.frames[0])
        self.shared[node] = f"%{len(self.shared)}"
        frame.lines += [f"{self.shared[node]} = {lines[0]}", *lines[1:]]

    def written(self, node: Node) -> tuple[str, int]:
        if isinstance(node, Const):
            return repr(node), _ATOM
        if isinstance(node, Load):
            return self.access(node.buffer, node.index), _ATOM
        if isinstance(node, Op):
            return self.operation(node)
        if isinstance(node, Pick):
            several = len(node.fold.states) > 1
            return self.text(node.fold, _ATOM) + f".{node.position}" * several, _ATOM
        if isinstance(node, Fold):
            return self.fold(node), _ATOM
        assert isinstance(node, Variable)
        return self.name(node), _ATOM

    def access(self, buffer: Buffer, index: Iterable[Expr]) -> str:
        return f"{buffer.name}[{', '.join(map(self.text, index))}]"

    def operation(self, node: Op) -> tuple[str, int]:
        if node.name in _INFIX:
            sign, binds = _INFIX[node.name]
            left, right = node.args
            return f"{self.text(left, binds)} {sign} {self.text(right, binds + 1)}", binds
        if node.name in _PREFIX:
            return _PREFIX[node.name] + self.text(node.args[0], _UNARY), _UNARY
        if node.name == "convert":
            return f"{short_name(node.dtype)}({self.text(node.args[0])})", _ATOM
        attrs = [f"{k}={short_name(v) if isinstance(v, np.dtype) else v}" for k, v in node.attrs]
        return f"{node.name}({', '.join([*map(self.text, node.args), *attrs])})", _ATOM

    def fold(self, fold: Fold) -> str:
        init = [self.text(value) for value in fold.init]
        before = dict(self.names)
        self.frames.append(_Frame((*fold.indices, *fold.states)))
        plain = [kind if kind != SEQUENTIAL else "" for kind in fold.kinds]
        head = self.loops(fold.indices, plain or [""] * len(fold.indices))
        if fold.stretch:
            head += f" in partial sums of {fold.stretch}"
        if fold.reducer:
            if not _is_identity(fold):
                head += f" from {init[0]}"
        else:
            starts = [f"{self.name(s)} = {v}" for s, v in zip(fold.states, init)]
            head = ", ".join([head, *starts] if head else starts)
        self.shorten(fold.parts[len(fold.init):])
        if isinstance(fold, While):
            head += f"; {self.text(fold.condition)}"
        body = ", ".join(map(self.text, fold.body))
        frame = self.frames.pop()
        self.names = before
        what = fold.combine or "fold"
        if isinstance(fold, While):
            what = "brief while" if fold.brief else "while"
        if frame.lines or len(body) > _WIDE:
            self.share(fold, [f"{what} {head}:", *_indented([*frame.lines, body])])
        return f"{what}({head}: {body})"

    def name(self, variable: Variable) -> str:
        """The letter of a variable: its hint, or the next letter that is free in its scope."""
        if variable not in self.names:
            hint = variable.name.split(".")[0]
            start = _LETTERS.find(hint) if len(hint) == 1 else -1
            letters = _LETTERS[start:] + _LETTERS[:start] if start >= 0 else ""
            taken = self.taken.union(self.names.values())
            choices = [hint, *letters, *(f"{hint}{n}" for n in range(len(taken) + 1))]
            self.names[variable] = next(c for c in choices if c not in taken)
        return self.names[variable]


def _is_identity(fold: Fold) -> bool:
    (init,) = fold.init
    if fold.reducer is None or kind_of(init.dtype) == "c" and fold.reducer in ("max", "min"):
        return False
    return init == Const(identity(fold.reducer, init.dtype), init.dtype)


def _indented(lines: Iterable[str]) -> list[str]:
    return ["    " + line for line in lines]


def _names(buffers: Iterable[Buffer]) -> str:
    return ", ".join(b.name for b in buffers)
