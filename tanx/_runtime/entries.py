"""Entries: what native code must know to take a call of one signature. Read by ``call.py``.

An entry is a ``bytes`` of words with the objects that the words are addresses of. It is made from
one call of the signature, and tells how others are recognised, and what runs.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from struct import pack
from typing import Any

import numpy as np

from .._config import trace_key
from .._core.array import Array
from .._core.jaxpr import ClosedJaxpr
from .._core.types import ShapedArray
from .._situation import flags_version, storage
from .._traceback import boundary
from .._treedef import child_specs
from .._treenodes import DictNode, ListNode, NamedTupleNode, NoneNode, TupleNode
from ..tree_util import tree_flatten
from . import call as native
from . import host
from .dispatch import Call
from .eager import compiled
from .executable import Executable
from .machine import permanent
from .native import translate

__all__ = ["entry_of", "vectorcall"]

RELEASED = 1e-5
"""Programs that are guessed to take more seconds than this run without Python's lock."""


def entry_of(call: Call, closed: ClosedJaxpr, donated: tuple[bool, ...], out_tree) -> tuple | None:
    """The entry for calls like ``call``, which are staged as ``closed`` with results of a tree.

    None where the call, or its program, has something that is left to Python.
    """
    executable = compiled(closed, donated)
    writer = _Writer if executable.direct else _PythonWriter
    try:
        return writer(executable, closed.in_avals).entry(call, out_tree)
    except _Foreign:
        return None


class _Foreign(Exception):
    """Something that native code does not know."""


_NUMBERS = {
    (float, np.dtype("f4")): native.F32, (float, np.dtype("f8")): native.F64,
    (int, np.dtype("i4")): native.I32, (int, np.dtype("i8")): native.I64,
    (complex, np.dtype("c8")): native.C64, (complex, np.dtype("c16")): native.C128,
    (bool, np.dtype("?")): native.BOOL}


class _Writer:
    """The words of an entry while it is written."""

    def __init__(self, executable: Executable, in_avals: list):
        self.executable = executable
        self.kept: list[Any] = [executable]
        self.words: list[int] = []
        self.numbers = 0
        self.inputs = len(executable.constants) + len(in_avals)
        self.arguments = enumerate(in_avals, len(executable.constants))
        # Where each result will be among those made; an argument that is a result is there once.
        self.passed: dict[int, int] = {}
        self.places = [self.passed.setdefault(place, n) if self.is_argument(place) else n
                       for n, (place, _) in enumerate(executable.results)]

    def is_argument(self, place: int) -> bool:
        return len(self.executable.constants) <= place < self.inputs

    def address(self, x) -> int:
        """The address of an object, which will live as long as the entry."""
        self.kept.append(x)
        return id(x)

    def entry(self, call: Call, out_tree) -> tuple:
        executable = self.executable
        values = [(i, x, i in call.static) for i, x in enumerate(call.args)]
        keywords = enumerate(call.kwargs.items(), len(call.args))
        values += [(i, x, name in call.static_names)
                   for name, i, x in sorted((name, i, x) for i, (name, x) in keywords)]
        static = [(i, x) for i, x, is_static in values if is_static]
        dynamic = [(i, x) for i, x, is_static in values if not is_static]
        for i, x in static:
            self.words += [i, self.address(type(x)), self.address(x)]
        self.words += [c.ctypes.data for c in executable.constants]
        for i, x in dynamic:
            self.words.append(i)
            leaves, tree = tree_flatten(x)
            self.tree(tree._spec, iter(leaves), self.leaf)
        outputs = self.outputs()
        made = self.results()
        self.tree(out_tree._spec, iter(self.places), lambda n: [native.LEAF, n])
        names = self.address(tuple(call.kwargs)) if call.kwargs else 0
        header = [self.address(trace_key()), len(call.args), names, len(static),
                  len(executable.constants), len(dynamic), outputs, made,
                  len(executable.results), *self.frame(), *self.program()]
        words = header + self.words
        return pack(f"={len(words)}q", *words), *self.kept

    def tree(self, spec, leaves: Iterator, leaf: Callable[[Any], list[int]]) -> None:
        """Write the codes of a tree; ``leaf`` gives those of a leaf."""
        if spec is None:
            self.words += leaf(next(leaves))
            return
        node, aux, *_ = spec
        children = child_specs(spec)
        kind = type(node)
        if kind is NoneNode:
            self.words.append(native.NONE)
        elif kind is TupleNode or kind is NamedTupleNode and leaf == self.leaf:
            self.words += [native.TUPLE, self.address(node.type), len(children)]
        elif kind is ListNode or kind is DictNode:
            self.words += [native.LIST if kind is ListNode else native.DICT, len(children)]
        else:
            parts = node.type, node.flatten, node.unflatten, aux
            self.words += [native.CUSTOM, *map(self.address, parts), len(children)]
        for n, child in enumerate(children):
            if kind is DictNode:
                self.words.append(self.address(aux[n]))
            self.tree(child, leaves, leaf)

    def leaf(self, x) -> list[int]:
        """The codes of a leaf of the arguments."""
        place, kind = next(self.arguments)
        data = x._value if type(x) is Array else None
        if data is not None and self.suits(data, kind):
            aval = x.aval
            return [native.ARRAY, *map(self.address, (aval, aval.dtype, aval.weak_type)),
                    self.passed.get(place, -1), *self.form(data.dtype, data.shape)]
        if place in self.passed:  # a result must not be memory that others write to
            raise _Foreign
        if self.suits(x, kind):
            return [native.NDARRAY, *self.form(x.dtype, x.shape)]
        self.numbers += 1
        if isinstance(x, np.generic) and x.dtype == kind.dtype and x.dtype.isbuiltin == 1:
            return [native.SCALAR, self.address(type(x))]
        if (type(x), kind.dtype) in _NUMBERS:
            return [_NUMBERS[type(x), kind.dtype]]
        raise _Foreign

    def suits(self, x, kind) -> bool:
        """Whether an object is a NumPy array that can be passed for an argument of a type."""
        return (type(x) is np.ndarray and x.dtype == kind.dtype and x.dtype.isnative
                and x.shape == kind.shape and x.dtype.itemsize > 0)

    def form(self, dtype: np.dtype, shape: tuple[int, ...]) -> list[int]:
        return [self.address(dtype), len(shape), *shape]

    def outputs(self) -> int:
        """Write the outputs, with the shapes that the results have; how many they are."""
        shapes: dict[int, tuple[int, ...]] = {}
        for place, aval in self.executable.results:
            if shapes.setdefault(place, aval.shape) != aval.shape:
                raise _Foreign
        for place, (shape, dtype) in enumerate(self.executable.outputs, self.inputs):
            self.words += self.form(dtype, shapes.get(place, shape))
        return len(self.executable.outputs)

    def results(self) -> int:
        """Write the results that are no arguments; how many they are."""
        count = 0
        for n, (place, aval) in enumerate(self.executable.results):
            if self.is_argument(place):
                continue
            constant = (self.executable.constants[place].reshape(aval.shape)
                        if place < self.inputs else None)
            self.words += [n, place - self.inputs, self.address(constant), self.address(aval)]
            count += 1
        return count

    def frame(self) -> list[int]:
        """The sizes of a frame: all of it, where its parts begin, and temporaries outside of it."""
        outputs = len(self.executable.outputs)
        held = native.ADDRESSES + 8 * (self.inputs + outputs + 1)
        made_outputs = held + 8 * (self.inputs - len(self.executable.constants))
        made = made_outputs + 8 * outputs
        numbers = made + 8 * len(self.executable.results)
        arena = (numbers + 16 * self.numbers + 63) & -64
        size = self.executable.arena_size
        small = arena + size <= native.SMALL
        return [arena + size * small, held, made_outputs, made, numbers, arena, size * (not small)]

    def program(self) -> list[int]:
        """What to call, and how."""
        long = self.executable.recipe.seconds > RELEASED
        return [self.executable.code.address, native.UNLOCKED if long else native.ALONE]


class _PythonWriter(_Writer):
    """An entry for programs that Python runs: they take a while, or arguments are donated.

    Arguments are passed as they are, and may be on their way still.
    """

    def __init__(self, executable: Executable, in_avals: list):
        super().__init__(executable, in_avals)
        self.dtypes: list[np.dtype | None] = []
        self.places = list(range(len(executable.results)))

    def leaf(self, x) -> list[int]:
        _, kind = next(self.arguments)
        self.dtypes.append(None if isinstance(x, np.ndarray) or type(x) is Array else kind.dtype)
        if type(x) is Array:
            aval = x.aval
            return [native.OBJECT, id(Array), *map(self.address, (
                aval, aval.shape, aval.dtype, aval.weak_type))]
        if self.suits(x, kind):
            return [native.NDARRAY, *self.form(x.dtype, x.shape)]
        if isinstance(x, np.generic) and x.dtype == kind.dtype or (type(x), kind.dtype) in _NUMBERS:
            return [native.OBJECT, self.address(type(x)), 0, 0, 0, 0]
        raise _Foreign

    def outputs(self) -> int:
        return 0

    def results(self) -> int:
        return 0

    def program(self) -> list[int]:
        run, dtypes = self.executable.run, tuple(self.dtypes)

        @boundary
        def run_leaves(leaves: tuple) -> list[Array]:
            return run(leaves)

        @boundary
        def convert_and_run(leaves: tuple) -> list[Array]:
            return run([x if dtype is None else np.asarray(x, dtype)
                        for x, dtype in zip(leaves, dtypes)])

        return [self.address(convert_and_run if any(dtypes) else run_leaves), native.PYTHON]


# -- the function that reads entries --------------------------------------------------------------

_OBJECTS: dict[str, Any] = {
    "PyArray_Type": np.ndarray, "PyFloat_Type": float, "PyComplex_Type": complex,
    "PyBool_Type": bool, "PyLong_Type": int, "PyList_Type": list, "PyDict_Type": dict,
    "_Py_NoneStruct": None, "_Py_TrueStruct": True, "array_class": Array,
    "shaped_array_class": ShapedArray, "call_name": "__call__"}
_NUMPY = {"PyArray_NewFromDescr": 94, "PyArray_ScalarAsCtype": 62}  # places in its table


@cache
def vectorcall() -> int:
    """The address of the native function that takes calls, built when first asked for."""
    symbols = {name: id(x) for name, x in _OBJECTS.items()}
    symbols |= {name: host.numpy_function(number) for name, number in _NUMPY.items()}
    symbols |= {name: host.address(name) for name in ("tanx_alloc", "tanx_free", "tanx_array")}
    symbols |= {"thread_key": storage.key, "flags_version": ctypes.addressof(flags_version)}
    text = partial(translate, native, ["vectorcall"])
    # Where objects keep things depends on the version of Python.
    return permanent(f"calls in {sys.version}", text, symbols, tidy=True)["vectorcall"]
