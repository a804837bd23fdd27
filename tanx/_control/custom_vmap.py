"""``custom_vmap`` and ``sequential_vmap``: functions with the user's rule for ``vmap``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

import numpy as np

from .. import tree_util
from .._base.traceback import boundary
from .._core.linear import Zero, instantiate
from .._core.naming import name_of
from .._core.primitive import Name
from .._core.stage import stage_closed
from .._core.types import typeof
from .._ops.base import materialize, to_front
from .._ops.create import iota
from .._ops.dynamic import dynamic_index_in_dim
from .._transforms.jvp import jvp
from .._transforms.vmap import Axis, batch
from ..errors import UnexpectedTracerError, explain
from .call import Call, forward_body
from .custom import Arguments, flat_leaves
from .loops import map as sequential

__all__ = ["custom_vmap", "custom_vmap_call_p", "sequential_vmap"]


class CustomVmapCall(Call):
    """Runs ``jaxpr``; ``rule(axis, args, dims)`` returns the results of a batch, and their axes.

    Forward mode differentiates the rule as well. The function that reverse mode creates has no rule
    and is batched as usual: ``rule`` is None.
    """

    name = "custom_vmap_call"

    def batch_axis(self, axis, args, dims, *, jaxpr, rule, **params):
        if rule is None:
            return super().batch_axis(axis, args, dims, jaxpr=jaxpr, rule=None, **params)
        return rule(axis, args, dims)

    def jvp(self, primals, tangents, *, jaxpr, rule, **params):
        if rule is None:
            return super().jvp(primals, tangents, jaxpr=jaxpr, rule=None, **params)
        nonzero = tuple(type(t) is not Zero for t in tangents)
        body, found = forward_body(jaxpr, nonzero)
        outs = self.bind(*primals, *(t for t in tangents if type(t) is not Zero), jaxpr=body,
                         rule=functools.partial(_forward_rule, rule, nonzero, tuple(found)),
                         **params)
        out_tangents = iter(outs[len(found):])
        return outs[:len(found)], [
            next(out_tangents) if nz else Zero(a.to_tangent())
            for a, nz in zip(jaxpr.out_avals, found)]

    def for_operands(self, params, more=()):
        return {**params, "rule": None}

    def written(self, params):
        """A plain call: the rule is for transformations, which have been applied by then."""
        return "jit", {"jaxpr": params["jaxpr"], "name": Name(self.name)}


custom_vmap_call_p = CustomVmapCall()


def _forward_rule(rule: Callable, nonzero: Sequence[bool], found: Sequence[bool], axis, args,
                  dims) -> tuple[list, list]:
    """The rule for results and tangents: the derivative of the rule for results.

    The rule is told which primals are batched. If a tangent is batched and its primal is not, the
    derivative, which is linear in tangents, is mapped over such tangents.
    """
    count = len(nonzero)
    primals, in_dims = [to_front(x, d) for x, d in zip(args, dims[:count])], [
        None if d is None else 0 for d in dims[:count]]
    given = iter(zip(args[count:], dims[count:]))
    tangents: list[Any] = [Zero.tangent_of(x) for x in primals]
    extra: list[int] = []  # tangents that are batched while their primals are not
    for i, nz in enumerate(nonzero):
        if nz:
            tangent, dim = next(given)
            if in_dims[i] is not None:
                tangent = materialize(tangent, dim, axis.size)
            elif dim is not None:
                tangent = to_front(tangent, dim)
                extra.append(i)
            tangents[i] = tangent
    places: list = []

    def flat(*xs):
        outs, places[:] = rule(axis, xs, in_dims)
        return outs

    def pushed(*lanes):
        now = dict(zip(extra, lanes))
        outs, out_tangents = jvp(flat, primals, [now.get(i, t) for i, t in enumerate(tangents)])
        return [*outs, *(instantiate(t) for t, nz in zip(out_tangents, found) if nz)]

    more = Axis(None, axis.size)
    outs, out_dims = batch(pushed, more, [tangents[i] for i in extra], [0] * len(extra))
    places += [d for d, nz in zip(places, found) if nz]
    pairs = [_one_axis(more, y, d, place) for y, d, place in zip(outs, out_dims, places)]
    return [y for y, _ in pairs], [d for _, d in pairs]


def _one_axis(axis: Axis, x, outer: int | None, inner: int | None) -> tuple[Any, int | None]:
    """A result with batch axes at ``outer`` and ``inner`` of the same lanes: one is kept."""
    if outer is None or inner is None:
        return x, inner if outer is None else outer
    lanes = iota(np.dtype(np.int32), axis.size)
    (diagonal,), (dim,) = batch(
        lambda row, n: [dynamic_index_in_dim(row, n, inner, keepdims=False)], axis, [x, lanes],
        [outer, 0])
    return diagonal, dim


def _users_rule(custom: custom_vmap, captured: int, in_tree, out_tree, axis, args,
                dims) -> tuple[list, list]:
    """The user's rule on flat operands; the function closes over the first of them."""
    name = name_of(custom.fun)
    if any(d is not None for d in dims[:captured]):
        raise UnexpectedTracerError(explain(
            "tanx.custom_batching.custom_vmap", f"{name} closes over a mapped value, which its "
            "rule does not receive.", hint="pass the value to the function as an argument."))
    own = [to_front(x, d) for x, d in zip(args[captured:], dims[captured:])]
    batched = tree_util.tree_unflatten(in_tree, [d is not None for d in dims[captured:]])
    answer = custom.vmap_rule(axis.size, list(batched), *tree_util.tree_unflatten(in_tree, own))
    what = f"tanx.custom_batching.custom_vmap: the rule of {name}"
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise ValueError(explain(
            what, "must return a pair: the result, and which of its leaves are batched.",
            f"it gave: {answer!r:.100}"))
    outs, tree = flat_leaves(what, answer[0])
    flags, flag_tree = tree_util.tree_flatten(answer[1])
    for found, of in ((tree, "a result"), (flag_tree, "booleans")):
        if found != out_tree:
            raise ValueError(explain(
                what, f"must return {of} of the structure that the function returns.",
                f"function: {out_tree}", f"rule:     {found}"))
    for x, flag in zip(outs, flags):
        if flag and typeof(x).shape[:1] != (axis.size,):
            raise ValueError(explain(
                what, "declares a result as batched that has no such leading axis.",
                f"result: {typeof(x)}", f"size of the axis: {axis.size}"))
    return outs, [0 if flag else None for flag in flags]


class custom_vmap:
    """Give a function a custom rule for ``vmap``.

    The rule, set by :meth:`def_vmap`, takes the size of the mapped axis, a list that says for each
    leaf of the arguments whether it is batched, and the arguments; batched ones have the mapped
    axis in front. It returns the result, and in the same structure which of its leaves are batched.

    >>> @custom_vmap
    ... def f(x, y):
    ...     return x + y
    >>> @f.def_vmap
    ... def rule(axis_size, in_batched, xs, ys):
    ...     return xs * ys, True
    >>> tanx.vmap(f)(jnp.arange(3), jnp.arange(3))
    Array([0, 1, 4], dtype=int32)
    """

    def __init__(self, fun: Callable):
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Any = None
        self._arguments = Arguments(fun, (), ())

    def def_vmap(self, vmap_rule: Callable) -> Callable:
        """Set the rule; usable as a decorator."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __getattr__(self, name: str):
        # Methods such as ``f.defjvp(rule)`` set the rules of the wrapped function.
        if name == "fun":  # not set yet while an object is being copied
            raise AttributeError(name)
        return getattr(self.fun, name)

    def __get__(self, instance, owner=None):
        return self if instance is None else MethodType(self, instance)

    @boundary
    def __call__(self, *args, **kwargs):
        name = name_of(self.fun)
        if self.vmap_rule is None:
            raise AttributeError(explain(
                "tanx.custom_batching.custom_vmap", f"{name} has no rule for vmap yet.",
                hint=f"set one with {name}.def_vmap."))
        given, _, _ = self._arguments.take(args, kwargs)
        leaves, in_tree = flat_leaves(f"tanx.custom_batching.custom_vmap: arguments of {name}",
                                      given)
        out_tree = None

        def flat(*xs):
            nonlocal out_tree
            outs, out_tree = flat_leaves(
                f"tanx.custom_batching.custom_vmap: result of {name}",
                self.fun(*tree_util.tree_unflatten(in_tree, xs)))
            return outs

        closed, captured = stage_closed(flat, [typeof(x) for x in leaves])
        outs = custom_vmap_call_p.bind(
            *captured, *leaves, jaxpr=closed, rule=functools.partial(
                _users_rule, self, len(captured), in_tree, out_tree))
        assert out_tree is not None
        return tree_util.tree_unflatten(out_tree, outs)


def sequential_vmap(f: Callable) -> custom_vmap:
    """A function that ``vmap`` calls in a loop, once for each element.

    >>> tanx.vmap(sequential_vmap(lambda x: x + 1))(jnp.arange(3))
    Array([1, 2, 3], dtype=int32)
    """
    custom = custom_vmap(f)

    @custom.def_vmap
    def rule(axis_size, in_batched, *args):
        leaves, in_tree = tree_util.tree_flatten(args)
        flags = tree_util.tree_leaves(in_batched)

        def one(lane):
            mapped = iter(lane)
            return f(*tree_util.tree_unflatten(
                in_tree, [next(mapped) if b else x for x, b in zip(leaves, flags)]))

        out = sequential(one, [x for x, b in zip(leaves, flags) if b])
        return out, tree_util.tree_map(lambda _: True, out)

    return custom
