"""The names of functions, and of the leaves of their arguments, in messages."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Container, Iterable, Sequence
from types import FunctionType, MethodType
from typing import Any

from .. import tree_util
from .._base.tuples import NamedTuple
from .source import SourceInfo

__all__ = ["DebugInfo", "LeafNames", "debug_info", "leaf_names", "name_of", "parameters_of",
           "wraps"]


class DebugInfo(NamedTuple):
    """Facts about a function being staged, for messages.

    ``arg_names`` has a name for each leaf of the arguments, ``result_paths`` one for each leaf of
    the results; either is None if it is not known.
    """

    transform: str = "jit"
    function: str = "<function>"
    source: SourceInfo | None = None
    arg_names: Any = ()
    result_paths: Any = None

    # Names that programs for JAX use.

    @property
    def traced_for(self) -> str:
        """The transformation that stages the function."""
        return self.transform

    @property
    def func_name(self) -> str:
        """The function's name."""
        return self.function

    @property
    def func_filename(self) -> str | None:
        """The file that defines the function."""
        return self.source and self.source.file

    @property
    def func_lineno(self) -> int | None:
        """The line that it starts at."""
        return self.source and self.source.line

    @property
    def func_src_info(self) -> str:
        """The name and the place of the function."""
        return f"{self.function} at {self.source.file}:{self.source.line}" if (
            self.source) else self.function

    def replace_func_name(self, name: str) -> DebugInfo:
        """The same with another name of the function."""
        return self._replace(function=name)

    def with_unknown_names(self) -> DebugInfo:
        """The same without the names of leaves."""
        return self._replace(arg_names=None, result_paths=None)

    def set_result_paths(self, ans) -> DebugInfo:
        """The same with names for the leaves of a result.

        >>> DebugInfo().set_result_paths({"a": 1}).result_paths
        ("result['a']",)
        """
        paths, _ = tree_util.tree_flatten_with_path(ans)
        return self._replace(result_paths=tuple(f"result{tree_util.keystr(p)}" for p, _ in paths))

    def resolve_result_paths(self) -> DebugInfo:
        """The same with the names of results resolved, if a function provides them."""
        known = self.result_paths
        return self._replace(result_paths=tuple(known())) if callable(known) else self

    def safe_arg_names(self, expected_count: int) -> tuple[str | None, ...]:
        """Names for that many leaves of arguments; all None if they are not known."""
        return self._names(self.arg_names, expected_count)

    def safe_result_paths(self, expected_count: int) -> tuple[str | None, ...]:
        """Names for that many leaves of results; all None if they are not known."""
        return self._names(self.resolve_result_paths().result_paths, expected_count)

    def _names(self, names, count: int) -> tuple[str | None, ...]:
        if names is None:
            return (None,) * count
        assert len(names) == count, (count, self)
        return tuple(names)

    def assert_arg_names(self, expected_count: int) -> None:
        """Check how many leaves of arguments have names."""
        self.safe_arg_names(expected_count)

    def assert_result_paths(self, expected_count: int) -> None:
        """Check how many leaves of results have names."""
        self.safe_result_paths(expected_count)

    def filter_arg_names(self, keep: Sequence[bool]) -> tuple[str, ...] | None:
        """The names of some arguments."""
        return None if self.arg_names is None else tuple(
            name for name, kept in zip(self.arg_names, keep) if kept)

    def filter_result_paths(self, keep: Sequence[bool]) -> tuple[str, ...] | None:
        """The names of some results."""
        known = self.resolve_result_paths().result_paths
        return None if known is None else tuple(
            path for path, kept in zip(known, keep) if kept)


def name_of(fun: Callable) -> str:
    """A function's name, looking through partials without one.

    >>> name_of(functools.partial(sum, start=1))
    'sum'
    """
    while not hasattr(fun, "__name__") and isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(fun, "__name__", type(fun).__name__)


def parameters_of(fun: Callable) -> list[inspect.Parameter] | None:
    """The parameters of a function, or None if Python does not know them."""
    try:
        return list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return None


def leaf_names(fun: Callable, args: Sequence, kwargs: dict, skip: Iterable[int] = ()) -> list[str]:
    """A name for each leaf of the arguments, except those at positions ``skip``.

    >>> leaf_names(lambda x, *rest: x, ({"w": 1, "b": 2}, 3, 4), {})
    ["x['b']", "x['w']", 'rest[0]', 'rest[1]']
    """
    skip = set(skip)
    kept = [arg for i, arg in enumerate(args) if i not in skip]
    return _names(_roots(fun, len(args), skip), kept, kwargs)


class LeafNames(Sequence):
    """As :func:`leaf_names`, computed on demand from the tree of the remaining arguments."""

    __slots__ = ("_roots", "_tree", "_names")

    def __init__(self, fun: Callable, count: int, skip: Container[int], tree: tree_util.PyTreeDef):
        self._roots, self._tree = _roots(fun, count, skip), tree
        self._names: Sequence[str] | None = None

    def _found(self) -> Sequence[str]:
        if self._names is None:
            numbers = range(self._tree.num_leaves)
            try:
                args, kwargs = tree_util.tree_unflatten(self._tree, numbers)
                self._names = _names(self._roots, args, kwargs)
            except Exception:  # users' types may refuse placeholders: names are only for messages
                self._names = [f"#{number}" for number in numbers]
        return self._names

    def __getitem__(self, i):
        return self._found()[i]

    def __len__(self) -> int:
        return self._tree.num_leaves


def _roots(fun: Callable, count: int, skip: Container[int]) -> list[str]:
    """The names of positional arguments."""
    ordered, more = _positional(fun)
    roots = [*ordered, *[f"{more}[{i}]" for i in range(count - len(ordered))]]
    return [root for i, root in enumerate(roots[:count]) if i not in skip]


def _names(roots: Sequence[str], args: Sequence, kwargs: dict) -> list[str]:
    names = []
    for root, arg in (*zip(roots, args), *sorted(kwargs.items())):
        if tree_util.is_tree_node(type(arg)):
            names += [root + tree_util.keystr(path)
                      for path, _ in tree_util.tree_flatten_with_path(arg)[0]]
        else:
            names.append(root)
    return names


def _positional(fun: Callable) -> tuple[Sequence[str], str]:
    """The names of positional parameters, and of the one that takes all others."""
    inner: Any = _unwrapped(fun)
    if type(inner) is FunctionType and not hasattr(inner, "__signature__"):
        code = inner.__code__  # the same as inspect.signature, in a tenth of the time
        names, count = code.co_varnames, code.co_argcount
        more = names[count + code.co_kwonlyargcount] if code.co_flags & inspect.CO_VARARGS else ""
        return names[:count], more or "args"
    parameters = parameters_of(fun) or []
    return ([p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)],
            next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args"))


def _unwrapped(fun: Callable) -> Callable:
    """The function inside decorators, as long as its parameters are the same."""
    if not hasattr(fun, "__wrapped__"):
        return fun
    return inspect.unwrap(fun, stop=lambda f: hasattr(f, "__signature__")
                          or isinstance(f, MethodType))


def debug_info(transform: str, fun: Callable, args: Sequence, kwargs: dict,
               skip: Container[int] = (), tree: tree_util.PyTreeDef | None = None) -> DebugInfo:
    """The :class:`DebugInfo` of a function staged for ``transform``.

    ``tree`` is that of the arguments, a list of the positional ones not at ``skip``, and a dict.
    """
    code = getattr(inspect.unwrap(fun) if hasattr(fun, "__wrapped__") else fun, "__code__", None)
    name = name_of(fun)
    source = None if code is None else SourceInfo(code.co_filename, code.co_firstlineno, name)
    names = (tuple(leaf_names(fun, args, kwargs, skip)) if tree is None  # type: ignore[arg-type]
             else LeafNames(fun, len(args), skip, tree))
    return DebugInfo(transform, name, source, names)


def wraps(fun: Callable) -> Callable:
    """``functools.wraps``, which also accepts objects whose ``__name__`` is not a string.

    >>> class Layer:
    ...     __name__ = 1
    ...     def __call__(self, x): return x
    >>> tanx.vmap(Layer())(jnp.arange(2))
    Array([0, 1], dtype=int32)
    """
    def decorate(wrapper: Callable) -> Callable:
        for name in functools.WRAPPER_ASSIGNMENTS:
            with contextlib.suppress(AttributeError, TypeError):
                setattr(wrapper, name, getattr(fun, name))
        return functools.update_wrapper(wrapper, fun, assigned=())

    return decorate
