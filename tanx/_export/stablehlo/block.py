"""Writing operations: values, blocks of operations, and functions of a module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np

from ..._base.tuples import NamedTuple
from ..._core.types import AbstractToken
from .text import array_of, dense, escaped, listed, scalar_type, stored_dtype, tensor_type

__all__ = ["Block", "Type", "Value", "type_of"]


class Type(NamedTuple):
    """Shape and dtype of a value."""

    shape: tuple[int, ...]
    dtype: Any

    def __str__(self) -> str:
        return tensor_type(self.shape, self.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def of(self, dtype) -> Type:
        """The same shape with another dtype."""
        return Type(self.shape, np.dtype(dtype))


def type_of(aval) -> Type:
    """The StableHLO type for a type of a jaxpr.

    Tokens order effects. There are no effects here, so tokens are arrays without elements.
    """
    if isinstance(aval, AbstractToken):
        return Type((0,), np.dtype(bool))
    return Type(tuple(aval.shape), stored_dtype(aval.dtype))


class Value(NamedTuple):
    """The result of an operation, or an argument."""

    name: str
    type: Type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> Any:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    def __str__(self) -> str:
        return self.name


class _Names:
    """Unique names of values in one function."""

    def __init__(self):
        self.results, self.arguments = count(), count()
        self.others: dict[str, Any] = {}

    def numbered(self, stem: str) -> str:
        """``%c``, then ``%c_0``, ``%c_1`` and so on."""
        counter = self.others.get(stem)
        if counter is None:
            self.others[stem] = count()
            return f"%{stem}"
        return f"%{stem}_{next(counter)}"


class Block:
    """A list of operations, which can use their values and those of the surrounding blocks.

    Its methods append operations and return their results. Operations of StableHLO that differ only
    in their names share :meth:`same` (results of the operands' type) and :meth:`apply`.
    """

    def __init__(self, module, outer: Block | None = None, isolated: bool = True):
        self.module, self.outer = module, outer
        self.isolated = isolated  # from the values of the blocks around
        self.location: str = outer.location if outer is not None else ""  # of the user's code
        self.lines: list[str] = []
        self.names: _Names = outer.names if outer is not None else _Names()
        self.constants: dict[str, Value] = {}

    # -- arguments, regions ------------------------------------------------------------------------

    def argument(self, type: Type, stem: str = "") -> Value:
        """A new argument of the function or region of this block."""
        name = self.names.numbered(stem) if stem else f"%arg{next(self.names.arguments)}"
        return Value(name, type)

    def region(self, isolated: bool = False) -> Block:
        """A block inside of this one; an isolated one must not read values from outside."""
        return Block(self.module, self, isolated)

    def locate(self, eqn) -> None:
        """Attribute the following operations to the user's line of an equation."""
        source = eqn.source_info
        if self.module.debug_info and source is not None:
            name = "/".join((*source.scopes, eqn.primitive.name))
            place = f'"{escaped(source.file)}":{source.line}:{source.column}'
            self.location = f' loc("{escaped(name)}"({place}))'

    # -- operations in general ---------------------------------------------------------------------

    def write(self, operation: str, *types: Type, more: Sequence[str] = ()) -> list[Value]:
        """Append an operation with results of some types; ``more`` are further lines of it."""
        name = f"%{next(self.names.results)}" if types else ""
        several = f":{len(types)}" if len(types) > 1 else ""
        self.lines += [f"{name}{several} = {operation}" if types else operation, *more]
        self.lines[-1] += self.location
        if len(types) == 1:
            return [Value(name, types[0])]
        return [Value(f"{name}#{n}", type) for n, type in enumerate(types)]

    def same(self, name: str, *operands: Value) -> Value:
        """An operation whose result has the type of its operands."""
        return self.write(f"stablehlo.{name} {', '.join(map(str, operands))} : "
                          f"{operands[0].type}", operands[0].type)[0]

    def apply(self, name: str, operands: Sequence[Value], type: Type, details: str = "") -> Value:
        """An operation with the types of operands and result spelled out."""
        given = ", ".join(str(x.type) for x in operands)
        return self.write(f"stablehlo.{name} {', '.join(map(str, operands))}{details} : "
                          f"({given}) -> {type}", type)[0]

    def generic(self, name: str, operands: Sequence[Value], types: Sequence[Type],
                attributes: dict[str, str] | None = None,
                regions: Sequence[tuple[Sequence[Value], Block]] = ()) -> list[Value]:
        """An operation in MLIR's general form; regions come with their arguments."""
        header = f'"stablehlo.{name}"({", ".join(map(str, operands))})'
        if attributes:
            header += f" <{{{', '.join(f'{k} = {v}' for k, v in sorted(attributes.items()))}}}>"
        lines = [f"{header} ("] if regions else [header]
        for n, (arguments, block) in enumerate(regions):
            lines[-1] += ", {" if n else "{"
            if arguments:
                lines.append(f"^bb0({', '.join(f'{x}: {x.type}' for x in arguments)}):")
            lines += [f"  {line}" for line in block.lines] + ["}"]
        lines[-1] += f"{')' if regions else ''} : ({', '.join(str(x.type) for x in operands)}) -> "
        lines[-1] += f"({', '.join(map(str, types))})" if len(types) != 1 else str(types[0])
        return self.write(lines[0], *types, more=lines[1:])

    def end(self, *values: Value) -> None:
        """End a region with its results."""
        names, types = ", ".join(map(str, values)), ", ".join(str(x.type) for x in values)
        self.write(f"stablehlo.return {names} : {types}" if values else "stablehlo.return")

    # -- constants ---------------------------------------------------------------------------------

    def constant(self, values: Any, type: Type | None = None) -> Value:
        """A constant; ``values`` broadcast to the type. Equal constants of a block are shared."""
        array = np.asarray(values)
        if type is not None:
            array = np.broadcast_to(array.astype(type.dtype), type.shape)
        text = f"stablehlo.constant {dense(array)} : {tensor_type(array.shape, array.dtype)}"
        block: Block | None = self
        while block is not None:
            if text in block.constants:
                return block.constants[text]
            block = None if block.isolated else block.outer
        name = self.names.numbered("cst" if _is_inexact(array.dtype) else "c")
        self.lines.append(f"{name} = {text}{self.location}")
        self.constants[text] = Value(name, Type(array.shape, array.dtype))
        return self.constants[text]

    def iota(self, type: Type, dimension: int) -> Value:
        """Numbers that count along a dimension."""
        return self.write(f"stablehlo.iota dim = {dimension} : {type}", type)[0]

    # -- shapes ------------------------------------------------------------------------------------

    def broadcast(self, x: Value, shape: Iterable[int], dimensions: Iterable[int] = ()) -> Value:
        """A broadcast array; ``dimensions`` are the places of its dimensions in the result."""
        type = Type(tuple(shape), x.dtype)
        if type == x.type:
            return x
        return self.apply("broadcast_in_dim", [x], type, f", dims = {listed(dimensions)}")

    def reshape(self, x: Value, shape: Iterable[int]) -> Value:
        """The same elements, in the same order, in another shape."""
        type = Type(tuple(shape), x.dtype)
        return x if type == x.type else self.apply("reshape", [x], type)

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        """An array with its dimensions in another order."""
        if list(order) == list(range(x.ndim)):
            return x
        type = Type(tuple(x.shape[d] for d in order), x.dtype)
        return self.apply("transpose", [x], type, f", dims = {listed(order)}")

    def slice(self, x: Value, starts: Sequence[int], stops: Sequence[int],
              strides: Sequence[int] | None = None) -> Value:
        """A part of an array."""
        steps = list(strides or [1] * x.ndim)
        shape = tuple(-(-(b - a) // s) for a, b, s in zip(starts, stops, steps))
        ranges = ", ".join(f"{a}:{b}" + (f":{s}" if s != 1 else "")
                           for a, b, s in zip(starts, stops, steps))
        type = Type(shape, x.dtype)
        if type == x.type:
            return x
        return self.write(f"stablehlo.slice {x} [{ranges}] : ({x.type}) -> {type}", type)[0]

    def concatenate(self, parts: Sequence[Value], dimension: int) -> Value:
        """Arrays joined along a dimension."""
        if len(parts) == 1:
            return parts[0]
        shape = list(parts[0].shape)
        shape[dimension] = sum(x.shape[dimension] for x in parts)
        return self.apply("concatenate", parts, Type(tuple(shape), parts[0].dtype),
                          f", dim = {dimension}")

    def pad(self, x: Value, value: Value, config: Iterable[tuple[int, int, int]]) -> Value:
        """An array with a value around and between its elements."""
        config = list(config)
        low, high, interior = zip(*config) if config else ((), (), ())
        shape = tuple(max(0, (n - 1) * (i + 1) + 1 if n else 0) + a + b
                      for n, (a, b, i) in zip(x.shape, config))
        details = f", low = {listed(low)}, high = {listed(high)}, interior = {listed(interior)}"
        return self.apply("pad", [x, value], Type(shape, x.dtype), details)

    # -- elements ----------------------------------------------------------------------------------

    def convert(self, x: Value, dtype) -> Value:
        """Numbers of another dtype, as StableHLO converts them."""
        type = x.type.of(dtype)
        return x if type == x.type else self.apply("convert", [x], type)

    def compare(self, direction: str, x: Value, y: Value, *, order: str = "") -> Value:
        """Which elements are equal, less and so on: EQ, NE, LT, LE, GT or GE."""
        name = scalar_type(x.dtype)
        order = order or ("FLOAT" if _is_inexact(x.dtype) else
                          "UNSIGNED" if name == "i1" or name[0] == "u" else "SIGNED")
        result = x.type.of(bool)
        return self.write(f"stablehlo.compare {direction}, {x}, {y}, {order} : "
                          f"({x.type}, {y.type}) -> {result}", result)[0]

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        """Elements of ``x`` where a condition holds, else of ``y``."""
        return self.write(f"stablehlo.select {condition}, {x}, {y} : {condition.type}, {x.type}",
                          x.type)[0]

    # -- attributes that several rules use ---------------------------------------------------------

    @staticmethod
    def pairs(numbers: Sequence[Sequence[int]]) -> str:
        """Pairs of integers, as paddings are written."""
        array = np.array(numbers, np.int64).reshape(len(numbers), 2)
        return f"{dense(array)} : {tensor_type(array.shape, array.dtype)}"

    integers = staticmethod(array_of)


def _is_inexact(dtype: np.dtype) -> bool:
    return "float" in dtype.name or dtype.kind == "c"
