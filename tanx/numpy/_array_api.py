"""The parts of the array API standard that describe a namespace: its version and capabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from .._api.placement import devices as all_devices

__all__ = ["__array_api_version__", "__array_namespace_info__"]

__array_api_version__ = "2025.12"

_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class ArrayNamespaceInfo:
    """Facts about the namespace, as ``__array_namespace_info__()`` returns them."""

    def capabilities(self) -> dict[str, Any]:
        """What the namespace supports, restricted to what also works in compiled functions."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """The device of new arrays: None, which means the first one."""
        return None

    def devices(self) -> tuple:
        """All devices, and None."""
        return None, *all_devices()

    def default_dtypes(self, *, device=None) -> dict[str, np.dtype]:
        """The dtypes that results have by default, by kind.

        >>> jnp.__array_namespace_info__().default_dtypes()["real floating"]
        dtype('float32')
        """
        return {"real floating": dtypes.default_float(), "complex floating":
                dtypes.default_complex(), "integral": dtypes.default_int(),
                "indexing": dtypes.default_int()}

    def dtypes(self, *, device=None, kind: str | tuple[str, ...] | None = None,
               ) -> dict[str, np.dtype]:
        """The dtypes of the standard, or only those of the given kinds; 64-bit ones if enabled.

        >>> list(jnp.__array_namespace_info__().dtypes(kind="signed integer"))
        ['int8', 'int16', 'int32']
        """
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        names = [name for each in kinds for name in _KINDS[each]]
        return {name: np.dtype(name) for name in names
                if dtypes.canonicalize_dtype(name) == np.dtype(name)}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """Facts about the namespace: devices, dtypes, and what it can do.

    >>> jnp.__array_namespace_info__().capabilities()["max dimensions"]
    64
    """
    return ArrayNamespaceInfo()
