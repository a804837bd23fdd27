"""Calls of functions by name, which the program that runs the text must provide.

``ffi_call`` names its target like JAX's programs do, so a text runs wherever the same target is
registered. :func:`custom_call` is the operation itself, which calls of LAPACK use as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._ops.base import transpose
from .block import Block, Type, Value
from .rules import rule, staged_inline
from .text import attribute, dense, escaped

__all__ = ["custom_call", "layout_text"]

_TYPED = 4
"""The version of calls that pass attributes."""


def layout_text(order: Sequence[int]) -> str:
    """The order of dimensions in memory, the fastest first."""
    return f"{dense(np.array(order, int))} : tensor<{len(order)}xindex>"


def custom_call(block: Block, name: str, operands: Sequence[Value], outs: Sequence[Type],
                layouts: tuple[Sequence[str], Sequence[str]], aliases: Sequence[tuple[int, int]],
                config: str, side_effect: bool = False) -> list[Value]:
    """Call a function; ``aliases`` are pairs of a result and the operand whose memory it reuses.

    ``config`` has the attributes that the function gets. XLA reads them from an attribute of its
    own, whose presence marks the call as one that passes attributes; an empty text means that there
    are none.
    """
    shared = ", ".join(
        "#stablehlo.output_operand_alias<output_tuple_indices = "
        f"[{result if len(outs) > 1 else ''}], operand_index = {operand}, "
        "operand_tuple_indices = []>" for result, operand in aliases)
    facts = ['backend_config = ""', *["has_side_effect = true"] * side_effect,
             *[f"mhlo.backend_config = {config}"] * bool(config),
             f"operand_layouts = [{', '.join(layouts[0])}]",
             *[f"output_operand_aliases = [{shared}]"] * bool(aliases),
             f"result_layouts = [{', '.join(layouts[1])}]"]
    types = ", ".join(map(str, outs))
    return block.write(
        f"stablehlo.custom_call @{name}({', '.join(map(str, operands))}) "
        f"{{{', '.join(facts)}}} : ({', '.join(str(x.type) for x in operands)}) -> "
        + (types if len(outs) == 1 else f"({types})"), *outs)


@rule("ffi_call")
def _ffi_call(block: Block, outs: Sequence[Type], *operands: Value, target_name,
              custom_call_api_version, attributes, has_side_effect, input_layouts, output_layouts,
              input_output_aliases, **params):
    """A foreign call; operands and results are in row-major order."""
    given = [_transposed(block, x, np.argsort(layout[::-1]).tolist())
             for x, layout in zip(operands, input_layouts)]
    types = [Type(tuple(t.shape[d] for d in np.argsort(layout[::-1])), t.dtype)
             for t, layout in zip(outs, output_layouts)]
    config = attribute(_decoded(attributes.encoded)) if custom_call_api_version == _TYPED else ""
    results = custom_call(
        block, _target(target_name), given, types,
        tuple([layout_text(layout) for layout in side]  # type: ignore[arg-type]
              for side in (input_layouts, output_layouts)),
        [(out, operand) for operand, out in input_output_aliases], config, has_side_effect)
    return [_transposed(block, y, layout[::-1]) for y, layout in zip(results, output_layouts)]


def _target(name: str) -> str:
    """The name of a target after ``@``, in quotation marks if it needs them."""
    return name if re.fullmatch(r"[A-Za-z_][\w.$]*", name) else f'"{escaped(name)}"'


def _transposed(block: Block, x: Value, order: Sequence[int]) -> Value:
    if list(order) == list(range(len(order))):
        return x
    return staged_inline(block, lambda x: [transpose(x, order)], x)[0]


def _decoded(encoded: Sequence[tuple]) -> dict[str, Any]:
    """Attributes from the form in which calls pass them."""
    found: dict[str, Any] = {}
    for name, kind, inside, data in encoded:
        if kind == "dict":
            found[name] = _decoded(inside)
        elif kind == "string":
            found[name] = data.decode()
        else:
            values = np.frombuffer(data, inside)
            found[name] = values[0] if kind == "scalar" else values
    return found
