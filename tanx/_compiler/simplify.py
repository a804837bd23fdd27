"""Smaller jaxprs of the same meaning: calls inlined, constants folded, equal equations merged.

Results are those of the original bit for bit, except for the payload of NaN and for sums of one
element, which keep the sign of a zero: ``x * 0`` is not 0, and ``x + 0`` is ``x`` only where the
sign of a zero makes no difference. Each pass is one sweep over the equations;
:mod:`tanx._compiler.algebra` has the rewrites of single equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.array import Array
from .._core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, cached_by_jaxpr
from .._core.primitive import Kind
from .._core.rewrite import dce, inline_calls, prune_constants
from .._core.types import ShapedArray
from .._ops.base import broadcast_in_dim_p
from .._ops.convert import optimization_barrier_p
from .._ops.create import scratch_p
from .._ops.families import Elementwise
from ..dtypes import is_extended, stored
from .algebra import RULES
from .tuning import USUAL, SimplifyTuning

__all__ = ["drop_dead", "inline", "simplify"]

_COMMUTATIVE = frozenset(("add", "mul", "and", "or", "xor", "eq", "ne"))
_REPEATING = frozenset(("broadcast_in_dim", "reshape", "transpose", "squeeze", "rev", "slice",
                        "tile"))
"""Layouts of one operand: applied to an array of equal elements, they give equal elements."""


# -- calls -----------------------------------------------------------------------------------------


def inline(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Inline bodies that run once: those of ``jit``, ``checkpoint`` and similar calls.

    The recomputation of ``checkpoint`` stays behind a barrier, so that it is not merged with the
    first computation: that would keep alive the values that checkpoint drops.
    """
    return inline_calls(closed, _called)


def _called(eqn: JaxprEqn) -> ClosedJaxpr | None:
    body = eqn.primitive.body([a.aval for a in eqn.invars], eqn.params)
    again = eqn.params.get("prevent_cse") and eqn.params.get("differentiated")
    return _behind_barrier(body) if again and body is not None else body


@cached_by_jaxpr
def _behind_barrier(closed: ClosedJaxpr) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    given = [Var(v.aval) for v in jaxpr.invars]
    barrier = JaxprEqn(given, jaxpr.invars, optimization_barrier_p, {})
    return ClosedJaxpr(jaxpr.replace(invars=given, eqns=[barrier, *jaxpr.eqns]), closed.consts)


# -- one sweep -------------------------------------------------------------------------------------


def simplify(closed: ClosedJaxpr, tuning: SimplifyTuning = USUAL.simplify) -> ClosedJaxpr:
    """Fold, rewrite and merge equations in one sweep, then drop unused equations.

    Equations of small constants are folded, by ``eval``. Equations with the same primitive, the
    same operands (in either order if the primitive commutes) and equal parameters are merged.
    Equations with effects are left alone.
    """
    sweep = Sweep(closed, tuning)
    for eqn in closed.jaxpr.eqns:
        sweep.equation(eqn)
    return drop_dead(sweep.finish())


def drop_dead(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Drop equations and constants that no result and no effect needs."""
    jaxpr, _ = dce(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
    return prune_constants(ClosedJaxpr(jaxpr, closed.consts))


class Sweep:
    """The state of a sweep over a jaxpr; rules of the algebra ask it about their operands."""

    def __init__(self, closed: ClosedJaxpr, tuning: SimplifyTuning):
        self.tuning = tuning
        self.source = closed.jaxpr
        self.eqns: list[JaxprEqn] = []
        self.constants: dict[Var, Any] = {}
        self.names: dict[Var, Atom] = {}  # what replaces a variable of the source
        self.producers: dict[Var, JaxprEqn] = {}
        self.values: dict[Var, np.ndarray] = {}  # small arrays that are known
        self.repeated: dict[Var, Literal] = {}  # arrays whose elements are all this scalar
        self.first: dict[tuple, list[Var]] = {}
        for var, value in zip(closed.jaxpr.constvars, closed.consts):
            if var.aval.shape == ():
                self.names[var] = Literal(_data(value), var.aval)
            else:
                self._add_constant(var, value)

    # -- what rules may ask ------------------------------------------------------------------------

    def producer(self, atom: Atom, name: str | None = None) -> JaxprEqn | None:
        """The equation that computes a variable, if its primitive has that name."""
        eqn = self.producers.get(atom) if isinstance(atom, Var) else None
        return eqn if eqn is None or name is None or eqn.primitive.name == name else None

    def scalar(self, atom: Atom) -> np.ndarray | None:
        """The value of all elements of an operand, if it is known."""
        literal = atom if isinstance(atom, Literal) else self.repeated.get(atom)
        return None if literal is None else np.asarray(literal.val)

    def apply(self, source: JaxprEqn, primitive, *operands: Atom, **params) -> Atom:
        """Emit another equation, simplified, as a step towards the replacement of ``source``."""
        out = Var(primitive.infer(*(a.aval for a in operands), **params))
        self.equation(JaxprEqn(operands, [out], primitive, params,
                               source_info=source.source_info))
        return self.read(out)

    # -- the sweep ---------------------------------------------------------------------------------

    def equation(self, eqn: JaxprEqn) -> None:
        """Process the next equation of the source."""
        invars = [self.read(atom) for atom in eqn.invars]
        if eqn.primitive is optimization_barrier_p:
            self.barrier(eqn, invars)
            return
        eqn = eqn.replace(invars=invars)
        if eqn.effects or eqn.primitive.kind is Kind.CALL or eqn.primitive is scratch_p:
            self.emit(eqn)  # buffers of equal type, but different ones
            return
        for _ in range(4):  # one rule may enable another
            if self.fold(eqn):
                return
            self.take_scalars(eqn)
            rule = RULES.get(eqn.primitive.name)
            simpler = None if rule is None else rule(self, eqn)
            if simpler is not None and not isinstance(simpler, JaxprEqn):
                if _same_type(simpler.aval, eqn.outvars[0].aval):
                    self.names[eqn.outvars[0]] = simpler
                    return
                simpler = None
            simpler = simpler or self.narrow(eqn)
            if simpler is None:
                break
            eqn = simpler
        self.merge(eqn)

    def read(self, atom: Atom) -> Atom:
        return self.names.get(atom, atom) if isinstance(atom, Var) else atom

    def barrier(self, eqn: JaxprEqn, invars: list[Atom]) -> None:
        """Put a barrier around variables, but not constants: their computation is not saved."""
        known = [not isinstance(a, Var) or a in self.repeated or a in self.constants
                 for a in invars]
        self.names.update((v, a) for v, a, k in zip(eqn.outvars, invars, known) if k)
        kept = [(v, a) for v, a, k in zip(eqn.outvars, invars, known) if not k]
        if kept:
            self.emit(eqn.replace(invars=[a for _, a in kept], outvars=[v for v, _ in kept]))

    def narrow(self, eqn: JaxprEqn) -> JaxprEqn | None:
        """Compute elementwise operations before their operands are broadcast."""
        if not isinstance(eqn.primitive, Elementwise) or not eqn.outvars[0].aval.shape:
            return None
        params = dict(shape=eqn.outvars[0].aval.shape, broadcast_dimensions=(), sharding=None)
        sources: dict[Atom, Atom] = {}
        inner = None
        for atom in eqn.invars:
            behind = self.producer(atom, "broadcast_in_dim")
            if not atom.aval.shape:
                continue
            if atom in self.repeated:
                sources[atom] = self.repeated[atom]
                continue
            if behind is None or inner not in (None, behind.invars[0].aval.shape) or (
                    inner is not None and behind.params != params):
                return None
            inner, params, sources[atom] = (behind.invars[0].aval.shape, behind.params,
                                            behind.invars[0])
        if not sources or params["shape"] != eqn.outvars[0].aval.shape:
            return None
        small = [sources.get(a, a) for a in eqn.invars]
        return eqn.replace(primitive=broadcast_in_dim_p, params=params,
                           invars=[self.apply(eqn, eqn.primitive, *small, **eqn.params)])

    def take_scalars(self, eqn: JaxprEqn) -> None:
        """Let an elementwise equation read scalars where operands are broadcast scalars."""
        if len(eqn.invars) < 2 or not isinstance(eqn.primitive, Elementwise):
            return
        shape = eqn.outvars[0].aval.shape
        for position, atom in enumerate(eqn.invars):
            others = eqn.invars[:position] + eqn.invars[position + 1:]
            if atom in self.repeated and any(a.aval.shape == shape for a in others):
                eqn.invars[position] = self.repeated[atom]

    def fold(self, eqn: JaxprEqn) -> bool:
        """Replace an equation by its value if that is known and small."""
        if self._fold_repeated(eqn):
            return True
        operands = [self._known(atom) for atom in eqn.invars]
        if any(x is None for x in operands) or any(
                v.aval.size > self.tuning.folded for v in eqn.outvars):
            return False
        results = _evaluate(eqn, operands)
        # A layout of constants costs nothing where it is read, and needs no memory.
        keeps = eqn.primitive.kind is Kind.LAYOUT and len(eqn.outvars) == 1
        if keeps and eqn.outvars[0].aval.shape:
            self.values[eqn.outvars[0]] = results[0]
            self.emit(eqn)
            return True
        for var, value in zip(eqn.outvars, results):
            if var.aval.shape == ():
                self.names[var] = Literal(value, var.aval)
            elif var.aval.size == 1 and isinstance(var.aval.dtype, np.dtype):
                self._repeat(eqn.replace(outvars=[var]), np.asarray(value).reshape(()))
            else:
                self._add_constant(var, value)
        return True

    def _fold_repeated(self, eqn: JaxprEqn) -> bool:
        """An array of equal elements, if all operands are: one element is computed."""
        (out, *others), name = eqn.outvars, eqn.primitive.name
        if others or not out.aval.shape or not eqn.invars:
            return False
        scalars = [s for s in map(self.scalar, eqn.invars) if s is not None]
        if len(scalars) < len(eqn.invars):
            return False
        if name in _REPEATING:
            value = scalars[0]
        elif isinstance(eqn.primitive, Elementwise):
            (value,) = _evaluate(eqn, scalars, ShapedArray((), out.aval.dtype))
        else:
            return False
        self._repeat(eqn, value)
        return True

    def _repeat(self, eqn: JaxprEqn, value: Any) -> None:
        """Write an equation whose result has equal elements as a broadcast scalar."""
        (out,) = eqn.outvars
        literal = Literal(value, ShapedArray((), out.aval.dtype, out.aval.weak_type))
        self.repeated[out] = literal
        if out.aval.size <= self.tuning.folded:
            self.values[out] = np.broadcast_to(value, out.aval.shape)
        self.merge(eqn.replace(primitive=broadcast_in_dim_p, invars=[literal], params=dict(
            shape=out.aval.shape, broadcast_dimensions=(), sharding=None)))

    def merge(self, eqn: JaxprEqn) -> None:
        """Use the results of an equal equation, or emit this one."""
        key = _key(eqn)
        known = None if key is None else self.first.get(key)
        if known is None:
            if key is not None:
                self.first[key] = eqn.outvars
            self.emit(eqn)
            return
        self.names.update(zip(eqn.outvars, known))

    def emit(self, eqn: JaxprEqn) -> None:
        self.eqns.append(eqn)
        for var in eqn.outvars:
            self.producers[var] = eqn

    def finish(self) -> ClosedJaxpr:
        outvars = [self.read(atom) for atom in self.source.outvars]
        jaxpr = Jaxpr(list(self.constants), self.source.invars, outvars, self.eqns,
                      debug_info=self.source.debug_info)
        return ClosedJaxpr(jaxpr, list(self.constants.values()))

    def _known(self, atom: Atom) -> np.ndarray | None:
        return np.asarray(atom.val) if isinstance(atom, Literal) else self.values.get(atom)

    def _add_constant(self, var: Var, value) -> None:
        data = _data(value)
        keys = is_extended(var.aval.dtype) and type(value) is not Array
        self.constants[var] = Array(data, False, var.aval) if keys else value
        if var.aval.size <= self.tuning.folded:
            self.values[var] = data


def _data(constant) -> np.ndarray:
    return constant._value if type(constant) is Array else np.asarray(constant)


def _evaluate(eqn: JaxprEqn, operands: Sequence[Any], aval: ShapedArray | None = None,
              ) -> list[np.ndarray]:
    """The results of an equation on NumPy arrays."""
    with np.errstate(all="ignore"):
        out = eqn.primitive.eval(*operands, **eqn.params)
    outs = out if eqn.primitive.multiple_results else [out]
    avals = [v.aval for v in eqn.outvars] if aval is None else [aval]
    return [np.asarray(x, stored(a.dtype)).reshape(a.shape)
            for x, a in zip(outs, avals, strict=True)]


def _same_type(a, b) -> bool:
    """Whether types agree, except for weakness."""
    return a.shape == b.shape and a.dtype == b.dtype


def _key(eqn: JaxprEqn) -> tuple | None:
    """A key that equal equations share; None for an equation that is never merged."""
    if eqn.primitive is optimization_barrier_p:
        return None
    operands = [a if isinstance(a, Var) else _literal_key(a) for a in eqn.invars]
    if eqn.primitive.name in _COMMUTATIVE:
        operands.sort(key=_order)
    # 0.0 equals -0.0 and 1 equals True, but these are different parameters.
    params = tuple([(name, type(p), str(p) if type(p) is float else p)
                    for name, p in eqn.params.items()])
    key = (eqn.primitive, *operands, params)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _order(operand) -> tuple[bool, int]:
    """Variables before literals; literals are equal by value, so their identity must not count."""
    return (True, hash(operand)) if isinstance(operand, tuple) else (False, id(operand))


def _literal_key(literal: Literal) -> tuple:
    value = np.asarray(literal.val)
    return value.dtype, value.tobytes()
