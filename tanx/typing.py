"""Names for annotations of arguments that are arrays or dtypes.

Functions take an ``ArrayLike`` and return a :class:`tanx.Array`. ``ArrayLike`` is a union of
classes, so ``isinstance`` works on it; it excludes lists, which ``tanx.numpy.asarray`` takes.

>>> isinstance(1.0, ArrayLike), isinstance([1.0], ArrayLike)
(True, False)
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from ._core.array import Array

__all__ = ["ArrayLike", "DTypeLike"]


@runtime_checkable
class SupportsDType(Protocol):
    """Has a dtype, as scalar types such as ``tanx.numpy.float32`` do."""

    @property
    def dtype(self) -> np.dtype: ...


#: An array of tanx or NumPy, or a scalar of NumPy or Python.
ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex

#: Names of a dtype: ``"float32"``, ``np.float32``, ``tanx.numpy.float32``, ``np.dtype``.
DTypeLike = str | type[Any] | np.dtype | SupportsDType
