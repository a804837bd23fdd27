"""Executables: a compiled function with its constants and its memory, ready to run on buffers.

What it takes to run one is a :class:`Recipe`, which is plain data. It is kept on disk by what the
jaxpr says, so that another process goes from the jaxpr to the code without any pass in between.
"""

from __future__ import annotations

from ast import literal_eval
from dataclasses import astuple
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._config import dump, trace_key
from .._core.array import Array
from .._core.canonical import Canonical, canonical
from .._core.jaxpr import ClosedJaxpr, cached_by_jaxpr
from .._loops.nest import Buffer, Extern
from . import disk_cache
from .host import empty, run
from .load import Code, code, compile_program

if TYPE_CHECKING:
    from .._compiler.cost import Cost

__all__ = ["Executable", "executable_of"]

_Type = tuple[tuple[int, ...], str]


class Recipe(NamedTuple):
    """How to run a program: the key of its code, and what to pass to it.

    Buffers are numbered: constants, arguments, outputs. A constant is one of those of the jaxpr, by
    number, or else a type with its place in the data that comes with the recipe.
    """

    code: str
    constants: tuple[int | tuple[_Type, int], ...]
    outputs: tuple[_Type, ...]
    overwritten: tuple[int | None, ...]  # the buffer that each output takes the memory of
    results: tuple[int, ...]
    arena_size: int
    cost: tuple[int, int, int, int]
    externs: tuple[tuple[str, str, tuple[_Type, ...], tuple[_Type, ...], Any], ...]


class Executable:
    """The machine code of a jaxpr. ``donated`` tells which arguments it may overwrite."""

    def __init__(self, closed: ClosedJaxpr, donated: tuple[bool, ...] = ()):
        self.out_avals = tuple(closed.out_avals)
        text = None if dump.value or disk_cache.directory() is None else canonical(closed)
        key = None if text is None else disk_cache.key_of(
            "executable", text.text, repr(donated).encode(), repr(trace_key()).encode())
        if text is None or key is None or not self._find(text, key):
            self._compile(closed, donated, text, key)

    def _find(self, text: Canonical, key: str) -> bool:
        """Take what another process has left; whether there was something."""
        found = disk_cache.read(key)
        if found is None:
            return False
        recipe, data = Recipe(*found[0]), found[1]
        ready = code(recipe.code, {e[0]: _extern(*e[1:]) for e in recipe.externs}, {})
        if ready is not None:
            self._prepare(recipe, ready, [
                _data(text.constants[c]) if isinstance(c, int) else _constant(data, *c)
                for c in recipe.constants])
        return ready is not None

    def _compile(self, closed: ClosedJaxpr, donated: tuple[bool, ...], text: Canonical | None,
                 key: str | None) -> None:
        from .._compiler.pipeline import build
        start = perf_counter()
        module = build(closed, donated)
        plan, program = module.plan, module.program
        ready = compile_program(program, offsets=plan.offsets, shared=plan.shared)
        places = {b: n for n, b in enumerate((*program.inputs, *program.outputs))}
        constants = list(map(_data, module.constants))
        numbers = {id(c): n for n, c in enumerate(text.constants)} if text else {}
        stored = [_data(c) for c in module.constants if id(c) not in numbers]
        starts = iter(np.cumsum([0, *(c.nbytes for c in stored)]).tolist())
        recipe = Recipe(
            ready.key,
            tuple(numbers[id(c)] if id(c) in numbers else (_type(data), next(starts))
                  for c, data in zip(module.constants, constants)),
            tuple(map(_type, program.outputs)),
            tuple(places[plan.shared[b]] if b in plan.shared else None for b in program.outputs),
            tuple(places[b] for b in module.results), plan.size, astuple(module.cost),
            tuple((symbol, e.name, tuple(map(_type, e.outputs)), tuple(map(_type, e.inputs)),
                   e.params) for symbol, e in ready.externs.items()))
        self._prepare(recipe, ready, constants)
        if key and _is_plain(recipe):
            disk_cache.write(key, tuple(recipe), b"".join(c.tobytes() for c in stored),
                             perf_counter() - start)

    def _prepare(self, recipe: Recipe, ready: Code, constants: list[np.ndarray]) -> None:
        self.recipe, self.code = recipe, ready
        self.constants = list(map(_as_buffer, constants))
        # For each output its shape and dtype, and the input that it overwrites, if it does.
        self.outputs = [(shape, np.dtype(name)) for shape, name in recipe.outputs]
        self.overwritten = recipe.overwritten
        self.results = list(zip(recipe.results, self.out_avals, strict=True))
        self.arena_size = recipe.arena_size

    @property
    def cost(self) -> Cost:
        """Operations and bytes of one run."""
        from .._compiler.cost import Cost
        return Cost(*self.recipe.cost)

    def run(self, buffers: list[np.ndarray]) -> list[Array]:
        """The results, given the data of the arguments."""
        memory = [*self.constants, *map(_as_buffer, buffers)]
        for (shape, dtype), taken in zip(self.outputs, self.overwritten):
            memory.append(empty(shape, dtype) if taken is None else memory[taken])
        run(self.code.address, self.arena_size, *memory)
        return [Array(_shaped(memory[place], aval.shape), False, aval)
                for place, aval in self.results]


def _shaped(data: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return data if data.shape == shape else data.reshape(shape)


def _data(constant) -> np.ndarray:
    return constant._value if type(constant) is Array else np.asarray(constant)


def _as_buffer(data: np.ndarray) -> np.ndarray:
    """The data in the form that code expects: contiguous, and bools where there is no data."""
    if data.dtype.itemsize == 0:
        return np.zeros(max(1, prod(data.shape)), np.bool_)
    return data if data.flags.c_contiguous else np.ascontiguousarray(data)


def _type(array) -> _Type:
    return tuple(array.shape), array.dtype.name


def _constant(data: bytes, kind: _Type, start: int) -> np.ndarray:
    """A constant that was computed while compiling."""
    shape, name = kind
    dtype = np.dtype(name)
    return np.frombuffer(data, dtype, prod(shape), start).reshape(shape)


def _extern(name: str, outputs, inputs, params) -> Extern:
    """A library call as the runtime knows it; its buffers have no names any more."""
    def buffers(types) -> tuple[Buffer, ...]:
        return tuple(Buffer("", shape, dtype) for shape, dtype in types)
    return Extern(name, buffers(outputs), buffers(inputs), params)


def _is_plain(recipe: Recipe) -> bool:
    """Whether a recipe can be written down and read."""
    try:
        return literal_eval(repr(tuple(recipe))) == tuple(recipe)
    except (ValueError, SyntaxError):
        return False


executable_of = cached_by_jaxpr(Executable)
