"""Loops and branches in jaxprs: simplify their bodies and move loop invariants out.

The passes on jaxprs run on bodies, too. Constants of a body, and values that a loop computes from
constants only, become operands of the loop; a carry that no step changes becomes a constant of it.
Nothing is moved out of branches: a branch that is not taken costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._core.flow import Choice, ForLoop, WhileLoop
from .._core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .._core.primitive import Kind
from .._core.rewrite import substitute, with_their_needs
from .distribute import distribute
from .tuning import DistributeTuning

__all__ = ["is_control", "open_bodies"]

Passes = Callable[[ClosedJaxpr], ClosedJaxpr]


def open_bodies(closed: ClosedJaxpr, passes: Passes, tuning: DistributeTuning) -> ClosedJaxpr:
    """Run ``passes`` on the bodies of all loops and branches, including nested ones.

    Afterwards, no body has constants.
    """
    if not any(is_control(eqn) for eqn in closed.jaxpr.eqns):
        return closed
    opener = _Opener(closed, passes, tuning)
    for eqn in closed.jaxpr.eqns:
        opener.equation(eqn)
    jaxpr = closed.jaxpr
    return ClosedJaxpr(jaxpr.replace(
        constvars=list(opener.constants), eqns=opener.eqns,
        outvars=[opener.read(a) for a in jaxpr.outvars]), list(opener.constants.values()))


def is_control(eqn: JaxprEqn) -> bool:
    """Whether an equation is a loop or a branch."""
    return eqn.primitive.kind is Kind.CALL and eqn.primitive.flow(eqn.params) is not None


class _Opener:
    """The surrounding jaxpr, as far as it is written."""

    def __init__(self, closed: ClosedJaxpr, passes: Passes, tuning: DistributeTuning):
        self.passes, self.tuning = passes, tuning
        self.eqns: list[JaxprEqn] = []
        self.names: dict[Var, Atom] = {}
        self.constants: dict[Var, Any] = dict(zip(closed.jaxpr.constvars, closed.consts))
        self.held = {id(value): var for var, value in self.constants.items()}

    def read(self, atom: Atom) -> Atom:
        return self.names.get(atom, atom) if isinstance(atom, Var) else atom

    def equation(self, eqn: JaxprEqn) -> None:
        eqn = eqn.replace(invars=[self.read(a) for a in eqn.invars])
        after: list[JaxprEqn] = []
        match eqn.primitive.flow(eqn.params):
            case ForLoop() as loop:
                eqn, after = distribute(self.open_for(eqn, loop), self.eqns.append, self.tuning)
            case WhileLoop() as loop:
                eqn = self.open_while(eqn, loop)
            case Choice() as choice:
                eqn = self.open_choice(eqn, choice)
        self.eqns += [eqn, *after]

    def open_for(self, eqn: JaxprEqn, loop: ForLoop) -> JaxprEqn:
        constants, init, rows = loop.split(eqn.invars)
        body = self.passes(_specialized(loop.body, constants))
        kept = _changing(body.jaxpr, loop.constants, loop.carries)
        constants = [*constants, *(a for a, k in zip(init, kept) if not k)]
        body = self.without_fixed(eqn, body, loop.constants, kept, init)
        body, constants = self.hoisted(body, constants)
        init = [a for a, k in zip(init, kept) if k]
        return eqn.replace(
            invars=[*constants, *init, *rows], outvars=_kept(eqn.outvars, kept),
            params=eqn.primitive.with_flow(eqn.params, loop._replace(
                body=body, constants=len(constants), carries=len(init))))

    def open_while(self, eqn: JaxprEqn, loop: WhileLoop) -> JaxprEqn:
        eqn, loop = self.fixed_apart(eqn, loop)  # first of all: literals among them are inlined
        asked, constants, _ = loop.split(eqn.invars)
        eqn, loop = self.fixed_apart(eqn, loop._replace(
            condition=self.passes(_specialized(loop.condition, asked)),
            body=self.passes(_specialized(loop.body, constants))))
        asked, constants, init = loop.split(eqn.invars)
        condition, asked = self.hoisted(loop.condition, asked)
        body, constants = self.hoisted(loop.body, constants)
        return eqn.replace(
            invars=[*asked, *constants, *init],
            params=eqn.primitive.with_flow(
                eqn.params, WhileLoop(condition, len(asked), body, len(constants))))

    def fixed_apart(self, eqn: JaxprEqn, loop: WhileLoop) -> tuple[JaxprEqn, WhileLoop]:
        """A loop that takes the carries which no step changes as constants.

        The parameters of the equation are not updated.
        """
        asked, constants, init = loop.split(eqn.invars)
        kept = _changing(loop.body.jaxpr, loop.body_constants, len(init))
        fixed = [a for a, k in zip(init, kept) if not k]
        condition = _reordered(loop.condition, loop.condition_constants, kept)
        body = self.without_fixed(eqn, loop.body, loop.body_constants, kept, init)
        return (eqn.replace(invars=[*asked, *fixed, *constants, *fixed, *_kept(init, kept)],
                            outvars=_kept(eqn.outvars, kept)),
                WhileLoop(condition, len(asked) + len(fixed), body, len(constants) + len(fixed)))

    def open_choice(self, eqn: JaxprEqn, choice: Choice) -> JaxprEqn:
        """Pass the constants of all branches to each of them as operands."""
        which, *given = eqn.invars
        operands, branches = _merged(given, choice.branches)
        branches = [self.passes(_specialized(b, operands)) for b in branches]
        constants = [[self.constant(v, c) for v, c in zip(b.jaxpr.constvars, b.consts)]
                     for b in branches]
        together = list(dict.fromkeys(v for part in constants for v in part))
        opened = []
        for branch, own in zip(branches, constants):
            inner = dict(zip(own, branch.jaxpr.constvars))
            taken = [inner.get(v, Var(v.aval)) for v in together]
            opened.append(ClosedJaxpr(branch.jaxpr.replace(
                constvars=[], invars=[*taken, *branch.jaxpr.invars])))
        return eqn.replace(
            invars=[which, *together, *operands],
            params=eqn.primitive.with_flow(eqn.params, Choice(tuple(opened))))

    def constant(self, var: Var, value) -> Var:
        """The variable of the surrounding jaxpr that holds a constant of a body."""
        if id(value) not in self.held:
            self.held[id(value)] = new = Var(var.aval)
            self.constants[new] = value
        return self.held[id(value)]

    def without_fixed(self, eqn: JaxprEqn, body: ClosedJaxpr, first: int, kept: Sequence[bool],
                      init: Sequence[Atom]) -> ClosedJaxpr:
        """A body that takes the carries which no step changes as its last constants."""
        self.names.update((v, a) for v, a, k in zip(eqn.outvars, init, kept) if not k)
        body = _reordered(body, first, kept)
        return ClosedJaxpr(body.jaxpr.replace(outvars=_kept(body.jaxpr.outvars, kept)), body.consts)

    def hoisted(self, closed: ClosedJaxpr, operands: Sequence[Atom],
                ) -> tuple[ClosedJaxpr, list[Atom]]:
        """A body without loop invariants, and its constants: atoms of the surrounding jaxpr.

        The first arguments of the body are constants; their values are ``operands``.
        """
        jaxpr, count = closed.jaxpr, len(operands)
        outside: dict[Atom, Atom] = dict(zip(jaxpr.invars, operands))
        for var, value in zip(jaxpr.constvars, closed.consts):
            outside[var] = self.constant(var, value)
        moved = _invariant(jaxpr, outside)
        for eqn in moved:
            results = [Var(v.aval) for v in eqn.outvars]
            self.eqns.append(eqn.replace(invars=[outside.get(a, a) for a in eqn.invars],
                                         outvars=results))
            outside.update(zip(eqn.outvars, results))
        left = _still_needed(jaxpr, moved, outside)
        used = {a for eqn in left for a in eqn.invars}.union(jaxpr.outvars)
        taken = [v for v in outside if v in used]
        body = jaxpr.replace(constvars=[], invars=[*taken, *jaxpr.invars[count:]], eqns=left)
        return ClosedJaxpr(body), [outside[v] for v in taken]


def _invariant(jaxpr: Jaxpr, known: Iterable[Atom]) -> list[JaxprEqn]:
    """The equations worth moving out of a loop, and the equations that they need.

    Layouts and counters cost nothing where they are read, so they stay unless an equation that
    moves reads them.
    """
    makers: dict[Atom, JaxprEqn] = {}
    same = set(known)
    wanted: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        if eqn.effects or is_control(eqn) or not all(
                isinstance(a, Literal) or a in same for a in eqn.invars):
            continue
        same.update(eqn.outvars)
        makers.update((v, eqn) for v in eqn.outvars)
        if eqn.primitive.kind is not Kind.LAYOUT and eqn.invars:
            wanted.append(eqn)
    moved = with_their_needs(wanted, makers)
    return [eqn for eqn in jaxpr.eqns if eqn in moved]


def _still_needed(jaxpr: Jaxpr, moved: Sequence[JaxprEqn], outside) -> list[JaxprEqn]:
    """The equations that stay, including layouts that were moved for others but are still read."""
    gone = set(moved)
    needed = set(jaxpr.outvars)
    left = []
    for eqn in reversed(jaxpr.eqns):
        if eqn in gone and not (eqn.primitive.kind is Kind.LAYOUT and any(
                v in needed for v in eqn.outvars)):
            continue
        for v in eqn.outvars:
            outside.pop(v, None)
        needed.update(eqn.invars)
        left.append(eqn)
    return left[::-1]


def _specialized(closed: ClosedJaxpr, operands: Sequence[Atom]) -> ClosedJaxpr:
    """A body in which the literals among its first operands are inlined; it still takes them."""
    names = {v: a for v, a in zip(closed.jaxpr.invars, operands) if isinstance(a, Literal)}
    if not names:
        return closed
    read = lambda a: names.get(a, a) if isinstance(a, Var) else a
    return ClosedJaxpr(closed.jaxpr.replace(
        eqns=[e.replace(invars=[read(a) for a in e.invars]) for e in closed.jaxpr.eqns],
        outvars=[read(a) for a in closed.jaxpr.outvars]), closed.consts)


def _merged(operands: Sequence[Atom], bodies: Sequence[ClosedJaxpr],
            ) -> tuple[list[Atom], list[ClosedJaxpr]]:
    """Operands without repetition, and bodies that take them.

    An array that is passed twice, to be updated by one branch and returned by another, could not be
    updated in place.
    """
    first: dict[Atom, int] = {}
    for n, atom in enumerate(operands):
        first.setdefault(atom if isinstance(atom, Var) else Var(atom.aval), n)
    if len(first) == len(operands):
        return list(operands), list(bodies)
    merged = []
    for body in bodies:
        invars = body.jaxpr.invars
        names = {v: invars[first[a]] for v, a in zip(invars, operands) if a in first}
        merged.append(ClosedJaxpr(substitute(body.jaxpr, names).replace(
            invars=[invars[n] for n in first.values()]), body.consts))
    return [operands[n] for n in first.values()], merged


def _changing(jaxpr: Jaxpr, first: int, carried: int) -> list[bool]:
    """Which carries may differ from one step to the next."""
    return [out is not given for out, given in zip(jaxpr.outvars, jaxpr.invars[first:])][:carried]


def _reordered(closed: ClosedJaxpr, first: int, kept: Sequence[bool]) -> ClosedJaxpr:
    """A body that takes the carries to be dropped before those to be kept."""
    invars = closed.jaxpr.invars
    carries = list(zip(invars[first:], kept))
    return ClosedJaxpr(closed.jaxpr.replace(
        invars=[*invars[:first], *(v for v, k in carries if not k),
                *(v for v, k in carries if k), *invars[first + len(kept):]]), closed.consts)


def _kept(items: Sequence[Any], kept: Sequence[bool]) -> list[Any]:
    """Items without the first ones that are not kept."""
    return [*(x for x, k in zip(items, kept) if k), *items[len(kept):]]
