"""``EArray``: the class of arrays of extended dtypes that libraries define.

Such an array is an ``Array`` as any other. The class is JAX's name for these: it makes them from
data as it is stored, and ``isinstance`` holds for them, not for random keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.traceback import boundary
from ..dtypes import KeyType, is_extended
from ..errors import explain
from .array import Array
from .types import ShapedArray

__all__ = ["EArray"]


class _EArrayType(type(Array)):
    """Makes and recognises arrays of extended dtypes."""

    def __instancecheck__(cls, instance) -> bool:
        if type(instance) is not Array:
            return False
        dtype = instance.aval.dtype
        return is_extended(dtype) and not isinstance(dtype, KeyType)

    @boundary
    def __call__(cls, aval: ShapedArray, data) -> Array:
        dtype: Any = getattr(aval, "dtype", None)
        if type(aval) is not ShapedArray or not is_extended(dtype) or isinstance(dtype, KeyType):
            raise TypeError(explain(
                "tanx.experimental.EArray", "aval must be a type of an extended dtype that a "
                "library defines.", f"aval: {aval!r:.100}"))
        if type(data) is not Array:
            data = Array(np.array(data))
        stored = ShapedArray(aval.shape, dtype.stored)
        if not stored.matches(data.aval):
            raise TypeError(explain(
                "tanx.experimental.EArray", "data must be what arrays of the type have in memory.",
                f"aval: {aval}, stored as {stored}",
                f"data: {data.aval}"))
        return data._shared(aval, data._device)


class EArray(Array, metaclass=_EArrayType):
    """An array of an extended dtype: ``EArray(aval, data)``, with data as it is stored.

    >>> dtype = tanx.experimental.primal_tangent_dtype(jnp.int8, jnp.float32, name="quantized")
    >>> EArray(tanx.core.ShapedArray((2,), dtype), jnp.array([1, 2], jnp.int8))
    EArray([1, 2], dtype=quantized)
    """

    __slots__ = ()
