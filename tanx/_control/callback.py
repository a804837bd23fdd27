"""Calls of Python functions from compiled code: for values, for effects, for debugging.

Four primitives pass arrays to a user's function: ``pure_callback`` for its results alone,
``io_callback`` for its side effects, ``debug_callback`` and ``debug_print`` for debugging. The
declared result types of a function are checked each time it returns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, tree_util
from .._core.array import Array
from .._core.effects import (
    DebugEffect,
    Effect,
    IOEffect,
    OrderedDebugEffect,
    OrderedIOEffect,
)
from .._core.jaxpr import ClosedJaxpr
from .._core.linear import never
from .._core.primitive import Kind, Primitive
from .._core.recording import span
from .._core.stage import stage
from .._core.trace import EvalTrace, Tracer, context, leaked, running
from .._core.types import ShapedArray, typeof
from .._loops import build
from .._loops.names import CALLBACK
from .._ops.base import broadcast_in_dim, materialize
from .._ops.convert import convert
from .._ops.layout import squeeze
from .._ops.slicing import concatenate, slice_in_dim
from ..errors import JaxRuntimeError, OutOfBoundsError, explain
from .custom import flat_leaves
from .scan import map_lanes

__all__ = ["FlatCallback", "HostCall", "debug_callback_p", "debug_print_p", "debug_effect",
           "in_turn", "io_callback", "io_callback_p", "pure_callback", "pure_callback_p",
           "stored", "with_batch_axis", "with_static", "words_of_keys"]

_UNROLLED = 32
"""Batches of up to this many elements get one equation per element."""

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all",
                "legacy_vectorized", None)


def debug_effect(ordered: bool) -> Effect:
    """The effect of an equation that prints."""
    return OrderedDebugEffect() if ordered else DebugEffect()


# -- the Python side -------------------------------------------------------------------------------


class FlatCallback:
    """A function of pytrees as a function of leaves; its result must have the declared structure.

    ``out_tree`` is None if the result does not matter. ``keys`` has the generator of each leaf that
    is a random key, and None for others.
    """

    __slots__ = ("__weakref__", "callback_func", "in_tree", "keys", "name", "out_tree")

    def __init__(self, callback_func: Callable, in_tree, out_tree=None,
                 name: str = "tanx.debug.callback", keys: tuple = ()):
        self.callback_func, self.in_tree, self.out_tree = callback_func, in_tree, out_tree
        self.name, self.keys = name, keys

    def __call__(self, *leaves) -> list:
        if any(self.keys):
            from .._ops.rng import random_wrap
            leaves = tuple(x if kind is None else random_wrap(x, kind)
                           for x, kind in zip(leaves, self.keys))
        args, kwargs = tree_util.tree_unflatten(self.in_tree, leaves)
        try:
            result = self.callback_func(*args, **kwargs)
        except OutOfBoundsError:  # from a check of tanx
            raise
        except Exception as error:
            if _left_debugger(error):
                raise
            raise JaxRuntimeError(explain(
                self.name, "the callback failed.", f"error: {type(error).__name__}: {error}",
                hint="__cause__ of this error is the error that the callback raised.")) from error
        if self.out_tree is None:
            return []
        outs, tree = tree_util.tree_flatten(result)
        if len(outs) != self.out_tree.num_leaves:  # a list in place of a tuple is harmless
            raise JaxRuntimeError(explain(
                self.name, "the callback returned a structure other than the declared one.",
                f"promised: {self.out_tree}", f"returned: {tree}"))
        return outs

    def __repr__(self) -> str:
        return f"_FlatCallback(callback_func={self.callback_func!r}, in_tree={self.in_tree!r})"


def _left_debugger(error: Exception) -> bool:
    debugger = sys.modules.get("bdb")  # slow to import; code that raises its error has imported it
    return debugger is not None and isinstance(error, debugger.BdbQuit)


def words_of_keys(leaves: Sequence[Any]) -> tuple[list, tuple]:
    """Operands as numbers, and the generators of keys.

    Random keys become their words, and elements of other extended types what is stored.
    """
    if not any(dtypes.is_extended(typeof(x).dtype) for x in leaves):
        return list(leaves), ()
    from .._ops.rng import generator_of, random_unwrap  # late: few programs pass keys
    kinds = tuple(generator_of(typeof(x)) if isinstance(typeof(x).dtype, dtypes.KeyType) else None
                  for x in leaves)
    return [random_unwrap(x) if kind is not None
            else convert(x, typeof(x).dtype.stored) if dtypes.is_extended(typeof(x).dtype) else x
            for x, kind in zip(leaves, kinds)], kinds


class HostCall:
    """A function of arrays as programs call it: its results always have the declared types.

    Operands are not copied; their memory must not be written to later.
    """

    __slots__ = ("name", "function", "avals")

    @property
    def label(self) -> str:
        """The name in profiles: the function's name, if it has one."""
        function = getattr(self.function, "callback_func", None)
        return f"{self.name}({getattr(function, '__name__', '')})" if function else self.name

    def __init__(self, name: str, function: Callable, avals: Sequence[ShapedArray] = ()):
        self.name, self.function, self.avals = name, function, tuple(avals)

    def __call__(self, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
        with running(_eval), span(self.label, "callback"):
            results = self.function(*(Array(x) for x in operands))
            return [self.checked(x, aval) for x, aval in zip(results, self.avals, strict=True)]

    def checked(self, result, aval: ShapedArray) -> np.ndarray:
        data = np.asarray(result)
        if data.dtype != aval.dtype:
            data = data.astype(dtypes.canonicalize_dtype(data.dtype))
        if data.dtype != aval.dtype or data.shape != aval.shape:
            raise JaxRuntimeError(explain(
                self.name, "the callback returned a type other than the declared one.",
                f"promised: {aval}", f"returned: {ShapedArray(data.shape, data.dtype)}",
                hint="result_shape_dtypes declares what the callback returns; np.asarray(y, dtype) "
                     "converts to a dtype."))
        return data


_eval = EvalTrace(None)


class Callback(Primitive):
    """Base of the primitives that call Python; ``host_call`` names the function."""

    kind = Kind.CALL
    multiple_results = True

    def host_call(self, params: dict[str, Any]) -> HostCall:
        """The call that a program makes for an equation with these parameters."""
        raise NotImplementedError(f"{type(self).__name__}.host_call")

    def infer(self, *types, **params):
        return list(self.host_call(params).avals)

    def eval(self, *args, **params):
        for x in args:
            if isinstance(x, Tracer):
                raise leaked(x)
        call = self.host_call(params)
        outs = call([np.array(x._value) if type(x) is Array else np.array(x, typeof(x).dtype)
                     for x in args])
        return [Array(np.array(x), False, aval) for x, aval in zip(outs, call.avals)]

    transpose = never("a Python function is not known to be linear")

    def lower(self, into, *operands, **params):
        """A call of the runtime's library, on operands in memory."""
        statements, buffers = stored(operands)
        return [*statements, build.extern(CALLBACK, into, buffers, call=self.host_call(params))]


def stored(operands: Sequence[Any]) -> tuple[list, list[build.Buffer]]:
    """Operands in memory, and the statements that store them there."""
    statements: list = []
    buffers = []
    for n, x in enumerate(operands):
        if not isinstance(x, build.Buffer):
            buffers.append(build.temp(f"operand{n}", x.shape, x.dtype))
            statements.append(build.copy(buffers[-1], x))
        else:
            buffers.append(x)
    return statements, buffers


# -- for values and for effects --------------------------------------------------------------------


class PureCallback(Callback):
    """Calls a Python function without effects: it may be called more than once, or never."""

    name = "pure_callback"

    def host_call(self, params):
        return HostCall("tanx.pure_callback", params["callback"], params["result_avals"])

    def jvp(self, primals, tangents, **params):
        raise ValueError(explain(
            "tanx.pure_callback", "a callback has no derivative.",
            f"operands: {', '.join(str(typeof(x)) for x in primals)}",
            hint="tanx.custom_jvp gives it one; where none is needed, write "
                 "tanx.lax.stop_gradient(x)."))

    def batch(self, args, dims, **params):
        if params["vmap_method"] is None:
            raise NotImplementedError(explain(
                "tanx.pure_callback", "vmap needs a vmap_method: how to call the callback.",
                "vmap_method: None",
                hint="vmap_method='sequential' calls it once for each element, 'expand_dims' and "
                     "'broadcast_all' once for all of them."))
        if params["vmap_method"].startswith("sequential"):
            return in_turn(self, args, dims, params, params["vmap_method"] == "sequential")
        operands, size = with_batch_axis(params["vmap_method"], args, dims)
        params["result_avals"] = tuple(a.update(shape=(size, *a.shape))
                                       for a in params["result_avals"])
        return self.bind(*operands, **params), [0] * len(params["result_avals"])


class IOCallback(Callback):
    """Calls a Python function for its side effects; exactly once each time it is reached."""

    name = "io_callback"

    def effects(self, *types, ordered, **params):
        return frozenset((OrderedIOEffect() if ordered else IOEffect(),))

    def host_call(self, params):
        return HostCall("tanx.experimental.io_callback", params["callback"],
                        params["result_avals"])

    def jvp(self, primals, tangents, **params):
        raise ValueError(explain(
            "tanx.experimental.io_callback", "a callback has no derivative.",
            f"operands: {', '.join(str(typeof(x)) for x in primals)}",
            hint="where none is needed, write tanx.lax.stop_gradient(x)."))

    def batch(self, args, dims, *, ordered, **params):
        if ordered:
            raise ValueError(explain(
                "tanx.experimental.io_callback", "an ordered callback cannot be mapped: a batch "
                "has no order.", "ordered: True",
                hint="ordered=False, or a loop: tanx.lax.map."))
        return in_turn(self, args, dims, dict(params, ordered=ordered), looped=True)


class _Shows(Callback):
    """Shows values to the programmer: derivatives ignore it, and each element is shown."""

    def jvp(self, primals, tangents, **params):
        return self.bind(*primals, **params), []

    def batch(self, args, dims, **params):
        return in_turn(self, args, dims, params)


class DebugCallback(_Shows):
    """Calls a Python function that inspects values."""

    name = "debug_callback"

    def eval(self, *args, **params):
        """Outside of compiled code, errors of the callback are raised unchanged."""
        try:
            return super().eval(*args, **params)
        except JaxRuntimeError as error:
            if error.__cause__ is None:
                raise
            raise error.__cause__ from None

    def effects(self, *types, effect, **params):
        return frozenset((effect,))

    def host_call(self, params):
        return HostCall("tanx.debug.callback", params["callback"])


class DebugPrint(_Shows):
    """Prints values by a format string."""

    name = "debug_print"

    def eval(self, *args, **params):
        """Outside of compiled code, print arrays, which have more information than buffers."""
        for x in args:
            if isinstance(x, Tracer):
                raise leaked(x)
        _printer(**params)(*args)
        return []

    def effects(self, *types, ordered, **params):
        return frozenset((debug_effect(ordered),))

    def host_call(self, params):
        return HostCall("tanx.debug.print", _printer(**params))


def _printer(fmt: str, in_tree, static_args: Sequence[tuple[int, Any]],
             np_printoptions: Sequence[tuple[str, Any]], has_placeholders: bool, logging_record,
             **_) -> Callable[..., tuple[()]]:
    """A function that prints leaves in the form in which ``tanx.debug.print`` received them."""
    def show(*arrays):
        args, kwargs = with_static(in_tree, static_args, arrays)
        with np.printoptions(**dict(np_printoptions)):
            text = fmt.format(*args, **kwargs) if has_placeholders else fmt
        if logging_record is None:
            print(text, flush=True)
        else:
            import logging
            record = logging.makeLogRecord({**logging_record.__dict__, "msg": text})
            logging.getLogger(record.name).handle(record)
        return ()
    return show


def with_static(in_tree, static_args: Sequence[tuple[int, Any]], arrays: Sequence):
    """The tree of arguments, from the static ones, by position, and the arrays."""
    leaves, static = iter(arrays), dict(static_args)
    return tree_util.tree_unflatten(in_tree, [
        static[n] if n in static else next(leaves) for n in range(in_tree.num_leaves)])


pure_callback_p = PureCallback()
io_callback_p = IOCallback()
debug_callback_p = DebugCallback()
debug_print_p = DebugPrint()


# -- batches ---------------------------------------------------------------------------------------


def _batch_size(args: Sequence[Any], dims: Sequence[int | None]) -> int:
    return next(typeof(x).shape[d] for x, d in zip(args, dims) if d is not None)


def with_batch_axis(vmap_method: str, args: Sequence[Any], dims: Sequence[int | None],
                    ) -> tuple[list, int]:
    """Operands for a call that takes all elements of a batch at once, and the size of the batch."""
    size = _batch_size(args, dims)
    if vmap_method == "broadcast_all":
        return [materialize(x, d, size) for x, d in zip(args, dims)], size
    return [x if d is None and vmap_method == "legacy_vectorized"
            else materialize(x, d, 1 if d is None else size) for x, d in zip(args, dims)], size


def in_turn(primitive: Primitive, args, dims, params, looped: bool = False,
            ) -> tuple[list, list[int]]:
    """Call once for each element of a batch, in the order of elements.

    While staging, many calls become a loop; with ``looped``, any number of calls does.
    """
    size = _batch_size(args, dims)
    lane_types = [typeof(x) if d is None else typeof(x).update(
        shape=(*typeof(x).shape[:d], *typeof(x).shape[d + 1:])) for x, d in zip(args, dims)]
    avals = primitive.infer(*lane_types, **params)
    if context.trace.staging and (looped or size > _UNROLLED):
        jaxpr, consts = stage(lambda *lane: primitive.bind(*lane, **params), lane_types)
        return map_lanes(ClosedJaxpr(jaxpr, consts), size, args, dims)
    lanes = [primitive.bind(*(x if d is None else squeeze(slice_in_dim(x, n, n + 1, axis=d), [d])
                              for x, d in zip(args, dims)), **params)
             for n in range(size)]
    return [concatenate([broadcast_in_dim(lane[n], (1, *aval.shape), range(1, aval.ndim + 1))
                         for lane in lanes], 0) for n, aval in enumerate(avals)], [0] * len(avals)


# -- public functions ------------------------------------------------------------------------------


def _promised(name: str, tree) -> tuple[tuple[ShapedArray, ...], Any]:
    """The types in ``result_shape_dtypes``, and its structure."""
    leaves, structure = tree_util.tree_flatten(tree)
    avals = []
    for leaf in leaves:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise TypeError(explain(
                name, "result_shape_dtypes must be a pytree of objects with a shape and a dtype.",
                f"found: {leaf!r:.100}", hint="tanx.ShapeDtypeStruct(shape, dtype) is one."))
        if dtypes.canonicalize_dtype(leaf.dtype) != leaf.dtype:
            raise ValueError(explain(
                name, "result_shape_dtypes names a type of 64 bits, which are not enabled.",
                f"found: {np.dtype(leaf.dtype).name}", hint="tanx.enable_x64(True), or a type of "
                f"32 bits: {dtypes.canonicalize_dtype(leaf.dtype).name}."))
        avals.append(ShapedArray(tuple(leaf.shape), leaf.dtype))
    return tuple(avals), structure


def pure_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any,
                  sharding=None, vmap_method: str | None = None, **kwargs: Any):
    """Call a Python function for its results, from compiled code too.

    ``callback`` takes ``args`` and ``kwargs`` with arrays as leaves and returns a pytree of arrays
    like ``result_shape_dtypes``, whose leaves have a shape and a dtype. It must have no effects: it
    may be called at any time and any number of times, and not at all if its results are not read.

    ``vmap_method`` says what happens under ``vmap``: ``"sequential"`` and
    ``"sequential_unrolled"`` call once for each element; the others call once, with a leading axis
    on batched operands and on results. Operands that are not batched get an axis of size 1 with
    ``"expand_dims"``, of the size of the batch with ``"broadcast_all"``, and none with
    ``"legacy_vectorized"``.

    >>> x = jnp.arange(3.0)
    >>> tanx.jit(lambda x: tanx.pure_callback(np.cbrt, x, x))(x)
    Array([0.       , 1.       , 1.2599211], dtype=float32)
    """
    name = "tanx.pure_callback"
    if vmap_method not in VMAP_METHODS:
        raise ValueError(explain(name, "there is no such vmap_method.",
                                 f"vmap_method: {vmap_method!r}",
                                 f"known:       {', '.join(map(repr, VMAP_METHODS))}"))
    avals, out_tree = _promised(name, result_shape_dtypes)
    leaves, in_tree = flat_leaves(name, (args, kwargs), "close over values that are not arrays.")
    leaves, keys = words_of_keys(leaves)
    outs = pure_callback_p.bind(
        *leaves, callback=FlatCallback(callback, in_tree, out_tree, name, keys),
        result_avals=avals,
        sharding=sharding, vmap_method=vmap_method)
    return tree_util.tree_unflatten(out_tree, outs)


def io_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any,
                sharding=None, ordered: bool = False, **kwargs: Any):
    """Call a Python function for its side effects, from compiled code too.

    As :func:`tanx.pure_callback`, but each call happens exactly once, whether or not the results
    are read; ``result_shape_dtypes`` may be None. ``ordered`` calls happen in program order.

    >>> seen = []
    >>> tanx.jit(lambda x: io_callback(lambda y: seen.append(float(y)), None, x + 1))(1.0)
    >>> tanx.effects_barrier()
    >>> seen
    [2.0]
    """
    name = "tanx.experimental.io_callback"
    avals, out_tree = _promised(name, result_shape_dtypes)
    leaves, in_tree = flat_leaves(name, (args, kwargs), "close over values that are not arrays.")
    leaves, keys = words_of_keys(leaves)
    outs = io_callback_p.bind(
        *leaves, callback=FlatCallback(callback, in_tree, out_tree, name, keys),
        result_avals=avals,
        sharding=sharding, ordered=bool(ordered))
    return tree_util.tree_unflatten(out_tree, outs)
