"""``ffi_call``: functions of shared libraries, by the name they were registered under.

The primitives here have no body: compiled code calls the function by its address, and eager code
does the same outside of any program. :mod:`tanx._runtime.foreign` has both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.traceback import boundary
from ..._control.callback import (
    VMAP_METHODS,
    in_turn,
    stored,
    with_batch_axis,
    words_of_keys,
)
from ..._core.array import Array
from ..._core.effects import IOEffect
from ..._core.linear import never
from ..._core.primitive import Kind, Primitive
from ..._core.trace import Tracer, leaked
from ..._core.types import AbstractToken, ShapedArray, typeof
from ..._loops import build
from ..._loops.names import FOREIGN
from ..._ops.base import transpose
from ..._runtime.call_frames import encoded
from ..._runtime.foreign import call_now
from ...errors import explain

__all__ = ["abstract_token", "ffi_call"]

TYPED, UNTYPED = 4, 1
"""Versions of custom calls: the one with call frames, and the first one."""

abstract_token = AbstractToken()
"""The type of a token, in ``result_shape_dtypes``."""


class FfiEffect(IOEffect):
    """The effect of calling a foreign function that does more than compute its results."""


# -- primitives ------------------------------------------------------------------------------------


class Foreign(Primitive):
    """Base of the primitives that call C functions, defined by ``description``."""

    kind = Kind.CALL
    multiple_results = True
    names_line = True
    transpose = never("a foreign function is not known to be linear")

    def description(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The data of a use for the runtime; see ``_runtime/foreign.py``."""
        raise NotImplementedError(f"{type(self).__name__}.description")

    def written(self, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The name and parameters that compiled code depends on."""
        return self.name, self.description(params)

    def eval(self, *args, **params):
        operands = []
        for x in args:
            if isinstance(x, Tracer):
                raise leaked(x)
            operands.append(x._value if type(x) is Array else np.asarray(x, typeof(x).dtype))
        avals = self.infer(*(ShapedArray(x.shape, x.dtype) for x in operands), **params)
        call = build.extern(
            FOREIGN, [build.Buffer("", a.shape, a.dtype) for a in avals],
            [build.Buffer("", x.shape, x.dtype) for x in operands], **self.description(params))
        return [Array(x, False, a) for x, a in zip(call_now(call, operands), avals)]

    def lower(self, into, *operands, line, **params):
        """A call of the runtime's library, on operands in memory."""
        statements, buffers = stored(operands)
        return [*statements, build.extern(FOREIGN, into, buffers, line=line,
                                          **self.description(params))]


class FfiCall(Foreign):
    """Calls a registered function on operands in the order of their layouts.

    Layouts are from minor to major, as in XLA; operands and results are already transposed to
    row-major order.
    """

    name = "ffi_call"

    def infer(self, *types, result_avals, **params):
        return list(result_avals)

    def effects(self, *types, has_side_effect, **params):
        return frozenset((FfiEffect(),)) if has_side_effect else frozenset()

    def description(self, params):
        typed = params["custom_call_api_version"] == TYPED
        layouts = tuple(tuple(None if _is_default(layout) else layout[::-1] for layout in side)
                        for side in (params["output_layouts"], params["input_layouts"]))
        return dict(
            kind="typed" if typed else "untyped", function=params["target_name"],
            attributes=params["attributes"].encoded if typed else (), layouts=layouts,
            copies=tuple((out, given) for given, out in params["input_output_aliases"]))

    def jvp(self, primals, tangents, *, target_name, **params):
        raise ValueError(explain(
            "tanx.ffi.ffi_call", "a foreign function has no derivative.", f"target: {target_name}",
            f"operands: {', '.join(str(typeof(x)) for x in primals)}",
            hint="tanx.custom_jvp or tanx.custom_vjp gives it one; where none is needed, write "
                 "tanx.lax.stop_gradient(x)."))

    def batch(self, args, dims, **params):
        method = params["vmap_method"]
        if method is None:
            raise NotImplementedError(explain(
                "tanx.ffi.ffi_call", "vmap needs a vmap_method: how to call the function.",
                f"target: {params['target_name']}", "vmap_method: None",
                hint="vmap_method='sequential' calls it once for each element, 'expand_dims' and "
                     "'broadcast_all' once for all of them."))
        if method.startswith("sequential"):
            return in_turn(self, args, dims, params, method == "sequential")
        operands, size = with_batch_axis(method, args, dims)
        shared = [given for given, _ in params["input_output_aliases"]]
        for n in shared:  # they must have the size of the results
            operands[n] = with_batch_axis("broadcast_all", [args[n], *args],
                                          [dims[n], *dims])[0][0]
        layouts = params["input_layouts"]
        params.update(
            result_avals=tuple(a.update(shape=(size, *a.shape)) for a in params["result_avals"]),
            input_layouts=tuple(_batched(layout) if typeof(x).ndim > len(layout) else layout
                                for layout, x in zip(layouts, operands)),
            output_layouts=tuple(map(_batched, params["output_layouts"])))
        return self.bind(*operands, **params), [0] * len(params["result_avals"])


ffi_call_p = FfiCall()


def _is_default(layout: Sequence[int]) -> bool:
    return tuple(layout) == tuple(range(len(layout)))[::-1]


def _batched(layout: Sequence[int]) -> tuple[int, ...]:
    """A layout, from minor to major, with one more dimension in front of the others."""
    return *(d + 1 for d in layout), 0


# -- attributes ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HashableArray:
    """An array as a parameter of an equation."""

    val: np.ndarray

    def __repr__(self) -> str:
        return f"HashableArray({self.val!r})"


class FrozenDict(dict):
    """A dict as a parameter of an equation."""

    def __repr__(self) -> str:
        return f"FrozenDict({dict(self)!r})"


class Attributes(tuple):
    """Pairs of a name and a value, sorted by name; equal if they are encoded equally."""

    encoded: tuple

    def __new__(cls, given: Mapping[str, Any]):
        names = sorted(given, key=str.encode)
        made = super().__new__(cls, tuple((name, _frozen(given[name])) for name in names))
        made.encoded = tuple(encoded(name, given[name]) for name in names)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attributes) and self.encoded == other.encoded

    def __hash__(self) -> int:
        return hash(self.encoded)


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return HashableArray(value.copy())
    if isinstance(value, dict):
        return FrozenDict((str(k), _frozen(v)) for k, v in value.items())
    return value


def attributes_of(given: Mapping[str, Any]) -> Attributes:
    """The attributes of a call, checked."""
    for name, value in given.items():
        if isinstance(value, Array | Tracer | list | set):
            raise TypeError(explain(
                "tanx.ffi.ffi_call", "an attribute is part of the program, and must be known when "
                "that is compiled.", f"attribute: {name} = {value!r:.80}",
                hint="convert it with np.asarray; values that change from call to call must be "
                "operands."))
    return Attributes(given)


# -- public functions ------------------------------------------------------------------------------


def ffi_call(target_name: str, result_shape_dtypes: Any, *, has_side_effect: bool = False,
             vmap_method: str | None = None, input_layouts: Sequence | None = None,
             output_layouts: Any = None, input_output_aliases: Mapping[int, int] | None = None,
             custom_call_api_version: int = TYPED, legacy_backend_config: Any = None) -> Callable:
    """A function of arrays that calls the C function registered as ``target_name``.

    ``result_shape_dtypes`` is an object with a shape and a dtype, or a sequence of these. The
    function takes arrays; keyword arguments become attributes, which the C function finds by
    name: numbers, strings, NumPy arrays and dicts of them. Python's ``int`` and ``float`` have 64
    bits there, whatever arrays have. docs/foreign_functions.md shows the C side.

    - ``has_side_effect``: the call happens even if its results are not used.
    - ``vmap_method``: as that of :func:`tanx.pure_callback`.
    - ``input_layouts`` and ``output_layouts``: for each array the order of its dimensions in
      memory, from major to minor, or None for rows.
    - ``input_output_aliases``: pairs of an operand and the result that reuses its memory.
    - ``custom_call_api_version``: 4 for functions that take a call frame, 1 for functions of the
      results and the operands, ``void f(void *out, const void **in)``.

    >>> import ctypes
    >>> @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_void_p))
    ... def twice(out, operands):
    ...     out[0] = 2 * ctypes.cast(operands[0], ctypes.POINTER(ctypes.c_float))[0]
    >>> tanx.ffi.register_ffi_target("twofold", tanx.ffi.pycapsule(twice), api_version=0)
    >>> x = jnp.float32(4.0)
    >>> tanx.jit(tanx.ffi.ffi_call("twofold", x, custom_call_api_version=1))(x)
    Array(8., dtype=float32)
    """
    name = "tanx.ffi.ffi_call"
    if vmap_method not in VMAP_METHODS:
        raise ValueError(explain(name, "there is no such vmap_method.",
                                 f"vmap_method: {vmap_method!r}",
                                 f"known:       {', '.join(map(repr, VMAP_METHODS))}"))
    _check_version(custom_call_api_version, legacy_backend_config)
    several = isinstance(result_shape_dtypes, Sequence)
    promised = list(result_shape_dtypes) if several else [result_shape_dtypes]
    avals = [_promised(t) for t in promised]
    out_layouts = [output_layouts] if output_layouts is not None and not several else output_layouts
    outs_in = _layouts("output_layouts", out_layouts, avals)

    @boundary
    def call(*args, **attributes):
        if attributes and custom_call_api_version != TYPED:
            raise ValueError(explain(
                name, "attributes need custom_call_api_version=4.",
                f"attributes: {', '.join(attributes)}",
                f"custom_call_api_version: {custom_call_api_version}"))
        operands, _ = words_of_keys(args)
        types = [typeof(x) for x in operands]
        ins = _layouts("input_layouts", input_layouts, types)
        aliases = _aliases(input_output_aliases or {}, types, avals)
        results = ffi_call_p.bind(
            *(x if _is_default(layout) else transpose(x, layout[::-1])
              for x, layout in zip(operands, ins)),
            result_avals=tuple(a.update(shape=tuple(a.shape[d] for d in layout[::-1]))
                               for a, layout in zip(avals, outs_in)),
            vmap_method=vmap_method, target_name=str(target_name),
            has_side_effect=bool(has_side_effect), input_layouts=ins, output_layouts=outs_in,
            input_output_aliases=aliases, custom_call_api_version=custom_call_api_version,
            legacy_backend_config=legacy_backend_config, attributes=attributes_of(attributes))
        results = [y if _is_default(layout) else transpose(y, np.argsort(layout[::-1]).tolist())
                   for y, layout in zip(results, outs_in)]
        if not several:
            return results[0]
        return results if isinstance(result_shape_dtypes, list) else tuple(results)

    return call


def _check_version(version: int, config: Any) -> None:
    name = "tanx.ffi.ffi_call"
    if version not in (TYPED, UNTYPED):
        raise NotImplementedError(explain(
            name, "there is no such version of calls here.", f"custom_call_api_version: {version}",
            hint="4 is for functions that take a call frame, 1 is the first one; 2 and 3 report "
                 "errors by a class of XLA's own library."))
    if config and version == TYPED:
        raise ValueError(explain(
            name, "legacy_backend_config needs an earlier custom_call_api_version.",
            f"custom_call_api_version: {version}",
            hint="keyword arguments of the function become attributes."))
    if config:
        raise NotImplementedError(explain(
            name, "functions of custom_call_api_version=1 take no configuration.",
            f"legacy_backend_config: {config!r:.80}"))


def _promised(kind: Any) -> ShapedArray:
    """The type of a result."""
    if isinstance(kind, AbstractToken):
        raise NotImplementedError(explain(
            "tanx.ffi.ffi_call", "foreign functions do not take or return tokens.",
            f"result_shape_dtypes: {kind}",
            hint="calls with has_side_effect=True happen in program order without one."))
    if not hasattr(kind, "shape") or not hasattr(kind, "dtype"):
        raise ValueError(explain(
            "tanx.ffi.ffi_call",
            "result_shape_dtypes must be an object with a shape and a dtype, or a sequence of "
            "these.", f"found: {kind!r:.100}",
            hint="tanx.ShapeDtypeStruct(shape, dtype) is one."))
    return ShapedArray(tuple(kind.shape), np.dtype(kind.dtype))


def _layouts(option: str, given: Sequence | None, avals: Sequence) -> tuple[tuple[int, ...], ...]:
    """Layouts from minor to major, one for each type."""
    if given is None:
        given = [None] * len(avals)
    if len(given) != len(avals):
        raise ValueError(explain(
            "tanx.ffi.ffi_call", f"{option} must have one entry for each array.",
            f"arrays:  {len(avals)}", f"entries: {len(given)}"))
    found = []
    for aval, layout in zip(avals, given):
        order = range(aval.ndim) if layout is None else getattr(layout, "major_to_minor", layout)
        if sorted(order) != list(range(aval.ndim)):
            raise ValueError(explain(
                "tanx.ffi.ffi_call", f"an entry of {option} must name each dimension once.",
                f"array:  {aval}", f"layout: {tuple(order)}"))
        found.append(tuple(int(d) for d in order)[::-1])
    return tuple(found)


def _aliases(given: Mapping[int, int], types: Sequence, avals: Sequence,
             ) -> tuple[tuple[int, int], ...]:
    """Pairs of an operand and a result, checked."""
    for operand, result in given.items():
        pair = f"input_output_aliases: {{{operand}: {result}}}"
        if not (0 <= operand < len(types) and 0 <= result < len(avals)):
            raise ValueError(explain(
                "tanx.ffi.ffi_call", "there is no such operand or no such result.", pair,
                f"operands: {len(types)}", f"results:  {len(avals)}"))
        if (types[operand].shape, types[operand].dtype) != (
                avals[result].shape, avals[result].dtype):
            raise ValueError(explain(
                "tanx.ffi.ffi_call", "an operand and a result of another type cannot share memory.",
                pair, f"operand: {types[operand]}", f"result:  {avals[result]}"))
    return tuple(sorted((int(a), int(b)) for a, b in given.items()))
