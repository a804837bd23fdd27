"""Python state that a trace reads: attributes of objects, globals, closure variables.

A jitted function is traced once, and values that it reads besides its arguments become part of the
program. To detect changes, reads are recorded while a function is traced:

- Attributes of static arguments, of ``self`` and of objects found through them. Their classes get a
  ``__getattribute__`` that records reads while the trace runs.
- Globals and variables of enclosing functions that the function reads, and the user's functions
  that it names (``code_reads.py``).
- The items of lists, dicts and sets that any of these lead to: up to ``MOST`` of them.

State that the trace itself changes, such as a counter of traces, does not count; nor do callbacks,
which run with the program and not with the trace. All other reads become guards (``guards.py``).
"""

from __future__ import annotations

import functools
import os
import site
import sys
import threading
from collections.abc import Iterable, Iterator
from enum import Enum
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from .._base.locks import new_lock
from .array import Array
from .code_reads import code_reads
from .guards import (
    ABSENT,
    Cell,
    ClassMembers,
    Guard,
    Guards,
    Items,
    Members,
    Slot,
    holder_of,
    lookup,
    same,
)
from .jaxpr import Jaxpr, jaxprs_in_params
from .primitive import Kind
from .source import is_ours
from .trace import Tracer

__all__ = ["Reads", "absorb", "reading"]

names_count = True
"""Whether globals and variables of enclosing functions count. Under the name of jax they do not:
programs written for JAX rely on being traced once, and JAX's own tests check it by such names."""

MOST = 10_000
"""Items of containers that one trace may watch: comparing that many takes 5 µs per call."""

_PLAIN = frozenset((int, float, complex, bool, str, bytes, type(None), type(...), Array, np.ndarray,
                    np.dtype, type, BuiltinFunctionType, range, slice, frozenset))
_Origin = CodeType | None
"""The code that led to a value; None if the trace certainly uses it."""


class _Active(threading.local):
    """The reads of the innermost trace of this thread."""

    reads: Reads | None = None


_active = _Active()


class reading:
    """Record the reads of a block that traces ``fun`` with some static values."""

    def __init__(self, fun: Any, static: Iterable[Any] = ()):
        self.reads = Reads(_active.reads)
        for value in (fun, *static):
            self.reads.reach(value, None)

    def __enter__(self) -> Reads:
        _active.reads = self.reads
        return self.reads

    def __exit__(self, *_) -> None:
        _active.reads = self.reads.outer
        self.reads.unhook()


def absorb(guards: Guards) -> None:
    """Let the current trace, if any, depend on the reads of an earlier one."""
    reads = _active.reads
    while reads is not None and guards:
        reads.absorbed.append(guards)
        reads = reads.outer


class _Object:
    """An object whose attributes are recorded, and its attributes before the trace."""

    __slots__ = ("target", "before", "names")

    def __init__(self, target: Any):
        self.target = target
        members = _namespace(target)
        self.before = None if members is None else dict(members)
        self.names: dict[str, Any] = {}


class _Variable:
    """A value found by a name, or a container's items, and the code that led there."""

    __slots__ = ("place", "name", "before", "origins")

    def __init__(self, place: Any, name: str, before: Any):
        self.place, self.name, self.before = place, name, before
        self.origins: set[_Origin] = set()


class Reads:
    """The reads of one trace so far."""

    def __init__(self, outer: Reads | None = None):
        self.outer = outer
        self.absorbed: list[Guards] = []
        self.objects: dict[int, _Object] = {}
        self.containers: dict[int, _Variable] = {}
        self.globals: dict[tuple[int, str], _Variable] = {}
        self.cells: dict[int, _Variable] = {}
        self.attributes: dict[tuple[int, str], _Variable] = {}  # of classes, by name
        self.functions: dict[int, Any] = {}  # functions visited; held, so that ids stay unique
        self.roots: set[CodeType] = set()
        self.named: dict[CodeType, set[CodeType]] = {}  # the functions that code names
        self.hooked: list[type] = []
        self.room = MOST
        self.complete = True  # whether all state that was reached is watched

    # -- finding objects and names that can be read ------------------------------------------------

    def reach(self, value: Any, origin: _Origin) -> None:
        """Visit a value that the trace can read, and the values that are readable from it."""
        kind = type(value)
        if kind in _PLAIN or isinstance(value, (Tracer, type, ModuleType, Enum)):
            if kind is np.ndarray and value.flags.writeable:
                self.complete = False
            return
        if kind is FunctionType:
            self.reach_function(value, origin)
        elif kind is MethodType:
            self.reach(value.__self__, origin)
            self.reach(value.__func__, origin)
        elif kind is functools.partial:
            for part in (value.func, *value.args, *value.keywords.values()):
                self.reach(part, origin)
        elif isinstance(value, tuple):
            for item in value:
                self.reach(item, origin)
        elif isinstance(value, (list, dict, set)):
            self.reach_container(value, origin)
        elif _is_library(kind):
            self.complete = self.complete and is_ours(_file_of(kind.__module__))
            self.reach((_namespace(value) or {}).get("__wrapped__"), origin)
        elif id(value) not in self.objects:
            self.reach_object(value, origin)

    def reach_object(self, value: Any, origin: _Origin) -> None:
        kind = type(value)
        if not _hook(kind):
            members = _namespace(value)
            if members is not None:
                self.reach_container(members, origin)
            else:
                self.complete = False
            return
        self.hooked.append(kind)
        self.objects[id(value)] = _Object(value)
        if type(called := lookup(kind, "__call__")) is FunctionType:
            self.reach_function(called, origin)

    def reach_container(self, value: Any, origin: _Origin) -> None:
        known = self.containers.get(id(value))
        if known is None:
            if len(value) > self.room:
                self.complete = False
                return
            self.room -= len(value)
            items = dict(value) if isinstance(value, dict) else (
                frozenset(value) if isinstance(value, set) else tuple(value))
            known = self.containers[id(value)] = _Variable(value, "", items)
        if origin not in known.origins:
            known.origins.add(origin)
            for item in known.before.values() if isinstance(value, dict) else known.before:
                self.reach(item, origin)

    def reach_function(self, function: FunctionType, origin: _Origin) -> None:
        code = function.__code__
        if origin is None:
            self.roots.add(code)
        else:
            self.named.setdefault(origin, set()).add(code)
        if id(function) in self.functions:
            return
        self.functions[id(function)] = function
        if _is_library_file(code.co_filename):  # may have been made for a function of the user's
            for cell in function.__closure__ or ():
                content = _content(cell)
                if callable(content) and not isinstance(content, type):
                    self.reach(content, code)
            return
        cells = dict(zip(code.co_freevars, function.__closure__ or ()))
        self.reach_code(code, function.__globals__, cells)

    def reach_code(self, code: CodeType, names: dict[str, Any], cells: dict[str, Any]) -> None:
        """Record the names that a function's code reads, and the code of functions inside of it."""
        if not names_count:
            return
        reads = code_reads(code)
        for name in reads.free:
            if name in cells:
                self.note(self.cells, id(cells[name]), cells[name], name, _content(cells[name]),
                          code)
        for name in reads.names:
            value = names.get(name, ABSENT)
            if value is not ABSENT and not _is_fixed(value):
                self.note(self.globals, (id(names), name), names, name, value, code)
        for name, attribute in reads.attributes:
            owner = _content(cells[name]) if name in cells else names.get(name)
            if isinstance(owner, ModuleType) and not _is_fixed(owner):
                value = owner.__dict__.get(attribute, ABSENT)
                self.note(self.globals, (id(owner.__dict__), attribute), owner.__dict__, attribute,
                          value, code)
            elif isinstance(owner, type) and not _is_library(owner):
                self.note(self.attributes, (id(owner), attribute), owner, attribute,
                          lookup(owner, attribute), code)
        for inner in reads.inner:
            self.named.setdefault(code, set()).add(inner)
            self.reach_code(inner, names, cells)

    def note(self, kind: dict, key: Any, place: Any, name: str, value: Any, code: CodeType) -> None:
        variable = kind.get(key)
        if variable is None:
            variable = kind[key] = _Variable(place, name, value)
        if code not in variable.origins:
            variable.origins.add(code)
            self.reach(getattr(value, "__func__", value) if isinstance(
                value, (staticmethod, classmethod)) else value, code)

    def unhook(self) -> None:
        for cls in self.hooked:
            _unhook(cls)
        self.hooked.clear()

    # -- what was read -----------------------------------------------------------------------------

    def read(self, target: Any, name: str, value: Any) -> None:
        """Record an attribute that was read; ABSENT if there was none."""
        known = self.objects.get(id(target))
        if known is None or name in known.names:
            return
        # Values stored here outlive the trace; traced values, as properties may return, must not.
        known.names[name] = ABSENT if isinstance(value, Tracer) else value
        if name == "__dict__":
            for each in known.before or ():
                self.read(target, each, value[each] if each in value else ABSENT)
        else:
            self.reach(value, None)

    def guards(self, jaxpr: Jaxpr) -> Guards:
        """Everything that was read and that the trace has not changed."""
        found = _Merged()
        live = self._live(jaxpr) if self.globals or self.cells or self.containers else set()
        written = {name for code in live for name in code_reads(code).written}
        for variable in self.globals.values():
            if self._counts(variable, live) and variable.name not in written:
                now = variable.place.get(variable.name, ABSENT)
                if same(now, variable.before):
                    found.member(None, variable.place, variable.name, now, "global *")
        for variable in self.cells.values():
            if self._counts(variable, live) and variable.name not in written and same(
                    _content(variable.place), variable.before):
                if not isinstance(variable.before, bool):  # flags of the trace itself do not count
                    found.add(Cell(variable.place, variable.before, variable.name))
        for variable in self.attributes.values():
            if self._counts(variable, live):
                found.class_member(variable.place, variable.name, variable.before)
        for known in self.objects.values():
            _guards_of_object(known, found)
        for variable in self.containers.values():
            if self._counts(variable, live):
                _guards_of_container(variable, found)
        for guards in self.absorbed:
            for guard in guards:
                found.absorb(guard)
        return found.guards()

    def covers(self, fun: Any) -> bool:
        """Whether a trace of a callable object or a method may be reused.

        That is so if all state that it could read is watched, and if it has changed nothing.
        """
        return (self.complete and (names_count or type(fun) is not MethodType)
                and all(map(_is_as_before, self.objects.values()))
                and all(map(_holds_the_same, self.containers.values())))

    def _live(self, jaxpr: Jaxpr) -> set[CodeType]:
        """The code that the trace may have run, without functions that the program calls."""
        later = set(_called_by_program(jaxpr))
        live: set[CodeType] = set()
        stack = list(self.roots)
        while stack:
            code = stack.pop()
            if code not in live and code not in later:
                live.add(code)
                stack.extend(self.named.get(code, ()))
        return live

    def _counts(self, variable: _Variable, live: set[CodeType]) -> bool:
        return None in variable.origins or not live.isdisjoint(variable.origins)


def _guards_of_object(known: _Object, found: _Merged) -> None:
    target, kind = known.target, type(known.target)
    members = _namespace(target)
    for name, first in known.names.items():
        stored = lookup(kind, name)
        if hasattr(type(stored), "__set__") or name == "__dict__":  # before the object's own
            if type(stored) is MemberDescriptorType:
                if same(_slot(stored, target), first):
                    found.add(Slot(target, stored, first))
            elif name[:2] != "__":
                found.class_member(kind, name, stored)  # reads inside are recorded
            continue
        if members is not None and known.before is not None:
            before, now = known.before.get(name, ABSENT), members.get(name, ABSENT)
            if not same(before, now):
                continue  # changed by the trace
            if now is not ABSENT or name[:2] != "__":
                found.member(target, members, name, now,
                             f"attribute * of {kind.__qualname__}", "__dict__" in known.names)
            if now is not ABSENT:
                continue
        if stored is not ABSENT and name[:2] != "__":
            found.class_member(kind, name, stored)


def _is_as_before(known: _Object) -> bool:
    """Whether the trace has not changed the attributes of an object."""
    members, before = _namespace(known.target) or {}, known.before or {}
    return len(members) == len(before) and all(
        same(members.get(name, ABSENT), value) for name, value in before.items())


def _holds_the_same(variable: _Variable) -> bool:
    """Whether the trace has not changed the items of a container."""
    container, before = variable.place, variable.before
    if isinstance(container, set):
        return container == before
    if len(container) != len(before):
        return False
    if isinstance(container, dict):
        return all(same(container.get(key, ABSENT), value) for key, value in before.items())
    return all(map(same, container, before))


def _guards_of_container(variable: _Variable, found: _Merged) -> None:
    container, before = variable.place, variable.before
    if any(isinstance(x, Tracer) for x in (
            before.values() if isinstance(before, dict) else before)) or (
            not _holds_the_same(variable)):
        return
    if not isinstance(container, dict):
        found.add(Items(container, before))
        return
    for key, value in before.items():
        found.member(None, container, key, value, "item * of a dict", True)
    if not before:
        found.member(None, container, ABSENT, ABSENT, "items of a dict", True)


class _Merged:
    """Collected guards: those of one dict or class are merged."""

    def __init__(self) -> None:
        self.members: dict[int, Members] = {}
        self.classes: dict[int, ClassMembers] = {}
        self.others: dict[tuple, Guard] = {}

    def member(self, holder: Any, members: dict, name: Any, value: Any, label: str,
               whole: bool = False) -> None:
        if isinstance(value, Tracer):
            return
        known = self.members.get(id(members))
        if known is None or whole and not known.whole:
            expected = known.expected if known else {}
            known = self.members[id(members)] = Members(holder, members, expected, whole, label)
        if name is not ABSENT:
            known.expected[name] = value

    def class_member(self, cls: type, name: str, value: Any) -> None:
        self.classes.setdefault(id(cls), ClassMembers(cls, {})).expected[name] = value

    def add(self, guard: Cell | Slot | Items) -> None:
        if isinstance(guard.expected, Tracer):
            return
        self.others.setdefault((type(guard), id(guard[0]), *guard[1:2]) if type(guard) is Slot
                               else (type(guard), id(guard[0])), guard)

    def absorb(self, guard: Guard) -> None:
        """Add a guard of another trace, if it still holds."""
        changed = next(guard.changes(), None) is not None
        if isinstance(guard, Members):
            if guard.whole and changed:
                return
            for name, value in guard.expected.items() or ((ABSENT, ABSENT),):
                if same(guard.members.get(name, ABSENT), value):
                    self.member(holder_of(guard), guard.members, name, value, guard.label,
                                guard.whole)
        elif isinstance(guard, ClassMembers):
            for name, value in guard.expected.items():
                self.class_member(guard.cls, name, value)
        elif not changed:
            self.add(guard._replace(holder=holder_of(guard)) if isinstance(guard, Slot)
                     else guard)

    def guards(self) -> Guards:
        return Guards((*self.members.values(), *self.classes.values(), *self.others.values()))


# -- functions that run with the program -----------------------------------------------------------


def _called_by_program(jaxpr: Jaxpr) -> Iterator[CodeType]:
    """The code of functions that a program calls when it runs, or that are traced another time."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.kind is not Kind.CALL:
            continue
        for value in eqn.params.values():
            if callable(value) and not isinstance(value, type):
                yield from _code_behind(value, set())
        for inner in jaxprs_in_params(eqn.params):
            yield from _called_by_program(inner)


def _code_behind(value: Any, seen: set[int]) -> Iterator[CodeType]:
    if id(value) in seen or isinstance(value, type) or not callable(value):
        return
    seen.add(id(value))
    parts: Iterable[Any] = ()
    if isinstance(value, FunctionType):
        yield value.__code__
        parts = map(_content, value.__closure__ or ()) if _is_library_file(
            value.__code__.co_filename) else ()
    elif isinstance(value, MethodType):
        parts = (value.__func__,)
    elif isinstance(value, functools.partial):
        parts = (value.func, *value.args, *value.keywords.values())
    elif is_ours(_file_of(type(value).__module__)):
        slots = (name for cls in type(value).__mro__ for name in vars(cls).get("__slots__", ()))
        parts = (*(_namespace(value) or {}).values(),
                 *(getattr(value, name, None) for name in slots))
    for part in parts:
        yield from _code_behind(part, seen)


# -- classes whose attributes are watched ----------------------------------------------------------

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8  # flags of classes
_hooks: dict[type, list] = {}  # for each class: how many traces watch it, its own method or None
_lock = new_lock()


def _hook(cls: type) -> bool:
    """Make a class record attribute reads; returns whether that is possible."""
    if not cls.__flags__ & _HEAP or cls.__flags__ & _IMMUTABLE:
        return False
    with _lock:
        if cls in _hooks:
            _hooks[cls][0] += 1
            return True
        own = cls.__dict__.get("__getattribute__")
        try:
            type.__setattr__(cls, "__getattribute__", _noting(cls.__getattribute__))
        except TypeError:  # metaclasses in C refuse, such as those of pybind11 and ctypes
            return False
        _hooks[cls] = [1, own]
    return True


def _unhook(cls: type) -> None:
    with _lock:
        _hooks[cls][0] -= 1
        if _hooks[cls][0]:
            return
        own = _hooks.pop(cls)[1]
        if own is None:
            type.__delattr__(cls, "__getattribute__")
        else:
            type.__setattr__(cls, "__getattribute__", own)


def _noting(original):
    def __getattribute__(self, name):
        try:
            value = original(self, name)
        except AttributeError:
            _read(self, name, ABSENT)
            raise
        _read(self, name, value)
        return value
    return __getattribute__


def _read(target: Any, name: str, value: Any) -> None:
    reads = _active.reads
    if reads is None:
        return
    _active.reads = None  # looking at the value reads attributes, too
    try:
        each: Reads | None = reads
        while each is not None:
            each.read(target, name, value)
            each = each.outer
    finally:
        _active.reads = reads


# -- libraries and user code -----------------------------------------------------------------------


_OF_PYTHON = (os.path.dirname(os.__file__),)
"""Where Python's own files are."""


@functools.cache
def _of_packages() -> tuple[str, ...]:
    """Where packages are installed."""
    # sysconfig, which knows these folders as well, takes 3 ms of the first call.
    return tuple(map(os.path.normpath, site.getsitepackages()))


@functools.cache
def _is_library_file(file: str) -> bool:
    """Whether a file belongs to tanx, to Python, or to an installed package."""
    return is_ours(file) or file.startswith((*_OF_PYTHON, *_of_packages(), "<frozen"))


@functools.lru_cache(maxsize=4096)
def _file_of(module: str) -> str:
    return getattr(sys.modules.get(module), "__file__", None) or "<frozen>"


def _is_library(cls: type) -> bool:
    """Whether a class belongs to tanx, Python or NumPy, so that its attributes are not watched.

    A logger, for example, caches enabled levels in a dict. Namespaces are watched: they hold users'
    settings.
    """
    module = cls.__module__
    if module in ("argparse", "types"):
        return False
    file = _file_of(module)
    return is_ours(file) or module in ("builtins", "numpy", "functools") or (
        file.startswith(_OF_PYTHON) and not file.startswith(_of_packages()))


def _is_fixed(value: Any) -> bool:
    """Whether a global is assumed constant: modules, functions and classes of libraries."""
    if isinstance(value, ModuleType):
        return _is_library_file(getattr(value, "__file__", None) or "<frozen>")
    if isinstance(value, FunctionType):
        code = value.__code__
        return _is_library_file(code.co_filename) and "<locals>" not in code.co_qualname
    if isinstance(value, type):
        return value.__module__ != "__main__" and _is_library_file(_file_of(value.__module__))
    return isinstance(value, BuiltinFunctionType)


def _namespace(value: Any) -> dict | None:
    """The ``__dict__`` of an object, without running any code of its class."""
    try:
        members = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return members if type(members) is dict else None


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def _slot(descriptor: Any, target: Any) -> Any:
    try:
        return descriptor.__get__(target)
    except AttributeError:
        return ABSENT
