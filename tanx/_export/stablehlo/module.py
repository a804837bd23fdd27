"""Modules: the public function, and the private ones that it calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core.jaxpr import ClosedJaxpr
from ..._core.rewrite import dce_closed
from ..._core.types import ShapedArray
from ..._ops.operands import letter
from ..._transforms.discharge import without_refs
from .block import Block, Type, Value, type_of
from .rules import inlined
from .text import escaped, stored_dtype, symbol

__all__ = ["module_text"]

_WORD = np.dtype(np.uint32)


def module_text(closed_jaxpr: ClosedJaxpr, *, name: str = "main", donated: Sequence[int] = (),
                result_info: Sequence[str] | None = None, keep_unused: bool = True,
                debug_info: bool = False, devices: int = 1) -> str:
    """A function as the text of a StableHLO module.

    Args:
      closed_jaxpr: The function. Constants are written into the module.
      name: The name of the module; the function in it is ``main``, as compilers expect.
      donated: Numbers of the arguments whose memory results may reuse.
      result_info: For each result, its path in the result of the Python function.
      keep_unused: Whether to keep unused arguments.
      debug_info: Whether to add the user's line of each operation.
      devices: The number of devices that the program is for; nothing in it is divided over them.

    Keys are arrays of ``ui32`` with a last dimension for their words. References are written as
    their contents.
    """
    count, closed_jaxpr = len(closed_jaxpr.out_avals), without_refs(closed_jaxpr)
    contents = [f"reference[{n}]" for n in range(len(closed_jaxpr.out_avals) - count)]
    if not keep_unused:
        closed_jaxpr, used = dce_closed(closed_jaxpr, [True] * len(closed_jaxpr.out_avals))
        kept = [n for n, is_used in enumerate(used) if is_used]
        donated = [kept.index(n) for n in donated if n in kept]
    module = _Module(debug_info)
    block = Block(module)
    arguments, operands = [], []
    for aval in closed_jaxpr.in_avals:
        argument = block.argument(_outside(aval))
        arguments.append(argument)
        operands.append(_from_words(block, argument, type_of(aval)))
    results = [_to_words(block, x, aval) for x, aval in zip(
        inlined(block, closed_jaxpr, operands), closed_jaxpr.out_avals)]
    infos = [*(_numbered(count) if result_info is None else result_info), *contents]
    aliases = _aliases([x.type for x in arguments], [x.type for x in results], donated)
    shown = ", ".join(f"{x}: {x.type}{aliases.get(n, '')}" for n, x in enumerate(arguments))
    given = ", ".join(f'{x.type} {{jax.result_info = "{escaped(info)}"}}'
                      for x, info in zip(results, infos, strict=True))
    main = _function_text(f"public @main({shown}) -> ({given})" if results
                          else f"public @main({shown})", block, results)
    return "\n".join([
        f"module @{symbol(name)} attributes "
        f"{{mhlo.num_partitions = {devices} : i32, mhlo.num_replicas = 1 : i32}} {{",
        *main, *(line for text in module.texts for line in text), "}", ""])


def _numbered(count: int) -> list[str]:
    return ["result"] if count == 1 else [f"result[{n}]" for n in range(count)]


def _function_text(header: str, block: Block, results: Sequence[Value]) -> list[str]:
    """The lines of a function."""
    names, types = ", ".join(map(str, results)), ", ".join(str(x.type) for x in results)
    end = f"return {names} : {types}" if results else "return"
    return [f"  func.func {header} {{", *(f"    {line}" for line in (*block.lines, end)), "  }"]


class _Module:
    """The private functions of a module, each written once."""

    def __init__(self, debug_info: bool):
        self.debug_info = debug_info
        self.texts: list[list[str]] = []
        self.written: dict[int, str] = {}  # by the identity of the jaxpr
        self.alike: dict[tuple, str] = {}  # by the text without the name
        self.taken: set[str] = {"main"}
        self.kept: list[ClosedJaxpr] = []  # so that identities stay unique

    def function(self, closed: ClosedJaxpr, name: str) -> str:
        """The name of the function of a jaxpr, which is written when first needed."""
        known = self.written.get(id(closed))
        if known is not None:
            return known
        place = len(self.texts)
        block = Block(self)
        arguments = [block.argument(type_of(aval)) for aval in closed.in_avals]
        results = inlined(block, closed, arguments)
        shown = ", ".join(f"{x}: {x.type}" for x in arguments)
        given = ", ".join(str(x.type) for x in results)
        header = f"({shown}) -> {given if len(results) == 1 else f'({given})'}"
        text = _function_text(f"private @{{}}{header}", block, results)
        key = tuple(text)
        if key not in self.alike:
            self.alike[key] = self._unused(symbol(name))
            text[0] = text[0].replace("@{}", f"@{self.alike[key]}", 1)
            self.texts.insert(place, text)
        self.written[id(closed)] = self.alike[key]
        self.kept.append(closed)
        return self.alike[key]

    def _unused(self, name: str) -> str:
        fresh, n = name, 0
        while fresh in self.taken:
            fresh, n = f"{name}_{n}", n + 1
        self.taken.add(fresh)
        return fresh


# -- the edge of the program -----------------------------------------------------------------------


def _outside(aval) -> Type:
    """The type of an argument or result for callers."""
    type = type_of(aval)
    if not _is_key(aval):
        return type
    words = stored_dtype(aval.dtype).itemsize // _WORD.itemsize
    return Type((*type.shape, words), _WORD)


def _is_key(aval) -> bool:
    return isinstance(aval, ShapedArray) and letter(aval.dtype) == "k"


def _same_bits(block: Block, x: Value, type: Type, words: int) -> Value:
    """One or two words of each key in another type."""
    return block.reshape(x, type.shape) if words == 1 else (
        block.apply("bitcast_convert", [x], type))


def _from_words(block: Block, words: Value, inside: Type) -> Value:
    """Keys as single numbers, from their words."""
    if words.type == inside:
        return words
    count = words.shape[-1]
    if count <= 2:
        return _same_bits(block, words, inside, count)
    halves = block.reshape(words, (*inside.shape, 2, 2))
    parts = block.apply("bitcast_convert", [halves], Type((*inside.shape, 2), np.dtype(np.float64)))
    size = inside.shape
    ends = [block.reshape(block.slice(parts, [0] * len(size) + [n], [*size, n + 1]), size)
            for n in range(2)]
    return block.apply("complex", ends, inside)


def _to_words(block: Block, x: Value, aval) -> Value:
    """The words of keys; other values unchanged."""
    outside = _outside(aval)
    if x.type == outside:
        return x
    count = outside.shape[-1]
    if count <= 2:
        return _same_bits(block, x, outside, count)
    part = x.type.of(np.float64)
    ends = [block.reshape(block.apply(name, [x], part), (*x.shape, 1)) for name in ("real", "imag")]
    words = block.apply("bitcast_convert", [block.concatenate(ends, x.ndim)],
                        Type((*x.shape, 2, 2), _WORD))
    return block.reshape(words, outside.shape)


def _aliases(arguments: Sequence[Type], results: Sequence[Type], donated: Sequence[int],
             ) -> dict[int, str]:
    """For each donated argument, the result that reuses its memory, as an attribute."""
    free = dict(enumerate(results))
    attributes = {}
    for n in donated:
        match = next((k for k, type in free.items() if type == arguments[n]), None)
        if match is None:
            attributes[n] = " {jax.buffer_donor = true}"
        else:
            del free[match]
            attributes[n] = f" {{tf.aliasing_output = {match} : i32}}"
    return attributes
