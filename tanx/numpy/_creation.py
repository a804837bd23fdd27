"""Arrays from values, from nothing, and from numbers counted off."""

from __future__ import annotations

import itertools
import math

import numpy as np

from .. import dtypes, lax
from ..errors import explain
from ._promotion import Array, canonical_shape, check_arraylike, convert, typeof
from ._shape import broadcast_to

__all__ = ["arange", "array", "asarray", "empty", "empty_like", "full", "full_like", "ones",
           "ones_like", "zeros", "zeros_like"]


# -- arrays from values ----------------------------------------------------------------------------


def array(object, dtype=None, *, copy=True, order="K", ndmin=0, device=None, out_sharding=None):
    """An array made of ``object``: a number, nested lists, another array, or a mixture of them.

    Lists may hold arrays and traced values; they are stacked. Without ``dtype``, the elements
    promote to a common one, and a single Python number gives a weakly typed array. ``ndmin`` adds
    leading dimensions until there are so many. ``order`` is there for NumPy's sake and must be
    ``"K"``: elements have no order in memory that users could see.

    >>> jnp.array([[1, 2], [3, 4.5]])
    Array([[1. , 2. ],
           [3. , 4.5]], dtype=float32)
    """
    if order not in ("K", None):
        raise NotImplementedError(explain(
            "tanx.numpy.array", "arrays have no order in memory to choose.", f"order: {order!r}",
            hint="leave order out."))
    if dtype is not None:
        dtype = dtypes.requested_dtype(dtype, "tanx.numpy.array")
    x = _from_value(object, dtype, copy)
    if x.ndim < ndmin:
        x = lax.broadcast(x, (1,) * (ndmin - x.ndim))
    return placed("array", x, device, out_sharding)


def asarray(a, dtype=None, order=None, *, copy=None, device=None, out_sharding=None):
    """``a`` as an array: arrays come back as they are, all else as by :func:`array`.

    >>> jnp.asarray((1, 2), dtype="float32")
    Array([1., 2.], dtype=float32)
    """
    if type(a) is Array and dtype is None and not copy and device is None is out_sharding:
        return a
    return array(a, dtype, copy=bool(copy), order=order, device=device, out_sharding=out_sharding)


def placed(function: str, x, device, out_sharding=None):
    """``x`` on the device asked for."""
    if device is not None or out_sharding is not None:
        raise NotImplementedError(explain(
            f"tanx.numpy.{function}", "arrays cannot be placed on a device here yet.",
            f"device: {device if device is not None else out_sharding}"))
    return x


def _from_value(x, dtype, copy):
    """``x`` as an array of ``dtype``, or of its own one where that is None."""
    if isinstance(x, Array):
        x = lax.copy_p.bind(x) if copy else x
        return x if dtype is None else convert(x, dtype)
    if isinstance(x, list | tuple):
        return _from_list(x, dtype)
    if hasattr(x, "__jax_array__"):
        return _from_value(x.__jax_array__(), dtype, copy)
    if not (isinstance(x, np.ndarray | np.generic) or dtypes.is_python_scalar(x)):
        x = _from_elsewhere(x)
    _check_elements(x)
    if dtype is not None:
        return convert(x, dtype)
    aval = typeof(x)
    return convert(x, aval.dtype, aval.weak_type)


def _from_elsewhere(x) -> np.ndarray:
    """The data of an object that shares it: by ``__array__``, a buffer, or DLPack."""
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        return np.from_dlpack(x)
    return np.asarray(x)


def _check_elements(x) -> None:
    dtype = dtypes.dtype(x)
    if dtype != bool and not dtypes.issubdtype(dtype, np.number):
        value = x.item() if getattr(x, "ndim", 1) == 0 else x
        if value is None:
            raise ValueError(explain("tanx.numpy.array", "None is not a value of an array."))
        raise TypeError(explain(
            "tanx.numpy.array", "arrays hold booleans, numbers or keys.",
            f"value: {value!r:.100}", f"dtype: {dtype}"))


_PYTHON_KINDS = {bool: bool, int: int, float: float, complex: complex}


def _from_list(nested, dtype):
    """Nested sequences as one array; NumPy converts them unless they hold arrays of tanx."""
    leaves = _leaves(nested)
    types = set(map(type, leaves))
    if types <= _PYTHON_KINDS.keys():
        if dtype is None:
            widest = next((t for t in (complex, float, int, bool) if t in types), float)
            dtype = dtypes.requested_dtype(widest)
        return convert(np.array(nested, dtype), dtype)
    if type(None) in types:
        raise ValueError(explain("tanx.numpy.array", "None is not a value of an array."))
    leaves = [_from_value(x, None, False) if hasattr(x, "__jax_array__") else x for x in leaves]
    own = [isinstance(x, Array) for x in leaves]
    if not any(own):
        leaves = [np.asarray(x) if not dtypes.is_python_scalar(x) else x for x in leaves]
    for x, is_own in zip(leaves, own):
        if not is_own and not dtypes.is_python_scalar(x):
            _check_elements(np.asarray(x))
    if dtype is None:
        dtype = dtypes.canonicalize_dtype(dtypes.result_type(*leaves))
    if not any(own):
        return convert(np.array(nested, dtype), dtype)
    return _stacked(nested, dtype)


def _leaves(nested) -> list:
    """What nested lists and tuples hold, in order."""
    level = list(nested)
    while any(kind is list or kind is tuple for kind in set(map(type, level))):
        level = list(itertools.chain.from_iterable(
            x if isinstance(x, list | tuple) else (x,) for x in level))
    return level


def _stacked(nested, dtype):
    """Nested sequences of arrays and numbers, joined along a new dimension for each level."""
    if not isinstance(nested, list | tuple):
        return _from_value(nested, dtype, False)
    if not nested:
        return convert(np.zeros(0), dtype)
    parts = [_stacked(x, dtype) for x in nested]
    if len({part.shape for part in parts}) > 1:
        raise TypeError(explain(
            "tanx.numpy.array", "the items of a list must have one shape.",
            *(f"item {i}: {typeof(part)}" for i, part in enumerate(parts))))
    return lax.concatenate([lax.expand_dims(part, (0,)) for part in parts], 0)


dtypes.make_array = asarray


# -- arrays of one value ---------------------------------------------------------------------------


def zeros(shape, dtype=None, *, device=None, out_sharding=None):
    """An array of zeros; ``dtype`` is the default float unless given.

    >>> jnp.zeros((2, 3))
    Array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    return _constant("zeros", shape, 0, dtype, device, out_sharding)


def ones(shape, dtype=None, *, device=None, out_sharding=None):
    """An array of ones; ``dtype`` is the default float unless given.

    >>> jnp.ones(3, dtype=int)
    Array([1, 1, 1], dtype=int32)
    """
    return _constant("ones", shape, 1, dtype, device, out_sharding)


def _constant(function: str, shape, value: int, dtype, device, out_sharding):
    name = f"tanx.numpy.{function}"
    x = lax.broadcast(convert(value, dtypes.requested_dtype(dtype, name)),
                      canonical_shape(shape, name))
    return placed(function, x, device, out_sharding)


def empty(shape, dtype=None, *, device=None, out_sharding=None):
    """An array whose values do not matter; in tanx they are zeros.

    >>> jnp.empty(2).shape
    (2,)
    """
    name = "tanx.numpy.empty"
    x = lax.empty(canonical_shape(shape, name), dtypes.requested_dtype(dtype, name))
    return placed("empty", x, device, out_sharding)


def full(shape, fill_value, dtype=None, *, device=None, out_sharding=None):
    """An array of ``fill_value``, a number or an array that broadcasts to ``shape``.

    Its dtype is that of ``fill_value`` unless given.

    >>> jnp.full((2, 2), jnp.array([1, 2]))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    check_arraylike("full", fill_value)
    shape = canonical_shape(shape, "tanx.numpy.full")
    return _filled("full", shape, fill_value, typeof(fill_value), dtype, device, out_sharding)


def _filled(function: str, shape, value, like, dtype, device, out_sharding):
    """``value`` broadcast to ``shape``, with the dtype of ``like`` unless one is given."""
    if dtype is None:
        value = convert(value, like.dtype, like.weak_type)
    else:
        value = convert(value, dtypes.requested_dtype(dtype, f"tanx.numpy.{function}"))
    return placed(function, broadcast_to(value, shape), device, out_sharding)


def _like(function: str, a, value, dtype, shape, device, out_sharding=None):
    check_arraylike(function, a, value)
    like = typeof(a)
    shape = like.shape if shape is None else canonical_shape(shape, f"tanx.numpy.{function}")
    return _filled(function, shape, value, like, dtype, device, out_sharding)


def zeros_like(a, dtype=None, shape=None, *, device=None, out_sharding=None):
    """Zeros with the shape and dtype of ``a``, unless others are given.

    >>> jnp.zeros_like(jnp.array([1, 2]))
    Array([0, 0], dtype=int32)
    """
    return _like("zeros_like", a, 0, dtype, shape, device, out_sharding)


def ones_like(a, dtype=None, shape=None, *, device=None, out_sharding=None):
    """Ones with the shape and dtype of ``a``, unless others are given.

    >>> jnp.ones_like(jnp.array([1, 2]), dtype=bool)
    Array([ True,  True], dtype=bool)
    """
    return _like("ones_like", a, 1, dtype, shape, device, out_sharding)


def empty_like(prototype, dtype=None, shape=None, *, device=None):
    """As :func:`empty`, with the shape and dtype of ``prototype`` unless others are given.

    >>> jnp.empty_like(jnp.array([1, 2])).dtype
    dtype('int32')
    """
    check_arraylike("empty_like", prototype)
    like = typeof(prototype)
    shape = like.shape if shape is None else canonical_shape(shape, "tanx.numpy.empty_like")
    if dtype is not None:
        return empty(shape, dtype, device=device)
    x = convert(lax.empty(shape, like.dtype), like.dtype, like.weak_type)
    return placed("empty_like", x, device)


def full_like(a, fill_value, dtype=None, shape=None, *, device=None, out_sharding=None):
    """``fill_value`` everywhere, with the shape and dtype of ``a`` unless others are given.

    >>> jnp.full_like(jnp.zeros(2), 7)
    Array([7., 7.], dtype=float32)
    """
    return _like("full_like", a, fill_value, dtype, shape, device, out_sharding)


# -- numbers counted off ---------------------------------------------------------------------------


def arange(start, stop=None, step=None, dtype=None, *, device=None, out_sharding=None):
    """The numbers from ``start`` up to, not including, ``stop``, in steps of ``step``.

    With one argument they count from 0. How many there are must be known while tracing, so the
    arguments cannot depend on traced values.

    >>> jnp.arange(4), jnp.arange(1, 2, 0.25)
    (Array([0, 1, 2, 3], dtype=int32), Array([1.  , 1.25, 1.5 , 1.75], dtype=float32))
    """
    given = [x for x in (start, stop, step) if x is not None]
    dtype = (dtypes.canonicalize_dtype(dtypes.result_type(*given or [None])) if dtype is None
             else dtypes.requested_dtype(dtype, "tanx.numpy.arange"))
    if stop is None:
        start, stop = 0, start
    low, high = _number("start", start), _number("stop", stop)
    if step is None:
        size, by = math.ceil(high - low), None
    else:
        by = _number("step", step)
        size = math.ceil((high - low) / by)
    x = lax.iota(dtype, max(0, size))
    if by is not None:
        x = lax.mul(convert(by, dtype), x)
    if by is not None or low != 0:
        x = lax.add(convert(low, dtype), x)
    return placed("arange", x, device, out_sharding)


def _number(name: str, x) -> int | float:
    """An argument of ``arange`` as a Python number."""
    if type(x) is int or type(x) is float:
        return x
    if np.ndim(x) if not hasattr(x, "ndim") else x.ndim:
        raise ValueError(explain(
            "tanx.numpy.arange", "the arguments are numbers, not arrays.",
            f"{name}: {typeof(x)}"))
    value = x.item() if hasattr(x, "item") else x
    if isinstance(value, complex):
        raise ValueError(explain(
            "tanx.numpy.arange", "complex numbers cannot be counted off.", f"{name}: {value}"))
    return value
