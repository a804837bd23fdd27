"""The table of rules, and the traversal of a jaxpr that applies them.

A primitive becomes operations in one of five ways; the first that applies is taken:

1. by its ``rule``, which writes operations;
2. by its ``expansion``, an equivalent function of other primitives;
3. as the loop or the branches that ``Primitive.flow`` describes;
4. as the function that it calls (``Primitive.body``), inlined;
5. element by element: by its ``lower``, which the compiler reads as well (``elementwise.py``).

Anything else, such as calls of Python, is refused.

So there are few rules: only for primitives that have their own operation in StableHLO.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._base.config import enable_x64
from ..._core.array import Array
from ..._core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from ..._core.primitive import Kind, primitives
from ..._core.rewrite import dce_closed
from ..._core.stage import stage_closed
from ..._core.types import ShapedArray
from ...dtypes import float0
from ...errors import explain
from .block import Block, Value, type_of
from .text import stored_dtype

__all__ = ["EXPANSIONS", "RULES", "constant", "expansion", "inlined", "missing", "refuse", "rule",
           "staged_inline"]

RULES: dict[str, Callable] = {}
"""By name of the primitive, ``rule(block, out, *operands, **params)``.

``out`` is the type of the result, or a list of types if there are several results; a rule returns a
value or a list of values accordingly."""

EXPANSIONS: dict[str, Callable] = {}
"""By name of the primitive, ``expansion(*operands, **params)`` in terms of ``tanx.lax``."""

REFUSED: dict[str, str] = {}
"""By name of the primitive, why there is no rule."""


def rule(*names: str) -> Callable:
    """Register a rule for some primitives."""
    def entered(function: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, function))
        return function
    return entered


def expansion(*names: str) -> Callable:
    """Register an expansion for some primitives."""
    def entered(function: Callable) -> Callable:
        EXPANSIONS.update(dict.fromkeys(names, function))
        return function
    return entered


def refuse(reason: str, *names: str) -> None:
    """Register the reason why some primitives are not translated."""
    REFUSED.update(dict.fromkeys(names, reason))


def missing(primitive, reason: str) -> NotImplementedError:
    """The error for a primitive that has no form in StableHLO."""
    return NotImplementedError(explain(
        "tanx.stages.Lowered.as_text", f"{primitive} cannot be written as StableHLO.",
        f"reason: {reason}", hint='as_text("jaxpr") and as_text("loops") show every program.'))


# -- the traversal ---------------------------------------------------------------------------------


def constant(block: Block, value: Any, aval) -> Value:
    """The value of a constant of a jaxpr."""
    if aval.dtype == float0:
        return block.constant(np.zeros(aval.shape, bool))
    array = value._value if isinstance(value, Array) else np.asarray(value)  # also for keys
    dtype = stored_dtype(aval.dtype)
    return block.constant(array if array.dtype == dtype else array.astype(dtype))


def inlined(block: Block, closed: ClosedJaxpr, operands: Sequence[Value]) -> list[Value]:
    """Write the operations of a function on some operands; its results."""
    closed, used = dce_closed(closed, [True] * len(closed.jaxpr.outvars))
    jaxpr: Jaxpr = closed.jaxpr
    values: dict[Var, Value] = dict(zip(
        jaxpr.invars, [x for x, is_used in zip(operands, used, strict=True) if is_used],
        strict=True))
    constants = dict(zip(jaxpr.constvars, closed.consts, strict=True))

    def read(atom) -> Value:
        if isinstance(atom, Literal):
            return constant(block, atom.val, atom.aval)
        if atom not in values:
            values[atom] = constant(block, constants[atom], atom.aval)
        return values[atom]

    for eqn in jaxpr.eqns:
        block.locate(eqn)
        values.update(zip(eqn.outvars, _equation(block, eqn, [read(a) for a in eqn.invars]),
                          strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _equation(block: Block, eqn: JaxprEqn, operands: list[Value]) -> Sequence[Value]:
    """Write the operations of an equation; its results."""
    from .control import flow
    from .elementwise import by_elements, by_stores
    primitive, params = eqn.primitive, eqn.params
    name, avals = primitive.name, [a.aval for a in eqn.invars]
    outs = [type_of(v.aval) for v in eqn.outvars]
    is_ours = primitives.get(name) is primitive  # not a user's primitive of the same name
    if is_ours and name in REFUSED:
        raise missing(name, REFUSED[name])
    if is_ours and name in RULES:
        made = RULES[name](block, outs if primitive.multiple_results else outs[0], *operands,
                           **params)
        return made if primitive.multiple_results else [made]
    if is_ours and name in EXPANSIONS:
        return inlined(block, _staged(EXPANSIONS[name], avals, params), operands)
    steps = primitive.flow(params)
    if steps is not None:
        return flow(block, steps, operands)
    body = primitive.body(avals, params)
    if body is not None:
        return inlined(block, body, operands)
    if primitive.kind is Kind.STATEMENT:
        stored = by_stores(block, primitive.lower, outs, operands, params)
        if stored is not None:
            return stored
    if primitive.kind in (Kind.STATEMENT, Kind.CALL):
        raise missing(name, "StableHLO has no operation for it.")
    return by_elements(block, primitive.lower, outs, operands, params)


def staged_inline(block: Block, function: Callable, *operands: Value) -> list[Value]:
    """Write the operations of a function that uses ``tanx.lax`` and returns a list."""
    avals = [ShapedArray(x.shape, x.dtype) for x in operands]
    return inlined(block, _staged(function, avals, {}), operands)


def _staged(function: Callable, avals: Sequence, params: dict[str, Any]) -> ClosedJaxpr:
    """A function of arrays of some types as a jaxpr; 64-bit types stay, even if not enabled."""
    def run(*operands):
        out = function(*operands, **params)
        return list(out) if isinstance(out, list | tuple) else [out]
    with enable_x64(True):
        return stage_closed(run, [aval.strip_weak_type() for aval in avals])[0]
