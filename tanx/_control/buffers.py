"""``buffer_callback``: Python functions that write their results to given memory."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import tree_util
from .._core.effects import IOEffect
from .._core.types import ShapedArray, typeof
from .._ops.base import as_array
from ..errors import JaxRuntimeError, explain
from .callback import VMAP_METHODS, HostCall, PureCallback

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]

_NAME = "tanx.experimental.buffer_callback.buffer_callback"


class ExecutionStage(enum.Enum):
    """The stages in which a program may call a function; here it is always ``EXECUTE``."""

    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3

    def __repr__(self) -> str:
        return str(self)


class ExecutionContext:
    """Facts about the run that a function is part of."""

    __slots__ = ()

    @property
    def stage(self) -> ExecutionStage:
        """The stage of the run."""
        return ExecutionStage.EXECUTE

    @property
    def stream(self) -> int:
        """Raises: only GPUs have streams."""
        raise JaxRuntimeError(explain(
            "tanx.experimental.buffer_callback.ExecutionContext.stream",
            "the device has no streams."))


class Buffer:
    """Memory that a function reads or writes; ``np.asarray(buffer)`` is an array over it."""

    __slots__ = ("_data",)

    def __init__(self, data: np.ndarray, writeable: bool):
        self._data = data.view()
        self._data.flags.writeable = writeable

    shape = property(lambda self: self._data.shape)
    dtype = property(lambda self: self._data.dtype)
    ndim = property(lambda self: self._data.ndim)
    writeable = property(lambda self: self._data.flags.writeable)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.array(self._data, dtype, copy=copy)

    def __dlpack__(self, **kwargs):
        return self._data.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU

    def __repr__(self) -> str:
        return f"Buffer({ShapedArray(self.shape, self.dtype)}, writeable={self.writeable})"


class BufferCallback(PureCallback):
    """Calls a Python function with buffers for its operands and results."""

    name = "buffer_callback"

    def effects(self, *types, has_side_effect, **params):
        return frozenset((IOEffect(),)) if has_side_effect else frozenset()

    def host_call(self, params):
        return HostCall(_NAME, _Filling(
            params["callback"], params["in_tree"], params["out_tree"],
            tuple(params["result_avals"]), tuple(params["input_output_aliases"])),
            params["result_avals"])

    def jvp(self, primals, tangents, **params):
        raise ValueError(explain(
            _NAME, "a callback has no derivative.",
            f"operands: {', '.join(str(typeof(x)) for x in primals)}",
            hint="tanx.custom_jvp gives it one."))


class _Filling:
    """The function as programs call it: takes arrays, fills results, returns them."""

    def __init__(self, callback: Callable, in_tree, out_tree, avals: Sequence[ShapedArray],
                 aliases: Sequence[tuple[int, int]]):
        self.callback_func, self.in_tree, self.out_tree = callback, in_tree, out_tree
        self.avals, self.aliases = avals, aliases

    def __call__(self, *operands) -> list[np.ndarray]:
        given = [np.asarray(x) for x in operands]
        results = [np.zeros(aval.shape, aval.dtype) for aval in self.avals]
        for source, target in self.aliases:
            np.copyto(results[target], given[source])
        args, kwargs = tree_util.tree_unflatten(
            self.in_tree, [Buffer(x, False) for x in given])
        outs = tree_util.tree_unflatten(self.out_tree, [Buffer(x, True) for x in results])
        try:
            self.callback_func(ExecutionContext(), outs, *args, **kwargs)
        except Exception as error:
            raise JaxRuntimeError(explain(
                _NAME, "the callback failed.", f"error: {type(error).__name__}: {error}",
                hint="__cause__ of this error is the error that the callback raised.")) from error
        return results


buffer_callback_p = BufferCallback()


def buffer_callback(callback: Callable[..., None], result_shape_dtypes: Any, *,
                    has_side_effect: bool = False, vmap_method: str | None = None,
                    input_output_aliases: Mapping[int, int] | None = None,
                    command_buffer_compatible: bool = False) -> Callable:
    """A function whose results are written by Python: ``callback(context, results, *args)``.

    Arguments and results are of type :class:`Buffer`; buffers of results can be written to, and
    start as zeros, or with the contents of the argument that ``input_output_aliases`` maps to them.
    The other parameters are those of :func:`tanx.pure_callback`.

    >>> from tanx.experimental.buffer_callback import buffer_callback
    >>> def double(context, out, x):
    ...     np.asarray(out)[...] = 2 * np.asarray(x)
    >>> tanx.jit(buffer_callback(double, tanx.ShapeDtypeStruct((2,), np.float32)))(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    if not callable(callback):
        raise TypeError(explain(_NAME, "the callback must be a function.",
                                f"got: {callback!r:.100}"))
    if vmap_method not in VMAP_METHODS:
        raise ValueError(explain(_NAME, "there is no such vmap_method.", f"got: {vmap_method!r}"))
    types, out_tree = tree_util.tree_flatten(result_shape_dtypes)
    avals = tuple(ShapedArray(tuple(t.shape), np.dtype(t.dtype)) for t in types)

    def call(*args, **kwargs):
        leaves, in_tree = tree_util.tree_flatten((args, kwargs))
        leaves = [as_array(x) for x in leaves]
        aliases = tuple(sorted((input_output_aliases or {}).items()))
        for source, target in aliases:
            _check_alias(source, target, [typeof(x) for x in leaves], avals)
        outs = buffer_callback_p.bind(
            *leaves, callback=callback, in_tree=in_tree, out_tree=out_tree, result_avals=avals,
            has_side_effect=has_side_effect, vmap_method=vmap_method,
            input_output_aliases=aliases, command_buffer_compatible=command_buffer_compatible)
        return tree_util.tree_unflatten(out_tree, outs)
    return call


def _check_alias(source: int, target: int, types: Sequence, avals: Sequence[ShapedArray]) -> None:
    """Check that an alias is between an argument and a result of one shape and dtype."""
    pair = f"input_output_aliases: {{{source}: {target}}}"
    for index, count, what in ((source, len(types), "argument"), (target, len(avals), "result")):
        if not 0 <= index < count:
            raise ValueError(explain(_NAME, f"there is no {what} {index}.", pair,
                                     f"{what}s: {count}"))
    if types[source].shape != avals[target].shape or types[source].dtype != avals[target].dtype:
        raise ValueError(explain(
            _NAME, "a result can share the memory of an argument of the same type only.", pair,
            f"argument: {types[source]}", f"result:   {avals[target]}"))
