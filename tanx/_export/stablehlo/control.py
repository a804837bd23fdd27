"""Control flow: loops, branches and calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..._core.flow import Choice, Flow, ForLoop, WhileLoop
from .block import Block, Type, Value, type_of
from .rules import inlined, rule
from .text import attribute, escaped

__all__ = ["flow", "while_loop"]

_COUNTER = Type((), np.dtype(np.int64))


def flow(block: Block, steps: Flow, operands: Sequence[Value]) -> list[Value]:
    """Write a loop or branches on some operands; its results."""
    match steps:
        case ForLoop():
            return _for_loop(block, steps, operands)
        case WhileLoop():
            asked, constants, carries = steps.split(operands)
            return while_loop(
                block, carries,
                lambda inner, state: inlined(inner, steps.condition, [*asked, *state])[0],
                lambda inner, state: inlined(inner, steps.body, [*constants, *state]))
        case Choice(branches):
            return _choice(block, branches, operands)


def while_loop(block: Block, start: Sequence[Value],
               condition: Callable[[Block, list[Value]], Value],
               step: Callable[[Block, list[Value]], Sequence[Value]]) -> list[Value]:
    """Write a loop from the functions that write its condition and its step."""
    asked, body = block.region(), block.region()
    state = [block.argument(x.type, "iterArg") for x in start]
    asked.end(condition(asked, state))
    body.end(*step(body, state))
    types = [x.type for x in start]
    pairs = ", ".join(f"{inner} = {x}" for inner, x in zip(state, start))
    return block.write(
        f"stablehlo.while({pairs}) : {', '.join(map(str, types))}", *types,
        more=["cond {", *(f"  {line}" for line in asked.lines),
              "} do {", *(f"  {line}" for line in body.lines), "}"])


def _for_loop(block: Block, loop: ForLoop, operands: Sequence[Value]) -> list[Value]:
    """A counted loop: each step reads a row of some arrays and writes a row of others."""
    constants, carries, arrays = loop.split(operands)
    rows = loop.body.out_avals[loop.carries:]
    if not loop.length:
        return [*carries, *(block.constant(0, _stacked(aval, 0)) for aval in rows)]
    filled = [block.constant(0, _stacked(aval, loop.length)) for aval in rows]
    zero = block.constant(0, _COUNTER)

    def condition(inner: Block, state: list[Value]) -> Value:
        return inner.compare("LT", state[0], inner.constant(loop.length, _COUNTER))

    def step(inner: Block, state: list[Value]) -> list[Value]:
        number, *rest = state
        place = inner.same("subtract", inner.constant(loop.length - 1, _COUNTER), number) if (
            loop.reverse) else number
        given = [_row(inner, x, place) for x in arrays]
        made = inlined(inner, loop.body, [*constants, *rest[:loop.carries], *given])
        kept = [_with_row(inner, x, row, place)
                for x, row in zip(rest[loop.carries:], made[loop.carries:])]
        after = inner.same("add", number, inner.constant(1, _COUNTER))
        return [after, *made[:loop.carries], *kept]

    return while_loop(block, [zero, *carries, *filled], condition, step)[1:]


def _stacked(aval, length: int) -> Type:
    type = type_of(aval)
    return Type((length, *type.shape), type.dtype)


def _row(block: Block, x: Value, place: Value) -> Value:
    """The row of an array at a place."""
    zero = block.constant(0, _COUNTER)
    starts = [place, *[zero] * (x.ndim - 1)]
    sizes = (1, *x.shape[1:])
    row = block.apply("dynamic_slice", [x, *starts], Type(sizes, x.dtype),
                      f", sizes = [{', '.join(map(str, sizes))}]")
    return block.reshape(row, x.shape[1:])


def _with_row(block: Block, x: Value, row: Value, place: Value) -> Value:
    """An array with another row at a place."""
    zero = block.constant(0, _COUNTER)
    row = block.reshape(row, (1, *row.shape))
    return block.apply("dynamic_update_slice", [x, row, place, *[zero] * (x.ndim - 1)], x.type)


def _choice(block: Block, branches: Sequence, operands: Sequence[Value]) -> list[Value]:
    """One of some branches; numbers out of range take the first or the last one."""
    which, *given = operands
    if which.dtype == bool:
        which = block.convert(which, np.int32)
    if len(branches) == 1:
        return inlined(block, branches[0], given)
    regions = []
    for branch in branches:
        inner = block.region()
        results = inlined(inner, branch, given)
        inner.end(*results)
        types = [x.type for x in results]
        regions.append(((), inner))
    if which.dtype != np.int32:
        which = block.convert(which, np.int32)
    low, high = block.constant(np.int32(0)), block.constant(np.int32(len(branches) - 1))
    which = block.same("clamp", low, which, high)
    return block.generic("case", [which], types, regions=regions)


@rule("composite")
def _composite(block: Block, outs: list[Type], *operands: Value, call_jaxpr, name: str,
               version: int, attributes):
    """A user-defined operation, with the function that defines it."""
    facts = [f"decomposition = @{block.module.function(call_jaxpr, name)}"]
    given = {key: tree.unflatten(leaves) for key, leaves, tree in attributes}
    shown = [f"{key} = {attribute(value)}" for key, value in sorted(given.items())
             if value is not None]
    if shown:
        facts.insert(0, f"composite_attributes = {{{', '.join(shown)}}}")
    if version:
        facts.append(f"version = {version} : i32")
    types, results = (", ".join(map(str, each)) for each in ([x.type for x in operands], outs))
    words = [f'stablehlo.composite "{escaped(name)}"', ", ".join(map(str, operands)),
             f"{{{', '.join(facts)}}} : ({types}) ->",
             results if len(outs) == 1 else f"({results})"]
    return block.write(" ".join(filter(None, words)), *outs)


@rule("jit")
def _jit(block: Block, outs: list[Type], *operands: Value, jaxpr, name: str = "", **params):
    """A call of a function of the module; equal functions are written once."""
    function = block.module.function(jaxpr, name or "f")
    call = "call" if block.outer is None else "func.call"
    types = ", ".join(str(x.type) for x in operands)
    results = ", ".join(map(str, outs))
    return block.write(f"{call} @{function}({', '.join(map(str, operands))}) : ({types}) -> "
                       + (results if len(outs) == 1 else f"({results})"), *outs)
