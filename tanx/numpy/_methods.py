"""Operators, methods and properties of arrays, for the hook of :mod:`tanx._core.operators`.

``METHODS`` maps each name to its function; most are functions of this room under their own name.
"""

from __future__ import annotations

import numpy as np

from .. import dtypes
from .._api.placement import (
    RawBuffer,
    device_of,
    device_put,
    format_of,
    ready_buffer,
    sharding_of,
    shards_of,
)
from .._base.traceback import boundary, shown
from ..errors import ConcretizationTypeError, explain, user_frame
from ..lax import _functions as lax
from . import (
    _assemble,
    _at,
    _complex,
    _contract,
    _creation,
    _cumulative,
    _index,
    _logic,
    _lookup,
    _math,
    _matrices,
    _nonzero,
    _reduce,
    _rounding,
    _shape,
    _sort,
)
from ._promotion import Array, Tracer

__all__ = ["METHODS"]


# -- operators -------------------------------------------------------------------------------------

# Types that operators accept directly. Other types may define how they combine with arrays.
_OPERANDS = frozenset((Array, bool, int, float, complex, np.ndarray))
_FAMILIES = (Tracer, np.ndarray, np.generic, bool, int, float, complex)


def _binary(function):
    """``x.__op__(y)``, where ``function`` takes arrays and numbers."""
    def operator(self, other):
        if type(other) in _OPERANDS or isinstance(other, _FAMILIES):
            return function(self, other)
        other = _foreign(other)
        return other if other is NotImplemented else function(self, other)
    operator.__name__ = function.__name__
    return operator


def _reflected(function):
    """``y.__rop__(x)``, called if ``x.__op__`` returned NotImplemented."""
    def operator(self, other):
        if type(other) in _OPERANDS or isinstance(other, _FAMILIES):
            return function(other, self)
        other = _foreign(other)
        return other if other is NotImplemented else function(other, self)
    operator.__name__ = function.__name__
    return operator


def _foreign(x):
    """Another kind of operand: as an array if it can be converted, else NotImplemented."""
    if hasattr(x, "__jax_array__"):
        return x.__jax_array__()
    if type(x) in (list, tuple, dict):  # a subclass may define its own operators
        raise TypeError(explain(
            "tanx.Array", f"operators do not take a {type(x).__name__}.", f"operand: {x!r:.100}",
            hint="wrap it in tanx.numpy.array(...); lists are not converted implicitly."))
    return NotImplemented


_OPERATORS = {
    "add": _math.add, "sub": _math.subtract, "mul": _math.multiply, "truediv": _math.divide,
    "floordiv": _math.floor_divide, "mod": _math.remainder, "divmod": _math.divmod,
    "pow": _math.power, "matmul": _contract.matmul,
    "and": _math.bitwise_and, "or": _math.bitwise_or,
    "xor": _math.bitwise_xor, "lshift": _math.left_shift, "rshift": _math.right_shift,
}
_COMPARISONS = {
    "eq": _logic.equal, "ne": _logic.not_equal, "lt": _logic.less, "le": _logic.less_equal,
    "gt": _logic.greater, "ge": _logic.greater_equal,
}


# -- the protocol of Python containers -------------------------------------------------------------


def __iter__(self):
    if not self.ndim:
        raise TypeError(explain("iter", "an array of zero dimensions cannot be iterated over.",
                                f"array: {self.aval}"))
    return iter(lax.unstack(self)) if isinstance(self, Tracer) else _rows(self)


ROWS = 100
"""Rows of an array that a loop over it makes at once: ``numpy.iterable(x)`` asks for none of them,
``next(iter(x))`` for one."""


def _rows(x):
    """The rows of an array, made when they are reached."""
    if len(x) <= ROWS:
        yield from lax.unstack(x)
        return
    for start in range(0, len(x), ROWS):
        yield from lax.unstack(lax.slice_in_dim(x, start, min(start + ROWS, len(x))))


def __contains__(self, other) -> bool:
    if np.ndim(other):
        raise ValueError(explain(
            "tanx.Array.__contains__", "an array contains numbers, not arrays.",
            f"array:      {self.aval}", f"looked for: {np.shape(other)}",
            hint="use (x == y).all(axis=...).any() to look for rows."))
    return bool(_reduce.any(_logic.equal(self, other)))


def __setitem__(self, i, x):
    raise TypeError(explain(
        "tanx.Array", "arrays are immutable: elements cannot be assigned.", f"array: {self.aval}",
        hint="x = x.at[i].set(v) gives an updated array; under jit it is done in place."))


def __hash__(self) -> int:
    caller = user_frame()
    if caller is not None and caller.f_globals.get("__name__") == "asyncio.tasks":
        if caller.f_code.co_name != "wait":
            return id(self)  # asyncio keeps awaited objects in sets and dicts, by identity
        raise TypeError(explain(
            "asyncio.wait", "needs tasks; arrays are not tasks.", f"array: {self.aval}",
            hint="asyncio.ensure_future(x) makes one; asyncio.gather takes arrays as they are."))
    raise TypeError(explain(
        "hash", "arrays have no hash: equality of arrays is an array.", f"array: {self.aval}",
        hint="hash x.tobytes() or x.item() for its value, id(x) for the object; pass arrays to "
             "jit as ordinary arguments, not as static ones."))


def __round__(self, ndigits=None):
    rounded = _rounding.round(self, ndigits or 0)
    return rounded if ndigits is not None else _creation.astype(rounded, int)


def __array_namespace__(self, *, api_version=None):
    """The functions of the array API standard: this package."""
    if api_version not in (None, "2025.12"):
        raise ValueError(explain(
            "tanx.Array.__array_namespace__", "only one version of the standard is supported.",
            f"asked for: {api_version!r}", "available: '2025.12'"))
    from .. import numpy as namespace
    return namespace


# -- shape and bits --------------------------------------------------------------------------------


def reshape(self, *args, order="C", out_sharding=None):
    """The same elements in another shape, given as one tuple or as several integers.

    >>> jnp.arange(6).reshape(2, -1)
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    shape = args[0] if len(args) == 1 else args
    return _shape.reshape(self, shape, order, out_sharding=out_sharding)


def transpose(self, *args):
    """The axes in another order, given as one tuple or as several integers; reversed by default."""
    axes = (args[0] if len(args) == 1 and not isinstance(args[0], int) else args) or None
    return _shape.transpose(self, axes)


def flatten(self, order="C", *, out_sharding=None):
    """All elements along one axis."""
    return _shape.ravel(self, order, out_sharding=out_sharding)


def flat(self):
    """Raises: NumPy's writable iterator over elements does not exist for immutable arrays."""
    raise NotImplementedError(explain(
        "tanx.Array.flat", "arrays are immutable, and have no iterator to assign through.",
        hint="use x.flatten()."))


def view(self, dtype=None, type=None):
    """The same bytes read as another dtype; the last axis changes with the width of elements.

    >>> jnp.float32(1.0).view("int32") == 0x3F800000
    Array(True, dtype=bool)
    """
    if type is not None:
        raise NotImplementedError(explain(
            "tanx.Array.view", "type is not supported: there is one type of arrays."))
    if dtype is None:
        return self
    dtype = dtypes.requested_dtype(dtype, "tanx.Array.view")
    if dtype == self.dtype:
        return self
    if not self.ndim and dtype.itemsize != self.dtype.itemsize:
        raise ValueError(explain(
            "tanx.Array.view", "without an axis, elements must keep their width.",
            f"array: {self.aval}", f"dtype: {dtype}"))
    if dtype.kind == "b":
        return lax.convert_element_type(view(self, np.uint8), bool)
    if dtype.kind == "c":
        pairs = view(self, dtypes.to_floating_dtype(dtype))
        pairs = lax.reshape(pairs, (*pairs.shape[:-1], pairs.shape[-1] // 2, 2))
        return lax.complex(*lax.unstack(pairs, -1))
    return _recast(_plain(self), dtype)


def _plain(x):
    """Booleans as bytes, and complex numbers as pairs of their parts."""
    if x.dtype.kind == "b":
        return lax.convert_element_type(x, np.uint8)
    if x.dtype.kind == "c":
        pairs = lax.stack([lax.real(x), lax.imag(x)], -1)
        return lax.reshape(pairs, (*x.shape[:-1], 2 * x.shape[-1]))
    return x


def _recast(x, dtype):
    """Integers or floats read as others."""
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
    if old == new:
        return lax.bitcast_convert_type(x, dtype)
    *lead, last = x.shape
    if old > new:
        return lax.reshape(lax.bitcast_convert_type(x, dtype), (*lead, last * (old // new)))
    if last * old % new:
        raise ValueError(explain(
            "tanx.Array.view", "the last axis must hold a whole number of the wider elements.",
            f"array: {x.aval}", f"dtype: {dtype}"))
    grouped = lax.reshape(x, (*lead, last * old // new, new // old))
    return lax.bitcast_convert_type(grouped, dtype)


def byteswap(self):
    """The bytes of each element in reverse order."""
    if self.dtype.kind == "c":
        return lax.complex(byteswap(lax.real(self)), byteswap(lax.imag(self)))
    if self.dtype.itemsize == 1:
        return self
    parts = lax.bitcast_convert_type(self, np.uint8)
    return lax.bitcast_convert_type(lax.rev(parts, (self.ndim,)), self.dtype)


def astype(self, dtype, copy=False, device=None):
    """The elements as another dtype.

    >>> jnp.array([1.5, -2.5]).astype(int)
    Array([ 1, -2], dtype=int32)
    """
    return _creation.astype(self, dtype, copy=copy, device=device)


def copy(self):
    """A copy in new memory."""
    return _creation.copy(self)


def compress(self, condition, axis=None, *, out=None, size=None, fill_value=0):
    """The slices along ``axis`` where ``condition`` holds; see :func:`tanx.numpy.compress`."""
    return _lookup.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


# -- devices ---------------------------------------------------------------------------------------


def _known(x) -> Array:
    """The array itself, or the known value of a tracer."""
    data = x if type(x) is Array else x.concrete()
    if data is None:
        raise ConcretizationTypeError(x)
    return data


def _of_data(name: str):
    """A method of ``Array`` for tracers, applied to their known value."""
    return lambda self, *args, **kwargs: getattr(_known(self), name)(*args, **kwargs)


def _only_of_arrays(name: str, x) -> None:
    if type(x) is not Array:
        raise AttributeError(explain(
            f"tanx.Array.{name}", "a traced value is not on a device yet.",
            f"value: {x.aval}"))


def device(self):
    """The device that holds the data."""
    _only_of_arrays("device", self)
    return device_of(self)


def sharding(self):
    """How the data is laid out over devices."""
    _only_of_arrays("sharding", self)
    return sharding_of(self)


def format(self):
    """The order of elements in memory, and the devices."""
    _only_of_arrays("format", self)
    return format_of(self)


def devices(self) -> set:
    """The devices that hold the data."""
    return {device_of(_known(self))}


def committed(self) -> bool:
    """Whether the user put the array on its device, so that it is not moved silently."""
    return _known(self)._device is not None


def to_device(self, device, *, stream=None):
    """The array on another device."""
    if stream is not None:
        raise NotImplementedError(explain("tanx.Array.to_device", "there are no streams."))
    return device_put(self, device)


def addressable_shards(self) -> list:
    """The parts of the array that this process holds."""
    return shards_of(_known(self))


def addressable_data(self, index):
    """The data of one of the parts that this process holds."""
    return addressable_shards(self)[index].data


def is_fully_replicated(self) -> bool:
    """Whether every device has all of the data."""
    return _known(self) is not None


def on_device_size_in_bytes(self) -> int:
    """The memory that the data takes."""
    return _known(self).nbytes


def platform(self) -> str:
    """The platform of the device that holds the data."""
    return device_of(_known(self)).platform


def unsafe_buffer_pointer(self) -> int:
    """The address of the data; it does not keep the data alive."""
    return ready_buffer(_known(self)).pointer


def unsafe_raw_buffer(self) -> RawBuffer:
    """The memory of the data, with its address as ``ptr``."""
    return RawBuffer(ready_buffer(_known(self)))


def traceback(self) -> None:
    """Where the array was made: not recorded."""
    _known(self)


# -- the table -------------------------------------------------------------------------------------

# Functions that are methods without change: the array is their first argument.
_FUNCTIONS = {
    _assemble: "repeat",
    _contract: "dot",
    _cumulative: "cumprod cumsum",
    _lookup: "choose take",
    _complex: "conj conjugate",
    _math: "clip",
    _matrices: "diagonal trace",
    _nonzero: "nonzero",
    _reduce: "all any argmax argmin max mean min prod ptp std sum var",
    _rounding: "round",
    _shape: "ravel squeeze swapaxes",
    _sort: "argpartition argsort searchsorted sort",
}
_HERE = (__iter__, __contains__, __setitem__, __hash__, __round__, __array_namespace__, reshape,
         transpose, flatten, view, byteswap, copy, compress, devices, to_device,
         addressable_data, on_device_size_in_bytes, platform, unsafe_buffer_pointer,
         unsafe_raw_buffer)
# Methods of arrays that need their data; tracers apply them to their known value.
_OF_DATA = "__dlpack__ __reduce__ delete is_deleted tobytes"
_PROPERTIES = {
    "T": transpose, "mT": _shape.matrix_transpose, "at": _at.At, "flat": flat,
    "real": _complex.real, "imag": _complex.imag,
    "device": device, "sharding": sharding, "format": format, "committed": committed,
    "traceback": traceback,
    "addressable_shards": addressable_shards, "global_shards": addressable_shards,
    "is_fully_addressable": is_fully_replicated, "is_fully_replicated": is_fully_replicated,
}

_AS_FUNCTIONS = {
    **{f"__{name}__": _binary(function) for name, function in _OPERATORS.items()},
    **{f"__r{name}__": _reflected(function) for name, function in _OPERATORS.items()},
    **{f"__{name}__": _binary(function) for name, function in _COMPARISONS.items()},
    "__neg__": _math.negative, "__pos__": _math.positive, "__abs__": _math.absolute,
    "__invert__": _math.invert, "astype": astype,
    **{name: getattr(module, name) for module, names in _FUNCTIONS.items()
       for name in names.split()},
}
_OF_THEIR_OWN = {
    "__getitem__": _index.getitem,
    **{method.__name__: method for method in _HERE},
    **{name: _of_data(name) for name in _OF_DATA.split()},
    "__copy__": copy, "__deepcopy__": lambda self, memo: copy(self), "clone": copy,
}


def _speaking(method):
    """``method``, with errors that name the function of :mod:`tanx.numpy` that it calls."""
    method = shown(method)
    method.__module__ = "tanx.numpy"
    return method


METHODS = {
    **{name: _speaking(method) for name, method in _AS_FUNCTIONS.items()},
    **{name: boundary(method) for name, method in _OF_THEIR_OWN.items()},
    **{name: property(boundary(getter)) for name, getter in _PROPERTIES.items()},
}
