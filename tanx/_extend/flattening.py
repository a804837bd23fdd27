"""Wrapped functions of pytrees as functions of flat arguments, for writers of transformations.

Each takes and returns a :class:`~tanx._extend.linear_util.WrappedFun`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._core import naming
from .._core.naming import DebugInfo
from .._core.wrapped import WrappedFun, transformation2, transformation_with_aux2
from ..errors import explain
from ..tree_util import tree_flatten, tree_unflatten

__all__ = ["argnums_partial", "debug_info", "flatten_fun", "flatten_fun_nokwargs"]


def flatten_fun(f: WrappedFun, in_tree) -> tuple[WrappedFun, Callable]:
    """The function of the leaves of ``(args, kwargs)``, and a thunk for the tree of its result.

    >>> fun = tanx.extend.linear_util.wrap_init(lambda x, *, y: {"sum": x + y})
    >>> tree = tanx.tree.structure(((1,), {"y": 2}))
    >>> flat, out_tree = tanx.api_util.flatten_fun(fun, tree)
    >>> flat.call_wrapped(3, 4), out_tree()
    ([7], PyTreeDef({'sum': *}))
    """
    return _flattened(f, in_tree)


def flatten_fun_nokwargs(f: WrappedFun, in_tree) -> tuple[WrappedFun, Callable]:
    """As :func:`flatten_fun`, where ``in_tree`` is that of the positional arguments.

    >>> fun = tanx.extend.linear_util.wrap_init(lambda x, y: (x, y["k"]))
    >>> flat, out_tree = tanx.api_util.flatten_fun_nokwargs(fun, tanx.tree.structure((1, {"k": 2})))
    >>> flat.call_wrapped(3, 4), out_tree()
    ([3, 4], PyTreeDef((*, *)))
    """
    return _flattened_positional(f, in_tree)


@transformation_with_aux2
def _flattened(f, store, in_tree, *leaves):
    args, kwargs = tree_unflatten(in_tree, leaves)
    outs, out_tree = tree_flatten(f(*args, **kwargs))
    store.store(out_tree)
    return outs


@transformation_with_aux2
def _flattened_positional(f, store, in_tree, *leaves):
    outs, out_tree = tree_flatten(f(*tree_unflatten(in_tree, leaves)))
    store.store(out_tree)
    return outs


def argnums_partial(f: WrappedFun, dyn_argnums: int | Sequence[int], args: Sequence[Any],
                    require_static_args_hashable: bool = True) -> tuple[WrappedFun, tuple]:
    """The function of the arguments at ``dyn_argnums``, with the others fixed; and their values.

    >>> fun = tanx.extend.linear_util.wrap_init(lambda x, y: x - y)
    >>> partial, dynamic = tanx.api_util.argnums_partial(fun, 1, (10, 3))
    >>> dynamic, partial.call_wrapped(4)
    ((3,), 6)
    """
    name = "tanx.api_util.argnums_partial"
    given = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    for i in given:
        if not -len(args) <= i < len(args):
            raise ValueError(explain(name, "there is no argument at that position.",
                                     f"position: {i}", f"arguments: {len(args)}"))
    dynamic = tuple(sorted(i % len(args) for i in given))
    fixed = {i: x for i, x in enumerate(args) if i not in dynamic}
    if require_static_args_hashable:
        for i, x in fixed.items():
            try:
                hash(x)
            except TypeError:
                raise ValueError(explain(
                    name, "Non-hashable static arguments are not supported.",
                    f"argument {i}: a value of type {type(x).__name__}")) from None
    partial = _with_fixed(f, dynamic, _Fixed(fixed))
    return partial, tuple(args[i] for i in dynamic)


class _Fixed(dict):
    """Fixed arguments by position; comparable, so that wrapped functions are comparable."""

    def __hash__(self) -> int:
        try:
            return hash(tuple(self.items()))
        except TypeError:
            return id(self)


@transformation2
def _with_fixed(f, dynamic: tuple[int, ...], fixed: _Fixed, *args, **kwargs):
    given = dict(zip(dynamic, args, strict=True)) | fixed
    return f(*(given[i] for i in sorted(given)), **kwargs)


def debug_info(traced_for: str, fun: Callable, args: Sequence[Any], kwargs: Mapping[str, Any], *,
               static_argnums: Sequence[int] = (), static_argnames: Sequence[str] = (),
               result_paths_thunk: Callable | None = None, sourceinfo: str | None = None,
               signature=None) -> DebugInfo:
    """Facts about a function for error messages, from example arguments.

    >>> info = tanx.api_util.debug_info("mine", lambda x, y: x, (1.0, {"k": 2.0}), {})
    >>> info.traced_for, info.arg_names
    ('mine', ('x', "y['k']"))
    """
    skip = {i % len(args) for i in static_argnums if -len(args) <= i < len(args)}
    named = {name: value for name, value in kwargs.items() if name not in static_argnames}
    if signature is not None:
        def described(*args, **kwargs): ...
        described.__signature__ = signature  # type: ignore[attr-defined]
        names = tuple(naming.leaf_names(described, args, named, skip))
    else:
        names = tuple(naming.leaf_names(fun, args, named, skip))
    info = naming.debug_info(traced_for, fun, (), {})
    if sourceinfo is not None:
        info = info.replace_func_name(sourceinfo.partition(" at ")[0])
    return info._replace(arg_names=names, result_paths=result_paths_thunk)
