"""Arguments of transformed functions: which are static, donated or differentiated; their names."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

import numpy as np

from .. import tree_util
from .._core.naming import leaf_names, name_of, parameters_of
from .._core.types import is_arraylike
from ..errors import explain

__all__ = ["as_tuple", "check_callable", "check_leaves", "is_single", "not_an_array",
           "positions_and_names", "result_leaves"]


def check_callable(function: str, fun) -> None:
    """Check that the argument of a transformation is a function."""
    if not callable(fun):
        raise TypeError(explain(function, "needs a function to transform.", f"given: {fun!r:.100}"))
    if isinstance(fun, staticmethod):
        raise TypeError(explain(
            function, "cannot transform a static method.", f"given: {fun!r:.100}",
            hint="put @staticmethod above the other decorator."))
    if inspect.isgeneratorfunction(fun):
        raise TypeError(explain(
            function, "cannot transform a generator function.", f"function: {name_of(fun)}",
            hint="return a list of the values instead of yielding them."))


def as_tuple(function: str, what: str, value, kind: type) -> tuple:
    """One position or name, or several of them, as a tuple."""
    if value is None:
        return ()
    several = (value,) if is_single(value) or isinstance(value, str) else value
    try:
        if kind is int:
            return tuple(map(operator.index, several))
        if all(isinstance(name, str) for name in several):
            return tuple(several)
    except TypeError:
        pass
    raise TypeError(explain(
        function, f"{what} must be one {kind.__name__} or several of them.", f"{what}: {value!r}"))


def is_single(argnums) -> bool:
    """Whether ``argnums`` is one position, rather than several of them."""
    return hasattr(argnums, "__index__")


def positions_and_names(fun: Callable, function: str, what: str, nums, names,
                        ) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """``static_argnums`` and ``static_argnames``, each completed from the other."""
    positions = as_tuple(function, f"{what}_argnums", nums, int)
    keywords = as_tuple(function, f"{what}_argnames", names, str)
    parameters = parameters_of(fun) if positions or keywords else None  # looking them up takes time
    if parameters is None:
        return positions, keywords
    ordered = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    taken = [p.name for p in parameters]
    never = {p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)}
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for i in positions:
        if not variadic and not -len(ordered) <= i < len(ordered):
            raise ValueError(explain(
                function, f"{what}_argnums names a position that the function does not have.",
                f"{what}_argnums: {positions}", f"function: {name_of(fun)}({', '.join(ordered)})"))
    for name in keywords:
        if name in never or name not in taken and not anything:
            raise ValueError(explain(
                function, f"{what}_argnames names a parameter that the function lacks by name.",
                f"{what}_argnames: {keywords}", f"function: {name_of(fun)}({', '.join(taken)})"))
    implied = tuple(ordered[i] for i in positions if -len(ordered) <= i < len(ordered))
    if nums is None:
        positions = tuple(ordered.index(n) for n in keywords if n in ordered)
    if names is None:
        keywords = tuple(n for n in implied if not _positional_only(parameters, n))
    return positions, keywords


def _positional_only(parameters, name: str) -> bool:
    return any(p.name == name and p.kind is p.POSITIONAL_ONLY for p in parameters)


def check_leaves(function: str, fun: Callable, args: tuple, kwargs: dict, leaves: list,
                 hint: str = "", skip: Iterable[int] = ()) -> None:
    """Check that each leaf is an array or a number; the error names the first that is not."""
    for i, leaf in enumerate(leaves):
        if not is_arraylike(leaf):
            names = leaf_names(fun, args, kwargs, skip)
            raise not_an_array(function, fun, names[i], leaf, hint)


def not_an_array(function: str, fun: Callable, name: str, leaf, hint: str = "") -> Exception:
    """The error for a leaf of the arguments, called ``name``, that is neither array nor number."""
    if isinstance(leaf, Set | Iterator):
        hint = "pass a tuple, a list or an array of its elements."
    if isinstance(leaf, np.ndarray | np.generic):
        hint = (f"arrays hold booleans, numbers or keys, not elements of dtype {leaf.dtype}."
                if leaf.dtype.isnative else "change its byte order by astype.")
    error: type[Exception] = TypeError
    if hasattr(leaf, "__jax_array__"):
        error = ValueError
        hint = "convert it with tanx.numpy.asarray, or register its class as a pytree."
    return error(explain(
        function, f"argument {name} of {name_of(fun)} is not an array.",
        f"value: {leaf!r:.100} of type {type(leaf).__name__}", hint=hint or None))


def result_leaves(function: str, fun: Callable, result) -> tuple[list, Any]:
    """Leaves and tree of a function's result, after checking that each leaf is an array."""
    leaves, tree = tree_util.tree_flatten(result)
    for leaf in leaves:
        if not is_arraylike(leaf):
            path = next(p for p, x in tree_util.tree_flatten_with_path(result)[0] if x is leaf)
            raise TypeError(explain(
                function, f"{name_of(fun)} must return arrays or numbers.",
                f"result{tree_util.keystr(path)}: {leaf!r:.100} of type {type(leaf).__name__}"))
    return leaves, tree

