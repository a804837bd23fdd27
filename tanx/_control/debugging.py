"""``tanx.debug``: inspect values inside transformed and compiled functions."""

from __future__ import annotations

import logging
import string
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import tree_util
from .._core.source import user_source
from .._core.trace import EvalTrace, context
from .._core.types import is_arraylike
from .._ops.base import as_array
from ..errors import explain
from .callback import (
    FlatCallback,
    debug_callback_p,
    debug_effect,
    debug_print_p,
    with_static,
    words_of_keys,
)

__all__ = ["callback", "inspect_array_sharding", "log", "print"]


def callback(callback: Callable[..., None] | None = None, *args: Any, ordered: bool = False,
             partitioned: bool = False, **kwargs: Any) -> Callable[..., None] | None:
    """Call a Python function with values of a transformed function; its result is dropped.

    Under ``vmap`` it is called for each element; derivatives ignore it, and dead code elimination
    keeps it. Arguments that are not arrays are passed unchanged. ``ordered`` calls happen in
    program order, across functions. Without a function, it returns a decorator.

    >>> seen = []
    >>> tanx.jit(lambda x: tanx.debug.callback(lambda y: seen.append(float(y)), x * 2))(1.0)
    >>> seen
    [2.0]
    """
    if callback is None:
        return partial(_call, ordered=ordered, partitioned=partitioned)
    _call(callback, *args, ordered=ordered, partitioned=partitioned, **kwargs)
    return None


def _call(callback: Callable[..., None], *args, ordered: bool, partitioned: bool, **kwargs) -> None:
    if not callable(callback):
        raise TypeError(explain("tanx.debug.callback", "needs a function.",
                                f"given: {callback!r:.100}"))
    arrays, static, in_tree = split_arguments((args, kwargs))

    def on_arrays(*leaves):
        args, kwargs = with_static(in_tree, static, leaves)
        callback(*args, **kwargs)

    flat_tree = tree_util.tree_structure((tuple(arrays), {}))
    arrays, keys = words_of_keys(arrays)
    debug_callback_p.bind(*arrays, callback=FlatCallback(on_arrays, flat_tree, keys=keys),
                          effect=debug_effect(ordered), partitioned=partitioned)


def split_arguments(tree) -> tuple[list, tuple[tuple[int, Any], ...], Any]:
    """The arrays among the leaves of a tree, the other leaves with their places, the structure."""
    leaves, in_tree = tree_util.tree_flatten(tree)
    arrays = [as_array(x) for x in leaves if is_arraylike(x)]
    return arrays, tuple((n, x) for n, x in enumerate(leaves) if not is_arraylike(x)), in_tree


def print(fmt: str | None = None, *args, ordered: bool = False, partitioned: bool = False,
          skip_format_check: bool = False, _use_logging: bool = False, **kwargs,
          ) -> Callable[..., None] | None:
    """Print values of a transformed function when they are known: when compiled code runs.

    ``fmt`` is a format string as for ``str.format``; its fields are checked against the arguments
    when the function is traced. Under ``vmap`` each element is printed; under ``grad`` the forward
    pass prints. ``ordered`` prints happen in program order.

    >>> @tanx.jit
    ... def f(x):
    ...     y = jnp.sin(x)
    ...     tanx.debug.print("x = {} and y = {y:.3f}", x, y=y)
    ...     return y
    >>> _ = f(1.0)
    x = 1.0 and y = 0.841
    """
    run = partial(_print, ordered=ordered, partitioned=partitioned,
                  skip_format_check=skip_format_check, _use_logging=_use_logging)
    return run if fmt is None else run(fmt, *args, **kwargs)


def _print(fmt: str, *args, ordered: bool, partitioned: bool, skip_format_check: bool,
           _use_logging: bool, **kwargs) -> Any:
    if not isinstance(fmt, str):
        raise TypeError(explain("tanx.debug.print", "needs a format string first.",
                                f"given: {fmt!r:.100}",
                                hint='tanx.debug.print("{}", x) prints a value.'))
    if not skip_format_check:
        check_format("tanx.debug.print", fmt, args, kwargs)
    arrays, static, in_tree = split_arguments((args, kwargs))
    if type(context.trace) is not EvalTrace:  # eager code prints arrays unchanged
        arrays, _ = words_of_keys(arrays)
    options = np.get_printoptions()
    debug_print_p.bind(
        *arrays, fmt=fmt, ordered=bool(ordered), partitioned=partitioned, in_tree=in_tree,
        static_args=static, np_printoptions=tuple(options.items()),
        has_placeholders=bool(args or kwargs),
        logging_record=_record() if _use_logging else None)


def log(fmt: str | None = None, *args, ordered: bool = False, partitioned: bool = False,
        skip_format_check: bool = False, _use_logging: bool = True, **kwargs,
        ) -> Callable[..., None] | None:
    """As :func:`tanx.debug.print`, through Python's ``logging``, at level ``INFO``.

    >>> tanx.jit(lambda x: tanx.debug.log("x is {}", x))(1.0)
    """
    return print(fmt, *args, ordered=ordered, partitioned=partitioned,
                 skip_format_check=skip_format_check, _use_logging=_use_logging, **kwargs)


def _record() -> logging.LogRecord:
    source = user_source()
    return logging.LogRecord("tanx.debug", logging.INFO, source.file, source.line, "", None, None,
                             source.function)


class _Checker(string.Formatter):
    """Records which arguments a format string uses; values are not formatted."""

    def __init__(self) -> None:
        self.used: set[int | str] = set()

    def get_value(self, key, args: Sequence, kwargs):
        self.used.add(key)
        return super().get_value(key, args, kwargs)

    def get_field(self, field_name: str, args: Sequence, kwargs):
        first, _, _ = field_name.replace("[", ".").partition(".")
        key = int(first) if first.isdigit() else first
        return self.get_value(key, args, kwargs), key

    def convert_field(self, value, conversion):
        return value

    def format_field(self, value, format_spec: str) -> str:
        return ""


class _Verbatim(str):
    """Text that ``KeyError`` shows without quotes."""

    __repr__ = str.__str__


def check_format(function: str, fmt: str, args: Sequence, kwargs: dict[str, Any],
                 all_used: bool = True) -> None:
    """Raise unless the fields of a format string match the arguments exactly."""
    checker = _Checker()
    try:
        checker.vformat(fmt, args, kwargs)
    except IndexError:
        raise IndexError(explain(
            function, "the format has more fields than there are arguments.", f"format:    {fmt!r}",
            f"arguments: {len(args)}")) from None
    except KeyError as error:
        raise KeyError(_Verbatim(explain(
            function, f"the format has a field {error.args[0]!r}, but there is no such argument.",
            f"format:    {fmt!r}", f"arguments: {', '.join(kwargs) or 'none'} by name"))) from None
    unused = [f"#{n}" for n in range(len(args)) if n not in checker.used]
    unused += [name for name in kwargs if name not in checker.used]
    if unused and all_used:
        raise ValueError(explain(
            function, "there are arguments that the format does not use.", f"format: {fmt!r}",
            f"unused: {', '.join(unused)}",
            hint='write tanx.debug.print("{x}", x=x), not an f-string, which is filled in when the '
                 "function is traced."))


def inspect_array_sharding(value, *, callback: Callable[[Any], None]):
    """Call a function with the sharding of a traced value."""
    raise NotImplementedError(explain(
        "tanx.debug.inspect_array_sharding", "the sharding of values inside of compiled functions "
        "is not available.", hint="x.sharding is that of an array."))
