"""How programs are stopped that run: Ctrl-C, and exceptions in functions that they call.

Loops of compiled code look at :data:`words` in each step. Where one of them is not zero, they ask
``tanx_stopped``, which lets Python see its signals, as the interpreter does between two lines, and
tells whether there is a reason for this program to end. Reasons belong to threads: an exception
that a signal handler raised in the main thread, one of a callback, or that of another thread which
no longer wants to wait for work in the background. Tasks of the pool end with the thread that has
started them.

A signal handler of Python's runs only when the main thread is back in Python. So that loops notice,
a native handler stands in front of it: it calls Python's and then sets the first of the words.
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
from .._compiler.abi import STOP, STOPPED
from .machine_code import permanent
from .signals import when_restored

__all__ = ["addresses", "doom", "enter_address", "errors_of_threads", "fail", "fails_job",
           "has_failed", "owner", "settle", "spare", "words", "workers"]


class _Words(ctypes.Structure):
    """The two halves of the word that loops look at."""

    _fields_ = [("interrupted", ctypes.c_int32), ("failing", ctypes.c_int32)]


words = forever(_Words())
owner = forever(ctypes.c_int64())
"""The thread whose tasks the pool is working on."""
workers = forever((ctypes.c_int64 * 1024)())
"""The threads of the pool."""

_TEXT = """
@tanx_stop = external global i64
@main = external global i64
@look = external global i8
@_Py_NoneStruct = external global i8
@old = internal global ptr null

declare i64 @pthread_self()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare i32 @PyObject_IsTrue(ptr)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
declare i32 @sigaction(i32, ptr, ptr)

; The exception that was raised, which is no longer pending; a new reference.
define internal ptr @taken() {{
  %type = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  call void @PyErr_Fetch(ptr %type, ptr %value, ptr %trace)
  call void @PyErr_NormalizeException(ptr %type, ptr %value, ptr %trace)
  %kind = load ptr, ptr %type
  call void @Py_DecRef(ptr %kind)
  %frames = load ptr, ptr %trace
  call void @Py_DecRef(ptr %frames)
  %exception = load ptr, ptr %value
  ret ptr %exception
}}

; Lets signal handlers run; what they raised, or None. Python would run them when it enters a
; function, and nothing would catch it.
define internal ptr @signalled() {{
entry:
  %raised = call i32 @PyErr_CheckSignals()
  %fine = icmp eq i32 %raised, 0
  br i1 %fine, label %nothing, label %error
nothing:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
error:
  %exception = call ptr @taken()
  ret ptr %exception
}}

; Whether the program in this thread should stop.
define i32 @tanx_stopped() {{
entry:
  %self = call i64 @pthread_self()
  %main = load i64, ptr @main
  %is_main = icmp eq i64 %self, %main
  %failing_at = getelementptr i32, ptr @tanx_stop, i64 1
  %failing = load atomic i32, ptr %failing_at monotonic, align 4
  %some = icmp ne i32 %failing, 0
  %worth = or i1 %is_main, %some
  br i1 %worth, label %enter, label %go_on
go_on:
  ret i32 0
enter:
  %state = call i32 @PyGILState_Ensure()
  br label %ask
ask:
  %what = call ptr @signalled()
  %answer = call ptr @PyObject_CallOneArg(ptr @look, ptr %what)
  call void @Py_DecRef(ptr %what)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %again, label %take
again:
  %ignored = call ptr @taken()
  call void @Py_DecRef(ptr %ignored)
  br label %ask
take:
  %truth = call i32 @PyObject_IsTrue(ptr %answer)
  call void @Py_DecRef(ptr %answer)
  call void @PyGILState_Release(i32 %state)
  ret i32 %truth
}}

; Calls a Python function of an exception, or None, and the address of an array of addresses.
define void @tanx_enter(ptr %function, ptr %addresses) {{
entry:
  %arguments = alloca [2 x ptr]
  %second = getelementptr ptr, ptr %arguments, i64 1
  %state = call i32 @PyGILState_Ensure()
  %number = call ptr @PyLong_FromVoidPtr(ptr %addresses)
  store ptr %number, ptr %second
  %before = call ptr @signalled()
  br label %try
try:
  %what = phi ptr [ %before, %entry ], [ %error, %failed ]
  store ptr %what, ptr %arguments
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %arguments, i64 2, ptr null)
  call void @Py_DecRef(ptr %what)
  %none = icmp eq ptr %result, null
  br i1 %none, label %failed, label %end
failed:
  %error = call ptr @taken()
  br label %try
end:
  call void @Py_DecRef(ptr %result)
  call void @Py_DecRef(ptr %number)
  call void @PyGILState_Release(i32 %state)
  ret void
}}

; The signal handler: does what was done before, then sets the word. The other way round, if the
; signal comes to another thread, the main thread may see the word, find no signal in Python,
; and clear the word before Python knows of it.
define void @interrupt(i32 %number, ptr %facts, ptr %context) {{
  %old = load ptr, ptr @old
  call void %old(i32 %number, ptr %facts, ptr %context)
  store atomic i32 1, ptr @tanx_stop release, align 4
  ret void
}}

; Puts the handler in front of the one there is, if that is a function. Its address comes first in
; what the system calls a sigaction; the rest is taken over.
define void @tanx_listen(i32 %number) {{
entry:
  %action = alloca [64 x i64]
  %got = call i32 @sigaction(i32 %number, ptr null, ptr %action)
  %there = load ptr, ptr %action
  %is_default = icmp ult ptr %there, inttoptr (i64 2 to ptr)
  %is_ours = icmp eq ptr %there, @interrupt
  %neither = or i1 %is_default, %is_ours
  br i1 %neither, label %end, label %put
put:
  store ptr %there, ptr @old
  store ptr @interrupt, ptr %action
  %set = call i32 @sigaction(i32 %number, ptr %action, ptr null)
  br label %end
end:
  ret void
}}
"""


def enter_address() -> int:
    """Where the function is that calls Python functions from native code."""
    return _native()["tanx_enter"]


def addresses() -> dict[str, int]:
    """Where compiled code finds the word and the function; the signal handler is in its place."""
    found = _native()
    _listen()
    return {STOP: ctypes.addressof(words), STOPPED: found[STOPPED]}


def _listen() -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_int32)(_native()["tanx_listen"])(signal.SIGINT)


@cache
def _native() -> dict[str, int]:
    found = permanent("stop", _TEXT.format, {
        STOP: ctypes.addressof(words), "main": ctypes.addressof(_main), "look": id(_look),
        "_Py_NoneStruct": id(None)})
    when_restored.append(_listen)
    return found


_main = forever(ctypes.c_int64(threading.main_thread().ident or 0))


def _in_child() -> None:
    _main.value = threading.get_ident()
    owner.value = words.interrupted = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


# -- reasons ---------------------------------------------------------------------------------------

_lock = new_lock()
_reasons: set[int] = set()  # what is doomed, by identity
_errors: dict[int, BaseException] = {}  # raised by signal handlers, by thread

errors_of_threads: list[Callable[[int, BaseException | None], BaseException | None]] = []
"""Functions that may know why a thread should stop; they are told of an error in that thread."""


def doom(thing: object) -> None:
    """From now on loops ask whether to stop, until the request is withdrawn."""
    with _lock:
        _reasons.add(id(thing))
        words.failing = len(_reasons)


def spare(thing: object) -> None:
    """There is one reason less to ask."""
    with _lock:
        _reasons.discard(id(thing))
        words.failing = len(_reasons)


def settle() -> None:
    """Raise the exception because of which the program has stopped that ran in this thread."""
    error = _errors.pop(threading.get_ident(), None)
    if error is not None:
        spare(error)
        raise error


fails_job: list[Callable[[int, BaseException], bool]] = []
"""Who may know that what runs in a thread is a job in the background, and lets that one fail."""


def fail(error: BaseException) -> None:
    """Stop the program that runs in this thread, or whose task this is, for an error."""
    thread = threading.get_ident()
    if thread in set(workers):
        thread = owner.value
    if not any(fails(thread, error) for fails in fails_job) and thread not in _errors:
        _errors[thread] = error
        doom(error)


def has_failed() -> bool:
    """Whether the program that runs in this thread is to stop for an error."""
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
    found = [know(thread, error) for know in errors_of_threads]  # all of them are told
    return thread in _errors or any(found)
