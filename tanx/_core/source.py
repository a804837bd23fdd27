"""Places in the user's code.

A frame belongs to the user if its file is outside of the package. Finding it costs about a
microsecond, so staging records it for each equation; eager execution does not.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
from itertools import islice
from types import CodeType, FrameType

from .._base.tuples import NamedTuple

__all__ = ["NameStack", "SourceInfo", "attributed_to", "exclude", "is_ours", "name_stack",
           "named_scope", "unscoped", "user_source"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class NameStack(NamedTuple):
    """The named scopes around an equation, outermost first."""

    stack: tuple[str, ...] = ()

    def extend(self, name: str | tuple[str, ...]) -> NameStack:
        """With one more scope inside, or several."""
        return NameStack(self.stack + ((name,) if isinstance(name, str) else tuple(name)))

    def transform(self, transform_name: str) -> NameStack:
        """Inside of a transformation."""
        return NameStack((f"{transform_name}({'/'.join(self.stack)})",))

    def __str__(self) -> str:
        return "/".join(self.stack)


class SourceInfo(NamedTuple):
    """A line of the user's code, and the named scopes around it."""

    file: str = "<unknown>"
    line: int = 0
    function: str = "<unknown>"
    scopes: tuple[str, ...] = ()
    column: int = 0
    qualified: str = "<unknown>"  # the function's name, qualified by its scopes

    @property
    def name_stack(self) -> NameStack:
        """The named scopes, in the form that libraries for JAX use."""
        return NameStack(self.scopes)

    @property
    def exact(self) -> str:
        """The place with its column and the qualified name of the function."""
        return f"{self.file}:{self.line}:{self.column} ({self.qualified})"

    @property
    def text(self) -> str:
        """The source line itself, or an empty string if it cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def traceback(self) -> SourceInfo:
        """A placeholder for the frames that led here: only the innermost one is kept."""
        return self

    def replace(self, *, traceback: SourceInfo | None = None, name_stack=None) -> SourceInfo:
        """The same with another line, or other scopes around it."""
        stack = getattr(name_stack, "stack", name_stack)
        return (traceback or self)._replace(scopes=self.scopes if stack is None else tuple(stack))

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.function})"


class _Scopes(threading.local):
    names: tuple[str, ...] = ()
    source: SourceInfo | None = None  # the line to attribute equations to, if it is known


_scopes = _Scopes()


def name_stack() -> tuple[str, ...]:
    """The named scopes open in this thread, outermost first."""
    return _scopes.names


class named_scope:
    """Name the equations staged in a block, for profiles and printed jaxprs.

    Works as a context manager and as a decorator.

    >>> encode = tanx.named_scope("encoder")(jnp.sin)
    >>> print(tanx.make_jaxpr(encode)(1.0).pretty_print(name_stack=True))
    { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } # [encoder]
    """

    def __init__(self, name: str):
        if not isinstance(name, str):
            raise TypeError(f"tanx.named_scope: the name must be a string, not {name!r}.")
        self.name = name

    def __enter__(self):
        self.outer = _scopes.names
        _scopes.names = (*self.outer, self.name)

    def __exit__(self, *_):
        _scopes.names = self.outer

    def __call__(self, fun):
        from functools import wraps

        @wraps(fun)
        def scoped(*args, **kwargs):
            with named_scope(self.name):
                return fun(*args, **kwargs)
        return scoped


class unscoped:
    """Leave all named scopes for a block: a function staged separately has no scopes around it."""

    __slots__ = ("outer",)

    def __enter__(self):
        self.outer = _scopes.names
        _scopes.names = ()

    def __exit__(self, *_):
        _scopes.names = self.outer


class attributed_to:
    """Attribute the equations staged in a block to a line known from an earlier jaxpr."""

    __slots__ = ("source", "outer")

    def __init__(self, source: SourceInfo | None):
        self.source = source

    def __enter__(self):
        self.outer = _scopes.source
        _scopes.source = self.source

    def __exit__(self, *_):
        _scopes.source = self.outer


_ours: set[str] = set()  # files of the package seen so far; looked up for each equation


def is_ours(file: str) -> bool:
    """Whether a file is the package's, and not a user's."""
    if file in _ours:
        return True
    if not file.startswith(_excluded) or file.endswith("__main__.py"):
        return False
    _ours.add(file)
    return True


_MOST_KNOWN = 1 << 13
"""Limit of cached places; then the cache is cleared."""
_known: dict[tuple[int, int, tuple[str, ...]], tuple[CodeType, SourceInfo]] = {}
"""Cached places in code, by the id of the code, which is held so that the id stays unique.

To find the line of a place, Python counts from the first one: in a function of 40 lines that takes
two microseconds.
"""


_excluded: tuple[str, ...] = (_PACKAGE,)


def exclude(path: str) -> None:
    """Treat the files below a path as part of the package, for libraries built on it."""
    global _excluded
    _excluded += (path,)
    _known.clear()


def user_source() -> SourceInfo:
    """The innermost line of user code on the stack of this thread."""
    if _scopes.source is not None:
        return _scopes.source
    frame: FrameType | None = sys._getframe(1)
    ours = _ours
    while frame is not None:
        code = frame.f_code
        if code.co_filename not in ours:
            key = id(code), frame.f_lasti, _scopes.names
            known = _known.get(key)
            if known is not None:
                return known[1]
            if not is_ours(code.co_filename):
                return _take_note(key, frame)
        frame = frame.f_back
    return SourceInfo(scopes=_scopes.names)


def _take_note(key: tuple[int, int, tuple[str, ...]], frame: FrameType) -> SourceInfo:
    code = frame.f_code
    at = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    source = SourceInfo(code.co_filename, frame.f_lineno, code.co_name, key[2], at[2] or 0,
                        code.co_qualname)
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[key] = code, source
    return source
