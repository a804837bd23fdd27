"""Calls of BLAS and LAPACK: one routine, once for each matrix of a batch.

Every argument of these routines is an address, so a call is described by data: a number or a letter
in memory, or a position in a buffer that advances from matrix to matrix. The interpreter, ``eval``
and compiled code use the same description and call the same SciPy function. Routines store matrices
by columns: a matrix that we store by rows is the transposed matrix for them.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.limits import processors
from .._base.locks import new_lock
from .._base.records import record
from .._base.tuples import NamedTuple
from .names import LAPACK

if TYPE_CHECKING:
    from .nest import Buffer, Extern

__all__ = ["MOST", "Each", "Routine", "address", "cell", "lapack", "perform", "pointer_in",
           "prefix", "takes_long", "thread_functions"]

MOST = 22
"""Arguments of a call. The extra ones are the lengths of strings in Fortran's convention, 1."""

_INT = np.dtype(np.int32)


class Each(NamedTuple):
    """An argument that is a part of a buffer: so many elements per matrix, 0 if all share it."""

    buffer: int
    step: int


@record
class Routine:
    """A routine for each of ``count`` matrices.

    ``args`` are letters, integers, floats of the dtype of the first output, or :class:`Each` for
    buffers: outputs first, then inputs. ``outputs`` are shapes and dtypes of whole buffers;
    ``copies`` are pairs of an output and an input, both counted from 0, for outputs that start as
    copies.
    """

    name: str
    count: int
    args: tuple[Any, ...]
    outputs: tuple[tuple[tuple[int, ...], np.dtype], ...]
    copies: tuple[tuple[int, int], ...] = ()

    def run(self, *inputs: np.ndarray) -> list[np.ndarray]:
        """The outputs, in new arrays."""
        return perform(self.name, self.count, self.args, self.outputs, self.copies, inputs)

    def call(self, names: str, inputs: Sequence[Buffer], into: Sequence[Buffer] = (),
             ) -> tuple[Extern, list[Buffer]]:
        """A statement that runs it, and its outputs: ``into`` first, then temporaries."""
        from . import build
        made = [build.temp(f"{names}{n}", *each) for n, each in enumerate(self.outputs)]
        outputs = [*into, *made[len(into):]]
        return build.extern(
            LAPACK, outputs, inputs, routine=self.name, count=self.count, copies=self.copies,
            tasks=1, args=tuple(tuple(a) if isinstance(a, Each) else a for a in self.args)), outputs


_STEPS = {"gesdd": 20, "geev": 25, "gees": 25, "syevd": 9, "heevd": 9}
"""Operations of routines for a 1 x 1 matrix, if they are many; otherwise 1."""
_LONG = 2e9
"""Operations from which a call must be interruptible: a tenth of a second or more."""


def takes_long(name: str, count: int, elements: int) -> bool:
    """Whether a routine for ``count`` matrices must be interruptible, each of ``elements``."""
    return count * _STEPS.get(name[1:], 1) * elements ** 1.5 >= _LONG


def perform(name: str, count: int, args: Sequence, outputs: Sequence, copies: Sequence,
            inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run a routine on NumPy's arrays."""
    arrays = [np.zeros(shape, dtype) for shape, dtype in outputs]
    for out, given in copies:
        arrays[out][...] = inputs[given].reshape(arrays[out].shape)
    operands = [*arrays, *map(np.ascontiguousarray, inputs)]
    cells = [None if isinstance(a, tuple) else cell(a, operands[0].dtype) for a in args]
    function = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * MOST)(address(name))

    def each(wanted: Callable[[], bool] = lambda: True) -> None:
        for n in range(count):
            places = [operands[a[0]].ctypes.data + n * a[1] * operands[a[0]].itemsize if c is None
                      else c.ctypes.data for a, c in zip(args, cells)]
            if wanted():
                function(*places, *[1] * (MOST - len(places)))

    largest = max((x.size for x in inputs), default=0) // max(count, 1)
    if takes_long(name, count, largest) and (
            threading.current_thread() is threading.main_thread()):
        _interruptibly(each)
    else:
        each()
    return arrays


def _interruptibly(function: Callable[[Callable[[], bool]], None]) -> None:
    """Call a function in a separate thread, which Ctrl-C abandons.

    The function gets a function that says whether a caller still waits.
    """
    errors: list[BaseException] = []
    waiting = True

    def run() -> None:
        try:
            function(lambda: waiting)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        freeze_at_exit(lambda: [thread.ident] if thread.is_alive() and thread.ident else [])
        raise
    finally:
        waiting = False
    if errors:
        raise errors[0]


def freeze_at_exit(threads: Callable[[], list[int]]) -> None:
    """Before the process ends, suspend abandoned threads where they are.

    Python frees memory that they use. A signal makes the threads wait for another one, which does
    not come. The process then ends without the library's destructor, which would wait for threads
    that wait for the suspended ones; C libraries without ``on_exit``, as that of macOS, call it.
    """
    def freeze() -> None:
        number = getattr(signal, "SIGRTMAX", signal.SIGTERM) - 1
        found = threads() if hasattr(signal, "pthread_kill") else []
        if not found:
            return
        library = ctypes.CDLL(None)
        library.signal(int(number), library.pause)
        for thread in found:
            signal.pthread_kill(thread, number)
        if hasattr(library, "on_exit"):
            library.fflush(None)
            library.on_exit(library._exit, None)  # comes before destructors

    atexit.register(freeze)


def cell(value: Any, dtype: np.dtype) -> np.ndarray:
    """Memory that holds a letter, an integer, or a number of a dtype."""
    if isinstance(value, str):
        return np.frombuffer(value.encode(), np.uint8).copy()
    return np.array([value], _INT if isinstance(value, int) else dtype)


def prefix(dtype: np.dtype) -> str:
    """The letter of a dtype in the names of routines."""
    return {"f": "s", "d": "d", "F": "c", "D": "z"}[np.dtype(dtype).char]


@cache
def address(name: str) -> int:
    """The address of a routine that SciPy exports to Cython."""
    extension = _extension("cython_lapack")
    return pointer_in(
        extension.__pyx_capi__.get(name) or _extension("cython_blas").__pyx_capi__[name])


def pointer_in(capsule: Any) -> int:
    """The address in a Python capsule."""
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))


@cache
def _extension(module: str) -> Any:
    """A SciPy module that exports routines to Cython.

    It is loaded alone: all of ``scipy.linalg`` takes ten times as long, a quarter of a second.
    """
    from importlib.machinery import PathFinder
    from importlib.util import find_spec, module_from_spec
    package = find_spec("scipy")
    folders = package and package.submodule_search_locations or ()
    name = f"scipy.linalg.{module}"
    with _loading:  # several threads may need it
        spec = PathFinder.find_spec(name, [os.path.join(folder, "linalg") for folder in folders])
        if "scipy.linalg" in sys.modules or spec is None or spec.loader is None:
            return import_module(name)
        with _environment(OPENBLAS_THREAD_TIMEOUT=_TIMEOUT, **_threads_of_openblas()):
            made = module_from_spec(spec)
            spec.loader.exec_module(made)
        return made


_TIMEOUT = "20"
"""How many cycles threads of OpenBLAS spin before they sleep, as a power of two. By default they
spin for 25 to 40 ms after each call; 20 is a millisecond, in which the next step of a routine comes
(svd, eigh and lu of 512 rows take as long with either, on two busy cores)."""


def _threads_of_openblas() -> dict[str, str]:
    """Tell OpenBLAS the limits of control groups; it only knows the affinity of the process."""
    known = "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"
    if any(name in os.environ for name in known):
        return {}
    return {"OPENBLAS_NUM_THREADS": str(processors())}


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set environment variables that are not set, temporarily."""
    added = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def thread_functions() -> tuple[int, int] | None:
    """OpenBLAS's functions that get and set its number of threads, if the library is OpenBLAS."""
    library = ctypes.CDLL(_extension("cython_lapack").__file__)
    for prefix in ("scipy_", ""):
        get, put = (getattr(library, f"{prefix}openblas_{verb}_num_threads", None)
                    for verb in ("get", "set"))
        if get is not None and put is not None:
            return _address(get), _address(put)
    return None


_loading = new_lock()


def lapack(call: Extern, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The meaning of a call, for the interpreter."""
    params = dict(call.params)
    return tuple(perform(params["routine"], params["count"], params["args"],
                         [(b.shape, b.dtype) for b in call.outputs], params["copies"], arrays))
