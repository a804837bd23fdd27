"""Names of foreign functions and of the types of their states."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import Any

from ..._runtime.foreign import STAGES, Target, new_type, register
from ...errors import JaxRuntimeError, explain

__all__ = ["include_dir", "pycapsule", "register_ffi_target",
           "register_ffi_target_as_batch_partitionable", "register_ffi_type",
           "register_ffi_type_id"]

_CPU = ("cpu", "host")
_TYPED, _UNTYPED = 1, 0

_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api))
_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", _api))
_capsule_type = type(_new(1, None, None))


def pycapsule(funcptr: Any):
    """The address of a function of ``ctypes`` as a capsule, the form of C pointers in Python.

    >>> import ctypes
    >>> tanx.ffi.pycapsule(ctypes.CDLL(None).strlen)
    <capsule object NULL at ...>
    """
    address = ctypes.cast(funcptr, ctypes.c_void_p).value
    if not address:
        raise ValueError(explain("tanx.ffi.pycapsule", "the function has no address.",
                                 f"function: {funcptr!r}"))
    capsule = _new(address, None, None)
    # ctypes frees a C function made from a Python function together with its object.
    _functions[address] = funcptr
    return capsule


_functions: dict[int, Any] = {}
"""Functions whose addresses are in capsules."""


def _address(public: str, capsule: Any) -> int:
    """The target of a capsule."""
    if not isinstance(capsule, _capsule_type):
        raise JaxRuntimeError(explain(
            public, "INVALID_ARGUMENT: a pointer must be in a capsule.",
            f"found: {capsule!r:.100}",
            hint="tanx.ffi.pycapsule(library.function) makes one."))
    return _pointer(capsule, _name(capsule))


def register_ffi_target(name: str, fn: Any, platform: str = "cpu", api_version: int = _TYPED,
                        **kwargs: Any) -> None:
    """Register a C function under a name, by which :func:`tanx.ffi.ffi_call` calls it.

    ``fn`` is a capsule with the address of a function that takes a call frame, or a dict of such
    capsules by stage: ``"instantiate"``, which runs once for each call in a compiled program, then
    ``"prepare"``, ``"initialize"`` and ``"execute"`` in each run; the last is required.
    ``api_version=0`` is for functions of the form ``void f(void *out, const void **in)``.
    Functions for other platforms than the CPU are accepted and never called.

    A name means one function for as long as the process runs.

    >>> import ctypes
    >>> nothing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda frame: None)
    >>> tanx.ffi.register_ffi_target("nothing", tanx.ffi.pycapsule(nothing))
    """
    public = "tanx.ffi.register_ffi_target"
    if api_version not in (_TYPED, _UNTYPED):
        raise ValueError(explain(public, "there is no such version.", f"api_version: {api_version}",
                                 hint="1 is for functions that take a call frame, 0 for others."))
    if isinstance(fn, Mapping):
        unknown = set(fn) - {*STAGES, "record"}
        if api_version != _TYPED or "execute" not in fn or unknown:
            raise ValueError(explain(
                public, "a dict must have a capsule for each stage to run, including "
                "'execute'.", f"found: {', '.join(map(repr, fn))}", f"known: {', '.join(STAGES)}"))
        stages = [_address(public, fn[stage]) if stage in fn else 0 for stage in STAGES]
    else:
        stages = [0, 0, 0, _address(public, fn)]
    if platform.lower() in _CPU:
        instantiate, prepare, initialize, execute = stages
        register(str(name), Target((instantiate, prepare, initialize, execute),
                                   api_version == _TYPED, fn))


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """Assign a number to a type of states.

    ``obj`` is a capsule that points to the number, a 64-bit integer, which is written there. The
    states of such a type are never deleted: see :func:`tanx.ffi.register_ffi_type`.

    >>> import ctypes
    >>> number = ctypes.c_int64(0)
    >>> tanx.ffi.register_ffi_type_id("a state", tanx.ffi.pycapsule(ctypes.pointer(number)))
    >>> number.value > 0
    True
    """
    register_ffi_type(name, {"type_id": obj}, platform)


def register_ffi_type(name: str, type_registration: Mapping[str, Any],
                      platform: str = "cpu") -> None:
    """Assign a number to a type of states, with the function that deletes a state.

    ``type_registration`` has capsules: ``"type_id"`` points to the number, which is written there,
    and ``"type_info"`` to the description of the type: its own size in bytes, a null pointer, and
    a function that deletes a state.

    >>> import ctypes
    >>> number = ctypes.c_int64(0)
    >>> info = (ctypes.c_void_p * 3)(24, None, ctypes.cast(ctypes.CDLL(None).free,
    ...                                                    ctypes.c_void_p).value)
    >>> tanx.ffi.register_ffi_type("block", {
    ...     "type_id": tanx.ffi.pycapsule(ctypes.pointer(number)),
    ...     "type_info": tanx.ffi.pycapsule(ctypes.pointer(info))})
    """
    public = "tanx.ffi.register_ffi_type"
    if "type_id" not in type_registration:
        raise ValueError(explain(
            public, "type_registration must have a capsule called 'type_id'.",
            f"found: {', '.join(map(repr, type_registration)) or 'nothing'}"))
    number = ctypes.c_int64.from_address(_address(public, type_registration["type_id"]))
    info = type_registration.get("type_info")
    if platform.lower() in _CPU:
        deleter = 0 if info is None else (ctypes.c_int64 * 3).from_address(
            _address(public, info))[2]
        number.value = new_type(name, number.value, deleter)


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Declare that a function works on each element of its leading dimensions separately.

    Arrays that are divided over devices along these can then be passed to it in parts. With one
    device, nothing is divided.

    >>> tanx.ffi.register_ffi_target_as_batch_partitionable("nothing")
    """
    _partitionable.add(str(name))


_partitionable: set[str] = set()


def include_dir() -> str:
    """The folder to give to a C compiler by ``-I``: it has ``tanx/ffi.h``.

    >>> os.listdir(os.path.join(tanx.ffi.include_dir(), "tanx"))
    ['ffi.h']
    """
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.join(package, "include")
