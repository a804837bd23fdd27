"""``Array``: an immutable array. It is a type, a sharding and its buffers.

``buffer.py`` explains buffers, and why an array on the CPU keeps a NumPy array in their place. That
array is never written to; rules of primitives may return views of it. NumPy gets a read-only view
(``np.asarray(x)``, the buffer protocol), and NumPy data is copied unless the caller gives up its
ownership. Operators and methods come from :class:`~tanx._core.operators.Operators`.
"""

from __future__ import annotations

import gc
from math import prod
from typing import Any, cast

import numpy as np

from .._base.traceback import boundary
from ..dtypes import KeyType, canonicalize_dtype, is_extended, no_number, stored
from ..errors import explain
from . import trace
from .buffer import DLPACK_CPU, Buffer
from .cycles import watch_cycles
from .opaque import Opaque
from .operators import Operators, install
from .origins import LARGE, Places, note, outside
from .refs import Reference
from .trace import Tracer
from .types import ShapedArray, ambiguous_truth, without_length

__all__ = ["Array", "live_arrays"]


class _ArrayType(type):
    """``isinstance(x, Array)`` holds for tracers: they represent arrays everywhere."""

    def __instancecheck__(cls, instance) -> bool:
        return type.__instancecheck__(cls, instance) or (
            cls is Array and isinstance(instance, Tracer)
            and not isinstance(instance, Reference | Opaque))

    def __getattr__(cls, name: str):
        """``Array.sum`` and other methods, looked up on the class before any array uses them."""
        if name.startswith("__") or not install():
            raise AttributeError(f"type object 'Array' has no attribute {name!r}")
        return getattr(cls, name)

    def __dir__(cls) -> list[str]:
        install()
        return sorted({*type.__dir__(cls), *dir(Operators)})


NOT_SHOWN = 2**20
"""Arrays of this many bytes or more print as their type, as in JAX; format shows any array."""


class Array(Operators, metaclass=_ArrayType):
    """An immutable n-dimensional array on a device. Made by functions such as ``jnp.array``."""

    __module__ = "tanx"  # even if another window, as tanx.numpy.ndarray, is loaded first
    # _device is a device or a sharding; None is the default device. _buffers is set only if _data
    # is None, _origin only for large arrays: the user's lines that made them.
    __slots__ = ("_data", "aval", "_device", "_buffers", "_origin", "__weakref__")
    __array_priority__ = 100

    def __init__(self, data: np.ndarray, weak_type: bool = False, aval: ShapedArray | None = None,
                 device=None):
        self._data: np.ndarray | None = data
        try:
            self.aval = aval if aval is not None else ShapedArray(data.shape, data.dtype, weak_type)
        except AttributeError:
            raise TypeError(explain(
                "tanx.Array", "arrays are made by functions, not by their class.",
                f"given: {data!r:.100}",
                hint="call tanx.numpy.zeros or tanx.numpy.array.")) from None
        self._device = device
        if data.nbytes >= LARGE:
            note(self, data)

    _buffers: tuple[Buffer, ...]
    _origin: Places

    @staticmethod
    def _of_buffers(buffers: tuple[Buffer, ...], aval: ShapedArray, device=None) -> Array:
        """The array whose elements are in some buffers, one for each device."""
        array: Array = object.__new__(Array)
        array._data, array._buffers = None, buffers
        array.aval, array._device = aval, device
        if aval.nbytes >= LARGE:
            note(array, *(b.view for b in buffers if b.view is not None))
        return array

    @property
    def _value(self) -> np.ndarray:
        """The data as a NumPy array; waits for it, and copies it from memory of other devices."""
        data = self._data
        return data if data is not None else self._read()

    @property
    def _held(self) -> tuple[Buffer, ...]:
        """The buffers of data that is pending, or in memory that NumPy cannot read."""
        return getattr(self, "_buffers", ())

    def _live(self) -> tuple[Buffer, ...]:
        """As ``_held``; raises if the data was deleted."""
        buffers = self._held
        if not buffers and self._data is None:
            raise RuntimeError(explain(
                "tanx.Array", "the array was deleted or donated, its data is gone.",
                f"array: {self.aval}",
                hint="keep a copy with x.copy() before donating or deleting it."))
        return buffers

    def _read(self) -> np.ndarray:
        """The data from buffers: a view of host memory, otherwise a copy."""
        buffers = self.block_until_ready()._held
        if not buffers:  # the array has the NumPy array now
            return self._value
        shape, dtype = self.aval.shape, stored(self.aval.dtype)
        if len(buffers) == 1:
            return buffers[0].numpy(shape, dtype)
        data = np.empty(shape, dtype)
        for device, index in self._device.devices_indices_map(shape).items():
            part = data[index]
            (buffer,) = (b for b in buffers if b.device == device)
            part[...] = buffer.numpy(part.shape, dtype)
        return data

    def _shared(self, aval: ShapedArray, device=None) -> Array:
        """An array on the same memory, of another type or with another sharding. Does not wait."""
        data = self._data
        if data is not None:
            return Array(data, False, aval, device)
        buffers = self._live()
        return Array._of_buffers(tuple(b.shared() for b in buffers), aval, device) if (
            buffers) else self._shared(aval, device)  # another thread has waited for it

    def _row_major(self) -> np.ndarray:
        """The data in row-major order, which the array then keeps: eager layouts make views."""
        data = self._value
        if not data.flags.c_contiguous:
            data = np.ascontiguousarray(data)
            outside.count(data)
            if self._data is not None:  # not deleted meanwhile
                self._data = data
        return data

    @property
    def _numbers(self) -> np.ndarray:
        """The data as numbers; an error for keys and other elements that are not numbers."""
        if self.aval.dtype.kind == "V" and is_extended(self.aval.dtype):
            raise no_number(self.aval.dtype, "numpy.asarray", f"array: {self.aval}")
        return self._value

    def is_deleted(self) -> bool:
        """Whether the data has been freed."""
        return self._data is None and not self._held

    def delete(self) -> None:
        """Free the data now, rather than with the last reference."""
        self._data, self._buffers = None, ()

    def is_ready(self) -> bool:
        """Whether the data is ready, so that reading it does not wait."""
        return self._data is not None or all(buffer.is_ready() for buffer in self._live())

    def block_until_ready(self) -> Array:
        """Wait until the data is ready; returns the array itself."""
        if self._data is None:
            buffers = self._live()
            for buffer in buffers:
                buffer.wait()
            if len(buffers) == 1 and buffers[0].view is not None and self._held is buffers:
                self._data, self._buffers = buffers[0].view, ()  # and it was not deleted meanwhile
        return self

    def copy_to_host_async(self) -> None:
        """Start copying the data to the host; on the CPU it is there already."""
        self.is_ready()  # raises if the data was deleted

    def __await__(self):
        """Wait without blocking other coroutines; returns the array itself."""
        if not self.is_ready():
            from asyncio import get_running_loop
            yield from get_running_loop().run_in_executor(None, self.block_until_ready)
        return self.block_until_ready()

    @boundary
    def __len__(self) -> int:
        shape = self.aval.shape
        if not shape:
            raise without_length(self.aval)
        return shape[0]

    @boundary
    def __array__(self, dtype=None, context=None, copy=None) -> np.ndarray:
        data = self._numbers
        if dtype is not None and data.dtype != dtype:
            if copy is False:
                raise ValueError(explain(
                    "numpy.asarray", "a change of dtype needs a copy, and copy=False forbids it.",
                    f"array: {self.aval}", f"dtype: {np.dtype(dtype)}"))
            return data.astype(dtype)
        if copy:
            return data.copy()
        view = data.view()
        view.flags.writeable = False
        return view

    def __buffer__(self, flags):  # PEP 688: memoryview(x), from Python 3.12 on
        data: Any = self.__array__()  # not known to be a buffer before Python 3.12
        return memoryview(data)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(explain(
                "tanx.Array.__dlpack__", "the data is on another device.",
                f"the data is on: {self.__dlpack_device__()}", f"asked for:      {dl_device}"))
        if self._data is None and len(buffers := self._live()) == 1:
            return buffers[0].dlpack(self.aval.shape, self.aval.dtype, copy=copy, stream=stream,
                                     max_version=max_version)
        data = self._numbers
        return (data.copy() if copy else data).__dlpack__(max_version=max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        buffers = self._held
        return buffers[0].dlpack_device if len(buffers) == 1 else DLPACK_CPU

    def _scalar(self, what: str) -> np.ndarray:
        data = self._numbers
        if data.ndim:
            raise TypeError(explain(
                what, "only arrays of zero dimensions convert to Python scalars.",
                f"array: {self.aval}", hint="take one element first, as x[0] or x.item()."))
        return data

    @boundary
    def __bool__(self) -> bool:
        data = self._numbers
        if data.size != 1:
            raise ambiguous_truth(self.aval)
        return bool(data.reshape(()))

    @boundary
    def __int__(self) -> int:
        return int(self._scalar("int"))

    @boundary
    def __float__(self) -> float:
        return float(self._scalar("float"))

    @boundary
    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    @boundary
    def __index__(self) -> int:
        data = self._numbers
        if data.ndim or not np.issubdtype(data.dtype, np.integer):
            raise TypeError(explain(
                "index", "only integer arrays of zero dimensions can be used as an index.",
                f"array: {self.aval}"))
        return int(data)

    @boundary
    def item(self, *args):
        """The element as a Python scalar; with arguments, the element at that index."""
        return self._numbers.item(*args)

    def tolist(self):
        """The data as nested lists of Python scalars."""
        return self._numbers.tolist()

    def tobytes(self, order="C") -> bytes:
        """The data as bytes in row-major order."""
        return self._numbers.tobytes(order)

    def __reduce__(self):
        aval = self.aval
        if is_extended(aval.dtype):
            return _from_pickle, (self._value, False, aval.dtype)
        return _from_pickle, (self.__array__(), aval.weak_type)

    def __copy__(self) -> Array:
        buffers = self.block_until_ready()._held
        if buffers:
            return Array._of_buffers(tuple(b.copy() for b in buffers), self.aval,
                                     self._device)
        return Array(self._value.copy(), self.weak_type, self.aval, self._device)

    def __deepcopy__(self, memo) -> Array:
        return self.__copy__()

    copy = __copy__

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"Array(deleted, {self.aval})"
        data, dtype = self._value, self.aval.dtype
        if isinstance(dtype, KeyType):
            return _keys_as_text(data, self.aval)
        name = "EArray" if is_extended(dtype) else "Array"
        kind = f"dtype={dtype.name}" + (", weak_type=True" if self.weak_type else "")
        if data.size == 0:
            return f"{name}([], shape={data.shape}, {kind})"
        if data.nbytes >= NOT_SHOWN:
            return f"{name}(shape={data.shape}, {kind})"
        body = np.array2string(data, prefix=f"{name}(", separator=", ", suffix=",")
        last_line = len(body) - body.rfind("\n") - 1
        fits = last_line + len(kind) + 1 <= np.get_printoptions()["linewidth"]
        return f"{name}({body},{' ' if fits else '      '}{kind})"

    def __str__(self) -> str:
        if self.is_deleted() or is_extended(self.aval.dtype) or self._value.nbytes >= NOT_SHOWN:
            return repr(self)
        return str(self._value)

    @boundary
    def __format__(self, format_spec: str) -> str:
        if self.aval.ndim == 0 and not is_extended(self.aval.dtype):
            return format(self._value[()], format_spec)
        if format_spec:
            raise TypeError(explain(
                "format", "only arrays of zero dimensions take a format.",
                f"array:  {self.aval}", f"format: {format_spec}",
                hint="tanx.numpy.array_str and tanx.numpy.printoptions set the precision."))
        plain = not self.is_deleted() and not is_extended(self.aval.dtype)
        return str(self._value if plain else self)


def _keys_as_text(data: np.ndarray, aval: ShapedArray) -> str:
    shape = cast(KeyType, aval.dtype).impl.key_shape
    words = np.asarray(data, order="C").reshape(*data.shape, 1).view(np.uint32)
    words = words[..., :prod(shape)].reshape(*data.shape, *shape)  # as stored, it may be longer
    return f"Array({aval.shape}, dtype={aval.dtype.name}) overlaying:\n{words}"


def _from_pickle(data: np.ndarray, weak_type: bool, dtype=None) -> Array:
    if dtype is None:  # 64 bits only if enabled
        dtype = canonicalize_dtype(data.dtype)
        data = data.astype(dtype, copy=False)
    return Array(data.copy(), weak_type, ShapedArray(data.shape, dtype, weak_type))


def live_arrays(platform: str | None = None) -> list[Array]:
    """All arrays alive in the process whose data has not been freed.

    ``platform`` picks the arrays on one kind of device. Arrays that ``gc.freeze`` has hidden from
    the collector are not found.

    >>> x = jnp.ones(3)
    >>> any(y is x for y in live_arrays())
    True
    """
    return [x for x in gc.get_objects() if type(x) is Array and not x.is_deleted() and (
        platform is None or platform == (x._held[0].device.platform if x._held else "cpu"))]


def _literal_array(value: np.ndarray, aval: ShapedArray, written=None) -> Array:
    return Array(value, aval.weak_type, aval)


trace.EvalTrace.literal = staticmethod(_literal_array)
watch_cycles(Array)
