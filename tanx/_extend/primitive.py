"""Primitives of users: an instance gets its rules one by one.

::

    cube_p = Primitive("cube")
    cube_p.def_impl(lambda x: x ** 3)
    cube_p.def_abstract_eval(lambda x: ShapedArray(x.shape, x.dtype))
    ad.primitive_jvps[cube_p] = ...
    batching.primitive_batchers[cube_p] = ...
    mlir.register_lowering(cube_p, mlir.lower_fun(lambda x: x * x * x, multiple_results=False))

A rule is an attribute of the instance, as for our own primitives. The lowering is a function that
is staged for each use in compiled code and replaces it there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._base.flags import trace_key
from .._core import primitive as core
from .._core.array import Array
from .._core.effects import no_effects
from .._core.jaxpr import ClosedJaxpr
from .._core.linear import never
from .._core.primitive import Kind
from .._core.source import name_stack, user_source
from .._core.stage import stage_closed
from .._core.trace import context
from .._core.types import AbstractValue, ShapedArray
from .._runtime.eager import compiled
from .._transforms.discharge import without_refs
from .._transforms.linearize import PartialTrace
from ..errors import explain
from ..tree_util import tree_leaves
from .ir import LoweringRuleContext, ModuleContext, TokenSet

__all__ = ["Primitive"]

_KNOWN = 2048
"""Limit of operand types for which a primitive keeps the result of its abstract evaluation."""


class _AnyPrimitive(type):
    """Our own primitives are instances too: libraries test ``isinstance(p, Primitive)``."""

    def __instancecheck__(cls, instance) -> bool:
        if cls is Primitive:
            return isinstance(instance, core.Primitive)
        return type.__instancecheck__(cls, instance)


class Primitive(core.Primitive, metaclass=_AnyPrimitive):
    """A primitive with a name and no rules yet.

    ``multiple_results`` may be set to True: the primitive then returns a list.

    >>> double_p = tanx.extend.core.Primitive("double")
    >>> _ = double_p.def_impl(lambda x: x * 2)
    >>> _ = double_p.def_abstract_eval(lambda x: x)
    >>> double_p.bind(3.0), tanx.make_jaxpr(double_p.bind)(3.0)
    (6.0, { lambda ; a:f32[]. let b:f32[] = double a in (b,) })
    """

    kind = Kind.CALL
    batch_axis: Any = None
    partial_eval: Any = None
    lower = never("compiled code contains the equations of its lowering instead")

    def __init__(self, name: str):
        self.name = name  # not in the table of our primitives: users' names need not be unique
        self.lowerings: dict[str | None, Callable] = {}
        self._implementation: Callable | None = None
        self._types: Callable | None = None
        self._silent = False
        self._known: dict[tuple, tuple | None] = {}
        self._staged: dict[Any, ClosedJaxpr] = {}

    # -- rules as they are given -------------------------------------------------------------------

    def def_impl(self, impl: Callable) -> Callable:
        """Set the function that computes results from values; eager code runs it."""
        self._implementation = impl
        return impl

    def def_abstract_eval(self, abstract_eval: Callable) -> Callable:
        """Set the function from the types of operands to the type of the result."""
        self._set_types(lambda *types, **params: (abstract_eval(*types, **params), no_effects))
        self._silent = True
        return abstract_eval

    def def_effectful_abstract_eval(self, effectful_abstract_eval: Callable) -> Callable:
        """Set the function from the types of operands to the type of the result and the effects."""
        self._set_types(effectful_abstract_eval)
        self._silent = False
        return effectful_abstract_eval

    def_effectful_abstract_eval2 = def_effectful_abstract_eval

    def _set_types(self, function: Callable) -> None:
        self._types = function
        self._known = {key: None for key, found in self._known.items() if found is None}

    def def_bind_with_trace(self, bind_with_trace: Callable) -> Callable:
        """Set the function that applies the primitive in a trace."""
        self.bind_with_trace = bind_with_trace  # type: ignore[method-assign]
        return bind_with_trace

    def to_lojax(self, *args, **params):
        """Apply the primitive: it takes no values of high types, so there is nothing to convert."""
        return self.bind(*args, **params)

    # -- rules as they are used --------------------------------------------------------------------

    def infer(self, *types, **params):
        # Calls of the user's function may be visible. As in JAX, it is called for each equation of
        # a tangent, and once for the equations of other programs with equal types.
        linear = isinstance(context.trace, PartialTrace)
        out = (self._both if linear else self.known_types)(types, params)[0]
        if isinstance(out, tuple | list) != self.multiple_results:
            raise ValueError(explain(
                self.name, "its abstract evaluation must return a list of types if and only if the "
                "primitive has multiple_results.", f"given:            {out!r:.100}",
                f"multiple_results: {self.multiple_results}"))
        return [_as_type(t) for t in out] if self.multiple_results else _as_type(out)

    def effects(self, *types, **params) -> frozenset:
        return frozenset() if self._silent else frozenset(self.known_types(types, params)[1])

    def known_types(self, types, params) -> tuple:
        """The type of the result and the effects, kept from an earlier call if there was one.

        Where a call has failed, nothing is kept, and the function is called each time.
        """
        key = (trace_key(), *types, *((k, type(v), v) for k, v in sorted(params.items())))
        try:
            found = self._known.get(key, ())
        except TypeError:  # a parameter is not hashable
            found = None
        if found:
            return found
        if found is None:
            return self._both(types, params)
        try:
            found = self._known[key] = self._both(types, params)
        except Exception:
            self._known[key] = None
            raise
        if len(self._known) > _KNOWN:
            self._known.pop(next(iter(self._known)), None)
        return found

    def _both(self, types, params) -> tuple:
        if self._types is None:
            raise NotImplementedError(explain(
                self.name, f"Abstract evaluation for '{self.name}' not implemented.",
                hint=f"give it by {self.name}_p.def_abstract_eval(function of types)."))
        return self._types(*types, **params)

    def eval(self, *args, **params):
        if self._implementation is not None:
            out = self._implementation(*args, **params)
            return list(map(_as_value, out)) if self.multiple_results else _as_value(out)
        if not self.lowerings:
            raise NotImplementedError(explain(
                self.name, f"Evaluation rule for '{self.name}' not implemented.",
                hint=f"give it by {self.name}_p.def_impl(function of arrays)."))
        arrays = [x if type(x) is Array else Array(np.asarray(x)) for x in args]
        outs = compiled(self.body([x.aval for x in arrays], params)).run(arrays)
        return outs if self.multiple_results else outs[0]

    def jvp(self, primals, tangents, **params):
        raise NotImplementedError(explain(
            self.name, f"Differentiation rule for '{self.name}' not implemented.",
            hint="give it by tanx.interpreters.ad.primitive_jvps or ad.defjvp."))

    def transpose(self, ct, *args, **params):
        raise NotImplementedError(explain(
            self.name,
            f"Transpose rule (for reverse-mode differentiation) for '{self.name}' not implemented.",
            hint="give it by tanx.interpreters.ad.primitive_transposes or ad.deflinear2."))

    def batch(self, args, dims, **params):
        raise NotImplementedError(explain(
            self.name, f"Batching rule for '{self.name}' not implemented.",
            hint="give it by tanx.interpreters.batching.primitive_batchers."))

    def body(self, types, params):
        rule = self.lowerings.get("cpu") or self.lowerings.get(None)
        if rule is None:
            raise NotImplementedError(explain(
                self.name,
                f"MLIR translation rule for primitive '{self.name}' not found for platform cpu.",
                hint="tanx.interpreters.mlir.register_lowering(p, mlir.lower_fun(f)) takes a "
                     "function of arrays."))
        key = (rule, tuple(types), tuple(sorted(params.items())))
        try:
            known = self._staged.get(key)
        except TypeError:  # a parameter is not hashable
            return self._stage(rule, types, params)
        if known is None:
            known = self._staged[key] = self._stage(rule, types, params)
        return known

    def _stage(self, rule: Callable, types: Sequence[ShapedArray], params) -> ClosedJaxpr:
        """Trace a lowering on operands of some types."""
        out = self.infer(*types, **params)
        wanted = out if self.multiple_results else [out]
        context = LoweringRuleContext(
            ModuleContext(), name_stack(), user_source(), self, list(types), list(wanted),
            TokenSet(), None, {}, platforms=("cpu",))
        closed, captured = stage_closed(
            lambda *xs: tree_leaves(rule(context, *xs, **params)), tuple(types), None)
        if captured:
            raise NotImplementedError(explain(
                self.name, "its lowering uses traced values from outside.",
                *(f"value: {x.aval}" for x in captured)))
        closed = without_refs(closed)
        given = [t.strip_weak_type() for t in closed.out_avals]
        if given != [t.strip_weak_type() for t in wanted]:
            raise TypeError(explain(
                self.name, "its lowering returns other types than its abstract evaluation.",
                f"lowering:            {', '.join(map(str, given))}",
                f"abstract evaluation: {', '.join(map(str, wanted))}"))
        return closed


def _as_type(x) -> AbstractValue:
    """A type that a user may pass: ours, or anything with a shape and a dtype."""
    if isinstance(x, AbstractValue):
        return x
    return ShapedArray(tuple(x.shape), np.dtype(x.dtype), getattr(x, "weak_type", False))


def _as_value(x):
    """Convert NumPy arrays to ours; other values are returned unchanged."""
    return Array(np.asarray(x)) if isinstance(x, np.ndarray | np.generic) else x
