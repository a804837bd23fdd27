"""How a program checks whether to stop, as native code (see ``native.py``).

``stop.py`` decides when it should, and why.
"""

from __future__ import annotations

from .native import C, Static, address_of, call, int32, publish32, put, stack, word

__all__ = ["tanx_enter", "tanx_listen", "tanx_no_room", "tanx_stopped"]

BEFORE = Static(8)
"""The signal handler that was installed before ours."""
FAILING = 4
"""The offset of the second half of the word ``tanx_stop``, in bytes."""
ACTION = 512
"""Bytes that the system's ``struct sigaction`` may have; the address of the handler comes first."""
DEFAULT, IGNORED = 0, 1  # in place of a handler


def taken() -> int:
    """The exception that was raised, which is cleared; a new reference."""
    kind = stack(8)
    error = stack(8)
    frames = stack(8)
    C.PyErr_Fetch(kind, error, frames)
    C.PyErr_NormalizeException(kind, error, frames)
    C.Py_DecRef(word(kind))
    C.Py_DecRef(word(frames))
    return word(error)


def signalled() -> int:
    """Run signal handlers; returns what they raised, or None.

    Python would run them when it enters a function, where nothing would catch the exception.
    """
    if C.PyErr_CheckSignals() != 0:
        return taken()
    C.Py_IncRef(address_of._Py_NoneStruct)
    return address_of._Py_NoneStruct


def tanx_stopped() -> int:
    """Whether the program in this thread should stop."""
    if C.pthread_self() != word(address_of.main) and int32(address_of.tanx_stop, FAILING) == 0:
        return 0
    state = C.PyGILState_Ensure()
    while True:
        raised = signalled()
        answer = C.PyObject_CallOneArg(address_of.look, raised)
        C.Py_DecRef(raised)
        if answer != 0:
            break
        C.Py_DecRef(taken())
    truth = C.PyObject_IsTrue(answer)
    C.Py_DecRef(answer)
    C.PyGILState_Release(state)
    return truth


def tanx_enter(function: int, addresses: int) -> None:
    """Call a Python function of an exception, or None, and the address of an array of addresses.

    An exception that it raises is passed to the next call, until it raises none.
    """
    arguments = stack(16)
    state = C.PyGILState_Ensure()
    number = C.PyLong_FromVoidPtr(addresses)
    put(arguments, 8, number)
    raised = signalled()
    while True:
        put(arguments, 0, raised)
        result = C.PyObject_Vectorcall(function, arguments, 2, 0)
        C.Py_DecRef(raised)
        if result != 0:
            break
        raised = taken()
    C.Py_DecRef(result)
    C.Py_DecRef(number)
    C.PyGILState_Release(state)


def tanx_no_room(size: int) -> None:
    """Fail the program in this thread: there are no ``size`` bytes for a task."""
    place = stack(8)
    put(place, 0, size)
    tanx_enter(address_of.no_room, place)


def interrupt(number: int, facts: int, context: int) -> None:
    """The signal handler: calls the previous one, then sets the word.

    In the other order, if the signal comes to another thread, the main thread might see the word,
    find no signal in Python, and clear the word before Python knows of it.
    """
    call(word(BEFORE), number, facts, context)
    publish32(address_of.tanx_stop, 0, 1)


def tanx_listen(number: int) -> None:
    """Install the handler before the current one, if that is a function."""
    action = stack(ACTION)
    C.sigaction(number, 0, action)
    there = word(action)
    if there == DEFAULT or there == IGNORED or there == address_of.interrupt:
        return
    put(BEFORE, 0, there)
    put(action, 0, address_of.interrupt)
    C.sigaction(number, action, 0)
