"""Entries: what native code must know to handle a call of one signature. Read by ``call.py``.

An entry is a ``bytes`` of words with the objects whose addresses the words are. It is made from one
call of the signature, and says how other calls are recognised, and what runs.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from struct import pack
from typing import Any

import numpy as np

from .._base.flags import trace_key
from .._base.thread_state import flags_version, storage
from .._base.traceback import boundary
from .._base.treedef import child_specs
from .._base.treenodes import DictNode, ListNode, NamedTupleNode, NoneNode, TupleNode
from .._core.array import Array
from .._core.guards import ABSENT, Cell, ClassMembers, Guards, Items, Members, Slot
from .._core.jaxpr import ClosedJaxpr
from .._core.origins import LARGE_RESULT, note_all
from .._core.stage import Staged
from .._core.types import ShapedArray, typeof
from ..dtypes import stored
from ..tree_util import tree_flatten, tree_leaves
from . import call, call_arguments, call_frame, call_guards, call_results, host, stop
from . import call_frame as native
from .eager import compiled
from .executable import Executable
from .machine_code import permanent
from .native import translate
from .objects import member_offset
from .python_call import Call
from .result_places import Committed, Places, placed, result_places

__all__ = ["entry_of", "vectorcall"]

RELEASED = 1e-5
"""Programs that are estimated to take more seconds than this run without Python's lock."""


def entry_of(call: Call, staged: Staged, donated: tuple[bool, ...]) -> tuple | None:
    """The entry for calls like ``call``, which are staged as ``staged``.

    None if the call, or its program, has something that is left to Python.
    """
    executable = compiled(staged.closed, donated)
    if executable.calls_python or executable.without_data:
        return None
    # Python first checks that there is memory for large results.
    writer = _PythonWriter if executable.is_long() or executable.heavy else _Writer
    try:
        return writer(executable, staged.closed.in_avals).entry(call, staged)
    except (_Foreign, RecursionError):  # trees that are too deep are left to Python, too
        return None


class _Foreign(Exception):
    """Something that native code does not support."""


_NUMBERS = {
    (float, np.dtype("f4")): native.F32, (float, np.dtype("f8")): native.F64,
    (int, np.dtype("i4")): native.I32, (int, np.dtype("i8")): native.I64,
    (complex, np.dtype("c8")): native.C64, (complex, np.dtype("c16")): native.C128,
    (bool, np.dtype("?")): native.BOOL}


_SCALARS = frozenset(np.dtype(code).type for code in "?bhilqBHILQefdFD")


class _Writer:
    """The words of an entry while it is written."""

    closed: ClosedJaxpr
    places: Places | None = None  # where results lie

    def __init__(self, executable: Executable, in_avals: list):
        self.executable = executable
        self.kept: list[Any] = [executable]
        self.words: list[int] = []
        self.numbers = 0
        self.in_avals = in_avals
        self.arguments = enumerate(in_avals)
        self.arrays: set[int] = set()  # the arguments that are tanx arrays
        # Results by the number of the argument, output or constant (counted backwards) they are.
        self.results = [(place - len(executable.constants), aval)
                        for place, aval in executable.results]
        self.known: dict[tuple, tuple[list[int], list[int]] | None] = {}
        self.results_of: dict[int, list[int]] = {}  # there may be a hundred thousand of them
        for n, (place, _) in enumerate(self.results):
            self.results_of.setdefault(place, []).append(n)

    def address(self, x) -> int:
        """The address of an object, which will live as long as the entry."""
        self.kept.append(x)
        return id(x)

    def entry(self, call: Call, staged: Staged) -> tuple:
        executable = self.executable
        values = [(i, x, i in call.static) for i, x in enumerate(call.args)]
        keywords = enumerate(call.kwargs.items(), len(call.args))
        values += [(i, x, name in call.static_names)
                   for name, i, x in sorted((name, i, x) for i, (name, x) in keywords)]
        static = [(i, x) for i, x, is_static in values if is_static]
        dynamic = [(i, x) for i, x, is_static in values if not is_static]
        self.closed = staged.closed
        if Committed.seen:
            self.places = result_places(tree_leaves([x for _, x in dynamic]), staged.closed)
        for i, x in static:
            self.words += [i, self.address(type(x)), self.address(x)]
        guards = self.write_guards(staged.guards)
        self.words += [c.ctypes.data for c in executable.constants]
        for i, x in dynamic:
            self.words.append(i)
            leaves, tree = tree_flatten(x)
            self.tree(tree._spec, iter(leaves), self.leaf)
        outputs = self.write_outputs()
        made, places = self.write_results()
        self.tree(staged.out_tree._spec, iter(places), lambda n: [native.LEAF, n])
        names = self.address(tuple(call.kwargs)) if call.kwargs else 0
        header = [self.address(trace_key()), len(call.args), names, len(static),
                  len(executable.constants), len(dynamic), outputs, made,
                  len(executable.results), *self.frame(), *self.program(), *guards]
        words = header + self.words
        return pack(f"={len(words)}q", *words), *self.kept

    def write_guards(self, guards: Guards) -> tuple[int, int]:
        """Write the guards; returns their bytes, and what checks whether they hold by value."""
        start = len(self.words)
        for guard in guards:
            if type(guard) is Members:
                size = len(guard.expected) if guard.whole else -1
                holder = 0 if guard.holder is None else id(guard.holder)
                self.words += [native.MEMBERS, holder, id(guard.members), -1, size,
                               len(guard.expected)]
                for name, value in guard.expected.items():
                    self.words += [id(name), 0 if value is ABSENT else id(value)]
            elif type(guard) is ClassMembers:
                self.words += [native.CLASS, id(guard.cls), 0]
            elif type(guard) is Cell:
                self.words += [native.WORD, id(guard.cell) + 16,
                               0 if guard.expected is ABSENT else id(guard.expected)]
            elif type(guard) is Slot:
                self.words += [native.WORD, id(guard.holder) + member_offset(guard.descriptor),
                               0 if guard.expected is ABSENT else id(guard.expected)]
            elif type(guard) is Items and type(guard.container) is list:
                self.words += [native.ITEMS_OF, id(guard.container), len(guard.expected),
                               *map(id, guard.expected)]
            else:
                raise _Foreign
        return 8 * (len(self.words) - start), self.address(guards.hold)

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
            if child is None:  # inline: there may be a hundred thousand of them
                self.words += leaf(next(leaves))
            else:
                self.tree(child, leaves, leaf)

    def leaf(self, x) -> list[int]:
        """The codes of a leaf of the arguments."""
        number, kind = next(self.arguments)
        data = x._value if type(x) is Array else None
        if type(data) is np.ndarray:
            key = x.aval, id(data.dtype), kind, id(x._device)
            shared = self.known.get(key, ())
            if shared == ():  # arguments of one type, which are many, share its words
                shared = self.array(x, data) if self.suits(data, kind) else None
                self.known[key] = shared
            if shared is not None:
                self.arrays.add(number)
                is_result = number in self.results_of
                return [*shared[0], self.result_that_is(number) if is_result else -1,
                        self.fate(number), *shared[1]]
        if self.fate(number) != native.KEPT:
            raise _Foreign
        if self.convertible(x, kind):
            return [native.NDARRAY, self.address(kind.dtype), *self.form(x)]
        self.numbers += 1
        if type(x) in _SCALARS and typeof(x).dtype == kind.dtype:
            # The low bits of integers are wanted, which come first.
            fewer = x.dtype.itemsize > kind.dtype.itemsize
            doubles = {"f": 1, "c": 2}.get(x.dtype.kind, 0) if fewer else 0
            return [native.SCALAR, self.address(type(x)), doubles]
        if (type(x), kind.dtype) in _NUMBERS:
            return [_NUMBERS[type(x), kind.dtype]]
        raise _Foreign

    def array(self, x: Array, data: np.ndarray) -> tuple[list[int], list[int]]:
        """The codes of the type and the place of an array, and of the form of its data."""
        return [native.ARRAY, *self.kind(x.aval), self.address(x._device)], self.form(data)

    def kind(self, aval: ShapedArray) -> list[int]:
        """Type, dtype and weak type. A type with a placement has no equal ones: no dtype."""
        dtype = self.address(aval.dtype) if aval.placement is None else 0
        return [self.address(aval), dtype, self.address(aval.weak_type)]

    def fate(self, number: int) -> int:
        """The effect of a call on an argument."""
        if number not in self.executable.taken:
            return native.KEPT
        place = number + len(self.executable.constants)
        return native.OVERWRITTEN if place in self.executable.overwritten else native.ENDED

    def result_that_is(self, number: int) -> int:
        """The first result that is an unchanged argument; -1 if no result is."""
        return next((n for n in self.results_of.get(number, ())
                     if self.is_as_it_came(number, self.results[n][1])), -1)

    def is_as_it_came(self, i: int, aval: ShapedArray) -> bool:
        """Whether a result of a type, whose data is that of argument ``i``, is the argument."""
        return (i in self.arrays and self.fate(i) == native.KEPT
                and self.in_avals[i] == aval)

    def suits(self, data, kind) -> bool:
        """Whether the data of an array can be passed for an argument of a type."""
        return (data.dtype == stored(kind.dtype)
                and data.dtype.isnative and data.shape == kind.shape and data.dtype.itemsize > 0)

    def convertible(self, x, kind) -> bool:
        """Whether an object is an array of NumPy that can be passed for an argument of a type."""
        return type(x) is np.ndarray and x.shape == kind.shape and kind.dtype.itemsize > 0

    def form(self, x) -> list[int]:
        """The form of an array, or of any object with a shape and a dtype."""
        return [self.address(x.dtype), len(x.shape), *x.shape]

    def write_outputs(self) -> int:
        """Write the outputs, with the shapes that the results have; their number."""
        constants, in_avals = len(self.executable.constants), self.in_avals
        outputs = zip(self.executable.outputs, self.executable.overwritten, strict=True)
        for (shape, dtype), taken in outputs:
            if taken is None:
                self.words += [-1, *self.form(ShapedArray(shape, dtype))]
            elif in_avals[taken - constants].shape == shape:
                self.words.append(taken - constants)
            else:
                raise _Foreign
        return len(self.executable.outputs)

    def write_results(self) -> tuple[int, list[int]]:
        """Write the results that are not unchanged arguments; their number.

        Also, for each result, its position among those created.
        """
        constants, count = self.executable.constants, 0
        places = []
        for n, (i, aval) in enumerate(self.results):
            is_argument = 0 <= i < len(self.in_avals)
            if is_argument and self.is_as_it_came(i, aval):
                places.append(self.result_that_is(i))
                continue
            places.append(n)
            count += 1
            place = None if self.places is None else self.places.of(aval)
            self.words += [n, self.address(aval), self.address(place)]
            if i < 0:
                data = constants[i + len(constants)].reshape(aval.shape)
                self.words += [native.CONSTANT, self.address(data)]
            elif not is_argument:
                which = i - len(self.in_avals)
                self.words += ([native.OUTPUT, which]
                               if self.executable.outputs[which][0] == aval.shape else
                               [native.OUTPUT_VIEWED, which, len(aval.shape), *aval.shape])
            elif i in self.arrays and self.in_avals[i].shape == aval.shape:
                self.words += [native.SHARED, i]
            elif i in self.arrays:
                self.words += [native.VIEWED, i, len(aval.shape), *aval.shape]
            else:
                self.words += [native.COPIED, i, aval.nbytes, *self.form(aval)]
        return count, places

    def frame(self) -> list[int]:
        """The sizes of a frame: all of it, where its parts begin, and temporaries outside of it."""
        arguments, outputs = len(self.in_avals), len(self.executable.outputs)
        held = native.ADDRESSES + 8 * (len(self.executable.constants) + arguments + outputs + 1)
        ended = held + 8 * arguments
        made_outputs = ended + 8 * len(self.executable.taken)
        made = made_outputs + 8 * outputs
        numbers = made + 8 * len(self.results)
        arena = (numbers + 16 * self.numbers + 63) & -64
        size = self.executable.arena_size
        small = arena + size <= native.SMALL
        return [arena + size * small, held, ended, made_outputs, made, numbers, arena,
                size * (not small)]

    def program(self) -> list[int]:
        """The address to call, and how to call it."""
        executable = self.executable
        # A user's function may take any time, and block.
        unlocked = executable.recipe.seconds > RELEASED or executable.calls_foreign
        large = any(aval.nbytes >= LARGE_RESULT for _, aval in self.results)
        return [executable.code.address, native.UNLOCKED if unlocked else native.ALONE, large]


class _PythonWriter(_Writer):
    """An entry for programs that take a while, which Python runs in the background.

    Arguments are passed as they are, and may still be pending.
    """

    def __init__(self, executable: Executable, in_avals: list):
        super().__init__(executable, in_avals)
        self.dtypes: list[np.dtype | None] = []  # what to convert numbers to

    def leaf(self, x) -> list[int]:
        _, kind = next(self.arguments)
        self.dtypes.append(None if isinstance(x, np.ndarray) or type(x) is Array else kind.dtype)
        if type(x) is Array:
            aval = x.aval
            whole, dtype, weak = self.kind(aval)
            return [native.OBJECT, id(Array), whole, self.address(aval.shape), dtype, weak]
        if self.convertible(x, kind):
            return [native.NDARRAY, self.address(kind.dtype), *self.form(x)]
        if type(x) in _SCALARS and typeof(x).dtype == kind.dtype or (
                type(x), kind.dtype) in _NUMBERS:
            return [native.OBJECT, self.address(type(x)), 0, 0, 0, 0]
        raise _Foreign

    def write_outputs(self) -> int:
        return 0

    def write_results(self) -> tuple[int, list[int]]:
        return 0, list(range(len(self.results)))

    def program(self) -> list[int]:
        run, dtypes = self.executable.run, tuple(self.dtypes)

        closed = self.closed

        @boundary
        def run_leaves(leaves: Sequence) -> list[Array]:
            outs = run(leaves)
            return (placed(outs, result_places(leaves, closed), leaves) if Committed.seen
                    else outs)

        @boundary
        def convert_and_run(leaves: tuple) -> list[Array]:
            return run_leaves([x if dtype is None else np.asarray(x, dtype)
                               for x, dtype in zip(leaves, dtypes)])

        function = run_leaves if set(dtypes) <= {None} else convert_and_run
        return [self.address(function), native.PYTHON, 0]


# -- the function that reads entries --------------------------------------------------------------

_OBJECTS: dict[str, Any] = {
    "PyArray_Type": np.ndarray, "PyFloat_Type": float, "PyComplex_Type": complex,
    "PyBool_Type": bool, "PyLong_Type": int, "PyList_Type": list, "PyDict_Type": dict,
    "_Py_NoneStruct": None, "_Py_TrueStruct": True, "array_class": Array,
    "shaped_array_class": ShapedArray, "call_name": "__call__"}
_NUMPY = {"PyArray_ScalarAsCtype": 62, "PyArray_FromArray": 109,
          "PyArray_Newshape": 135}  # indices in its table


@cache
def vectorcall() -> int:
    """The address of the native function that takes calls, built at its first use."""
    symbols = {name: id(x) for name, x in _OBJECTS.items()}
    symbols |= {name: host.numpy_function(number) for name, number in _NUMPY.items()}
    symbols |= {name: host.address(name) for name in ("tanx_alloc", "tanx_free", "tanx_array")}
    symbols |= {"tanx_stop": ctypes.addressof(stop.words), "settle": id(stop.settle),
                "note_all": id(note_all)}
    symbols |= {"thread_key": storage.key, "flags_version": ctypes.addressof(flags_version)}
    files = call, call_arguments, call_frame, call_guards, call_results
    text = partial(translate, files, ["vectorcall"])
    # The layout of objects depends on the version of Python.
    return permanent(f"calls in {sys.version}", text, symbols, tidy=True)["vectorcall"]
