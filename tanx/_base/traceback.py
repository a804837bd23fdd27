"""Tracebacks that show the user's lines.

Frames of the package are removed from an exception that leaves a public function: the user sees
only the line of the call, and the lines of their own functions that tanx was running. The message
names the function that was called, not another one that it uses.
Setting the flag ``traceback_filtering`` to ``"off"`` shows everything.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from types import FunctionType, TracebackType
from typing import Any, TypeVar, cast

__all__ = ["boundary", "credit", "shown", "trimmed"]

T = TypeVar("T")

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TOUR = _PACKAGE + "__main__.py"  # written like a user's program

# Frames of these packages are dropped if tanx called them, and kept if the user did.
_TOOLS = {"contextlib", "functools", "llvmlite", "ml_dtypes", "numpy", "opt_einsum", "scipy"}


def boundary(fun: T, shown: bool = False) -> T:
    """Make ``fun`` trim the traceback of each exception that leaves it.

    Signature, name and documentation stay; anything but a Python function is returned unchanged.
    A call costs 0.2 microseconds more.
    """
    if not isinstance(fun, FunctionType):
        return fun

    def public(*args, **kwargs):
        try:
            return fun(*args, **kwargs)
        except (Exception, KeyboardInterrupt) as error:
            if shown and not _given_functions(args, kwargs):
                credit(error, public)
            else:
                _shed(error)
            raise  # a bare raise adds no entry for this frame

    # The same as functools.wraps in half the time: importing tanx makes a thousand of these.
    public.__name__, public.__qualname__ = fun.__name__, fun.__qualname__
    public.__doc__, public.__module__ = fun.__doc__, fun.__module__
    public.__dict__.update(fun.__dict__)
    public.__dict__["__wrapped__"] = fun
    return cast(T, public)


def shown(fun: T) -> T:
    """:func:`boundary`, for members of a window: messages begin with the name in that window.

    Not if it was given functions: errors of these keep their messages.
    """
    return boundary(fun, shown=True)


def trimmed(traceback: TracebackType | None) -> TracebackType | None:
    """A copy of ``traceback`` without the frames of tanx, and of packages that tanx called."""
    kept = []
    inside = False
    while traceback is not None:
        frame = traceback.tb_frame
        file = frame.f_code.co_filename
        module = frame.f_globals.get("__name__", "")
        if file.startswith(_PACKAGE) and file != _TOUR:
            inside = True
        elif not (inside and module.partition(".")[0] in _TOOLS):
            inside = False
            kept.append(traceback)
        traceback = traceback.tb_next
    chain = None
    for entry in reversed(kept):
        chain = TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return chain


class Filtering:
    """How tracebacks are trimmed: the value of the option, which :mod:`.config` sets.

    A hook, because tracebacks of the functions of that file are trimmed, too.
    """

    mode: Callable[[], str] = staticmethod(lambda: "off")


def _shed(error: BaseException) -> bool:
    """Trim the traceback of ``error`` and of the exceptions it was raised from.

    Returns whether nothing is left: no function of the user was running.
    """
    if Filtering.mode() == "off":
        return False
    seen = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        cause.__traceback__ = trimmed(cause.__traceback__)
        cause = cause.__cause__ or cause.__context__
    return error.__traceback__ is None


def _given_functions(args: tuple, kwargs: dict) -> bool:
    return any(callable(x) and not isinstance(x, type) for x in (*args, *kwargs.values()))


def credit(error: BaseException, public: Any) -> None:
    """Trim the traceback of ``error``, and let its message begin with the name of ``public``.

    Only if it begins with the name of another function of tanx, and no function of the user was
    running.
    """
    if not _shed(error):
        return
    inner, colon, rest = str(error).partition(": ")
    window, _, name = inner.rpartition(".")
    if colon and re.fullmatch(r"tanx\.(?!Array\.)\S+", inner) and (
            getattr(sys.modules.get(window), name, None) is not public):
        # By __init__: NumPy's AxisError does not store its message in args.
        error.__init__(f"{public.__module__}.{public.__name__}: {rest}")
