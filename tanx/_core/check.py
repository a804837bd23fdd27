"""Check jaxprs: every variable bound once and before use, every equation's types inferred again.

Run after staging and after each pass when ``TANX_CHECK=1``. An error shows the equation, the line
of the user's code it came from, and what disagrees.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._base.config import enable_x64
from ..dtypes import is_extended, stored
from ..errors import JaxprTypeError, explain
from . import explicit
from .axes import axis_sizes
from .effects import NamedAxisEffect
from .jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .show import show_eqn
from .types import AbstractValue, ShapedArray, typeof

__all__ = ["check_jaxpr"]

# Jaxprs that passed. They are not checked again as parts of others, since passes never change them.
_passed: weakref.WeakSet[Jaxpr] = weakref.WeakSet()


def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """Raise :class:`~tanx.errors.JaxprTypeError` unless a jaxpr is well formed.

    Well formed means: variables are bound once and before they are used; literals have their stated
    types; each equation has the results, types and effects that its primitive infers from its
    operands; all this inside inner jaxprs as well. Weak types may differ.
    """
    jaxpr = _without_constants(jaxpr)
    bound: set[Var] = set()
    _bind(bound, [*jaxpr.constvars, *jaxpr.invars], None)
    for eqn in jaxpr.eqns:
        _read(bound, eqn.invars, eqn)
        for inner in map(_without_constants, _inner_jaxprs(eqn.params)):
            if inner not in _passed:
                check_jaxpr(inner)
        _infer_again(eqn)
        _bind(bound, eqn.outvars, eqn)
    _read(bound, jaxpr.outvars, None)
    _check_effects(jaxpr.effects, frozenset().union(*(eqn.effects for eqn in jaxpr.eqns)), None)
    _passed.add(jaxpr)


def _inner_jaxprs(params: dict[str, Any]) -> Iterator[Jaxpr | ClosedJaxpr]:
    for value in params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, Jaxpr | ClosedJaxpr):
                yield item


def _without_constants(jaxpr: Jaxpr | ClosedJaxpr) -> Jaxpr:
    """The jaxpr itself, after checking that its constants have the types of their variables."""
    if type(jaxpr) is Jaxpr:
        return jaxpr
    with enable_x64(True):  # a NumPy array keeps its dtype where users cannot ask for it
        types = [typeof(value) for value in jaxpr.consts]
    for var, aval in zip(jaxpr.jaxpr.constvars, types, strict=True):
        if not _agree(var.aval, aval):
            raise _error("a constant has another type than its variable.", None,
                         f"variable: {var.aval}", f"constant: {aval}")
    return jaxpr.jaxpr


def _bind(bound: set[Var], variables: Iterable[Var], eqn: JaxprEqn | None) -> None:
    for var in variables:
        if var in bound:
            raise _error("a variable is bound twice.", eqn, f"variable: {var}")
        bound.add(var)


def _read(bound: set[Var], atoms: Sequence[Atom], eqn: JaxprEqn | None) -> None:
    for position, atom in enumerate(atoms):
        what = "operand" if eqn is not None else "output"
        if not isinstance(atom, Literal):
            if atom not in bound:
                raise _error("a variable is used before it is bound.", eqn,
                             f"{what} {position}: {atom}")
        elif not _agree(_stored(atom.aval), _type_of_literal(atom.val)):
            raise _error("a literal is not of its type.", eqn, f"{what} {position}: {atom.val!r}",
                         f"type:      {atom.aval}")


def _stored(aval):
    """The type of the data in memory: keys are numbers there."""
    return aval.update(dtype=stored(aval.dtype)) if is_extended(aval.dtype) else aval


def _type_of_literal(value) -> AbstractValue:
    """The type of the data itself: 64-bit types stay, whether or not they are enabled."""
    if isinstance(value, np.ndarray | np.generic):
        return ShapedArray(value.shape, value.dtype)
    return typeof(value)


def _infer_again(eqn: JaxprEqn) -> None:
    """Compare an equation with what its primitive infers."""
    scope = axis_sizes()
    if any(isinstance(e, NamedAxisEffect) and e.name not in scope for e in eqn.effects):
        return  # the map that binds the axis is not in scope, so types cannot be inferred
    types = [atom.aval for atom in eqn.invars]
    try:
        inferred = explicit.infer(eqn.primitive, types, eqn.params)
        effects = eqn.primitive.effects(*types, **eqn.params)
    except Exception as error:
        raise _error("the primitive rejects its operands.", eqn,
                     _indented(f"says:     {type(error).__name__}: {error}")) from error
    results = list(inferred) if eqn.primitive.multiple_results else [inferred]
    written = [var.aval for var in eqn.outvars]
    if len(results) != len(written) or not all(map(_agree, written, results)):
        raise _error("the results are not those that the primitive infers.", eqn,
                     f"written:  {_listed(written)}", f"inferred: {_listed(results)}")
    _check_effects(eqn.effects, effects, eqn)


def _agree(a: AbstractValue, b: AbstractValue) -> bool:
    """Whether two types are equal up to weakness, which passes need not preserve."""
    return a.matches(b)


def _check_effects(written: frozenset, found: frozenset, eqn: JaxprEqn | None) -> None:
    if written != found:
        whose = "the primitive" if eqn is not None else "its equations"
        raise _error(f"the effects are not those of {whose}.", eqn,
                     f"written:  {_listed(sorted(map(str, written)))}",
                     f"found:    {_listed(sorted(map(str, found)))}")


def _listed(items: Iterable) -> str:
    return ", ".join(map(str, items)) or "none"


def _indented(fact: str) -> str:
    """A fact of several lines, indented below the first."""
    return fact.replace("\n", "\n" + " " * 12)


def _error(rule: str, eqn: JaxprEqn | None, *facts: str) -> JaxprTypeError:
    where = []
    if eqn is not None:
        where = [_indented("equation: " + show_eqn(eqn, width=90))]
        if eqn.source_info is not None:
            where.append(f"made at:  {eqn.source_info}")
    return JaxprTypeError(explain("tanx.extend.core.check_jaxpr", rule, *where, *facts))
