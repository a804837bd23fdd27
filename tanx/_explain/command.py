"""``python -m tanx.explain script.py:function``: explains a function as a script calls it.

The script runs as usual. After each statement that binds the function, an added line wraps it: the
call to explain is recorded with its arguments, before it runs.
"""

from __future__ import annotations

import argparse
import ast
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from .._core.trace import EvalTrace, context
from .explanation import Explanation
from .gather import Gathered, gather, jitted

__all__ = ["main"]

_WATCH = "__tanx_watch__"


def main(argv: Sequence[str] | None = None) -> None:
    """Explain the function of the command line, print the text, and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m tanx.explain",
        description="Run a script and explain a function that it calls: one screen of text, and a "
                    "page that a browser opens.")
    parser.add_argument("target", metavar="script.py:function", help="a function of the script's "
                        "top level; its first call is explained")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    parser.add_argument("-o", "--output", metavar="FILE", help="the page (default: function.html)")
    parser.add_argument("--call", type=int, metavar="N", help="explain the N-th call, and end the "
                        "script there; without it the script runs to its end")
    given = parser.parse_args(argv)
    file, _, name = given.target.rpartition(":")
    if not file or not name.isidentifier():
        parser.error(f"{given.target!r} is not of the form script.py:function.")
    if given.call is not None and given.call < 1:
        parser.error("--call counts from 1.")
    try:
        source = Path(file).read_bytes()
        tree = ast.parse(source, file)
    except (OSError, SyntaxError) as error:
        parser.error(f"{file} cannot be run: {error}")
    if not _watch_bindings(tree, name):
        parser.error(f"{file} has no function {name} at its top level; "
                     f"it has {', '.join(_functions(tree)) or 'none'}.")
    watch = _Watch(given.call)
    _run(tree, file, given.arguments, watch)
    explanation = watch.explanation()
    if explanation is None:
        parser.error(f"{file} never calls {name} with values, outside of jit and grad, "
                     + ("that often." if watch.calls else "and it takes arguments."))
    print(explanation)
    print(f"\n{explanation.save(given.output or f'{name}.html')}")


# -- watching --------------------------------------------------------------------------------------


class _Enough(BaseException):
    """Ends a script whose call has been explained."""


class _Watch:
    """Records the calls of a function, and explains one of them."""

    def __init__(self, number: int | None):
        self.number, self.calls = number, 0
        self.fun: Callable | None = None
        self.gathered: Gathered | None = None

    def __call__(self, fun: Any) -> Any:
        """The wrapped function; other objects unchanged."""
        if not callable(fun) or isinstance(fun, type):
            return fun
        self.fun = fun
        return _Watched(fun, self)

    def see(self, fun: Callable, args: tuple, kwargs: dict) -> None:
        """Record a call that is about to run."""
        if type(context.trace) is not EvalTrace:
            return
        self.calls += 1
        if self.calls == (self.number or 1):
            function, before = jitted(fun)
            self.gathered = gather(function, (*before, *args), kwargs)
            if self.number is not None:
                raise _Enough

    def explanation(self) -> Explanation | None:
        """The explanation, with all traces of the function so far."""
        if self.gathered is None and self.fun is not None and not self.calls and (
                _takes_nothing(self.fun)):
            self.gathered = gather(*jitted(self.fun), {})
        if self.gathered is None:
            return None
        return Explanation(replace(self.gathered.facts, traces=self.gathered.traces()))


class _Watched:
    """A wrapped function; it has all attributes of the function."""

    def __init__(self, fun: Callable, watch: _Watch):
        functools.update_wrapper(self, fun)
        self._watched, self._watch = fun, watch

    def __call__(self, *args, **kwargs):
        self._watch.see(self._watched, args, kwargs)
        return self._watched(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._watched, name)


def _takes_nothing(fun: Callable) -> bool:
    try:
        inspect.signature(fun).bind()
    except (TypeError, ValueError):
        return False
    return True


# -- scripts ---------------------------------------------------------------------------------------


def _run(tree: ast.Module, file: str, arguments: list[str], watch: _Watch) -> None:
    """Run a script as Python does, until it ends or the call has been explained."""
    module = ModuleType("__main__")
    module.__dict__.update({"__file__": file, _WATCH: watch})
    sys.modules["__main__"] = module
    sys.argv = [file, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    try:
        exec(compile(tree, os.path.abspath(file), "exec"), module.__dict__)
    except (_Enough, SystemExit):
        pass
    except KeyboardInterrupt:
        print("The script was interrupted.", file=sys.stderr)


def _watch_bindings(tree: ast.Module, name: str) -> bool:
    """Wrap the function after each top-level statement that binds its name; whether one does."""
    found = False
    for body in _bodies(tree):
        for place in reversed(range(len(body))):
            if name in _bound(body[place]):
                watch = ast.parse(f"{name} = {_WATCH}({name})").body[0]
                for node in ast.walk(watch):
                    ast.copy_location(node, body[place])
                body.insert(place + 1, watch)
                found = True
    return found


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements that run when a module runs."""
    for field in ("body", "orelse", "finalbody", "handlers"):
        inner = getattr(node, field, None)
        if isinstance(inner, list):
            if field != "handlers":
                yield inner
            for one in inner:
                if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    yield from _bodies(one)


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement may bind to functions."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    if isinstance(statement, ast.Assign):
        return {node.id for target in statement.targets for node in ast.walk(target)
                if isinstance(node, ast.Name)}
    if isinstance(statement, ast.AnnAssign) and statement.value is not None and isinstance(
            statement.target, ast.Name):
        return {statement.target.id}
    return set()


def _functions(tree: ast.Module) -> list[str]:
    """The functions that are defined at the top level, for a message."""
    return [s.name for body in _bodies(tree) for s in body if isinstance(s, ast.FunctionDef)]
