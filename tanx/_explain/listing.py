"""Jaxprs as lists of equations, and the source lines that made them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from .._core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxprs_in_params
from .._core.primitive import Kind
from .._core.show import Options, Page, Printer
from .._core.source import SourceInfo
from .facts import Equation, Line, Section

__all__ = ["LARGE", "Listing"]

LARGE = (Kind.CONTRACTION, Kind.CALL)
"""Kinds of primitives that name a kernel and its source line, before all others."""

_WIDTH = 1_000_000
"""Columns of a line: wide enough that no equation is broken."""
_LONGEST = 600
"""Limit of characters of an equation; constants and parameters can be long."""


class _Brief(Options):
    """Leaves out parameters that are not given."""

    __slots__ = ()

    def params(self, eqn: JaxprEqn) -> dict[str, Any]:
        return {k: v for k, v in super().params(eqn).items() if v is not None}


class Listing:
    """Lists jaxprs; ``lines`` are the source lines so far, in the order of their numbers."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int], int] = {}
        self._lines: list[Line] = []

    @property
    def lines(self) -> tuple[Line, ...]:
        return tuple(self._lines)

    def line(self, source: SourceInfo | None) -> int | None:
        """The number of a source line; None for an equation without one."""
        if source is None or not source.line:
            return None
        key = source.file, source.line
        if key not in self._numbers:
            self._numbers[key] = len(self._lines)
            self._lines.append(Line(source.file, source.line, source.text, source.function))
        return self._numbers[key]

    def sections(self, closed: ClosedJaxpr,
                 kernels: Mapping[int, tuple[int, ...]]) -> tuple[Section, ...]:
        """A jaxpr and the jaxprs inside it.

        ``kernels`` has the kernels of each equation of the outermost one; equations inside of an
        equation have the same kernels.
        """
        jaxpr = closed.jaxpr
        names = _names(jaxpr)
        runs_in: dict[Jaxpr, tuple[int, ...]] = {}  # the kernels of the first equation that runs it
        printer = Printer(_Brief(), names)
        printer.names.drop_unused(jaxpr)
        sections: list[Section] = []
        first = 0
        for one, name in ((jaxpr, ""), *names.items()):
            own = [kernels.get(n, ()) if one is jaxpr else runs_in[one]
                   for n in range(len(one.eqns))]
            for eqn, those in zip(one.eqns, own):
                for inner in jaxprs_in_params(eqn.params):
                    runs_in.setdefault(inner, those)
            constants, arguments = (_text(printer.binders(v)) for v in (one.constvars, one.invars))
            equations = tuple(map(self._equation, one.eqns, [printer] * len(own), own))
            results = ", ".join(map(printer.atom, one.outvars))
            sections.append(Section(name, _cut(f"lambda {constants}; {arguments}."), first,
                                    equations, _cut(f"in ({results})")))
            first += len(equations)
        return tuple(sections)

    def _equation(self, eqn: JaxprEqn, printer: Printer, kernels: tuple[int, ...]) -> Equation:
        kind = eqn.primitive.kind
        return Equation(_cut(_text(printer.equation(eqn))), eqn.primitive.name,
                        self.line(eqn.source_info), kernels, kind is Kind.LAYOUT, kind in LARGE)


def _names(jaxpr: Jaxpr) -> dict[Jaxpr, str]:
    """All jaxprs inside of a jaxpr, with names; the outer ones come first."""
    found: dict[Jaxpr, str] = {}
    taken: set[str] = set()
    waiting = [jaxpr]
    while waiting:
        for eqn in waiting.pop(0).eqns:
            for inner in jaxprs_in_params(eqn.params):
                if inner not in found:
                    stem = str(eqn.params.get("name") or eqn.primitive.name).strip("<>")
                    numbered = (f"{stem}{n}" for n in itertools.count(1))
                    name = next(n for n in itertools.chain([stem], numbered) if n not in taken)
                    taken.add(name)
                    found[inner] = name
                    waiting.append(inner)
    return found


def _text(document) -> str:
    page = Page(_WIDTH, False)
    page.write(document)
    return page.text("")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
