"""Functions of scalars as parameters of primitives: staged once, then applied to each element.

A reducer or an update is a user's function; it is stored as a closed jaxpr, which prints as
written. Rules use it in first-order form, with inner calls inlined.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .._core.flow import Choice, Flow, ForLoop, WhileLoop
from .._core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, cached_by_jaxpr, eval_jaxpr
from .._core.primitive import Kind
from .._core.rewrite import inline_calls, substitute
from .._core.stage import stage
from .._core.trace import Tracer
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from .base import move_axis, reshape
from .layout import broadcast

__all__ = ["apply", "evaluate", "first_order", "lower", "stage_scalars"]


def stage_scalars(function: str, fun: Callable[..., list], dtypes: Sequence) -> ClosedJaxpr:
    """A function of scalars, for use by the public ``function``, as a closed jaxpr."""
    jaxpr, consts = stage(fun, [ShapedArray((), dtype) for dtype in dtypes])
    if any(isinstance(c, Tracer) for c in consts):
        raise NotImplementedError(explain(
            function, "its function must not use traced values from outside.",
            *(f"value: {typeof(c)}" for c in consts if isinstance(c, Tracer))))
    return ClosedJaxpr(jaxpr, consts)


@cached_by_jaxpr
def first_order(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same function with calls inlined and scalar constants written as literals."""
    closed = inline_calls(closed, lambda eqn: eqn.primitive.body(
        [a.aval for a in eqn.invars], eqn.params))
    pairs = list(zip(closed.jaxpr.constvars, closed.consts))
    literals = {v: Literal(np.asarray(c), v.aval) for v, c in pairs if not np.shape(c)}
    rest = [(v, c) for v, c in pairs if v not in literals]
    jaxpr = substitute(closed.jaxpr, literals).replace(constvars=[v for v, _ in rest])
    return ClosedJaxpr(jaxpr, [c for _, c in rest])


def _is_elementwise(closed: ClosedJaxpr) -> bool:
    return all(eqn.primitive.kind is Kind.ELEMENTWISE for eqn in closed.jaxpr.eqns)


def evaluate(closed: ClosedJaxpr, *arrays: np.ndarray) -> list[np.ndarray]:
    """Apply the function to each element of NumPy arrays of one shape."""
    shape = arrays[0].shape
    if _is_elementwise(first_order(closed)):
        return [np.broadcast_to(y, shape) for y in _run(closed, arrays)]
    outs = [np.empty(shape, aval.dtype) for aval in closed.out_avals]
    for at in itertools.product(*map(range, shape)):
        for out, y in zip(outs, _run(closed, [x[at] for x in arrays])):
            out[at] = y
    return outs


def _run(closed: ClosedJaxpr, operands: Sequence) -> list:
    """The results of a function by the ``eval`` rules of its equations."""
    closed = first_order(closed)
    values = dict(zip(closed.jaxpr.constvars, map(np.asarray, closed.consts)))
    values.update(zip(closed.jaxpr.invars, operands))

    def read(atom):
        return np.asarray(atom.val) if type(atom) is Literal else values[atom]
    for eqn in closed.jaxpr.eqns:
        given = list(map(read, eqn.invars))
        if eqn.primitive.kind is Kind.CALL:
            outs = _run_flow(eqn, given)
        else:
            out = eqn.primitive.eval(*given, **eqn.params)
            outs = out if eqn.primitive.multiple_results else [out]
        values.update(zip(eqn.outvars, outs))
    return [read(atom) for atom in closed.jaxpr.outvars]


def _run_flow(eqn: JaxprEqn, operands: list) -> list:
    """The results of a loop or branch of scalars."""
    match _flow_of_scalars(eqn):
        case ForLoop() as loop:
            constants, state, _ = loop.split(operands)
            for _ in range(loop.length):
                state = _run(loop.body, [*constants, *state])
            return state
        case WhileLoop() as loop:
            asked, constants, state = loop.split(operands)
            while _run(loop.condition, [*asked, *state])[0]:
                state = _run(loop.body, [*constants, *state])
            return state
        case Choice(branches):
            which, *given = operands
            return _run(branches[int(which)], given)


def apply(closed: ClosedJaxpr, *arrays) -> list:
    """Apply the function to each element of arrays of one shape, in primitives."""
    closed = first_order(closed)
    shape = typeof(arrays[0]).shape
    if _is_elementwise(closed):
        outs = eval_jaxpr(closed.jaxpr, closed.consts, *arrays)
        return [y if typeof(y).shape == shape else broadcast(y, shape) for y in outs]
    outs = _batched(closed, [reshape(x, (prod(shape),)) for x in arrays])
    return [broadcast(y, shape) if d is None else reshape(move_axis(y, d, 0), shape)
            for y, d in outs]


def _batched(closed: ClosedJaxpr, arrays: list) -> list[tuple]:
    """Run the equations by their batching rules; each result with the place of its batch axis."""
    jaxpr = closed.jaxpr
    values = {v: (c, None) for v, c in zip(jaxpr.constvars, closed.consts)}
    values |= {v: (x, 0) for v, x in zip(jaxpr.invars, arrays)}

    def read(atom):
        return (atom.val, None) if type(atom) is Literal else values[atom]
    for eqn in jaxpr.eqns:
        args, dims = zip(*map(read, eqn.invars)) if eqn.invars else ((), ())
        several = eqn.primitive.multiple_results
        if eqn.primitive.kind is Kind.CALL:
            raise _not_supported(eqn, "that is differentiated")
        if any(d is not None for d in dims):
            out, dim = eqn.primitive.batch(args, dims, **eqn.params)
        else:
            out = eqn.primitive.bind(*args, **eqn.params)
            dim = [None] * len(out) if several else None
        values.update(zip(eqn.outvars, zip(out, dim) if several else [(out, dim)]))
    return [read(atom) for atom in jaxpr.outvars]


def lower(closed: ClosedJaxpr, *elements) -> tuple:
    """The results for single elements, as expressions of loops."""
    closed = first_order(closed)
    jaxpr = closed.jaxpr
    values = {v: _operand(v.aval, lambda at, e=e: e) for v, e in zip(jaxpr.invars, elements)}

    def read(atom):
        if type(atom) is Literal:
            return _operand(atom.aval, lambda at: build.const(atom.val, atom.aval.dtype))
        return values[atom]
    for eqn in jaxpr.eqns:
        if eqn.primitive.kind is Kind.STATEMENT or not all(
                type(a) is Literal or a in values for a in eqn.invars):
            raise _not_supported(eqn)
        operands = list(map(read, eqn.invars))
        if eqn.primitive.kind is Kind.CALL:
            results = [lambda at, e=e: e for e in _lower_flow(eqn, operands)]
        else:
            results = [_element(eqn, i, operands) for i in range(len(eqn.outvars))]
        values.update((v, _operand(v.aval, result)) for v, result in zip(eqn.outvars, results))
    return tuple(read(atom)[()] for atom in jaxpr.outvars)


def _lower_flow(eqn: JaxprEqn, operands: list[build.Operand]) -> Sequence:
    """The results of a loop or branch of scalars, as expressions."""
    flow = _flow_of_scalars(eqn)
    elements = [x[()] for x in operands]
    match flow:
        case ForLoop() as loop:
            constants, init, _ = loop.split(elements)
            return build.fold(loop.length, init,
                              lambda k, state: lower(loop.body, *constants, *state))
        case WhileLoop() as loop:
            asked, constants, init = loop.split(elements)
            return build.while_loop(init, lambda state: lower(loop.condition, *asked, *state)[0],
                                    lambda state: lower(loop.body, *constants, *state))
        case Choice(branches):
            which, *given = elements
            *others, results = [lower(branch, *given) for branch in branches]
            for number, values in reversed(list(enumerate(others))):
                results = tuple(build.select(build.eq(which, number), a, b)
                                for a, b in zip(values, results))
            return results


def _flow_of_scalars(eqn: JaxprEqn) -> Flow:
    """The loop or branches of an equation, if all its operands are scalars."""
    flow = eqn.primitive.flow(eqn.params)
    if flow is None or any(v.aval.shape for v in (*eqn.invars, *eqn.outvars)):
        raise _not_supported(eqn)
    return flow


def _not_supported(eqn: JaxprEqn, which: str = "") -> NotImplementedError:
    return NotImplementedError(explain(
        f"tanx.lax.{eqn.primitive.name}",
        f"cannot be used in a function of single elements{which and ' ' + which}."))


def _element(eqn: JaxprEqn, i: int, operands: list):
    def element(at):
        out = eqn.primitive.lower(at, *operands, **eqn.params)
        return out[i] if eqn.primitive.multiple_results else out
    return element


def _operand(aval: Any, element) -> build.Operand:
    return build.Operand(aval.shape, aval.dtype, element)
