"""Universal functions: functions of elements that also reduce, accumulate and update.

The functions of :mod:`._math` and :mod:`._logic` that NumPy's users reduce with become objects
here. Sums, extrema and logic use their primitives; any other function is applied to one element
after another, from left to right.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from .. import dtypes
from .._api.batching import vmap
from .._api.jit import library_jit
from .._base.axes import canonical_axis
from .._base.traceback import boundary, credit
from ..errors import explain
from ..lax import _functions as lax
from . import _logic, _math, _reduce, _transcendental
from ._at import At
from ._logic import where as choose
from ._promotion import (
    as_operand,
    broadcast_to_shape,
    check_arraylike,
    common_shape,
    convert,
    inexact,
    like,
    refuse_out,
    typeof,
)
from ._shape import moveaxis, ravel

__all__ = ["add", "bitwise_and", "bitwise_or", "bitwise_xor", "frompyfunc", "logaddexp",
           "logaddexp2", "logical_and", "logical_or", "logical_xor", "maximum", "minimum",
           "multiply", "negative", "subtract", "ufunc"]


class ufunc:
    """A function of elements: it broadcasts, and can reduce, accumulate, and update arrays.

    ``func`` takes ``nin`` scalars and returns ``nout``; it is mapped over arrays unless ``call``
    does that itself. ``identity`` is the neutral element. By default the methods go from element to
    element, under ``jit`` with one equation for each; the arguments ``reduce``, ``accumulate``,
    ``at`` and ``reduceat`` are faster implementations.

    >>> jnp.add.reduce(jnp.array([[1, 2], [3, 4]]), axis=1)
    Array([3, 7], dtype=int32)
    >>> smooth = jnp.ufunc(lambda x, y: 0.5 * x + 0.5 * y, nin=2, nout=1)
    >>> smooth.accumulate(jnp.array([8.0, 0.0, 0.0]))
    Array([8., 4., 2.], dtype=float32)
    """

    def __init__(self, func: Callable, /, nin: int, nout: int, *, name: str | None = None,
                 nargs: int | None = None, identity: Any = None, call: Callable | None = None,
                 reduce: Callable | None = None, accumulate: Callable | None = None,
                 at: Callable | None = None, reduceat: Callable | None = None):
        update_wrapper(self, func)
        del self.__dict__["__wrapped__"]  # ``func`` has another signature
        self.__name__ = name or func.__name__
        self.__module__ = "tanx.numpy"
        self._func, self._call = func, call or _mapped(func)
        self._nin, self._nout = operator.index(nin), operator.index(nout)
        self._nargs = self._nin if nargs is None else operator.index(nargs)
        self._identity = identity
        self._reduce, self._accumulate = reduce, accumulate
        self._at, self._reduceat = at, reduceat

    nin = property(lambda self: self._nin, doc="The number of operands.")
    nout = property(lambda self: self._nout, doc="The number of results.")
    nargs = property(lambda self: self._nargs, doc="The number of arguments.")
    identity = property(lambda self: self._identity, doc="The neutral element, or None.")

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def _key(self) -> tuple:
        """The key by which two ufuncs are equal."""
        return self._func, self.__name__, self._nin, self._nout, self._nargs, self._identity

    def __eq__(self, other: object) -> bool:
        return type(other) is ufunc and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self._func, self.__name__, self._nin, self._nout))

    @boundary
    def __call__(self, *args, out=None, where=None):
        if out is None and where is None:
            try:
                return self._call(*args)
            except Exception as error:
                credit(error, self)
                raise
        raise NotImplementedError(explain(
            f"tanx.numpy.{self.__name__}", "out and where are not supported in calls.",
            hint="arrays are immutable; write jnp.where(mask, f(x, y), otherwise)."))

    def _only(self, method: str, nin: int | None = 2) -> str:
        """Check for one result and ``nin`` operands; returns the name for messages."""
        name = f"{self.__name__}.{method}"
        if self._nout != 1 or nin not in (None, self._nin):
            raise ValueError(explain(
                f"tanx.numpy.{name}", "is for functions of two operands with one result.",
                f"operands: {self._nin}", f"results:  {self._nout}"))
        return name

    @boundary
    @library_jit(static_argnames=("self", "axis", "dtype", "out", "keepdims"))
    def reduce(self, a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=None):
        """All elements along ``axis`` combined, from left to right.

        ``axis`` may be a tuple, or None for all. ``initial`` comes before the first element, and
        ``where`` says which elements count.

        >>> jnp.subtract.reduce(jnp.array([10, 3, 2]))
        Array(5, dtype=int32)
        """
        name = self._only("reduce")
        refuse_out(name, out)
        check_arraylike(name, a)
        axes = _reduce.reduced_axes(name, axis, typeof(a))
        if initial is None and self._identity is None:
            self._check_not_empty(name, a, axes, where)
        if self._reduce is not None:
            return self._reduce(a, axis=axes, dtype=dtype, keepdims=keepdims, initial=initial,
                                where=where)
        x = _as(name, a, dtype)
        total = self._fold(_flat(x, axes), initial, None if where is None else _flat(
            broadcast_to_shape(as_operand(name, where), x.shape), axes))
        return _reduce.keep_reduced(total, x.shape, axes) if keepdims else total

    def _check_not_empty(self, name: str, a, axes: tuple[int, ...], where) -> None:
        """Raise if there is neither an initial value nor an element."""
        if where is not None or 0 in [np.shape(a)[d] for d in axes]:
            rule = "there are no elements" if where is None else "where may leave no elements"
            raise ValueError(explain(
                f"tanx.numpy.{name}", f"{rule}, so initial must be given.",
                f"array: {typeof(a)}", hint="give initial=... the value for no elements."))

    def _fold(self, x, initial, mask):
        """Combine all elements along the first axis, one after another."""
        start = self._identity if initial is None else initial
        elements = list(lax.unstack(x))
        masks = [None] * len(elements) if mask is None else list(lax.unstack(mask))
        if start is not None:
            total = lax.full(x.shape[1:], convert(start, x.dtype))
        else:
            total, *elements = elements
            masks = masks[1:]
        for element, counts in zip(elements, masks, strict=True):
            following = convert(self(total, element), x.dtype)
            total = following if counts is None else choose(counts, following, total)
        return total

    @boundary
    @library_jit(static_argnames=("self", "axis", "dtype", "out"))
    def accumulate(self, a, axis=0, dtype=None, out=None):
        """The results of combining 1, 2, 3, … elements along ``axis``.

        >>> jnp.multiply.accumulate(jnp.array([2, 3, 4]))
        Array([ 2,  6, 24], dtype=int32)
        """
        name = self._only("accumulate")
        refuse_out(name, out)
        check_arraylike(name, a)
        if self._accumulate is not None:
            return self._accumulate(a, axis=axis, dtype=dtype)
        if axis is None or isinstance(axis, tuple):
            raise ValueError(explain(f"tanx.numpy.{name}", "takes one axis.",
                                     f"axis: {axis}"))
        x = _as(name, a, dtype)
        axis = canonical_axis(name, axis, x)
        totals: list = []
        for element in lax.unstack(x, axis):
            totals.append(convert(self(totals[-1], element), x.dtype) if totals else element)
        return lax.stack(totals, axis) if totals else x

    @boundary
    @library_jit(static_argnums=(0,))
    def outer(self, A, B, /):
        """The function of every element of ``A`` with every element of ``B``.

        >>> jnp.maximum.outer(jnp.array([1, 5]), jnp.array([2, 3]))
        Array([[2, 3],
               [5, 5]], dtype=int32)
        """
        name = self._only("outer")
        check_arraylike(name, A, B)
        x, y = as_operand(name, A), as_operand(name, B)
        if y.ndim:
            rank = x.ndim
            x = lax.expand_dims(x, range(rank, rank + y.ndim))
            y = lax.expand_dims(y, range(rank))
        return self(x, y)

    @boundary
    def at(self, a, indices, b=None, /, *, inplace=True):
        """``a`` with ``a[i] = f(a[i], b)`` for each of ``indices``, which may repeat.

        Arrays are immutable, so ``inplace=False`` must be given, and the result be used.

        >>> jnp.add.at(jnp.zeros(3), jnp.array([0, 0, 2]), 1.0, inplace=False)
        Array([2., 0., 1.], dtype=float32)
        """
        name = self._only("at", None)
        if inplace:
            raise NotImplementedError(explain(
                f"tanx.numpy.{name}", "arrays are immutable and cannot be updated in place.",
                hint=f"x = jnp.{name}(x, indices, b, inplace=False)."))
        x = as_operand(name, a)
        if self._at is not None:
            return self._at(x, indices, b)
        operands = () if self._nin == 1 else (b,)
        if not any(np.ndim(i) for i in _as_tuple(indices)):  # slices and numbers do not repeat
            return At(x)[indices].set(self(x[indices], *operands))
        for place, *value in _one_by_one(name, x, indices, operands):
            x = At(x)[place].set(convert(self(x[place], *value), x.dtype))
        return x

    @boundary
    @library_jit(static_argnames=("self", "axis", "dtype", "out"))
    def reduceat(self, a, indices, axis=0, dtype=None, out=None):
        """The elements from each index up to the next one combined, along ``axis``.

        The last segment goes to the end. If the next index is not greater, the result is the single
        element at the index.

        >>> jnp.add.reduceat(jnp.arange(8), jnp.array([0, 4, 6]))
        Array([ 6,  9, 13], dtype=int32)
        """
        name = self._only("reduceat")
        refuse_out(name, out)
        check_arraylike(name, a, indices)
        x = _as(name, a, dtype)
        axis = canonical_axis(name, axis, x)
        if not x.shape[axis]:
            raise IndexError(explain(
                f"tanx.numpy.{name}", "an axis without elements has no segments.",
                f"array: {x.aval}", f"axis:  {axis}"))
        if np.shape(indices) == (0,):
            return lax.full_like(x, 0, shape=(*x.shape[:axis], 0, *x.shape[axis + 1:]))
        if self._reduceat is not None:
            return self._reduceat(x, indices, axis=axis)
        starts, stops = _segments(name, indices, x.shape[axis])
        lined_up = (starts.shape[0], *(1,) * (x.ndim - 1))
        starts, stops = (lax.reshape(i, lined_up) for i in (starts, stops))
        totals = lax.full((starts.shape[0], *x.shape[:axis], *x.shape[axis + 1:]), like(x, 0))
        for i, element in enumerate(lax.unstack(x, axis)):
            here = like(starts, i)
            inside = lax.bitwise_and(lax.lt(starts, here), lax.lt(here, stops))
            following = convert(self(totals, element), x.dtype)
            totals = choose(lax.eq(starts, here), element, choose(inside, following, totals))
        return moveaxis(totals, 0, axis)


def _mapped(func: Callable) -> Callable:
    """A function of scalars, mapped over the axes of its arguments."""
    name = func.__name__

    def over_axes(*args):
        check_arraylike(name, *args)
        operands = [as_operand(name, x) for x in args]
        shape = common_shape(*(x.shape for x in operands))
        # An argument is mapped along the axes that it has, not along those it is broadcast to.
        axes = [[len(shape) - x.ndim + d for d, n in enumerate(x.shape)
                 if n == shape[len(shape) - x.ndim + d]] for x in operands]
        operands = [lax.reshape(x, [shape[d] for d in own])
                    for x, own in zip(operands, axes, strict=True)]
        mapped = func
        for d in reversed(range(len(shape))):
            mapped = vmap(mapped, in_axes=tuple(0 if d in own else None for own in axes))
        return mapped(*operands)
    return library_jit(over_axes, name="_call_vectorized")


def frompyfunc(func, /, nin, nout, *, identity=None):
    """A :class:`ufunc` from a Python function of scalars, which tanx must be able to trace.

    >>> larger_size = jnp.frompyfunc(lambda x, y: jnp.maximum(abs(x), abs(y)), nin=2, nout=1)
    >>> larger_size(jnp.array([-3, 1]), 2)
    Array([3, 2], dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)


# -- operands --------------------------------------------------------------------------------------


def _as(name: str, a, dtype):
    """``a`` as an operand, of ``dtype`` where that is given."""
    x = as_operand(name, a)
    if dtype is None:
        return convert(x, x.dtype)
    return convert(x, dtypes.requested_dtype(dtype, f"tanx.numpy.{name}"))


def _as_tuple(indices) -> tuple:
    return indices if isinstance(indices, tuple) else (indices,)


def _one_by_one(name: str, x, indices, operands):
    """The positions in ``indices``, each with the corresponding elements of ``operands``."""
    index = [as_operand(name, i) for i in _as_tuple(indices)]
    places, rest = common_shape(*(i.shape for i in index)), x.shape[len(index):]
    each = (math.prod(places),)
    columns = [lax.reshape(broadcast_to_shape(i, places), each) for i in index]
    values = [lax.reshape(broadcast_to_shape(convert(v, x.dtype), places + rest), each + rest)
              for v in operands]
    return zip(zip(*map(lax.unstack, columns), strict=True), *map(lax.unstack, values), strict=True)


def _flat(x, axes: tuple[int, ...]):
    """``x`` with ``axes`` merged into one axis in front."""
    if axes == (0,):
        return x
    rest = [d for d in range(x.ndim) if d not in axes]
    x = lax.transpose(x, (*axes, *rest))
    return lax.reshape(x, (math.prod(x.shape[:len(axes)]), *x.shape[len(axes):]))


def _segments(name: str, indices, length: int) -> tuple:
    """The start of each segment, and the start of the next one."""
    starts = as_operand(name, indices)
    if starts.ndim != 1 or not dtypes.issubdtype(starts.dtype, np.integer):
        raise ValueError(explain(
            f"tanx.numpy.{name}", "indices must be integers along one axis.",
            f"indices: {starts.aval}"))
    end = lax.full((1,), like(starts, length))
    return starts, lax.concatenate([lax.slice_in_dim(starts, 1, None), end], 0)


# -- functions with their own primitives -----------------------------------------------------------


def _reduction(name: str, combine, primitive, neutral, prepare=_as):
    """``reduce`` by a primitive; ``neutral`` gives the neutral element of a dtype."""
    def reduce(a, *, axis, dtype, keepdims, initial, where):
        x = prepare(name, a, dtype)
        axes = _reduce.reduced_axes(name, axis, x)
        if where is not None:
            x = _reduce.masked(name, x, where, neutral(x.dtype))
        total = primitive(x, axes)
        if initial is not None:
            total = combine(convert(initial, total.dtype), total)
        return _reduce.keep_reduced(total, x.shape, axes) if keepdims else total
    return reduce


def _accumulation(name: str, primitive, prepare=_as):
    """``accumulate`` by a primitive that takes one axis."""
    def accumulate(a, *, axis, dtype):
        x = prepare(name, a, dtype)
        if axis is None or not x.ndim:
            x, axis = ravel(x), 0
        return primitive(x, canonical_axis(name, axis, x))
    return accumulate


def _reduction_of_segments(name: str, primitive, neutral, prepare=_as):
    """``reduceat`` by a primitive, over a mask for each segment."""
    def reduceat(a, indices, *, axis):
        given = a.dtype
        x = moveaxis(prepare(name, a, None), axis, 0)
        starts, stops = _segments(name, indices, x.shape[0])
        starts, stops = (lax.expand_dims(i, (1,)) for i in (starts, stops))
        here = lax.broadcasted_iota(starts.dtype, (starts.shape[0], x.shape[0]), 1)
        inside = lax.bitwise_and(lax.le(starts, here), lax.lt(here, stops))
        mask = lax.expand_dims(lax.bitwise_or(inside, lax.eq(here, starts)), range(2, x.ndim + 1))
        segments = choose(mask, lax.expand_dims(x, (0,)), convert(neutral(x.dtype), x.dtype))
        total = moveaxis(primitive(segments, (1,)), 0, axis)
        return convert(total, np.dtype(bool)) if given.kind == "b" else total
    return reduceat


def _as_truth(name: str, a, dtype):
    return _logic.as_bool(as_operand(name, a))


def _as_number(name: str, a, dtype):
    x = _as(name, a, dtype)
    return convert(x, dtypes.default_int()) if x.dtype.kind == "b" and dtype is None else x


def _as_inexact(name: str, a, dtype):
    return inexact(name, _as(name, a, dtype))


def _log_of_sum(raised, logarithm):
    """The logarithm of a sum of powers; the greatest is factored out, so that none overflows."""
    def reduce(x, axes):
        greatest = lax.reduce_max(x, axes)
        finite = _logic.isfinite(greatest)
        shift = lax.stop_gradient(choose(finite, greatest, like(greatest, 0)))
        powers = raised(lax.sub(x, _reduce.keep_reduced(shift, x.shape, axes)))
        return lax.add(logarithm(lax.reduce_sum(powers, axes)), shift)
    return reduce


def _update(method: str):
    """``at`` by a method of ``x.at[…]``."""
    return lambda x, indices, b: getattr(At(x)[indices], method)(b)


def _also_of_truth(primitive):
    """``accumulate`` by a primitive for numbers, extended to booleans."""
    of_truth = _of_truth(primitive)
    return lambda x, axis: (of_truth if x.dtype.kind == "b" else primitive)(x, axis)


def _of_truth(primitive):
    """``accumulate`` for booleans, as bytes that are 0 or 1; only the last bit of a sum matters."""
    def accumulate(x, axis):
        total = primitive(lax.convert_element_type(x, np.uint8), axis)
        return lax.convert_element_type(lax.bitwise_and(total, like(total, 1)), bool)
    return accumulate


def _make(function, *, identity=None, neutral=None, reduce=None, accumulate=None, at=None,
          prepare=_as) -> ufunc:
    """A ufunc from a function that broadcasts by itself, with the primitives for its methods."""
    name = function.__name__
    value = neutral or (lambda dtype: identity)
    total = reduce and _reduction(f"{name}.reduce", function, reduce, value, prepare)
    return ufunc(
        function, 2, 1, call=function, identity=identity,
        reduce={"add": _reduce.sum, "multiply": _reduce.prod}.get(name, total),
        accumulate=accumulate and _accumulation(f"{name}.accumulate", accumulate, prepare),
        at=at and _update(at),
        reduceat=reduce and _reduction_of_segments(f"{name}.reduceat", reduce, value, prepare))


add = _make(_math.add, identity=0, reduce=lax.reduce_sum, accumulate=lax.cumsum, at="add",
            prepare=_as_number)
multiply = _make(_math.multiply, identity=1, reduce=lax.reduce_prod, accumulate=lax.cumprod,
                 at="multiply", prepare=_as_number)
maximum = _make(_math.maximum, neutral=lambda dtype: _reduce.bound(dtype, False),
                reduce=lax.reduce_max, accumulate=_also_of_truth(lax.cummax), at="max")
minimum = _make(_math.minimum, neutral=lambda dtype: _reduce.bound(dtype, True),
                reduce=lax.reduce_min, accumulate=_also_of_truth(lax.cummin), at="min")
bitwise_and = _make(_math.bitwise_and, identity=-1, reduce=lax.reduce_and)
bitwise_or = _make(_math.bitwise_or, identity=0, reduce=lax.reduce_or)
bitwise_xor = _make(_math.bitwise_xor, identity=0, reduce=lax.reduce_xor)
logical_and = _make(_logic.logical_and, identity=True, reduce=lax.reduce_and,
                    accumulate=_of_truth(lax.cummin), prepare=_as_truth)
logical_or = _make(_logic.logical_or, identity=False, reduce=lax.reduce_or,
                   accumulate=_of_truth(lax.cummax), prepare=_as_truth)
logical_xor = _make(_logic.logical_xor, identity=False, reduce=lax.reduce_xor,
                    accumulate=_of_truth(lax.cumsum), prepare=_as_truth)
logaddexp = _make(_transcendental.logaddexp, identity=-np.inf, prepare=_as_inexact,
                  reduce=_log_of_sum(lax.exp, lax.log), accumulate=lax.cumlogsumexp)
logaddexp2 = _make(_transcendental.logaddexp2, identity=-np.inf, prepare=_as_inexact,
                   reduce=_log_of_sum(lax.exp2, lax.log2))
subtract = _make(_math.subtract, at="subtract")
negative = ufunc(_math.negative, 1, 1, call=_math.negative)
