"""The protocol of compiled functions, which can be staged ahead of time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .._base.traceback import boundary
from .._core.array import Array
from .._core.mesh import AbstractMesh, get_abstract_mesh
from .._core.sharding import NamedSharding
from .._core.types import ShapedArray, ShapeDtypeStruct, described, is_arraylike, typeof
from .._ops.annotations import place_of
from ..tree_util import tree_map

if TYPE_CHECKING:
    from .aot import Lowered, Traced

__all__ = ["Wrapped"]


class _SignatureOfFunction:
    """The attribute ``__signature__`` of instances: the signature of the wrapped function.

    :func:`inspect.signature` follows ``__wrapped__`` unless ``follow_wrapped=False``, and reads the
    attribute of classes too, which have their own signatures.
    """

    def __get__(self, instance, owner=None) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")
        return inspect.signature(instance.__wrapped__)


class Wrapped:
    """The type of the result of :func:`tanx.jit`."""

    __signature__ = _SignatureOfFunction()

    _name: str
    _fun: Callable
    _donated_leaves: Callable[..., tuple[bool, ...]]
    _keep_unused: bool
    _compiler_options: Mapping[str, Any]
    _take_apart: Callable
    _entry: Callable

    @boundary
    def trace(self, *args, **kwargs) -> Traced:
        """Run the function on types, given by arguments or :class:`tanx.ShapeDtypeStruct`.

        >>> tanx.jit(lambda x: x + 1).trace(tanx.ShapeDtypeStruct((3,), np.float32)).jaxpr
        { lambda ; a:f32[3]. let b:f32[3] = add a 1.0:f32[] in (b,) }
        """
        from .aot import ArgInfo, Program, Traced  # late: most functions are just called
        call = self._take_apart(args, kwargs)
        call = call._replace(leaves=[_typed(x) for x in call.leaves])
        entry, captured = self._entry(call, args, kwargs)
        dynamic = [(i, x) for i, x in enumerate(args) if i not in call.fixed]
        keywords = {k: v for k, v in kwargs.items() if k not in call.fixed_names}
        avals = iter([typeof(x) for x in call.leaves])
        donated = iter(self._donated_leaves(call, args, kwargs) or [False] * len(call.leaves))

        def info(tree):
            return tree_map(lambda x: ArgInfo(next(avals), next(donated), _place(x)), tree)

        args_info = (tuple([info(x) for _, x in dynamic]),
                     {k: info(keywords[k]) for k in sorted(keywords)})
        return Traced(Program(self._name, entry.closed, args_info, entry.out_tree,
                               self._keep_unused, (*entry.refs, *captured),
                               self._compiler_options, get_abstract_mesh().size))

    @boundary
    def lower(self, *args, **kwargs) -> Lowered:
        """Trace the function, ready to be compiled; arguments as for :meth:`trace`."""
        return self.trace(*args, **kwargs).lower()

    @boundary
    def eval_shape(self, *args, **kwargs):
        """Shapes and dtypes of the results, without computing them; arguments as for ``trace``."""
        return self.trace(*args, **kwargs).out_info


def _place(x) -> Any:
    """The device or the sharding where an argument was put, or that its type states."""
    if type(x) is Array:
        return x._device
    stated = x.sharding if isinstance(x, ShapeDtypeStruct) else None
    abstract = isinstance(stated, NamedSharding) and isinstance(stated.mesh, AbstractMesh)
    return None if stated is None or abstract else place_of(stated)


class _Typed:
    """A placeholder for an array of which only the type is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval


def _typed(x):
    """A leaf, as an array if it has a shape and a dtype."""
    if is_arraylike(x) or not (hasattr(x, "shape") and hasattr(x, "dtype")):
        return x
    return _Typed(described(x))
