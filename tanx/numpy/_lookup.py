"""Reading and writing by arrays of positions, and conversion between flat and other positions.

The *mode* of a function says what happens to positions outside of an array: ``"clip"`` moves them
inside, ``"wrap"`` takes them modulo the size, ``"fill"`` reads ``fill_value``. ``"raise"`` needs
the values of positions, so it works only if they are known.
"""

from __future__ import annotations

import operator
from math import prod

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from .._base.axes import canonical_axis
from ..errors import ConcretizationTypeError, explain
from ..lax import _functions as lax
from ._assemble import resize
from ._bounds import check_axis, watched
from ._creation import asarray
from ._logic import where
from ._math import clip, divmod, remainder
from ._nonzero import known_value, nonzero
from ._plan import index_dtype, is_long
from ._promotion import (
    as_operand,
    broadcast_to_shape,
    canonical_shape,
    check_arraylike,
    common_shape,
    convert,
    is_arraylike,
    like,
    refuse_out,
)
from ._shape import ravel

__all__ = ["choose", "compress", "extract", "fill_diagonal", "place", "put", "put_along_axis",
           "ravel_multi_index", "take", "take_along_axis", "unravel_index"]


# -- reading ---------------------------------------------------------------------------------------


def take(a, indices, axis=None, out=None, mode=None, unique_indices=False,
         indices_are_sorted=False, fill_value=None):
    """The slices of ``a`` at ``indices`` along ``axis``, or elements of the flattened array.

    The dimensions of ``indices`` replace the axis. By default and with ``mode="fill"``
    negative positions count from the end, and positions outside give ``fill_value``: by default
    NaN, an extreme integer or True. With ``"clip"`` they are moved inside, negative ones to the
    front; with ``"wrap"`` they are taken modulo the size. ``unique_indices`` and
    ``indices_are_sorted`` are promises.

    >>> jnp.take(jnp.array([10, 20, 30]), jnp.array([[2, 0], [-1, 1]]))
    Array([[30, 10],
           [30, 20]], dtype=int32)
    """
    refuse_out("take", out)
    check_arraylike("take", a, indices)
    if mode == "raise":
        raise NotImplementedError(explain(
            "tanx.numpy.take", "mode='raise' is not supported: positions are not known under jit.",
            hint="mode='fill' gives NaN for positions outside."))
    if mode not in (None, "fill", "clip", "wrap"):
        raise _unknown_mode("take", mode, "fill", "clip", "wrap")
    if hasattr(fill_value, "item"):
        fill_value = fill_value.item()
    if mode is None and watched():
        check_axis("take", a, indices, axis)
    return _take(a, indices, None if axis is None else operator.index(axis), mode or "fill",
                 bool(unique_indices), bool(indices_are_sorted), fill_value)


def _unknown_mode(function: str, mode, *modes: str) -> ValueError:
    return ValueError(explain(f"tanx.numpy.{function}", f"there is no mode {mode!r}.",
                              f"modes: {', '.join(map(repr, modes))}"))


@library_jit(name="_take", static_argnums=(2, 3, 4, 5, 6))
def _take(a, indices, axis, mode, unique_indices, indices_are_sorted, fill_value):
    a, indices = as_operand("take", a), as_operand("take", indices)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis("take", axis, a)
    n = a.shape[axis]
    shape = a.shape[:axis] + indices.shape + a.shape[axis + 1:]
    if not n and prod(indices.shape):
        raise IndexError(explain("tanx.numpy.take", "an empty axis has no elements to take.",
                                 f"array: {a.aval}", f"axis:  {axis}"))
    if not prod(shape):
        return lax.full_like(a, 0, shape=shape)
    indices = _integers("take", indices, n)
    if mode == "fill":
        indices = _from_end(indices, n)
    elif mode == "wrap":
        indices = remainder(indices, like(indices, n))
    rank = indices.ndim
    numbers = lax.GatherDimensionNumbers(
        tuple(d for d in range(len(shape)) if not axis <= d < axis + rank), (axis,), (axis,))
    return lax.gather(
        a, lax.expand_dims(indices, (rank,)), numbers,
        tuple(1 if d == axis else m for d, m in enumerate(a.shape)),
        mode="promise_in_bounds" if mode == "wrap" else mode, fill_value=fill_value,
        unique_indices=unique_indices, indices_are_sorted=indices_are_sorted)


def _integers(function: str, indices, n: int):
    """Indices in a dtype that holds the size of the axis as well; booleans count as 0 and 1."""
    dtype = indices.dtype
    if dtype.kind != "b" and not dtypes.issubdtype(dtype, np.integer):
        raise ValueError(explain(f"tanx.numpy.{function}", "indices must be integers.",
                                 f"indices: {indices.aval}"))
    if dtype.kind == "b" or is_long(n, np.iinfo(dtype).max):
        return convert(indices, max(dtypes.default_int(), index_dtype(n)))
    return indices


def _from_end(indices, n: int):
    """Negative positions counted from the end."""
    if not dtypes.issubdtype(indices.dtype, np.signedinteger):
        return indices
    negative, moved = lax.lt(indices, like(indices, 0)), lax.add(indices, like(indices, n))
    if dtypes.canonicalize_dtype(indices.dtype) != indices.dtype:  # ``where`` would narrow them
        return lax.select(negative, moved, indices)
    return where(negative, moved, indices)


def take_along_axis(arr, indices, axis=-1, mode=None, fill_value=None, *,
                    wrap_negative_indices=True):
    """Elements of ``arr`` at ``indices`` along ``axis``, which may differ from row to row.

    The results of :func:`argsort` and :func:`argmax` can be used as ``indices``. Other dimensions
    broadcast. With ``axis=None`` both arrays are flattened. ``mode`` is that of ``x.at[...].get``;
    by default positions outside give ``fill_value``.

    >>> x = jnp.array([[3, 1, 2], [4, 6, 5]])
    >>> jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)
    Array([[1, 2, 3],
           [4, 5, 6]], dtype=int32)
    """
    if mode is None and watched() and is_arraylike(arr) and is_arraylike(indices):
        check_axis("take_along_axis", arr, indices, axis, wrap_negative_indices)
    return _take_along_axis(arr, indices, axis=axis, mode=mode, fill_value=fill_value,
                            wrap_negative_indices=wrap_negative_indices)


@library_jit(name="take_along_axis",
             static_argnames=("axis", "mode", "fill_value", "wrap_negative_indices"))
def _take_along_axis(arr, indices, axis, mode, fill_value, wrap_negative_indices):
    arr, indices = as_operand("take_along_axis", arr), as_operand("take_along_axis", indices)
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise TypeError(explain("tanx.numpy.take_along_axis", "indices must be integers.",
                                f"indices: {indices.aval}"))
    if axis is None:
        arr, axis = ravel(arr), 0
    rank = arr.ndim
    if indices.ndim != rank:
        raise ValueError(explain(
            "tanx.numpy.take_along_axis", "array and indices must have the same rank.",
            f"array:   {arr.aval}", f"indices: {indices.aval}"))
    axis = canonical_axis("take_along_axis", axis, arr)
    n, count = arr.shape[axis], indices.shape[axis]
    arr, indices = _aligned("take_along_axis", arr, indices, axis)
    if 0 in indices.shape:
        return lax.full_like(arr, 0, shape=indices.shape)
    indices = convert(indices, dtypes.default_int()) if indices.dtype.itemsize < 4 else indices
    indices = _integers("take_along_axis", indices, n)
    if wrap_negative_indices:
        indices = lax.select_n(lax.lt(indices, like(indices, 0)), indices,
                               lax.add(indices, like(indices, n)))
    others = tuple(d for d in range(rank) if d != axis)
    numbers = lax.GatherDimensionNumbers((), (axis,), (axis,), others, others)
    indices = lax.reshape(indices, (*_resized(arr.shape, axis, count), 1))
    return lax.gather(arr, indices, numbers, (1,) * rank, fill_value=fill_value,
                      mode="fill" if mode is None else mode)


def _resized(shape: tuple[int, ...], axis: int, count: int) -> tuple[int, ...]:
    """A shape with another size along one axis."""
    return (*shape[:axis], count, *shape[axis + 1:])


def _aligned(function: str, arr, indices, axis: int):
    """Array and indices broadcast along all axes but one."""
    ones = [_resized(x.shape, axis, 1) for x in (arr, indices)]
    try:
        shape = common_shape(*ones)
    except ValueError:
        raise ValueError(explain(
            f"tanx.numpy.{function}", "array and indices must broadcast along the other axes.",
            f"array:   {arr.aval}", f"indices: {indices.aval}", f"axis:    {axis}")) from None
    return (broadcast_to_shape(x, _resized(shape, axis, x.shape[axis])) for x in (arr, indices))


def choose(a, choices, out=None, mode="raise"):
    """For each element of ``a`` the element of the choice with that number.

    ``choices`` is a sequence of arrays, or an array of them along its first axis; all broadcast
    with ``a``. Numbers outside are an error by default, which works only if ``a`` is known;
    ``mode="wrap"`` takes them modulo the number of choices and ``"clip"`` moves them inside.

    >>> jnp.choose(jnp.array([0, 1, 1]), [jnp.array([1, 2, 3]), -1])
    Array([ 1, -1, -1], dtype=int32)
    """
    refuse_out("choose", out)
    choices = list(choices)
    check_arraylike("choose", a, *choices)
    which = as_operand("choose", a)
    if not dtypes.issubdtype(which.dtype, np.integer):
        raise ValueError(explain("tanx.numpy.choose", "a must hold integers.",
                                 f"a: {which.aval}"))
    n = len(choices)
    if mode == "raise":
        _check_range("choose", [which], (n,), "entries of a must be numbers of choices.")
    elif mode == "wrap":
        which = remainder(which, like(which, n))
    elif mode == "clip":
        which = clip(which, 0, n - 1)
    else:
        raise _unknown_mode("choose", mode, "raise", "wrap", "clip")
    if not n:
        raise ValueError(explain("tanx.numpy.choose", "there must be at least one choice."))
    dtype = dtypes.result_type(*choices)
    cases = [convert(choice, dtype) for choice in choices]
    shape = _common_shape("choose", which, *cases)
    which = broadcast_to_shape(convert(which, np.dtype(np.int32)), shape)
    return lax.select_n(which, *(broadcast_to_shape(case, shape) for case in cases))


def _common_shape(function: str, *arrays) -> tuple[int, ...]:
    try:
        return common_shape(*(x.shape for x in arrays))
    except ValueError:
        raise ValueError(explain(
            f"tanx.numpy.{function}", "operands have incompatible shapes for broadcasting.",
            *(f"operand {i}: {x.aval}" for i, x in enumerate(arrays)))) from None


def _check_range(function: str, indices, sizes, rule: str) -> None:
    """Check that positions are inside, for ``mode="raise"``; they must be known."""
    for i, n in zip(indices, sizes):
        data = known_value(i)
        if data is None:
            raise ConcretizationTypeError.of(
                f"tanx.numpy.{function}", "positions, for mode='raise',", i,
                "use mode='wrap' or mode='clip'.")
        if data.size and not (0 <= data.min() and data.max() < n):
            raise ValueError(explain(
                f"tanx.numpy.{function}", rule, f"from {data.min()} to {data.max()}",
                f"must be below {n}", hint="mode='wrap' or mode='clip' brings them inside."))


def compress(condition, a, axis=None, *, size=None, fill_value=0, out=None):
    """The slices of ``a`` along ``axis`` where ``condition``, a vector, holds.

    Without ``axis`` the array is flattened. Under ``jit`` the number of slices must be given as
    ``size``; if fewer are found, the rest is ``fill_value``.

    >>> jnp.compress(jnp.array([True, False, True]), jnp.array([[1, 2, 3], [4, 5, 6]]), axis=1)
    Array([[1, 3],
           [4, 6]], dtype=int32)
    """
    refuse_out("compress", out)
    return _compressed("compress", condition, a, axis, size, fill_value)


def _compressed(function: str, condition, a, axis, size, fill_value):
    condition, a = as_operand(function, condition), as_operand(function, a)
    if condition.ndim != 1:
        raise ValueError(explain(f"tanx.numpy.{function}", "condition must have one dimension.",
                                 f"condition: {condition.aval}"))
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(function, axis, a)
    n = a.shape[axis]
    beyond = known_value(condition[n:])
    if beyond is not None and beyond.any():
        raise ValueError(explain(
            f"tanx.numpy.{function}", "condition holds beyond the end of the axis.",
            f"condition: {condition.aval}", f"array:     {a.aval}", f"axis:      {axis}"))
    if size is None and known_value(condition) is None:
        raise ConcretizationTypeError.of(
            f"tanx.numpy.{function}", "the number of elements kept", condition, "give size=....")
    (positions,) = nonzero(condition[:n], size=size, fill_value=n)
    if size is None:
        return take(a, positions, axis, mode="clip")
    kept = take(a, positions, axis, mode="fill", fill_value=0)
    shape = [1] * a.ndim
    shape[axis] = kept.shape[axis]
    found = lax.reshape(lax.lt(positions, like(positions, n)), shape)
    return where(found, kept, convert(fill_value, kept.dtype))


def extract(condition, arr, *, size=None, fill_value=0):
    """The elements of ``arr`` where ``condition`` holds, in one dimension; see :func:`compress`.

    >>> x = jnp.arange(6)
    >>> jnp.extract(x % 2 == 0, x)
    Array([0, 2, 4], dtype=int32)
    """
    check_arraylike("extract", condition, arr)
    return _compressed("extract", ravel(condition), arr, None, size, fill_value)


# -- writing ---------------------------------------------------------------------------------------


def _refuse_inplace(function: str, inplace: bool, error: type[Exception] = ValueError) -> None:
    if inplace:
        raise error(explain(
            f"tanx.numpy.{function}", "arrays are immutable, so they cannot be written into.",
            hint="pass inplace=False, and use the array that is returned."))


def put(a, ind, v, mode=None, *, inplace=True):
    """A copy of ``a`` with elements at ``ind``, counted in the flattened array, set to ``v``.

    ``inplace=False`` must be given. Values are repeated if there are fewer than positions.
    Positions outside are moved inside; with ``mode="clip"`` negative ones as well, and with
    ``"wrap"`` they are taken modulo the size.

    >>> jnp.put(jnp.zeros(4), jnp.array([0, -1]), 5.0, inplace=False)
    Array([5., 0., 0., 5.], dtype=float32)
    """
    _refuse_inplace("put", inplace)
    check_arraylike("put", a, ind, v)
    a, places, values = as_operand("put", a), ravel(ind), ravel(v)
    if mode == "raise":
        raise NotImplementedError(explain(
            "tanx.numpy.put", "mode='raise' is not supported: positions are not known under jit.",
            hint="use mode='clip' or mode='wrap'."))
    if mode not in (None, "clip", "wrap"):
        raise _unknown_mode("put", mode, "clip", "wrap")
    n = prod(a.shape)
    if not n or not values.shape[0] or not places.shape[0]:
        return a
    places = _integers("put", places, n)
    if mode == "wrap":
        places = remainder(places, like(places, n))
    else:
        places = clip(_from_end(places, n) if mode is None else places, 0, n - 1)
    flat = ravel(a).at[places].set(resize(values, places.shape))
    return lax.reshape(flat, a.shape)


@library_jit(static_argnames=("axis", "inplace", "mode"))
def put_along_axis(arr, indices, values, axis, inplace=True, *, mode=None):
    """A copy of ``arr`` with elements at ``indices`` along ``axis`` set to ``values``.

    The counterpart of :func:`take_along_axis`; ``inplace=False`` must be given. ``values``
    broadcast to the shape of ``indices``. ``mode`` is that of ``x.at[...].set``.

    >>> x = jnp.array([[3, 1, 2], [4, 6, 5]])
    >>> jnp.put_along_axis(x, jnp.argmax(x, axis=1, keepdims=True), 0, axis=1, inplace=False)
    Array([[0, 1, 2],
           [4, 0, 5]], dtype=int32)
    """
    _refuse_inplace("put_along_axis", inplace)
    given, indices = as_operand("put_along_axis", arr), as_operand("put_along_axis", indices)
    values = as_operand("put_along_axis", values)
    arr, axis = (ravel(given), 0) if axis is None else (given, axis)
    axis = canonical_axis("put_along_axis", axis, arr)
    if indices.ndim != arr.ndim:
        raise ValueError(explain(
            "tanx.numpy.put_along_axis", "array and indices must have the same rank.",
            f"array:   {arr.aval}", f"indices: {indices.aval}"))
    if _common_shape("put_along_axis", values, indices) != indices.shape:
        raise ValueError(explain(
            "tanx.numpy.put_along_axis", "values must broadcast to the shape of the indices.",
            f"values:  {values.aval}", f"indices: {indices.aval}"))
    values = broadcast_to_shape(values, indices.shape)
    index = [lax.broadcasted_iota(np.int32, _resized((1,) * arr.ndim, d, n), d)
             for d, n in enumerate(arr.shape)]
    index[axis] = indices
    return lax.reshape(arr.at[tuple(index)].set(values, mode=mode), given.shape)


def place(arr, mask, vals, *, inplace=True):
    """A copy of ``arr`` with the elements where ``mask`` holds set to ``vals``, one after another.

    Values are repeated if there are too few. ``inplace=False`` must be given.

    >>> x = jnp.arange(5)
    >>> jnp.place(x, x > 1, jnp.array([7, 8]), inplace=False)
    Array([0, 1, 7, 8, 7], dtype=int32)
    """
    _refuse_inplace("place", inplace)
    check_arraylike("place", arr, mask, vals)
    arr, mask, vals = as_operand("place", arr), ravel(mask), ravel(vals)
    n = prod(arr.shape)
    if mask.shape != (n,):
        raise ValueError(explain("tanx.numpy.place", "array and mask must have the same size.",
                                 f"array: {arr.aval}", f"mask:  {mask.aval}"))
    if not vals.shape[0]:
        raise ValueError(explain("tanx.numpy.place", "there must be at least one value."))
    (positions,) = nonzero(mask, size=n, fill_value=n)
    return lax.reshape(ravel(arr).at[positions].set(resize(vals, (n,))), arr.shape)


def fill_diagonal(a, val, wrap=False, *, inplace=True):
    """A copy of ``a`` with its main diagonal set to ``val``, repeated or cut to its length.

    ``inplace=False`` must be given. With ``wrap``, the diagonal of a matrix with more rows than
    columns starts again after each block.

    >>> jnp.fill_diagonal(jnp.zeros((2, 3)), 7.0, inplace=False)
    Array([[7., 0., 0.],
           [0., 7., 0.]], dtype=float32)
    """
    _refuse_inplace("fill_diagonal", inplace, NotImplementedError)
    check_arraylike("fill_diagonal", a, val)
    a, val = as_operand("fill_diagonal", a), as_operand("fill_diagonal", val)
    if a.ndim < 2 or a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError(explain(
            "tanx.numpy.fill_diagonal", "the array must be a matrix, or have equal sizes along "
            "all of its dimensions.", f"array: {a.aval}"))
    if wrap and a.ndim == 2:
        every = np.arange(0, prod(a.shape), a.shape[1] + 1)
        index = np.unravel_index(every, a.shape)
    else:
        index = (lax.iota(np.int32, min(a.shape)),) * a.ndim
    values = val if not val.ndim else resize(ravel(val), index[0].shape)
    return a.at[index].set(values)


# -- flat and multi-dimensional positions
# ---------------------------------------------------------------------------


def unravel_index(indices, shape):
    """Flat positions as positions in each dimension of ``shape``: a tuple.

    Negative positions count from the end, and positions outside are moved inside.

    >>> jnp.unravel_index(jnp.array([0, 5]), (2, 3))
    (Array([0, 1], dtype=int32), Array([0, 2], dtype=int32))
    """
    check_arraylike("unravel_index", indices)
    rest = as_operand("unravel_index", indices)
    sizes = canonical_shape(shape, "tanx.numpy.unravel_index")
    positions = []
    for n in reversed(sizes):
        rest, position = divmod(rest, n)
        positions.append(position)
    if not positions:
        return ()
    above = lax.gt(rest, like(rest, 0))
    if not dtypes.issubdtype(rest.dtype, np.unsignedinteger):
        below = lax.lt(rest, like(rest, -1))
        positions = [where(below, 0, position) for position in positions]
    return tuple(where(above, max(n - 1, 0), position)
                 for n, position in zip(sizes, reversed(positions)))


def ravel_multi_index(multi_index, dims, mode="raise", order="C", *, dtype=None):
    """Positions in each dimension as flat positions in arrays of shape ``dims``.

    Positions outside are an error by default, which works only if they are known; ``mode="wrap"``
    takes them modulo the size and ``"clip"`` moves them inside. With ``order="F"`` the first
    dimension changes fastest.

    >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([0, 2])), (2, 3))
    Array([0, 5], dtype=int32)
    """
    check_arraylike("ravel_multi_index", *multi_index)
    positions = [asarray(i) for i in multi_index]
    sizes = tuple(map(operator.index, dims))
    if len(positions) != len(sizes):
        raise ValueError(explain(
            "tanx.numpy.ravel_multi_index", "there must be positions for each dimension.",
            f"multi_index: {len(positions)} of them", f"dims:        {sizes}"))
    if order not in ("C", "F"):
        raise ValueError(explain("tanx.numpy.ravel_multi_index", f"there is no order {order!r}.",
                                 "orders: 'C', 'F'"))
    for i in positions:
        if not dtypes.issubdtype(i.dtype, np.integer):
            raise ValueError(explain("tanx.numpy.ravel_multi_index", "positions must be integers.",
                                     f"positions: {i.aval}"))
    if mode == "raise":
        _check_range("ravel_multi_index", positions, sizes, "positions must be inside of dims.")
    elif mode == "clip":
        positions = [clip(i, 0, n - 1) for i, n in zip(positions, sizes)]
    elif mode == "wrap":
        positions = [remainder(i, n) for i, n in zip(positions, sizes)]
    elif mode != "ignore":
        raise _unknown_mode("ravel_multi_index", mode, "raise", "wrap", "clip", "ignore")
    total = convert(0, dtypes.default_int(), True)
    for d, i in enumerate(positions):
        step = prod(sizes[d + 1:] if order == "C" else sizes[:d])
        total = total + i * step
    dtype = dtypes.result_type(*positions) if dtype is None else dtypes.requested_dtype(
        dtype, "tanx.numpy.ravel_multi_index")
    return convert(total, dtype)
