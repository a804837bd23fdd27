"""Scalar types: ``tanx.numpy.float32`` and the others, which make arrays when called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import explain
from ._types import by_name

__all__ = ["ScalarMeta", "scalar_types"]


#: Makes an array: ``make_array(x, dtype)``. Set by ``tanx.numpy`` when it is imported.
make_array: Callable[[Any, np.dtype], Any] | None = None


class ScalarMeta(type):
    """The class of scalar types such as ``tanx.numpy.float32``: a call makes an array of that type.

    A scalar type equals its dtype and NumPy's class, and ``np.dtype`` converts it to its dtype.

    >>> scalar_types["float32"] == np.dtype("float32") == np.float32
    True
    """

    dtype: np.dtype

    def __call__(cls, x: Any) -> Any:
        if make_array is None:
            raise RuntimeError(explain(
                f"tanx.numpy.{cls.__name__}", "tanx.numpy has not been imported."))
        return make_array(x, cls.dtype)

    def __eq__(cls, other: object) -> bool:
        if isinstance(other, np.dtype):
            return cls.dtype == other
        return cls is other or cls.dtype.type is other

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)


def _scalar_type(dtype: np.dtype) -> ScalarMeta:
    return ScalarMeta(dtype.name, (), {
        "dtype": dtype, "__module__": "tanx.numpy",
        "__doc__": f"Makes an array of type {dtype.name} from a value."})


#: The scalar types by their names in ``tanx.numpy``, including NumPy's other names.
scalar_types: dict[str, ScalarMeta] = {
    name: _scalar_type(dtype) for name, dtype in by_name.items()}
scalar_types |= {alias: scalar_types[name] for alias, name in (
    ("bool_", "bool"), ("int_", "int64"), ("uint", "uint64"), ("float_", "float64"),
    ("complex_", "complex128"), ("single", "float32"), ("double", "float64"),
    ("csingle", "complex64"), ("cdouble", "complex128"))}
