"""tanx.dlpack: arrays to and from other libraries, without a copy where possible."""

from . import numpy as _numpy
from ._api.helpers import is_supported_dtype
from ._base.traceback import boundary as _boundary

__all__ = ["from_dlpack", "is_supported_dtype"]


@_boundary
def from_dlpack(external_array, device=None, copy=None):
    """An array of another library with DLPack support, as an ``Array``.

    >>> from_dlpack(np.arange(3, dtype=np.int32))
    Array([0, 1, 2], dtype=int32)
    """
    return _numpy.from_dlpack(external_array, device=device, copy=copy)
