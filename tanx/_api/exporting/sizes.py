"""The sizes of the arguments of a call, compared with the sizes a program was exported for.

Symbolic sizes are solved for: each variable from a size that is linear in it and in no other
unknown one. The program is then specialised, once for each set of values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..._base.symbolic import bounds, evaluate, is_symbolic, parse_dim, scope_of, variables_of
from ..._base.tuples import NamedTuple
from ..._core.instantiate import instantiate
from ..._core.jaxpr import ClosedJaxpr
from ..._core.types import ShapedArray, typeof
from ...errors import explain

__all__ = ["Sizes"]

MOST_PROGRAMS = 64
"""Limit of specialised programs that one exported function keeps."""


class _Step(NamedTuple):
    """How a variable follows from a size: it is (size - rest) / factor."""

    name: str
    argument: int
    axis: int
    factor: int
    rest: Any


class Sizes:
    """The sizes that arguments may have."""

    def __init__(self, in_avals: Sequence[ShapedArray]):
        self.in_avals = in_avals
        self.scope = scope_of(d for aval in in_avals for d in aval.shape)
        self.programs: dict[tuple, ClosedJaxpr] = {}
        self.steps = [] if self.scope is None else self._solution()

    def _solution(self) -> list[_Step]:
        """The order in which variables are found, and from which sizes."""
        steps: list[_Step] = []
        known: set[str] = set()
        places = [(i, axis, d) for i, aval in enumerate(self.in_avals)
                  for axis, d in enumerate(aval.shape) if is_symbolic(d)]
        found = True
        while found:
            found = False
            for i, axis, d in places:
                step = _solved(d, known)
                if step is not None:
                    name, factor = step
                    steps.append(_Step(name, i, axis, factor, evaluate(d, _Zero(name, d.scope))))
                    known.add(name)
                    found = True
        missing = set().union(*(variables_of(d) for *_, d in places)) - known
        if missing:
            raise ValueError(explain(
                "tanx.export", "sizes do not determine the values of all variables.",
                f"variables: {', '.join(sorted(missing))}",
                f"sizes:     {', '.join(str(d) for *_, d in places)}",
                hint="each variable needs a size that is linear in it and has no other unknown."))
        return steps

    def check(self, exported: Any, leaves: Sequence) -> None:
        """Raise if arguments have sizes that do not match the program."""
        shapes = [typeof(x).shape for x in leaves]
        values = self.values(exported, shapes) if self.scope is not None else {}
        for i, (shape, aval) in enumerate(zip(shapes, self.in_avals)):
            for axis, (given, d) in enumerate(zip(shape, aval.shape)):
                expected = evaluate(d, values)
                if given != expected:
                    more = [f"size {axis}:       {d} = {expected}"] if is_symbolic(d) else []
                    raise exported._mismatch("was called with an argument of another shape.", i,
                                             typeof(leaves[i]), *more, *_listed(values))
        for constraint in self.scope.constraints if self.scope is not None else ():
            if variables_of(constraint.difference) <= values.keys():
                found = evaluate(constraint.difference, values)
                if found != 0 if constraint.is_equation else bounds(found)[0] < 0:
                    raise ValueError(explain(
                        "tanx.export.Exported.call",
                        f"{exported.fun_name} was called with sizes that break the constraint "
                        f"{constraint.text}.", *_listed(values)))

    def values(self, exported: Any, shapes: Sequence[tuple]) -> dict[str, Any]:
        """The values of the variables, from the shapes of arguments."""
        values: dict[str, Any] = {}
        for name, i, axis, factor, rest in self.steps:
            size = shapes[i][axis] - evaluate(rest, values)
            value = size // factor
            if size % factor != 0 or bounds(value)[0] < 1:
                aval = ShapedArray(shapes[i], self.in_avals[i].dtype)
                raise exported._mismatch(
                    f"was called with a size for which there is no {name} of 1 or more.", i, aval,
                    f"size {axis}:       {self.in_avals[i].shape[axis]} = {shapes[i][axis]}",
                    *_listed(values))
            values[name] = value
        return values

    def specialised(self, exported: Any, leaves: Sequence) -> ClosedJaxpr:
        """The program for the sizes of some arguments."""
        if self.scope is None:
            return exported._program
        values = self.values(exported, [typeof(x).shape for x in leaves])
        key = tuple(values.items())
        if key not in self.programs:
            if len(self.programs) == MOST_PROGRAMS:
                self.programs.clear()
            self.programs[key] = instantiate(exported._program, values)
        return self.programs[key]


def _solved(size: Any, known: set[str]) -> tuple[str, int] | None:
    """The one unknown variable in a size and its factor, if the size is linear in it."""
    unknown = variables_of(size) - known
    if len(unknown) != 1:
        return None
    (name,) = unknown
    factors = [(monomial, count) for monomial, count in size.terms
               if any(name == f or not isinstance(f, str) and (
                   name in variables_of(f.first) | variables_of(f.second))
                   for f, _ in monomial)]
    if len(factors) == 1 and factors[0][0] == ((name, 1),):
        return name, factors[0][1]
    return None


class _Zero(Mapping):
    """Values that leave all variables unchanged except one, which is 0."""

    def __init__(self, name: str, scope: Any):
        self.name, self.scope = name, scope

    def __getitem__(self, name: str) -> Any:
        return 0 if name == self.name else parse_dim(name, self.scope)

    def __iter__(self):
        return iter(())

    def __len__(self) -> int:
        return 0


def _listed(values: Mapping[str, Any]) -> list[str]:
    if not values:
        return []
    return [f"found:        {', '.join(f'{name} = {value}' for name, value in values.items())}"]
