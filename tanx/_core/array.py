"""``Array``: an immutable array over a buffer.

The buffer is a NumPy array that is never written to; rules of primitives may return views of it.
What leaves for NumPy (``np.asarray(x)``, the buffer protocol) is a read-only view, and what comes
in is copied unless its maker gives it away. Operators and methods come from
:class:`~tanx._core.operators.Operators`.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from .._base.traceback import boundary
from ..dtypes import canonicalize_dtype, is_extended, keys_are_no_numbers
from ..errors import explain
from . import trace
from .cycles import watch_cycles
from .opaque import Opaque
from .operators import Operators, install
from .origins import LARGE, Places, note
from .refs import Reference
from .trace import Tracer
from .types import ShapedArray, ambiguous_truth, without_length

__all__ = ["Array", "live_arrays"]


class _ArrayType(type):
    """``isinstance(x, Array)`` holds for tracers: they stand for arrays everywhere."""

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
"""Arrays of so many bytes print as their type, as in JAX; format shows elements of any array."""


class Array(Operators, metaclass=_ArrayType):
    """An immutable n-dimensional array on a device. Made by functions such as ``jnp.array``."""

    __module__ = "tanx"  # also where another window shows it first, as tanx.numpy.ndarray
    # Where _buffer is None, _pending may have what waits for the data; it is not set otherwise.
    # _origin is set for large arrays only: the user's lines that made them.
    __slots__ = ("_buffer", "aval", "_device", "_pending", "_origin", "__weakref__")
    __array_priority__ = 100

    def __init__(self, buffer: np.ndarray, weak_type: bool = False, aval: ShapedArray | None = None,
                 device=None):
        self._buffer: np.ndarray | None = buffer
        self.aval = (aval if aval is not None
                     else ShapedArray(buffer.shape, buffer.dtype, weak_type))
        self._device = device
        if buffer.nbytes >= LARGE:
            note(self, buffer)

    _pending: Any
    _origin: Places

    @property
    def _value(self) -> np.ndarray:
        """The data; waits for it where it is not there yet."""
        buffer = self._buffer
        if buffer is None:
            pending = self._pending_data
            if pending is None:
                raise RuntimeError(explain(
                    "tanx.Array", "the array was deleted or donated, its data is gone.",
                    f"array: {self.aval}",
                    hint="keep a copy with x.copy() before donating or deleting it."))
            buffer = pending.wait()
            if self._pending is pending:  # not deleted meanwhile
                self._buffer, self._pending = buffer, None
        return buffer

    @property
    def _pending_data(self) -> Any:
        """What waits for the data, where it is on its way."""
        return getattr(self, "_pending", None)

    @property
    def _numbers(self) -> np.ndarray:
        """The data as numbers; an error for keys, which are not numbers."""
        if self.aval.dtype.kind == "V" and is_extended(self.aval.dtype):
            raise keys_are_no_numbers("numpy.asarray", f"array: {self.aval}")
        return self._value

    def is_deleted(self) -> bool:
        """Whether the data has been given back."""
        return self._buffer is None and self._pending_data is None

    def delete(self) -> None:
        """Give the data back now, rather than when the last reference goes."""
        self._buffer = self._pending = None

    def is_ready(self) -> bool:
        """Whether the data is there, so that reading it does not wait."""
        pending = None if self._buffer is not None else self._pending_data
        return self._value is not None if pending is None else pending.ready()

    def block_until_ready(self) -> Array:
        """Wait until the data is there; returns the array itself."""
        self._value  # noqa: B018 - raises where the data is gone
        return self

    def copy_to_host_async(self) -> None:
        """Start bringing the data to the host; on the CPU that is where it is made."""
        self.is_ready()  # raises where the data is gone

    def __await__(self):
        """Wait without holding up other coroutines; gives the array itself."""
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
        return memoryview(self.__array__())

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        data = self._numbers
        if dl_device not in (None, (1, 0)):
            raise BufferError(explain(
                "tanx.Array.__dlpack__", "the data lives on the CPU.", f"asked for: {dl_device}"))
        return (data.copy() if copy else data).__dlpack__(max_version=max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU

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
        return Array(self._value.copy(), self.weak_type, self.aval, self._device)

    def __deepcopy__(self, memo) -> Array:
        return self.__copy__()

    copy = __copy__

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"Array(deleted, {self.aval})"
        data = self._value
        if is_extended(self.aval.dtype):
            return _keys_as_text(data, self.aval)
        kind = f"dtype={data.dtype.name}" + (", weak_type=True" if self.weak_type else "")
        if data.size == 0:
            return f"Array([], shape={data.shape}, {kind})"
        if data.nbytes >= NOT_SHOWN:
            return f"Array(shape={data.shape}, {kind})"
        body = np.array2string(data, prefix="Array(", separator=", ", suffix=",")
        last_line = len(body) - body.rfind("\n") - 1
        fits = last_line + len(kind) + 1 <= np.get_printoptions()["linewidth"]
        return f"Array({body},{' ' if fits else '      '}{kind})"

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
    words = np.asarray(data, order="C").reshape(*data.shape, 1).view(np.uint32)
    return f"Array({aval.shape}, dtype={aval.dtype.name}) overlaying:\n{words}"


def _from_pickle(data: np.ndarray, weak_type: bool, dtype=None) -> Array:
    if dtype is None:  # 64 bits are for where they are enabled
        dtype = canonicalize_dtype(data.dtype)
        data = data.astype(dtype, copy=False)
    return Array(data.copy(), weak_type, ShapedArray(data.shape, dtype, weak_type))


def live_arrays(platform: str | None = None) -> list[Array]:
    """All arrays alive in the process whose data has not been given back.

    ``platform`` picks those on one kind of device; the CPU is the only kind there is. Arrays that
    ``gc.freeze`` has hidden from the collector are not found.

    >>> x = jnp.ones(3)
    >>> any(y is x for y in live_arrays())
    True
    """
    if platform not in (None, "cpu"):
        return []
    return [x for x in gc.get_objects() if type(x) is Array and not x.is_deleted()]


def _literal_array(value: np.ndarray, aval: ShapedArray, written=None) -> Array:
    return Array(value, aval.weak_type, aval)


trace.EvalTrace.literal = staticmethod(_literal_array)
watch_cycles(Array)
