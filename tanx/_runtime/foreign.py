"""C functions of users that programs call: where they are, how they are called, what they report.

A program calls such a function by its address, in the thread that runs the program and without
Python's lock; Python is entered only when the function reports an error. That stops the program:
from then on it reads zeros, no further function is called, and the error is raised where the
program waits for the results. ``foreign_native.py`` has the native part.

Two kinds of functions can be called: *targets*, which have a name and take a call frame, and plain
C functions, whose parameters :mod:`tanx._runtime.c_calls` describes.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.forever import forever
from .._base.locks import new_lock
from .._base.tuples import NamedTuple
from ..errors import JaxRuntimeError, explain
from . import foreign_native as native
from . import host, stop
from .c_calls import CFunction, caller, known_functions, sizes_of
from .call_frames import ERROR_CODES, Template, api_table, empty_attributes
from .machine_code import permanent

if TYPE_CHECKING:
    from .._loops.nest import Extern

__all__ = ["STAGES", "Target", "bind", "call_now", "deleters", "new_type", "register", "target"]

STAGES = ("instantiate", "prepare", "initialize", "execute")
"""The stages of a typed function; only the last one is required."""


# -- targets ---------------------------------------------------------------------------------------


class Target(NamedTuple):
    """A function with a name: the address for each stage, and the objects that must stay alive."""

    stages: tuple[int, int, int, int]
    typed: bool
    kept: Any = None


_targets: dict[str, Target] = {}
_lock = new_lock()


def register(name: str, made: Target) -> None:
    """Register a target; a name means the same function for as long as the process runs."""
    with _lock:
        known = _targets.setdefault(name, made)
    if known[:2] != made[:2]:
        raise JaxRuntimeError(explain(
            "tanx.ffi.register_ffi_target",
            "INVALID_ARGUMENT: there is another function of that name already.", f"name: {name!r}",
            hint="programs that were compiled keep the first one; choose another name."))


def target(name: str, typed: bool) -> Target:
    """The target of a name."""
    found = _targets.get(name)
    if found is None:
        raise JaxRuntimeError(explain(
            "tanx.ffi.ffi_call", "NOT_FOUND: no function of that name is registered for the CPU.",
            f"name: {name!r}",
            hint="tanx.ffi.register_ffi_target(name, tanx.ffi.pycapsule(library.function)) "
                 "registers one."))
    if found.typed != typed:
        raise JaxRuntimeError(explain(
            "tanx.ffi.ffi_call", "NOT_FOUND: the function of that name has another interface.",
            f"name:       {name!r}", f"registered: api_version={int(found.typed)}",
            hint="custom_call_api_version=4 goes with api_version=1, and 1 with 0."))
    return found


# -- types of states -------------------------------------------------------------------------------

deleters = forever((ctypes.c_void_p * native.TYPES)())
"""The functions that delete states, by the number of their type."""
_types: dict[str, int] = {}


def new_type(name: str, wanted: int, deleter: int) -> int:
    """The number of a type of states; ``wanted`` is the number it has had so far, or 0."""
    with _lock:
        number = _types.get(name) or len(_types) + 1
        if wanted not in (0, number):
            raise JaxRuntimeError(explain(
                "tanx.ffi.register_ffi_type_id", "INVALID_ARGUMENT: the type has another number.",
                f"name: {name!r}", f"number: {wanted}, of {number}"))
        if number >= native.TYPES:
            raise JaxRuntimeError(explain(
                "tanx.ffi.register_ffi_type_id", "RESOURCE_EXHAUSTED: there are too many types.",
                f"name: {name!r}", f"types: {len(_types)}"))
        _types[name] = number
        deleters[number] = deleter or deleters[number]
        return number


# -- calls -----------------------------------------------------------------------------------------


class _Job:
    """The words of a call, the objects they refer to, and its names in messages."""

    def __init__(self, call: Extern):
        self.call = call
        params = dict(call.params)
        self.line: str | None = params.get("line")
        self.keep: list[Any] = []
        results, operands = list(call.outputs), list(call.inputs)
        sizes = [prod(b.shape) * b.dtype.itemsize for b in results]
        if params["kind"] == "c":
            function = CFunction(*params["function"])
            self.name, self.public = function.name, "tanx.extend.c_function"
            address, kept = known_functions[function.key]
            rest = [address, *sizes_of(function, [b.shape for b in (*results, *operands)])]
            how = caller(function, functions()["make_error"])
        else:
            self.name, self.public = params["function"], "tanx.ffi.ffi_call"
            kept = found = target(self.name, params["kind"] == "typed")
            how = functions()[params["kind"]]
            rest = self._typed(found, params) if found.typed else [found.stages[-1]]
        self.kind, self.stateful = params["kind"], False
        self.keep.append(kept)
        head = native.REST + 8 * len(rest)
        copies = [n for out, given in params["copies"]
                  for n in (out, len(results) + given, sizes[out])]
        words = [how, len(results), head, len(params["copies"]), head + 8 * len(sizes), *rest,
                 *sizes, *copies]
        self.words = (ctypes.c_int64 * len(words))(*words)
        self.address = ctypes.addressof(self.words)

    def _typed(self, found: Target, params: Mapping[str, Any]) -> list[int]:
        """The words after the head, for a function that takes a frame."""
        def logical(buffers, layouts) -> list[tuple[Sequence[int], np.dtype]]:
            return [(b.shape if layout is None else _unpermuted(b.shape, layout), b.dtype)
                    for b, layout in zip(buffers, layouts)]

        made = Template(api(), logical(self.call.outputs, params["layouts"][0]),
                        logical(self.call.inputs, params["layouts"][1]), params["attributes"])
        self.keep.append(made)
        data = made.data + bytes(-len(made.data) % 8)
        # The template comes after the words for states, then the moves, then the places.
        template = native.HEAD
        moves = template + len(data)
        places = moves + 16 * len(made.moves)
        frame = np.frombuffer(data, np.int64).tolist()
        return [*found.stages, len(data), template, len(made.moves), moves, len(made.places),
                places, *[0] * (2 * native.STAGES), *frame,
                *(n for move in made.moves for n in move), *made.places]

    def start(self) -> None:
        """Run the first stage, which may create a state for the others."""
        if self.kind == "typed" and self.words[native.INSTANTIATE // 8]:
            error = _function("instantiate", 1)(self.address)
            self.stateful = True
            if error:
                raised = self.failed(error)
                _function("destroy", 1)(error)
                raise raised

    def failed(self, error: int) -> JaxRuntimeError:
        """The exception for an error that the function has reported."""
        code, text = ctypes.c_int64.from_address(error).value, ctypes.string_at(error + 8)
        said = text.decode(errors="replace")
        if self.kind == "c":
            what = said or f"it returned {code}"
        else:
            name = ERROR_CODES[code] if 0 <= code < len(ERROR_CODES) else f"code {code}"
            what = f"{name}: {said}"
        kind = _InvalidArgument if self.kind != "c" and code == native.INVALID else JaxRuntimeError
        where = [] if self.line in (None, "None") else [f"called at: {self.line}"]
        return kind(explain(
            self.public, f"the foreign function {self.name} failed.",
            f"error:     {what}" if where else f"error: {what}", *where))

    def __del__(self):
        if getattr(self, "stateful", False):
            _function("end_state", 1)(self.address + native.STATES)


class _InvalidArgument(JaxRuntimeError, ValueError):
    """An error about arguments: JAX raises one class or the other, depending on the call."""


_InvalidArgument.__name__ = _InvalidArgument.__qualname__ = JaxRuntimeError.__name__
_InvalidArgument.__module__ = JaxRuntimeError.__module__


def _unpermuted(shape: Sequence[int], layout: Sequence[int]) -> list[int]:
    """The sizes of dimensions in memory order ``layout``, for dimensions ``shape``."""
    sizes = [0] * len(shape)
    for size, dimension in zip(shape, layout):
        sizes[dimension] = size
    return sizes


_jobs: weakref.WeakValueDictionary[int, _Job] = weakref.WeakValueDictionary()
"""The jobs there are, by their addresses."""


def bind(call: Extern) -> tuple[int, int, _Job]:
    """The C function for a call of a foreign function, its first argument, and what to keep."""
    job = _jobs_add(_Job(call))
    job.start()
    return functions()["foreign"], job.address, job


def _jobs_add(job: _Job) -> _Job:
    _jobs[job.address] = job
    return job


@lru_cache(256)
def _bound(call: Extern) -> _Job:
    return bind(call)[2]


def call_now(call: Extern, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a call, outside of any program."""
    job = _bound(call)
    results = [host.empty(b.shape, b.dtype) for b in call.outputs]
    arrays = [*results, *map(np.ascontiguousarray, operands)]
    places = (ctypes.c_void_p * max(1, len(arrays)))(*(x.ctypes.data for x in arrays))
    _function("foreign", 2)(job.address, ctypes.addressof(places))
    if stop.words.failing:
        stop.settle()
    return results


# -- native code -----------------------------------------------------------------------------------


@cache
def functions() -> dict[str, int]:
    """The addresses of the native functions."""
    def text() -> str:
        from .native import translate
        return translate((native,), (*native.CALLERS, *native.API))

    no_memory = forever(ctypes.create_string_buffer(
        native.EXHAUSTED.to_bytes(8, "little") + native.TEXTS["memory"].encode()))
    symbols = {
        **stop.addresses(), "tanx_enter": stop.enter_address(), "tanx_failed": id(_failed),
        "tanx_deleters": ctypes.addressof(deleters), "tanx_no_options": empty_attributes(),
        "tanx_no_memory": ctypes.addressof(no_memory),
        **{name: host.address(name) for name in ("tanx_alloc", "tanx_free")},
        **{f"tanx_text_{name}": ctypes.addressof(forever(ctypes.create_string_buffer(
            text.encode()))) for name, text in native.TEXTS.items()}}
    return permanent("foreign functions", text, symbols, tidy=True)


@cache
def api() -> int:
    """The address of the table of functions that frames offer."""
    return api_table([functions()[name] for name in native.API])


@cache
def _function(name: str, arguments: int) -> Any:
    """A native function as one of Python's; it runs without Python's lock."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * arguments)(functions()[name])


def _failed(raised: BaseException | None, address: int) -> None:
    """Stop the program whose function has reported an error, or during which a signal came."""
    job, error = (ctypes.c_int64 * 2).from_address(address)
    stop.fail(_jobs[job].failed(error) if raised is None else raised)
