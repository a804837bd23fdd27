"""Functions and classes that run where their arguments are."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..._base.traceback import boundary
from ..._base.tuples import NamedTuple
from ..._core.array import Array
from ..._core.mesh import Mesh
from ..._core.trace import Tracer
from ..._core.types import ShapeDtypeStruct, typeof
from ...errors import explain
from ...tree_util import tree_flatten, tree_leaves

__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]

_FUNCTION = "tanx.experimental.colocated_python"


def colocated_cpu_devices(devices_or_mesh):
    """The CPU devices of the hosts of some devices, or of a mesh: the devices themselves.

    >>> from tanx.experimental import colocated_python
    >>> colocated_python.colocated_cpu_devices(tanx.devices())
    [CpuDevice(id=0)]
    """
    return devices_or_mesh if isinstance(devices_or_mesh, Mesh) else list(devices_or_mesh)


class _Specialization(NamedTuple):
    """The facts that a caller has stated of a function."""

    in_specs: Any = None  # of the positional and the keyword arguments
    out_specs_fn: Callable | None = None
    devices: Sequence | None = None

    def updated(self, **given) -> _Specialization:
        """The same, with further facts."""
        again = [name for name, value in given.items()
                 if value is not None and getattr(self, name) is not None]
        if again:
            raise ValueError(explain(
                f"{_FUNCTION}.specialize", f"{', '.join(again)} was stated before."))
        return self._replace(**{name: value for name, value in given.items() if value is not None})


def colocated_python(fun: Callable) -> Callable:
    """Let a function run on the devices that its arguments are on.

    Arguments and results are pytrees of arrays. ``fun.specialize(in_specs, out_specs_fn, devices)``
    states types of the arguments, the function from these to those of the results, or the devices;
    a function without arguments needs these.

    >>> from tanx.experimental.colocated_python import colocated_python
    >>> colocated_python(lambda x: x + 1)(jnp.arange(3))
    Array([1, 2, 3], dtype=int32)
    """
    return _specialized(fun, _Specialization())


def _specialized(fun: Callable, stated: _Specialization) -> Callable:
    @functools.wraps(fun)
    @boundary
    def run(*args, **kwargs):
        leaves, tree = tree_flatten((args, kwargs))
        _check_arrays("argument", leaves)
        if not leaves and stated.devices is None:
            raise ValueError(explain(
                _FUNCTION, "a function without arguments needs devices to run on.",
                hint="state it: fun.specialize(devices=tanx.devices())."))
        _check_specs("arguments", stated.in_specs, leaves, tree)
        result = fun(*args, **kwargs)
        outs, out_tree = tree_flatten(result)
        _check_arrays("result", outs)
        if stated.out_specs_fn is not None:
            _check_specs("results", stated.out_specs_fn(*args, **kwargs), outs, out_tree)
        return result

    @boundary
    def specialize(in_specs=None, out_specs_fn: Callable | None = None,
                   devices: Sequence | None = None) -> Callable:
        """The function with more facts stated before it is called."""
        return _specialized(fun, stated.updated(
            in_specs=in_specs, out_specs_fn=out_specs_fn, devices=devices))

    run.specialize = specialize  # type: ignore[attr-defined]
    return run


def _check_arrays(what: str, leaves: Sequence) -> None:
    for x in leaves:
        if isinstance(x, Tracer):
            raise TypeError(explain(
                _FUNCTION, "such a function cannot be traced.", f"{what}: {typeof(x)}",
                hint="tanx.pure_callback calls Python from traced functions."))
        if not isinstance(x, Array):
            raise ValueError(explain(
                _FUNCTION, "arguments and results must be arrays.",
                f"{what}: {x!r:.100} of type {type(x).__name__}"))


def _check_specs(what: str, specs, leaves: Sequence, tree) -> None:
    """Check that arrays have the stated shapes and dtypes."""
    if specs is None:
        return
    wanted, stated_tree = tree_flatten(specs)
    found = [ShapeDtypeStruct.like(x) for x in leaves]
    if stated_tree != tree or [(s.shape, s.dtype) for s in wanted] != [
            (s.shape, s.dtype) for s in found]:
        raise ValueError(explain(
            _FUNCTION, f"the {what} are not those that were stated.",
            f"stated: {', '.join(map(str, tree_leaves(specs)))}",
            f"found:  {', '.join(map(str, found))}"))


def colocated_python_class(cls: type[object]) -> type[object]:
    """Let the methods of a class run on the devices that their arguments are on.

    The object is made when the first method is called. Its attributes are not accessible.

    >>> from tanx.experimental.colocated_python import colocated_python_class
    >>> @colocated_python_class
    ... class Counter:
    ...     def __init__(self):
    ...         self.count = 0
    ...     def add(self, x):
    ...         self.count += 1
    ...         return x + self.count
    >>> counter = Counter()
    >>> counter.add(jnp.zeros(2)), counter.add(jnp.zeros(2))
    (Array([1., 1.], dtype=float32), Array([2., 2.], dtype=float32))
    """
    class Colocated:
        def __init__(self, *args, **kwargs):
            self._made: Any = None
            self._make = functools.partial(cls, *args, **kwargs)

        def _object(self):
            if self._made is None:
                self._made = self._make()
            return self._made

    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("__") or name == "__call__":
            setattr(Colocated, name, _method(name, method))
    Colocated.__name__, Colocated.__qualname__ = cls.__name__, cls.__qualname__
    Colocated.__doc__, Colocated.__module__ = cls.__doc__, cls.__module__
    return Colocated


def _method(name: str, method: Callable) -> Callable:
    @functools.wraps(method)
    def call(self, *args, **kwargs):
        return colocated_python(getattr(self._object(), name))(*args, **kwargs)
    return call
