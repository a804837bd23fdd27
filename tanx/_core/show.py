"""Print jaxprs, letter for letter as JAX does.

A jaxpr is first written as a document of texts and possible line breaks, then laid out. A group is
one line if it fits, else all of its breaks end lines::

    { lambda ; a:f32[3]. let b:f32[3] = mul a 2.0:f32[] in (b,) }

Variables are named in order of occurrence; inside ``jit`` the variables of the inner jaxpr take the
names of the values they are bound to. Jaxprs that are used twice, or are long, come first, under
separate names.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._base.config import pprint_use_color
from .._base.tuples import NamedTuple
from .jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params

__all__ = ["show_eqn", "show_jaxpr", "show_literal"]

# A jaxpr with more equations than these is not printed inside another one.
LONGEST_INNER = 10


# --- Documents ------------------------------------------------------------------------------------

Style = tuple[int, int]  # the ANSI codes of colour and of intensity
PLAIN, KEYWORD, TYPE = (39, 22), (34, 1), (35, 22)


class Text(NamedTuple):
    """Words in a style, and remarks for the end of their line."""

    words: str
    style: Style = PLAIN
    remarks: tuple[str, ...] = ()


class Break(NamedTuple):
    """The end of a line, or ``flat`` if the group around it fits on one line."""

    flat: str = " "


class Nest(NamedTuple):
    """Lines that begin inside are indented further."""

    indent: int
    inside: Document


class Group(NamedTuple):
    """A group whose own breaks are all flat, or none of them."""

    inside: Document


Document = str | list | Text | Break | Nest | Group


def fill(items: Iterable[Document], separator: str = "") -> Document:
    """Items with spaces between them; a line ends after the item that crosses its margin."""
    filled: list[Document] = []
    for item in items:
        filled += [separator, Group(Break()), item] if filled else [item]
    return filled


def fits(document: Document, room: int) -> bool:
    """Whether a document laid out flat takes at most ``room`` columns."""
    rest = [document]
    while rest and room >= 0:
        match rest.pop():
            case str(words) | Text(words=words) | Break(flat=words):
                room -= len(words)
            case Nest(inside=inside) | Group(inside=inside):
                rest.append(inside)
            case items:
                rest.extend(reversed(items))
    return room >= 0


class Page:
    """Lays out a document in lines of ``width`` columns if possible."""

    def __init__(self, width: int, use_color: bool):
        self.width = width
        self.use_color = use_color
        self.style = PLAIN
        self.lines: list[list[str]] = [[]]
        self.column = 0
        self.columns: list[int] = []  # how long each finished line is, colours not counted
        self.remarks: dict[int, list[str]] = {}  # by line

    def write(self, document: Document) -> None:
        """Set a document, starting where the last one ended."""
        rest: list[tuple[int, bool, Document]] = [(0, False, document)]
        while rest:
            indent, flat, now = rest.pop()
            match now:
                case str():
                    self.put(now, PLAIN)
                case Text(words, style, remarks):
                    self.put(words, style)
                    if remarks:
                        self.remarks.setdefault(len(self.lines) - 1, []).extend(remarks)
                case Break() if flat:
                    self.put(now.flat, PLAIN)
                case Break():
                    self.end_line(indent)
                case Nest(more, inside):
                    rest.append((indent + more, flat, inside))
                case Group(inside):
                    rest.append((indent, flat or fits(inside, self.width - self.column), inside))
                case items:
                    rest.extend((indent, flat, item) for item in reversed(items))

    def put(self, words: str, style: Style) -> None:
        """Append words to the line."""
        if self.use_color and words and style != self.style:
            codes = [str(new) for new, old in zip(style, self.style) if new != old]
            self.lines[-1].append(f"\x1b[{';'.join(codes)}m")
            self.style = style
        self.lines[-1].append(words)
        self.column += len(words)

    def end_line(self, indent: int) -> None:
        """Begin a new line."""
        self.columns.append(self.column)
        self.lines.append([" " * indent])
        self.column = indent

    def text(self, remark_prefix: str) -> str:
        """All lines; remarks are aligned to the right of the longest line."""
        margin = max([*self.columns, self.column])
        text = []
        for i, (pieces, columns) in enumerate(zip(self.lines, [*self.columns, self.column])):
            line = "".join(pieces)
            for remark in self.remarks.get(i, ()):
                text.append(line + " " * (margin - columns) + remark_prefix + remark)
                line, columns = "", 0
            if i not in self.remarks:
                text.append(line)
        return "\n".join(text)


# --- Names ----------------------------------------------------------------------------------------


def letters() -> Iterator[str]:
    """``a``, ``b``, …, ``z``, ``ba``, ``bb``, …: numbers to base 26."""
    for number in itertools.count():
        name = ""
        while number or not name:
            number, digit = divmod(number, 26)
            name = chr(ord("a") + digit) + name
        yield name


class Names:
    """Names of variables, given when first needed."""

    def __init__(self, taken: Iterable[str] = ()):
        taken = frozenset(taken)
        self.given: dict[Var, str] = {}
        self.free = (name for name in letters() if name not in taken)

    def __getitem__(self, var: Var) -> str:
        if var not in self.given:
            self.given[var] = next(self.free)
        return self.given[var]

    def drop_unused(self, jaxpr: Jaxpr) -> None:
        """Name ``_`` the results that no equation reads."""
        used = {atom for eqn in jaxpr.eqns for atom in eqn.invars}
        used.update(jaxpr.outvars)
        for eqn in jaxpr.eqns:
            for var in eqn.outvars:
                if var not in used:
                    self.given.setdefault(var, "_")

    def pass_through(self, eqn: JaxprEqn, jaxpr: Jaxpr) -> None:
        """Let variables of a called jaxpr share the names of its operands and results."""
        passed: set[Var] = set()
        for argument, var in zip(eqn.invars, jaxpr.invars, strict=True):
            if isinstance(argument, Var) and argument not in passed:
                passed.add(argument)
                self.given.setdefault(var, self[argument])
        for var, result in zip(eqn.outvars, jaxpr.outvars, strict=True):
            if isinstance(result, Var) and result not in self.given:
                self.given[result] = self[var]


# --- Jaxprs ---------------------------------------------------------------------------------------


class Options(NamedTuple):
    """What to print; see :func:`show_jaxpr`."""

    source_info: bool = False
    name_stack: bool = False
    print_shapes: bool = True
    print_effects: bool = False
    custom_pp_eqn_rules: bool = True

    def params(self, eqn: JaxprEqn) -> dict[str, Any]:
        """The parameters to print, in order."""
        if not self.custom_pp_eqn_rules:
            return dict(sorted(eqn.params.items()))
        shown = eqn.primitive.show_params(eqn.params)
        first = "name" if eqn.primitive.name_first else None
        return dict(sorted(shown.items(), key=lambda item: (item[0] != first, item[0])))


class Printer:
    """Writes jaxprs and equations as documents."""

    def __init__(self, options: Options, shared: dict[Jaxpr, str]):
        self.options = options
        self.shared = shared
        self.names = Names(shared.values())

    def jaxpr(self, jaxpr: Jaxpr) -> Document:
        """``{ lambda constants; arguments. let equations in (results) }``."""
        head: Document = [self.binders(jaxpr.constvars), "; ", self.binders(jaxpr.invars), "."]
        body: list[Document] = []
        for eqn in jaxpr.eqns:
            body += [Break("; "), self.equation(eqn)] if body else [self.equation(eqn)]
        outs = fill(map(self.atom, jaxpr.outvars), ",")
        tail: list[Document] = ["(", outs, ",)" if len(jaxpr.outvars) == 1 else ")"]
        if self.options.print_effects:
            tail.append(f" : {{ {', '.join(sorted(map(str, jaxpr.effects)))} }}")
        return Group([
            "{ ", Text("lambda ", KEYWORD), Nest(4, head), " ", Text("let", KEYWORD),
            Nest(4, [Break(), body]), Nest(2, Break()), Text("in ", KEYWORD), Nest(4, tail), " }"])

    def equation(self, eqn: JaxprEqn) -> Document:
        """``results = primitive[parameters] operands``."""
        params = self.options.params(eqn)
        if eqn.primitive.shares_names and self.options.custom_pp_eqn_rules:
            inner = _open(eqn.primitive.called(eqn.params))
            if inner is not None and inner not in self.shared:
                self.names.pass_through(eqn, inner)
        outs: list[Document] = [Nest(2, self.binders(eqn.outvars))] if eqn.outvars else []
        if eqn.primitive.show_equation is not None and self.options.custom_pp_eqn_rules:
            return eqn.primitive.show_equation(eqn, outs, self.atom)
        outs += [" = "] if outs else []
        return [*outs, Text(eqn.primitive.name, remarks=self.remarks(eqn)), self.params(params),
                " ", Nest(2, fill(map(self.atom, eqn.invars)))]

    def params(self, params: dict[str, Any]) -> Document:
        """``[name=value name=value]``, or one per line."""
        if not params:
            return ""
        items = [[Break() if i else Break(""), f"{name}=", self.value(value)]
                 for i, (name, value) in enumerate(params.items())]
        return Group(["[", Nest(2, items), Break(""), "]"])

    def value(self, value) -> Document:
        """The value of a parameter: a jaxpr, a tuple of jaxprs, or any object as text."""
        jaxpr = _open(value)
        if jaxpr is not None:
            return self.shared[jaxpr] if jaxpr in self.shared else self.jaxpr(jaxpr)
        if type(value) is tuple and value and all(_open(x) is not None for x in value):
            items = [[Break() if i else Break(""), self.value(x)] for i, x in enumerate(value)]
            return Group(["(", Nest(2, items), Break(""), ")"])
        # Addresses of objects differ from run to run.
        return re.sub(r"(?<= at 0x)[0-9a-f]+(?=>)", lambda found: "X" * len(found[0]), str(value))

    def binders(self, variables: Sequence[Var]) -> Document:
        """Variables where they are bound, with their types."""
        if not self.options.print_shapes:
            return fill(self.names[var] for var in variables)
        return fill([self.names[var], Text(f":{var.aval.str_short(short_dtypes=True)}", TYPE)]
                    for var in variables)

    def atom(self, atom: Atom) -> str:
        """A variable by its name, or a literal with its type."""
        if isinstance(atom, Literal):
            return show_literal(atom)
        return self.names[atom]

    def remarks(self, eqn: JaxprEqn) -> tuple[str, ...]:
        """Where the equation comes from, as far as the options request it."""
        source, options = eqn.source_info, self.options
        scopes = "/".join(source.scopes) if source else ""
        return ((str(source or ""),) if options.source_info else ()) + (
            (f"[{scopes}]",) if options.name_stack else ())


def _open(value) -> Jaxpr | None:
    """A parameter as a jaxpr without constants, or None if it is not a jaxpr."""
    if isinstance(value, ClosedJaxpr):
        return value.jaxpr
    return value if isinstance(value, Jaxpr) else None


def _name_of_call(eqn: JaxprEqn) -> str:
    """The name of the jaxpr of an equation; one with custom rules has none."""
    custom = eqn.primitive.name.startswith("custom_")
    return str("" if custom else eqn.params.get("name", "")).strip("<>") or "jaxpr"


def _shared_jaxprs(jaxpr: Jaxpr, options: Options) -> dict[Jaxpr, str]:
    """The inner jaxprs to print first, with their names: those used twice, and long ones.

    One sweep, outermost first. Jaxprs inside a jaxpr used twice are used twice themselves; more
    uses make no difference, so each is visited at most twice.
    """
    uses: dict[Jaxpr, int] = {}
    called: dict[Jaxpr, str] = {}
    queue = deque([jaxpr])
    while queue:
        for eqn in queue.popleft().eqns:
            for inner in jaxprs_in_params(options.params(eqn)):
                uses[inner] = uses.get(inner, 0) + 1
                called.setdefault(inner, _name_of_call(eqn))
                if uses[inner] <= 2:
                    queue.append(inner)
    names: dict[str, Jaxpr] = {}
    for inner, count in uses.items():
        if count > 1 or len(inner.eqns) > LONGEST_INNER:
            stem = called[inner]
            free = itertools.chain([stem], (f"{stem}{i}" for i in itertools.count(1)))
            names[next(name for name in free if name not in names)] = inner
    return {inner: name for name, inner in names.items()}


def show_jaxpr(jaxpr: Jaxpr | ClosedJaxpr, *, source_info: bool = False, print_shapes: bool = True,
               custom_pp_eqn_rules: bool = True, name_stack: bool = False,
               print_effects: bool = False, use_color: bool | None = None, width: int = 80,
               annotation_prefix: str = " # ") -> str:
    """A jaxpr as text.

    Args:
      source_info: Add the user's line behind each equation.
      print_shapes: Write the types of variables.
      custom_pp_eqn_rules: Omit redundant parameters. If False, all are printed.
      name_stack: Add the named scopes behind each equation.
      print_effects: Add the effects of each jaxpr.
      use_color: Colour keywords and types by ANSI codes. None means
        ``tanx.config.jax_pprint_use_color``, for terminals.
        width: The preferred number of columns.
        annotation_prefix: The text before a line's remarks.
    """
    if use_color is None:
        use_color = pprint_use_color.value and sys.stdout is not None and sys.stdout.isatty()
    options = Options(source_info, name_stack, print_shapes, print_effects, custom_pp_eqn_rules)
    outermost = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    shared = _shared_jaxprs(outermost, options)
    printer = Printer(options, shared)
    printer.names.drop_unused(outermost)
    page = Page(width, use_color)
    for inner, name in shared.items():
        page.write([f"let {name} = ", printer.jaxpr(inner), " in", Break()])
    page.write(printer.jaxpr(outermost))
    return page.text(annotation_prefix)


def show_literal(literal: Literal, print_dtype: bool = True) -> str:
    """A scalar constant as text, with its type."""
    value = np.asarray(literal.val).item() if literal.written is None else literal.written
    return f"{value}:{literal.aval.str_short(short_dtypes=True)}" if print_dtype else f"{value}"


def show_eqn(eqn: JaxprEqn, *, width: int = 80) -> str:
    """One equation as text, with variables named as if it were alone."""
    page = Page(width, use_color=False)
    page.write(Printer(Options(), {}).equation(eqn))
    return page.text("")
