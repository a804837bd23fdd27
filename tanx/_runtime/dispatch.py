"""Dispatch: from the arguments of a call to the program that runs it.

Calls of a jitted function go to native code (``call.py``), which handles the signatures that
occurred twice and passes all others to Python. In Python, and for functions of the library, most
calls pass arrays and numbers by position, and static values: their signature is a tuple of types,
built without flattening pytrees, and a known one leads directly to its program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.config import debug_infs, debug_key_reuse, debug_nans, no_execution
from .._base.flags import strict, trace_key
from .._base.locks import new_lock
from .._core.array import Array
from .._core.jaxpr import ClosedJaxpr
from .._core.stage import Staged
from .._core.trace import EvalTrace, context
from ..dtypes import stored_numbers
from ..tree_util import tree_unflatten
from .availability import is_native
from .eager import compiled, quietly
from .objects import native_calls, obstacle
from .python_call import Call
from .result_places import Committed, placed, places_of, result_places
from .tier0 import Program

__all__ = ["Dispatcher", "NativeCalls"]

_NUMBERS = frozenset((bool, int, float, complex))


class Dispatcher:
    """The programs of one function, by the types of its arguments."""

    __slots__ = ("static", "static_names", "make", "ready")

    LIMIT = 256  # cached signatures; beyond, the oldest is dropped

    def __init__(self, static: tuple[int, ...] = (), static_names: tuple[str, ...] = (),
                 make: Callable[..., Any] = compiled):
        self.static = frozenset(static)
        self.static_names = frozenset(static_names)
        self.make = make  # from a jaxpr to what runs it: an executable, or a program of tier 0
        self.ready: dict[tuple, Ready] = {}

    def signature(self, args: tuple, kwargs: dict) -> tuple | None:
        """The types of arguments and the values of static ones; None if the call is more
        complex."""
        if type(context.trace) is not EvalTrace or strict.value:
            return None
        parts: list = [trace_key()]
        for i, x in enumerate(args):
            kind = type(x)
            if i in self.static:
                parts.append(kind)
                parts.append(x)
            elif kind is Array:
                parts.append(x.aval)
            elif kind in _NUMBERS or x is None:  # None is a pytree without leaves
                parts.append(kind)
            else:
                return None
        for name, value in kwargs.items():
            if name not in self.static_names:
                return None
            parts += (name, type(value), value)
        return tuple(parts)

    def find(self, signature: tuple) -> Ready | None:
        """The program for a signature; None if it is unknown, or a static value has no hash."""
        try:
            return self.ready.get(signature)
        except TypeError:
            return None

    def remember(self, signature: tuple, closed: ClosedJaxpr, out_tree, args: tuple,
                 donated: tuple[bool, ...] = ()) -> Ready:
        """Cache the program for a signature, made for a call with ``args``."""
        program = self.make(closed, donated) if donated else self.make(closed)
        if len(self.ready) >= self.LIMIT:
            self.ready.pop(next(iter(self.ready)), None)
        dynamic = [i for i, x in enumerate(args) if i not in self.static and x is not None]
        dtypes = [aval.dtype for aval in closed.in_avals]
        whole = [i for i in dynamic if type(args[i]) is int]
        ready: Ready = (Repeated(closed, program.run, dynamic, dtypes, out_tree)
                        if whole and type(program) is Program else
                        Ready(program.run, dynamic, dtypes, out_tree))
        self.ready[signature] = ready
        return ready

    def clear(self) -> None:
        """Forget all programs."""
        self.ready.clear()


class Ready:
    """A program, and the facts needed to call it."""

    __slots__ = ("run", "dynamic", "dtypes", "out_tree", "single")

    def __init__(self, run, dynamic: list[int], dtypes: list, out_tree: Any):
        self.run, self.dynamic, self.dtypes = run, dynamic, dtypes
        self.out_tree = out_tree
        self.single = out_tree.num_leaves == 1 and out_tree.num_nodes == 1

    def __call__(self, args: tuple):
        return self.called(self.run, args)

    def called(self, run, args: tuple):
        """Call the program, or an equivalent one."""
        operands = []
        for i, dtype in zip(self.dynamic, self.dtypes):
            x = args[i]
            operands.append(x if type(x) is Array else stored_numbers(x, dtype)
                            if type(x) is int else np.asarray(x, dtype))
        outs = quietly(run, operands)
        if Committed.seen:
            outs = placed(outs, result_places(operands), operands)
        return outs[0] if self.single else tree_unflatten(self.out_tree, outs)


class Repeated(Ready):
    """A program of tier 0 some of whose arguments are integers, which are usually the same ones.

    After several calls with the same integers, what depends on them alone is computed once.
    """

    __slots__ = ("closed", "last", "times", "special")

    TIMES, TRIES = 3, 8  # consecutive calls that make it worthwhile, and how often it is done

    def __init__(self, closed: ClosedJaxpr, run, dynamic: list[int], dtypes: list, out_tree: Any):
        super().__init__(run, dynamic, dtypes, out_tree)
        self.closed = closed
        self.last: list[int] = []
        self.times = 0  # since they changed
        self.special: list[tuple[list[int], Any]] = []  # by integers

    def __call__(self, args: tuple):
        integers = [x for x in args if type(x) is int]
        for known, run in self.special:
            if known == integers:
                return self.called(run, args)
        if integers != self.last:
            self.last, self.times = integers, 0
        self.times += 1
        if self.times == self.TIMES and len(self.special) < self.TRIES:
            values = {n: np.asarray(args[i], dtype) for n, (i, dtype) in enumerate(
                zip(self.dynamic, self.dtypes)) if type(args[i]) is int}
            self.special.append((integers, Program(self.closed, values).run))
        return self.called(self.run, args)


# -- native calls ----------------------------------------------------------------------------------


class NativeCalls:
    """The signatures of one jitted function that native code handles."""

    __slots__ = ("_known", "_lock")

    def __init__(self) -> None:
        self._known: dict[tuple, tuple | None] = {}
        self._lock = new_lock()  # reentrant: flattening may call the function

    def learn(self, function, call: Call, leaves: list, staged: Staged,
              donated: tuple[bool, ...]) -> None:
        """Record a call of ``function`` that Python handles; make the next like it native.

        The first of a kind is only recorded, because many functions are called once.
        """
        if obstacle() is not None or not is_native() or any(
                flag.value for flag in _WATCHING):
            return
        for x in leaves:
            if type(x) is Array and x._data is not None:
                x._row_major()  # once, rather than in each call
        kind = (staged.closed, tuple(call.kwargs), tuple(map(type, leaves)), places_of(leaves))
        with self._lock:
            if kind not in self._known:
                if len(self._known) >= Dispatcher.LIMIT:
                    self._known.pop(next(iter(self._known)))
                self._known[kind] = None
            elif self._known[kind] is None:
                from .entries import entry_of, vectorcall  # late: they need the compiler
                entry = entry_of(call, staged, donated)
                self._known[kind] = entry or ()
                if entry:
                    native_calls(function, vectorcall(), tuple(filter(None, self._known.values())))

    def forget(self, function, closed: ClosedJaxpr) -> None:
        """Forget the signatures of a program."""
        with self._lock:
            for kind in [kind for kind in self._known if kind[0] is closed]:
                del self._known[kind]
            if obstacle() is None and getattr(function, "_native", None):
                function._native = tuple(filter(None, self._known.values()))

    def clear(self, function) -> None:
        """Forget all signatures."""
        with self._lock:
            self._known.clear()
            if obstacle() is None:
                function._native = ()


_WATCHING = (debug_nans, debug_infs, debug_key_reuse, no_execution)
"""Flags under which a call does more than run a program."""
