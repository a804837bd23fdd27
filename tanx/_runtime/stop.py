"""Stopping running programs: Ctrl-C, and exceptions in functions that they call.

Loops of compiled code read :data:`words` in each step. If one of them is not zero, they call
``tanx_stopped``, which lets Python handle signals, as the interpreter does between two lines, and
says whether there is a reason for this program to end. Reasons belong to threads: an exception that
a signal handler raised in the main thread, one of a callback, or that of another thread which no
longer waits for work in the background. Tasks of the pool end with the thread that started them.

A Python signal handler runs only when the main thread is back in Python. So that loops notice, a
native handler comes before it: it calls Python's and then sets the first of the words.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable
from functools import cache

from .._base.forever import forever
from .._base.locks import new_lock
from .._compiler.abi import NO_ROOM, STOP, STOPPED
from .machine_code import permanent
from .memory import out_of_memory
from .signals import when_restored

__all__ = ["addresses", "doom", "enter_address", "errors_of_threads", "fail", "fails_job",
           "has_failed", "owner", "settle", "spare", "words", "workers"]


class _Words(ctypes.Structure):
    """The two halves of the word that loops read."""

    _fields_ = [("interrupted", ctypes.c_int32), ("failing", ctypes.c_int32)]


words = forever(_Words())
owner = forever(ctypes.c_int64())
"""The thread whose tasks the pool is working on."""
workers = forever((ctypes.c_int64 * 1024)())
"""The threads of the pool."""


def enter_address() -> int:
    """The address of the function that calls Python functions from native code."""
    return _native()["tanx_enter"]


def addresses() -> dict[str, int]:
    """The addresses that compiled code needs; installs the signal handler."""
    found = _native()
    _listen()
    return {STOP: ctypes.addressof(words), STOPPED: found[STOPPED], NO_ROOM: found[NO_ROOM]}


def _listen() -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_int32)(_native()["tanx_listen"])(signal.SIGINT)


@cache
def _native() -> dict[str, int]:
    found = permanent("stop", _text, {
        STOP: ctypes.addressof(words), "main": ctypes.addressof(_main), "look": id(_look),
        "no_room": id(_no_room), "_Py_NoneStruct": id(None)}, tidy=True)
    when_restored.append(_listen)
    return found


def _text() -> str:
    from . import stop_native  # late: needed only where the code is not on disk
    from .native import translate
    return translate([stop_native], stop_native.__all__)


_main = forever(ctypes.c_int64(threading.main_thread().ident or 0))


def _in_child() -> None:
    _main.value = threading.get_ident()
    owner.value = words.interrupted = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


# -- reasons ---------------------------------------------------------------------------------------

_lock = new_lock()
_reasons: set[int] = set()  # the reasons to stop, by identity
_errors: dict[int, BaseException] = {}  # raised by signal handlers, by thread

errors_of_threads: list[Callable[[int, BaseException | None], BaseException | None]] = []
"""Functions that may know why a thread should stop; they get an error in that thread."""


def doom(thing: object) -> None:
    """Let loops check whether to stop, until the request is withdrawn."""
    with _lock:
        _reasons.add(id(thing))
        words.failing = len(_reasons)


def spare(thing: object) -> None:
    """Withdraw a reason to stop."""
    with _lock:
        _reasons.discard(id(thing))
        words.failing = len(_reasons)


def settle() -> None:
    """Raise the exception that stopped the program in this thread."""
    error = _errors.pop(threading.get_ident(), None)
    if error is not None:
        spare(error)
        raise error


fails_job: list[Callable[[int, BaseException], bool]] = []
"""Functions that fail the background job in a thread, if a job runs there."""


def fail(error: BaseException) -> None:
    """Stop the program that runs in this thread, or whose task this is, for an error."""
    thread = _program()
    if not any(fails(thread, error) for fails in fails_job) and thread not in _errors:
        _errors[thread] = error
        doom(error)


def _no_room(error: BaseException | None, address: int) -> None:
    """Stop a program because a task finds no memory; ``error`` is that of a signal handler.

    Other tasks that run already may find none either. Only the first one tells what is alive, since
    looking through all objects of a large process takes a second.
    """
    if error is None and not _why(_program(), None):
        error = out_of_memory("tanx.jit", [], ctypes.c_int64.from_address(address).value)
    if error is not None:
        fail(error)


def _program() -> int:
    """The thread of the program that runs in this thread, or whose task this is."""
    thread = threading.get_ident()
    return owner.value if thread in set(workers) else thread


def has_failed() -> bool:
    """Whether the program that runs in this thread should stop for an error."""
    return threading.get_ident() in _errors


def _look(error: BaseException | None) -> bool:
    """Whether the program in this thread should stop; ``error`` is that of a signal handler."""
    thread = threading.get_ident()
    if thread == _main.value:
        words.interrupted = 0
    if error is not None and thread not in _errors:
        _errors[thread] = error
        doom(error)
    if _why(thread, error):
        return True
    return thread in set(workers) and _why(owner.value, None)


def _why(thread: int, error: BaseException | None) -> bool:
    found = [know(thread, error) for know in errors_of_threads]  # all of them are called
    return thread in _errors or any(found)
