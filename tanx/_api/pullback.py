"""The result of :func:`tanx.vjp`: the reverse pass of a function, and targets of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from .._base.traceback import boundary
from .._control.accumulators import backward_logs
from .._core.explicit import alike
from .._core.linear import Linear, Zero, instantiate
from .._core.refs import AbstractRef, Reference, is_ref
from .._core.types import is_arraylike, typeof
from .._ops.base import as_array
from .._transforms.transpose import backward
from ..errors import explain
from ..tree_util import (
    Partial,
    keystr,
    register_pytree_node,
    register_static,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)
from .markers import Mark
from .saved import Saved, merged

__all__ = ["VJP", "DidntWant", "DontWant", "GradRef", "GradValue", "Pullback", "Transposed",
           "pulled"]


@register_static
class GradValue(Mark):
    """Requests the gradient of an argument as a value; see :meth:`VJP.with_refs`."""


@register_static
class DontWant(Mark):
    """Requests no gradient of an argument; see :meth:`VJP.with_refs`."""


@register_static
class DidntWant(Mark):
    """A placeholder for a gradient that was not requested."""


@register_static
class GradRef(Mark):
    """A placeholder for a gradient that was added to a reference."""


def pulled(jaxpr, residuals, nonzero, cts, logs: dict[str, Any] | None = None,
           wanted: Sequence[bool] | None = None, refs: Sequence[Reference | None] = ()) -> list:
    """Cotangents of a linear jaxpr's arguments; those of results may be None for zero.

    Values that rules log go into ``logs``, if given; cotangents of arguments that have one of
    ``refs`` are added to it.
    """
    given = [ct for ct, nz in zip(cts, nonzero) if nz]
    given = [Zero(v.aval) if ct is None else ct for ct, v in zip(given, jaxpr.outvars)]
    if float in map(type, given) or complex in map(type, given):
        given = _numbers_for_rules(jaxpr, given)
    with backward_logs(logs is not None) as found:
        cts = backward(jaxpr, residuals, [Linear(v.aval) for v in jaxpr.invars], given,
                       as_given=True, wanted=wanted, refs=refs)
    if logs is not None:
        logs.update(found)
    return cts


def _numbers_for_rules(jaxpr, cts: list) -> list:
    """Cotangents as arrays, except for Python numbers that go to users' rules.

    As in JAX, a rule of ``custom_vjp`` gets the number that was given: it may log it, or branch on
    it. Our own rules use the types of their cotangents.
    """
    users = {v for eqn in jaxpr.eqns if eqn.primitive.is_users for v in eqn.outvars}
    return [as_array(ct) if type(ct) in (float, complex) and v not in users else ct
            for v, ct in zip(jaxpr.outvars, cts)]


class VJP(Partial):
    """The function from the cotangent of a result to those of the arguments; a pytree.

    ``args_res`` has the saved arguments, unchanged, in tuples that mirror the structure;
    ``opaque_residuals`` the other values that are saved. See ``saveable_args`` of
    :func:`tanx.vjp`.
    """

    structured_residuals: tuple = ()
    func: Any  # a Pullback; to partial any function will do

    @property
    def args_res(self) -> list:
        return self.args[0]

    @args_res.setter
    def args_res(self, values) -> None:
        self.args[0][:] = values

    @property
    def opaque_residuals(self) -> list:
        return self.args[1]

    def replace(self, *, args_res=None, opaque_residuals=None) -> VJP:
        """The same function with other saved values."""
        return VJP(self.func, list(self.args_res if args_res is None else args_res), list(
            self.opaque_residuals if opaque_residuals is None else opaque_residuals))

    def _residuals(self) -> list:
        rule = self.func
        return merged(rule.saved, self.args_res, self.opaque_residuals, rule.in_tree, _Names(rule))

    @boundary
    def __call__(self, *cotangents):
        if len(cotangents) != 1:
            raise TypeError(explain(
                "tanx.vjp", f"the pullback of {self.func.name} takes one cotangent, of the "
                "structure of its result.", f"result: {self.func.out_tree}",
                f"given:  {len(cotangents)} arguments",
                hint="pass a tuple if the function returns one: pull((ct0, ct1))."))
        return self.func(self._residuals(), *cotangents)

    def with_logs(self, cotangent) -> tuple[Any, dict[str, Any]]:
        """The cotangents of the arguments, and the values that rules of the backward pass logged.

        >>> tanx.vjp(jnp.sin, 0.0)[1].with_logs(1.0)
        ((Array(1., dtype=float32, weak_type=True),), {})
        """
        logs: dict[str, Any] = {}
        return self.func(self._residuals(), cotangent, logs=logs), logs

    @boundary
    def with_refs(self, *refs):
        """The same function with gradients that go to references.

        ``refs`` has the structure of the arguments. A reference means that the gradient is added to
        it, :class:`GradValue` that it is returned, :class:`DontWant` that it is not needed.

        >>> y, pull = tanx.vjp(jnp.sin, jnp.zeros(2))
        >>> total = tanx.new_ref(jnp.ones(2))
        >>> pull.with_refs(total)(jnp.ones(2))
        (GradRef(),)
        >>> total
        Ref([2., 2.], dtype=float32)
        """
        return _Accumulating(self, self.func.targets(refs))


register_pytree_node(VJP, lambda pull: (pull.args, pull.func),
                     lambda func, children: VJP(func, *children))


class _Accumulating:
    """A reverse pass, and the targets of its gradients."""

    def __init__(self, pull: VJP, targets: list):
        self.pull, self.targets = pull, targets

    @boundary
    def __call__(self, cotangent):
        return self.pull.func(self.pull._residuals(), cotangent, self.targets)


class _Names(Sequence):
    """Names of the leaves of arguments, looked up on demand."""

    def __init__(self, rule: Pullback):
        self.rule = rule

    def __getitem__(self, i):
        return self.rule._path(i)

    def __len__(self) -> int:
        return len(self.rule.in_avals)


class Pullback:
    """The reverse pass of one ``vjp``, without its residuals.

    Arguments that are references represent their contents: these are arguments of the
    differentiated function, and results after all others.
    """

    saved: Saved = Saved()  # which residuals are arguments

    def __init__(self, jaxpr, nonzero, in_avals, active, in_tree, out_tree, out_avals, name):
        self.jaxpr, self.nonzero, self.in_avals, self.active = jaxpr, nonzero, in_avals, active
        self.in_tree, self.out_tree, self.out_avals, self.name = in_tree, out_tree, out_avals, name

    @boundary
    def __call__(self, residuals, cotangent, targets: Sequence | None = None,
                 logs: dict[str, Any] | None = None):
        cts, tree = tree_flatten(cotangent)
        if tree != self.out_tree:
            raise ValueError(explain(
                "tanx.vjp", f"a cotangent must have the structure of the result of {self.name}.",
                f"result:    {self.out_tree}", f"cotangent: {tree}"))
        given = [self._checked(aval, ct) for aval, ct in zip(self.out_avals, cts)]
        targets = [GradValue()] * len(self.in_avals) if targets is None else targets
        ends = [self._end(i, aval, target) for i, (aval, target)
                in enumerate(zip(self.in_avals, targets)) if type(aval) is AbstractRef]
        extra = [None] * (len(self.nonzero) - len(given) - len(ends))
        wanted = [type(target) is not DontWant
                  for target, is_active in zip(targets, self.active) if is_active]
        refs = [target if is_ref(target) and type(aval) is not AbstractRef else None
                for aval, target, is_active in zip(self.in_avals, targets, self.active)
                if is_active]
        found = iter(pulled(self.jaxpr, residuals, self.nonzero, [*given, *extra, *ends], logs,
                            None if all(wanted) else wanted, refs))
        cotangents = [next(found) if is_active else np.zeros(aval.shape, dtypes.float0)
                      for aval, is_active in zip(self.in_avals, self.active)]
        return tree_unflatten(self.in_tree, [
            _delivered(ct, aval, target)
            for ct, aval, target in zip(cotangents, self.in_avals, targets)])

    def targets(self, refs: tuple) -> list:
        """The target of the gradient of each leaf, from a pytree of the arguments' structure."""
        try:
            targets = self.in_tree.flatten_up_to(refs)
        except (ValueError, TypeError) as error:
            raise ValueError(explain(
                "tanx.vjp", "the arguments of with_refs must have the structure of those of "
                f"{self.name}.", str(error),
                hint="tanx.ad.GradValue() stands for a gradient that is returned, "
                     "tanx.ad.DontWant() for none.")) from None
        for i, (aval, target) in enumerate(zip(self.in_avals, targets)):
            expected = aval.update_weak_type(False)
            inner = expected.inner_aval if type(aval) is AbstractRef else expected
            if is_ref(target) and target.aval.inner_aval != inner.to_tangent():
                raise ValueError(explain(
                    "tanx.vjp", "a reference must have the type of the gradient that goes to it.",
                    f"argument:  {self._path(i)} of {self.name}, {aval}",
                    f"reference: {target.aval}"))
        return targets

    def _end(self, i: int, aval: AbstractRef, target):
        """The final cotangent of the content of an argument that is a reference; None for zero."""
        if is_ref(target):
            return target[...]
        if type(target) is DontWant:
            return None
        raise ValueError(explain(
            "tanx.vjp", "the gradient of an argument that is a reference goes to a reference.",
            f"argument: {self._path(i)} of {self.name}, {aval}",
            hint="bind one: pull.with_refs(ref)(cotangent)."))

    def _path(self, i: int) -> str:
        numbered = tree_unflatten(self.in_tree, range(len(self.in_avals)))
        return "args" + keystr(tree_flatten_with_path(numbered)[0][i][0])

    def _checked(self, aval, ct):
        if not is_arraylike(ct):
            raise TypeError(explain("tanx.vjp", "a cotangent must be an array or a number.",
                                    f"cotangent: {ct!r:.100} of type {type(ct).__name__}"))
        found, expected = typeof(ct), aval.to_tangent()
        high = aval.is_high or expected.is_high
        if not high and expected.dtype == dtypes.float0 and found.shape == aval.shape:
            return None  # integers have no derivative, whatever is passed for one
        if not alike(expected, found):
            raise ValueError(explain(
                "tanx.vjp", f"a cotangent must have the type of the result of {self.name}.",
                f"result:    {aval}", f"cotangent: {found}, expected {expected}"))
        return ct if type(ct) in (float, complex) else as_array(ct)


class Transposed(Pullback):
    """The transpose of a linear function: cotangents have the types of results, integers too."""

    def _checked(self, aval, ct):
        return as_array(ct) if is_arraylike(ct) and aval.matches(typeof(ct)) else (
            super()._checked(aval, ct))


def _delivered(ct, aval, target) -> Any:
    """The result of the reverse pass for an argument; its gradient goes to its destination."""
    if is_ref(target):
        if type(aval) is AbstractRef:  # its content was the initial cotangent
            target[...] = instantiate(ct)
        return GradRef()  # other cotangents were added when they were found
    if type(target) is DontWant:
        return DidntWant()
    return instantiate(ct)
