"""``x.at[…]``: updated copies of arrays.

Inside compiled code an update is written in place unless the old array is read later.
"""

from __future__ import annotations

import functools

import numpy as np

from .. import dtypes
from .._api.meshes import reshard, tells, undivided
from .._base.traceback import shown
from ..errors import explain, warn_user
from ..lax import _functions as lax
from . import _index
from ._creation import asarray
from ._plan import Plan
from ._promotion import (
    Tracer,
    convert,
    gives_way,
    is_arraylike,
    promote_dtypes,
    staging,
    typeof,
)

__all__: list[str] = []  # what users see of this file is the property ``at``


class At:
    """The type of ``x.at``; index it to say which elements to update."""

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array

    def __getitem__(self, index) -> AtIndex:
        return AtIndex(self.array, index)

    def __repr__(self) -> str:
        return f"At({self.array!r})"


class AtIndex:
    """The type of ``x.at[index]``: elements of an array to be read or updated.

    ``mode`` says what happens to indices outside of the array: ``"drop"`` (the default for
    updates), ``"clip"``, ``"fill"`` (for reads, with ``fill_value``) or ``"promise_in_bounds"``.
    ``indices_are_sorted`` and ``unique_indices`` are promises. With ``wrap_negative_indices=False``
    negative indices are outside instead of counting from the end.

    >>> jnp.zeros(3).at[1].set(5.0)
    Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("array", "index")

    def __init__(self, array, index):
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"AtIndex({self.array!r}, {self.index!r})"

    def get(self, *, indices_are_sorted=False, unique_indices=False, mode=None, fill_value=None,
            out_sharding=None, wrap_negative_indices=True, strategy="auto"):
        """The elements themselves: ``x[index]`` with a choice of ``mode``."""
        return _index.get(self.array, self.index, mode=mode, fill_value=fill_value,
                          indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
                          wrap=wrap_negative_indices, strategy=strategy)

    def set(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None,
            out_sharding=None, wrap_negative_indices=True):
        """The array with the elements replaced: ``x[index] = values``."""
        return _update("set", self, values, indices_are_sorted, unique_indices, mode,
                       wrap_negative_indices)

    def add(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None,
            out_sharding=None, wrap_negative_indices=True):
        """The array with ``values`` added; if an index repeats, each of its values is added."""
        return _update("add", self, values, indices_are_sorted, unique_indices, mode,
                       wrap_negative_indices)

    def subtract(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None,
                 out_sharding=None, wrap_negative_indices=True):
        """The array with ``values`` subtracted, once for each occurrence of an index."""
        return _update("subtract", self, values, indices_are_sorted, unique_indices, mode,
                       wrap_negative_indices)

    def multiply(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None,
                 out_sharding=None, wrap_negative_indices=True):
        """The array with the elements multiplied, once for each occurrence of an index."""
        return _update("multiply", self, values, indices_are_sorted, unique_indices, mode,
                       wrap_negative_indices)

    mul = multiply

    def divide(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None,
               out_sharding=None, wrap_negative_indices=True):
        """The array with the elements divided, once for each occurrence of an index."""
        divisors = self._ones().multiply(
            values, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
            wrap_negative_indices=wrap_negative_indices)
        return self.array / divisors

    def power(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None,
              out_sharding=None, wrap_negative_indices=True):
        """The array with the elements raised to a power, once for each occurrence of an index."""
        exponents = self._ones().multiply(
            values, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
            wrap_negative_indices=wrap_negative_indices)
        return self.array ** exponents

    def min(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None,
            out_sharding=None, wrap_negative_indices=True):
        """The array with the elements replaced by the smaller of themselves and ``values``."""
        return _update("min", self, values, indices_are_sorted, unique_indices, mode,
                       wrap_negative_indices)

    def max(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None,
            out_sharding=None, wrap_negative_indices=True):
        """The array with the elements replaced by the greater of themselves and ``values``."""
        return _update("max", self, values, indices_are_sorted, unique_indices, mode,
                       wrap_negative_indices)

    def apply(self, func, *, indices_are_sorted=False, unique_indices=False, mode=None,
              wrap_negative_indices=True):
        """The array with a function of scalars applied, once for each occurrence of an index."""
        mask = _sole_mask(self.index)
        if mask is not None:
            _index.check_mask(typeof(mask), 0, self.array.shape)
            return _where(mask, self.array, func(self.array))
        x, plan, indices = _index.located(self.array, self.index, wrap_negative_indices)
        shape = tuple(n for d, n in enumerate(plan.shape) if d not in plan.new)
        out = lax.scatter_apply(
            x, indices, func, plan.writing, update_shape=shape,
            indices_are_sorted=indices_are_sorted or plan.single,
            unique_indices=unique_indices or plan.single, mode=mode)
        return _without_added(out, self.array)

    def _ones(self) -> AtIndex:
        return AtIndex(lax.full_like(self.array, 1), self.index)


def _laid_out(method):
    """``method`` of ``x.at[...]``, extended by ``out_sharding``, the sharding of its result."""
    @functools.wraps(method)
    def either(self, *args, out_sharding=None, **options):
        if out_sharding is None or not tells(out_sharding):
            return method(self, *args, **options)
        whole = AtIndex(*undivided((self.array, self.index)))
        return reshard(method(whole, *undivided(args), **options), out_sharding)
    return either


for _name in ("get", "set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max",
              "apply"):
    _method = shown(_laid_out(getattr(AtIndex, _name)))
    _method.__module__ = "x.at[...]"  # the prefix of its error messages
    setattr(AtIndex, _name, _method)


_SCATTERS = {"set": lax.scatter, "add": lax.scatter_add, "subtract": lax.scatter_sub,
             "multiply": lax.scatter_mul, "min": lax.scatter_min, "max": lax.scatter_max}
_ELEMENTWISE = {"set": lambda x, y: y, "add": lax.add, "subtract": lax.sub, "multiply": lax.mul,
                "min": lax.min, "max": lax.max}


def _update(what: str, at: AtIndex, values, indices_are_sorted, unique_indices, mode, wrap):
    array = at.array
    mask = _sole_mask(at.index)
    if mask is not None and np.ndim(values) <= array.ndim - mask.ndim:
        out = _masked(what, mask, *_common(what, array, values))
    else:
        x, plan, indices = _index.located(array, at.index, wrap, mode)
        if 0 in plan.shape or 0 in x.shape:
            return array
        x, y = _common(what, x, values)
        out = _SCATTERS[what](
            x, indices, _updates(what, y, plan), plan.writing,
            indices_are_sorted=indices_are_sorted or plan.single,
            unique_indices=unique_indices or plan.single, mode=mode)
    out = _without_added(out, array)
    if out.dtype.kind == "c" != array.dtype.kind:
        return lax.convert_element_type(out, array.dtype)  # warns: imaginary parts are lost
    return convert(out, array.dtype, array.weak_type)


def _without_added(out, array):
    """A result without the axes that booleans without dimensions added."""
    if out.ndim == array.ndim:
        return out
    return lax.reshape(out, array.shape)


def _common(what: str, x, values):
    """Array and values in their common dtype; warns if the array's dtype cannot hold it."""
    if gives_way(values, x):
        return x, convert(values, x.dtype)
    if not is_arraylike(values):
        values = asarray(values)
    dtype = dtypes.result_type(x, values)
    if dtype == x.dtype:
        return x, convert(values, dtype)
    warn_user(explain(
        f"x.at[...].{what}", "the values do not fit the dtype of the array, and are rounded to it.",
        f"array:  {typeof(x)}", f"values: {typeof(values)}",
        hint="convert one of them with .astype(...)."), FutureWarning)
    return promote_dtypes(x, values)


def _updates(what: str, y, plan: Plan):
    """The values in the shape of the elements that they go to."""
    shape, found = plan.shape, y.shape
    extra = len(found) - len(shape)
    if extra > 0 and set(found[:extra]) == {1}:
        y = lax.squeeze(y, range(extra))
        found = y.shape
    if len(found) > len(shape) or found and any(
            n not in (1, m) for n, m in zip(found[::-1], shape[::-1])):
        raise ValueError(explain(
            f"x.at[...].{what}", "values must broadcast to the shape of the indexed elements.",
            f"values:  {typeof(y)}", f"indexed: {shape}"))
    if found != shape:
        y = lax.broadcast_in_dim(y, shape, range(len(shape) - len(found), len(shape)))
    if plan.new:
        y = lax.squeeze(y, plan.new)
    return lax.rev(y, plan.turned) if plan.turned else y


# -- masks -----------------------------------------------------------------------------------------


def _sole_mask(index):
    """The mask, if the index is a single mask that needs no positions; else None.

    No positions are needed outside of staging, and for masks whose values are not known.
    """
    if type(index) is tuple and len(index) == 1:
        (index,) = index
    if getattr(index, "dtype", None) != np.bool_:
        return None
    if isinstance(index, Tracer) and index.concrete() is None:
        return index
    return None if staging() else index


def _masked(what: str, mask, x, y):
    """Update all places that a mask selects with the same values; their number is not needed."""
    _index.check_mask(typeof(mask), 0, x.shape)
    y = lax.broadcast_in_dim(y, x.shape, range(x.ndim - y.ndim, x.ndim))
    return _where(mask, x, _ELEMENTWISE[what](x, y))


def _where(mask, x, y):
    if 0 in mask.shape:
        return x
    mask = lax.broadcast_in_dim(mask, x.shape, range(mask.ndim))
    return lax.select(mask, y, x)
